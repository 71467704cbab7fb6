package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"artoo/provider"
	"artoo/provider/providertest"
)

// wires says of each how replies are written, how it sends the key and where it asks.
var wires = map[provider.Wire]struct {
	build providertest.Builder
	auth  provider.Auth
	path  string
	query string
	last  string // the field that ends the body
	// vertex is where it asks with Google's credentials; "" for the same path.
	vertex string
}{
	provider.WireMessages: {providertest.Anthropic, provider.AuthXAPIKey, "/base/v1/messages", "", "messages",
		"/base/publishers/anthropic/models/m:streamRawPredict"},
	provider.WireResponses: {providertest.Responses, provider.AuthBearer, "/base/responses", "", "input", ""},
	provider.WireChat:      {providertest.Chat, provider.AuthBearer, "/base/chat/completions", "", "messages", ""},
	provider.WireGemini: {providertest.Gemini, provider.AuthGoogAPIKey, "/base/v1beta/models/m:streamGenerateContent",
		"alt=sse", "contents", "/base/publishers/google/models/m:streamGenerateContent"},
	provider.WireConverse: {providertest.Converse, provider.AuthBearer, "/base/model/m/converse-stream", "", "messages", ""},
}

// headers are where keys may stand.
var headers = map[provider.Auth]string{
	provider.AuthBearer: "Authorization", provider.AuthXAPIKey: "X-Api-Key", provider.AuthAPIKey: "Api-Key",
	provider.AuthGoogAPIKey: "X-Goog-Api-Key",
}

// TestAServerIsSpokenToAsTheSettingsSay: on each wire, with the key in one header, at
// the path.
func TestAServerIsSpokenToAsTheSettingsSay(t *testing.T) {
	t.Parallel()
	for _, wire := range provider.Wires() {
		own := wires[wire]
		for _, auth := range append(provider.Auths(), "") {
			for path, want := range map[string][2]string{
				"":                             {own.path, own.query},
				"/team/v1/x%20y?api-version=1": {"/base/team/v1/x y", strings.Trim(own.query+"&api-version=1", "&")},
			} {
				if path == "" && auth == provider.AuthGoogle && own.vertex != "" {
					want[0] = own.vertex
				}
				t.Run(fmt.Sprintf("%s %s %s", wire, auth, path), func(t *testing.T) {
					s := providertest.NewServer(t, own.build(providertest.Text("ok")))
					seen := stream(t, s, provider.Form{Wire: wire, Auth: auth, Path: path})
					query, err := url.ParseQuery(want[1])
					if err != nil {
						t.Fatal(err)
					}
					if seen.Path != want[0] || seen.Query != query.Encode() {
						t.Errorf("asked at %s?%s, want %s?%s", seen.Path, seen.Query, want[0], query.Encode())
					}
					right := auth
					if auth == "" {
						right = own.auth
					}
					for a, header := range headers {
						value := ""
						if a == right {
							value = "k1"
						}
						if a == right && a == provider.AuthBearer {
							value = "Bearer k1"
						}
						if got := seen.Header.Get(header); got != value {
							t.Errorf("%s is %q, want %q", header, got, value)
						}
					}
				})
			}
		}
	}
}

// TestATokenIsABearerToken where the settings do not name a header.
func TestATokenIsABearerToken(t *testing.T) {
	t.Parallel()
	token := func(key string) bool { return key == "k1" }
	for auth, want := range map[provider.Auth][2]string{"": {"Bearer k1", ""}, provider.AuthXAPIKey: {"", "k1"}} {
		s := providertest.NewServer(t, providertest.Anthropic(providertest.Text("ok")))
		seen := stream(t, s, provider.Form{Wire: provider.WireMessages, Auth: auth, Token: token})
		if got := [2]string{seen.Header.Get("Authorization"), seen.Header.Get("X-Api-Key")}; got != want {
			t.Errorf("auth %q: %q, want %q", auth, got, want)
		}
	}
}

// TestExtraFieldsAreMergedIntoTheBody: they come before the history, which still ends
// the body.
func TestExtraFieldsAreMergedIntoTheBody(t *testing.T) {
	t.Parallel()
	const extra = `{"model_options":{"a":[1,"<"]},"store":true,"stream_options":{"x":1},"generationConfig":{"topK":5}}`
	for _, wire := range provider.Wires() {
		t.Run(string(wire), func(t *testing.T) {
			own := wires[wire]
			s := providertest.NewServer(t, own.build(providertest.Text("ok")), own.build(providertest.Text("ok")))
			plain := stream(t, s, provider.Form{Wire: wire})
			seen := stream(t, s, provider.Form{Wire: wire, Extra: json.RawMessage(extra)})
			var before, after map[string]json.RawMessage
			if json.Unmarshal(plain.Body, &before) != nil || json.Unmarshal(seen.Body, &after) != nil {
				t.Fatalf("no JSON: %s", seen.Body)
			}
			want := map[string]string{"model_options": `{"a":[1,"<"]}`, "store": "true", "stream_options": `{"x":1}`,
				"generationConfig": `{"topK":5}`}
			switch wire {
			case provider.WireChat:
				want["stream_options"] = `{"x":1,"include_usage":true}`
			case provider.WireGemini:
				want["generationConfig"] = `{"topK":5,"maxOutputTokens":100}`
			}
			for name, value := range want {
				if string(after[name]) != value {
					t.Errorf("%s is %s, want %s", name, after[name], value)
				}
				delete(before, name)
			}
			for name, value := range before {
				if !bytes.Equal(after[name], value) {
					t.Errorf("%s is %s, was %s", name, after[name], value)
				}
			}
			end := append([]byte(`"`+own.last+`":`), before[own.last]...)
			if at := bytes.Index(plain.Body, end); !bytes.HasSuffix(seen.Body, plain.Body[at:]) {
				t.Errorf("the history does not end the body: %s", seen.Body)
			}
		})
	}
}

// stream asks a server of the user's that is spoken to in the given form.
func stream(t *testing.T, s *providertest.Server, form provider.Form) providertest.Request {
	t.Helper()
	key := func(context.Context) (string, error) { return "k1", nil }
	p := New(Settings{Server: provider.Server{Form: form, Name: "mine", BaseURL: s.URL + "/base", Key: key,
		HTTP: &http.Client{Transport: s.HTTP.Transport}}})
	r := providertest.Collect(p.Stream(t.Context(), provider.Request{
		Options: provider.Options{Model: "m", MaxTokens: 100}, Messages: []provider.Message{provider.UserText("hi")}}))
	if r.Err != nil || r.Text != "ok" {
		t.Fatalf("%q %v", r.Text, r.Err)
	}
	seen := s.Requests()
	return seen[len(seen)-1]
}
