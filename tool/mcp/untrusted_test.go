package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"artoo/tool/extension"
	"artoo/tool/mcp/mcptest"
)

// Only an answer of the server says that a call did not run.
func TestACallOverHTTPThatMayHaveRunIsUnknown(t *testing.T) {
	t.Parallel()
	for what, end := range map[string]func(out http.ResponseWriter, id string){
		"reset": func(out http.ResponseWriter, id string) {
			conn, _, err := out.(http.Hijacker).Hijack()
			if err == nil {
				err = conn.Close()
			}
			if err != nil {
				t.Error(err)
			}
		},
		"half": func(out http.ResponseWriter, id string) {
			out.Header().Set("Content-Length", "1000")
			io.WriteString(out, `{"jsonrpc"`)
		},
		"events": func(out http.ResponseWriter, id string) {
			out.Header().Set("Content-Type", "text/event-stream")
			io.WriteString(out, ": hi\n\n")
		},
		"refused": func(out http.ResponseWriter, id string) {
			io.WriteString(out, `{"jsonrpc":"2.0","id":`+id+`,"error":{"code":-32602,"message":"no"}}`)
		},
		"500": func(out http.ResponseWriter, id string) { out.WriteHeader(http.StatusInternalServerError) },
	} {
		t.Run(what, func(t *testing.T) {
			m := manage(t, Config{Servers: []extension.Server{breaking(t, end, `"tools/call"`, `"echo"`)}})
			_, err := tryCall(t, m, "echo", "", CallOptions{})
			unknown := what != "refused"
			if e, ok := errors.AsType[*Error](err); !ok || e.Unknown != unknown || strings.Contains(err.Error(), "unknown whether the call ran") != unknown {
				t.Errorf("got %v", err)
			}
		})
	}
}

// breaking is a server over HTTP that ends in another way those requests that hold all of these texts.
func breaking(t *testing.T, end func(out http.ResponseWriter, id string), with ...string) extension.Server {
	w := mcptest.NewWeb("legacy")
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			t.Error(err)
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
		if !slices.ContainsFunc(with, func(text string) bool { return !bytes.Contains(body, []byte(text)) }) {
			out.Header().Set("Content-Type", "application/json")
			var m mcptest.Message
			if err := json.Unmarshal(body, &m); err != nil {
				t.Error(err)
			}
			end(out, string(m.ID))
			return
		}
		w.ServeHTTP(out, req)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return extension.Server{Name: "s", URL: server.URL + "/mcp"}
}

// A form asks for no credential, by the words that also withhold variables from commands.
func TestFormsForSecrets(t *testing.T) {
	t.Parallel()
	for schema, secret := range map[string]bool{
		`{"access_key":{"type":"string","title":"AWS access","description":"please"}}`:    true,
		`{"a":{"type":"string","title":"AWS access key"}}`:                                true,
		`{"a":{"type":"string","description":"Your password, please."}}`:                  true,
		`{"authToken":{"type":"string"}}`:                                                 true,
		`{"code":{"type":"integer","title":"One-time token"}}`:                            true,
		`{"max_tokens":{"type":"integer","description":"how many tokens to use"}}`:        false,
		`{"name":{"type":"string","description":"who you are"},"keys":{"type":"string"}}`: false,
		`{"use_token":{"type":"boolean","title":"Log in by token?"}}`:                     false,
		`{"kind":{"type":"string","enum":["token","basic"],"title":"Kind of auth"}}`:      false,
	} {
		_, err := request("s", &sdk.ElicitParams{Mode: "form", RequestedSchema: json.RawMessage(`{"type":"object","properties":` + schema + `}`)})
		if (err != nil) != secret {
			t.Errorf("%s: %v", schema, err)
		}
	}
}

// Only texts that describe are cleaned: elsewhere another text would be another tool.
func TestHiddenCharactersInSchemas(t *testing.T) {
	t.Parallel()
	clean := func(text string) string { text, _ = withoutHidden(text); return text }
	for raw, want := range map[string]string{
		`{"type":"object","description":"a\u200bb","properties":{"description":{"type":"string","title":"\u202ex"}}}`: `{"description":"ab","properties":{"description":{"title":"x","type":"string"}},"type":"object"}`,
		`{"type":"object","properties":{"p\u200bq\u009b":{"type":"string"}}}`:                                         "",
		`{"type":"object","properties":{"a":{"enum":["x\u200b"]}}}`:                                                   "",
		`{"type":"object","properties":{"a":{"const":"\u202ex"}}}`:                                                    "",
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a\u200b"]}`:                               "",
	} {
		got, err := schema(json.RawMessage(raw), clean)
		if string(got) != want || (err == nil) != (want != "") || err != nil && !strings.Contains(err.Error(), "hidden characters") {
			t.Errorf("%s: %s, %v", raw, got, err)
		}
	}
}

// Tools that are not offered as defined are reported once, even if no one looks at the list.
func TestWhatIsDroppedIsSaid(t *testing.T) {
	t.Parallel()
	var n notices
	m := manage(t, Config{Servers: []extension.Server{stdio("s", "hostile")}, Notice: n.add})
	for range 2 {
		if _, err := m.List(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		m.servers[0].link.stale.Store(true)
	}
	all := n.all()
	if strings.Count(all, "server s: ") != 1 || !strings.Contains(all, "a b: another tool is called mcp__s__a_b, too") || !strings.Contains(all, "more") {
		t.Errorf("notices: %s", all)
	}
}

// A name that is cut stays one of its server, which rules name by its beginning.
func TestLongNamesStayThoseOfTheirServer(t *testing.T) {
	t.Parallel()
	for _, server := range []string{"s", strings.Repeat("b", 24) + ":" + strings.Repeat("s", 24), strings.Repeat("b", MaxServer)} {
		m := New(Config{Servers: []extension.Server{{Name: server}}})
		seen := map[string]bool{}
		for _, tool := range []string{"a", strings.Repeat("t", 60), strings.Repeat("t", 61)} {
			full := FullName(server, tool)
			if len(full) > maxName || !m.servers[0].mayHave(full) || full == prefix(server) || seen[full] {
				t.Errorf("%s of %s is called %s", tool, server, full)
			}
			seen[full] = true
		}
	}
}

// A task that is not waited for any more can be found again by its ID.
func TestABrokenOffTaskIsNamed(t *testing.T) {
	t.Parallel()
	lost := func(out http.ResponseWriter, id string) { out.WriteHeader(http.StatusInternalServerError) }
	m := manage(t, Config{Servers: []extension.Server{breaking(t, lost, `"tasks/get"`)}})
	_, err := tryCall(t, m, "task", "", CallOptions{})
	if e, ok := errors.AsType[*Error](err); !ok || e.Task != "t1" || !strings.Contains(err.Error(), "task t1") {
		t.Errorf("got %v", err)
	}
}

// A server's lines on stdout stand in its log only; errors quote its stderr.
func TestErrorsQuoteStderr(t *testing.T) {
	t.Parallel()
	log := openLog("", "s")
	log.write([]byte("no database\n"), true)
	log.write([]byte("{\"level\":30}\n"), false)
	if got := log.lastLine(); got != "no database" {
		t.Errorf("got %q", got)
	}
}

// Without anyone to ask a form is cancelled, whatever it asks for.
func TestNoOneDeclines(t *testing.T) {
	t.Parallel()
	m := manage(t, Config{Servers: []extension.Server{stdio("s")}})
	if got := textOf(call(t, m, "secret", "", CallOptions{})); !strings.Contains(got, `"action":"cancel"`) {
		t.Errorf("got %s", got)
	}
}
