//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"strings"
	"testing"

	"artoo/provider"
)

func TestHelpIsAskedForWithoutASlash(t *testing.T) {
	page := func(shown string) string { // without the prompts around it
		_, rest, _ := strings.Cut(shown, "\n\n")
		text, _, _ := strings.Cut(rest, "\nyou: ")
		return strings.TrimSpace(text)
	}
	shown, _ := say(t, nil, "/help")
	want := page(shown)
	if !strings.HasPrefix(want, "/help [PAGE]") || !strings.HasSuffix(want, "/help approvals") {
		t.Fatalf("/help shows %q", want)
	}
	for _, typed := range []string{"help", "?", " help "} {
		if shown, sent := say(t, nil, typed); sent != nil || page(shown) != want {
			t.Errorf("%q: sent %q, shown %q", typed, sent, shown)
		}
	}
	if _, sent := say(t, nil, "help me"); len(sent) != 1 {
		t.Errorf("sent %q", sent)
	}
}

func TestCommandsThatNeedSomethingFirstNameIt(t *testing.T) {
	for typed, want := range map[string]string{
		"/resume 1": "there is no session number 1; /resume without a number lists them",
		"/login":    "artoo login",
		"/logout":   "artoo logout",
	} {
		if shown, sent := say(t, nil, typed); sent != nil || !strings.Contains(shown, want) {
			t.Errorf("%s: sent %q, shown %q", typed, sent, shown)
		}
	}
}

func TestOnlyANearNameIsGuessed(t *testing.T) {
	for typed, want := range map[string]string{
		"hlep": "help", "modle": "model", "statsu": "status", "sesions": "sessions", "quti": "quit",
		"foo": "", "xyz": "", "banana": "", "deploy": "", "h": "", strings.Repeat("x", 50): "",
	} {
		if got := nearestCommand(typed); got != want {
			t.Errorf("/%s: %q is guessed, want %q", typed, got, want)
		}
	}
}

func TestEveryCommandIsAmongWhatTabProposesForASlash(t *testing.T) {
	term := &Terminal{opt: Options{Agent: testAgent(t)}}
	proposed := map[string]bool{}
	for _, c := range term.completions("/", 1).candidates {
		proposed[strings.TrimSpace(c.text)] = true
	}
	for _, c := range commands() {
		if c.run != nil && !proposed["/"+c.name] {
			t.Errorf("/%s is not proposed", c.name)
		}
	}
}

func TestAModelThatIsNotKnownIsSaid(t *testing.T) {
	opt := func(o *Options) {
		o.Agent.SwitchModel(testModel("anthropic", "claude"))
		o.Program = &testProgram{agent: o.Agent,
			models: []provider.ModelInfo{{ID: "anthropic/claude-sonnet-4-5"}, {ID: "claude-opus-4-1"}}}
	}
	for typed, want := range map[string]string{
		"gpt-9":             "gpt-9 is not among the models known of anthropic. /model list tells those it has",
		"claude-sonnet-4-6": "did you mean claude-sonnet-4-5? /model list",
		"claude-opus-4-1":   "",
		"claude-sonnet-4-5": "",
	} {
		shown, sent := say(t, opt, "/model "+typed)
		shown = strings.Join(strings.Fields(shown), " ")
		if sent != nil || !strings.Contains(shown, want) || strings.Contains(shown, "is not among") != (want != "") {
			t.Errorf("%s: sent %q, shown %q", typed, sent, shown)
		}
	}
}
