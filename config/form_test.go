package config

import (
	"testing"

	"artoo/provider"
)

func TestAProviderOfOnesOwnSaysHowItIsSpokenTo(t *testing.T) {
	for _, wire := range provider.Wires() {
		for _, auth := range provider.Auths() {
			c := mustFile(t, "[provider.mine]\nbase_url = \"https://x.org\"\nwire = \""+string(wire)+"\"\nauth = \""+string(auth)+
				"\"\npath = \"/team/v1?x=1\"\n[provider.mine.extra_body]\nz = [1, 2.5, \"<\"]\na = { b = true }\n")
			form := c.Form("mine")
			if form.Wire != wire || form.Auth != auth || form.Path != "/team/v1?x=1" || form.Token != nil ||
				string(form.Extra) != `{"a":{"b":true},"z":[1,2.5,"<"]}` {
				t.Errorf("%s %s: %+v, extra %s", wire, auth, form, form.Extra)
			}
			if len(c.Warnings) > 0 {
				t.Errorf("warned %q", c.Warnings)
			}
		}
	}
	if form := mustFile(t, "").Form("openai"); form.Wire != "" || form.Extra != nil {
		t.Errorf("without a table: %+v", form)
	}
}

func TestAFormThatCannotBe(t *testing.T) {
	for line, want := range map[string]string{
		`wire = "grpc"`:                           `provider.mine.wire: "grpc" is not one of messages, responses, chat, gemini`,
		`wire = 1`:                                `provider.mine.wire must be a string`,
		`auth = "basic"`:                          `provider.mine.auth: "basic" is not one of bearer, x-api-key, api-key, x-goog-api-key`,
		`path = "v1/messages"`:                    `provider.mine.path is not a path`,
		`path = "//evil.example/x"`:               `provider.mine.path is not a path`,
		`path = "https://evil.example"`:           `provider.mine.path is not a path`,
		`extra_body = 1`:                          `provider.mine.extra_body must be a table`,
		`extra_body = { messages = [] }`:          `provider.mine.extra_body.messages: artoo writes this field itself`,
		`extra_body = { a = 1, Stream = false }`:  `provider.mine.extra_body.Stream: artoo writes this field itself`,
		`extra_body = { input = "x" }`:            `provider.mine.extra_body.input: artoo writes this field itself`,
		`extra_body = { system_instruction = 1 }`: `provider.mine.extra_body.system_instruction: artoo writes`,
		`extra_body = { toolConfig = {} }`:        `provider.mine.extra_body.toolConfig: artoo writes`,
		`extra_body = { a = 2020-01-01 }`:         `provider.mine.extra_body.a must be a JSON value`,
		`extra_body = { a = [{ b = nan }] }`:      `provider.mine.extra_body.a must be a JSON value`,
	} {
		_, err := withFile(t, "[provider.mine]\nbase_url = \"https://x.org\"\n"+line+"\n")
		wantError(t, err, "config", "line 3: "+want)
	}
	for name, line := range map[string]string{"claude-cli": `auth = "bearer"`, "demo": `path = "/x"`,
		"codex-cli": `extra_body = { a = 1 }`, "ollama": `wire = "chat"`} {
		_, err := withFile(t, "[provider."+name+"]\n"+line+"\n")
		wantError(t, err, "config", "line 2: ", name+" has a fixed protocol")
	}
}

// TestAnthropicsTokenIsAKey: the one of a variable that holds a bearer token, and only
// where no key is set.
func TestAnthropicsTokenIsAKey(t *testing.T) {
	for _, test := range []struct {
		key, token string
		want       string
		bearer     bool
	}{{"", "t1", "t1", true}, {"k1", "t1", "k1", false}, {"k1", "", "k1", false}, {"same", "same", "same", false}} {
		world(t)
		t.Setenv("ANTHROPIC_API_KEY", test.key)
		t.Setenv("ANTHROPIC_AUTH_TOKEN", test.token)
		c := mustLoad(t, LoadOptions{})
		key, err := c.Key(t.Context(), "anthropic")
		if err != nil || key.Value.Reveal() != test.want {
			t.Fatalf("%+v: %q %v", test, key.Value.Reveal(), err)
		}
		if got := c.Form("anthropic").Token(key.Value.Reveal()); got != test.bearer {
			t.Errorf("%+v: bearer %v", test, got)
		}
		if names, err := c.AtHand(); err != nil || len(names) != 1 || names[0] != "anthropic" {
			t.Errorf("%+v: at hand are %q %v", test, names, err)
		}
	}
}
