package export

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"artoo/conversation"
	"artoo/provider"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-update rewrites it):\n%s", name, diff)
	}
}

func user(texts ...string) provider.Message {
	m := provider.Message{Role: provider.RoleUser}
	for _, text := range texts {
		m.Parts = append(m.Parts, provider.Text{Text: text})
	}
	return m
}

func answer(parts ...provider.Part) provider.Message {
	return provider.Message{Role: provider.RoleAssistant, Provider: "demo", Model: "demo-1", Parts: parts}
}

func call(id, name, input string) provider.ToolCall {
	return provider.ToolCall{ID: id, Name: name, Input: json.RawMessage(input), Opaque: "OPAQUE"}
}

func result(id, text string) provider.Message {
	return provider.Message{Role: provider.RoleTool, Parts: []provider.Part{provider.ToolResult{CallID: id, Text: text}}}
}

func session() Session {
	cost := 0.0625
	failed := provider.Message{Role: provider.RoleTool,
		Parts: []provider.Part{provider.ToolResult{CallID: "c3", Text: "exit status 1", IsError: true,
			File: "/state/x.out/3.txt"}}}
	broken := answer(provider.Text{Text: "It is\n\n```go\nfunc half("})
	broken.Partial = true
	return Session{
		ID: "k3f9qx2a", Dir: "/home/me/shop", Version: "1.2.3", Provider: "demo", Model: "demo-1", ForkOf: "aaaabbbb",
		Started: time.Date(2026, 3, 14, 15, 30, 0, 0, time.UTC), Updated: time.Date(2026, 3, 14, 15, 42, 7, 0, time.UTC),
		Totals: conversation.Totals{Requests: 3, Usage: provider.Usage{Input: 1200, CacheRead: 300, Output: 80},
			CostUSD: &cost},
		Messages: []provider.Message{
			user("why does @week.go fail?\n\nAnd since when?",
				"[@week.go: week.go, 1 line, as read shows it]\n1\tpackage cart\n"),
			answer(provider.Reasoning{Text: "Let me look.", Opaque: "OPAQUE"}, provider.Reasoning{Opaque: "OPAQUE"},
				provider.Text{Text: "I look first.", Opaque: "OPAQUE"},
				call("c1", "read", `{"path":"week.go"}`), call("c2", "grep", `{"pattern":"Days","path":"internal"}`)),
			result("c1", "1\tpackage cart\n"),
			result("c2", "week.go:3: var Days = 6 // ``` not a fence\n"),
			answer(call("c3", "bash", `{"command":"go test ./...\ngo vet ./..."}`),
				call("c4", "edit",
					`{"path":"week.go","edits":[{"old_string":"a\nDays = 6\nz","new_string":"a\nDays = 7\nz"}]}`),
				call("c5", "write", `{"path":"new.txt","content":"one\ntwo"}`)),
			failed,
			result("c4", "edited week.go"),
			answer(provider.Text{
				Text: "Fixed: **seven** days.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nSee [the docs](https://example.org/a?b=1&c=2) and `a<b`."}),
			user("thanks"),
			broken,
		},
	}
}

func TestMarkdownAndJSON(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(b *bytes.Buffer) error{
		"session.md":   func(b *bytes.Buffer) error { return Markdown(b, session()) },
		"summary.md":   func(b *bytes.Buffer) error { return Summary(b, session()) },
		"session.json": func(b *bytes.Buffer) error { return JSON(b, session()) },
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "OPAQUE") {
			t.Errorf("%s holds what belongs to the provider", name)
		}
		golden(t, name, b.String())
	}
}

// A result that names no call, a call that reuses an id, and a session without
// anything are shown too.
func TestOddSessions(t *testing.T) {
	t.Parallel()
	s := Session{Messages: []provider.Message{
		result("lost", "of a lost call"),
		answer(call("x", "ls", `{}`)), result("x", "first"),
		answer(call("x", "ls", `{"path":5}`)), result("x", "second"),
		answer(provider.ToolCall{ID: "y", Name: "bash", Input: json.RawMessage(`{}`), Raw: "{half"}),
		{Role: provider.RoleUser, Parts: []provider.Part{provider.Image{MediaType: "image/png", Data: []byte("PIXELS")}}},
	}}
	for _, format := range Formats {
		var b bytes.Buffer
		if err := Write(&b, format, s); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		for _, want := range []string{"of a lost call", "first", "second", "{half", "image/png"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", format, want, text)
			}
		}
		if strings.Index(text, "first") > strings.Index(text, "second") || strings.Contains(text, "PIXELS") {
			t.Errorf("%s:\n%s", format, text)
		}
	}
	var b bytes.Buffer
	if err := JSON(&b, Session{}); err != nil || !strings.Contains(b.String(), `"messages": []`) ||
		!strings.Contains(b.String(), `"started": null`) {
		t.Errorf("%v: %s", err, &b)
	}
}

// hostile are texts that try to be more than text.
var hostile = []string{
	"> \t`",
	`<script>alert(1)</script>`, `</pre></details><script src=//evil.example/x.js></script>`,
	`"><img src=x onerror=alert(1)>`, `' onmouseover='alert(1)`, `[x](javascript:alert(1))`, `[x](JaVaScRiPt:alert(1))`,
	`[x](javascript&colon;alert(1))`, `[x](&#106;avascript:alert(1))`, `[x](data:text/html,<script>1</script>)`,
	`[x](vbscript:x) [y](file:///etc/passwd) [z](//evil.example/) [r](../secret)`, `<javascript:alert(1)>`,
	`<https://ok.example/"onclick="x>`, `![pixel](https://evil.example/track.png "t")`,
	`![a <b> ![c](d)](javascript:x)`, "<div onclick=x>\nblock\n</div>\n\n<style>*{}</style>",
	`<!-- c --> <?php x ?> <![CDATA[x]]>`, "```html\" onload=\"x\n<script>\n```",
	"| <script> |\n|---|\n| <img src=x> |", "[x]: javascript:alert(1)\n\n[x]",
	`<a href="https://e.example" onclick="x">a</a>`, "https://e.example/\"onmouseover=\"x www.e.example/<script>",
	"- [x] <b>task</b>", "\x1b]0;title\x07\x1b[2J\u009b31m", "a\u202eb\u200bc",
	"&lt;script&gt; &amp; &#x3c;script&#x3e;", "\x00\xff",
}

// everywhere puts a text into every place of a session.
func everywhere(text string) Session {
	input, err := provider.Marshal(map[string]any{"path": text, "command": text, "content": text})
	if err != nil {
		panic(err)
	}
	return Session{
		ID: text, Dir: text, Provider: text, Model: text, Version: text, ForkOf: text,
		Messages: []provider.Message{
			user(text, text+"\nmore", text),
			answer(provider.Reasoning{Text: text}, provider.Text{Text: text}, call("1", text, string(input))),
			{Role: provider.RoleTool,
				Parts: []provider.Part{provider.ToolResult{CallID: "1", Text: text,
					Images: []provider.Image{{MediaType: text}}}}},
		},
	}
}

// No format controls a terminal that shows it, or hides its text.
func TestExportsAreSafeToShow(t *testing.T) {
	t.Parallel()
	for _, text := range hostile {
		for _, format := range Formats {
			var b bytes.Buffer
			if err := Write(&b, format, everywhere(text)); err != nil {
				t.Fatal(err)
			}
			if strings.ContainsAny(b.String(), "\x1b\x07\x00\u009b\u202e") {
				t.Errorf("%s of %q: %q", format, text, &b)
			}
			if format == FormatJSON && !json.Valid(b.Bytes()) {
				t.Errorf("not JSON: %s", &b)
			}
		}
	}
}

// The output of a tool cannot end the block it stands in.
func TestMarkdownFences(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	s := Session{Messages: []provider.Message{answer(provider.Text{Text: "~~~~\nopen"},
		call("1", "read", "{\"path\":\"`a`\"}")), result("1", "````\n## You\n````\n")}}
	if err := Markdown(&b, s); err != nil {
		t.Fatal(err)
	}
	if want := "~~~~\nopen\n~~~~\n\n**read** `` `a` ``\n\n`````\n````\n## You\n````\n`````\n"; !strings.HasSuffix(
		b.String(), want) {
		t.Errorf("%s", &b)
	}
	for text, want := range map[string]string{"```\na\n```": "", "```go\na": "\n```", "``` a``` b": "",
		"~~~\n```\n~~~": "", "````\n```": "\n````", "x": ""} {
		if got := closeFence(text); got != text+want {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// A call of a server's tool has one name, however the model reached it; another tool's name in it does not count.
func TestCallsOfServersHaveTheirOwnNames(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		`{"tool":"mcp__s__echo","arguments":{"text":"hi"}}`: `mcp__s__echo {"text":"hi"}`,
		`{"tool":"mcp__s__list"}`:                           `mcp__s__list {}`,
		`{"tool":"bash","arguments":{"command":"ls"}}`:      `mcp_call {"tool":"bash","arguments":{"command":"ls"}}`,
	} {
		c := transcript([]provider.Message{answer(call("1", "mcp_call", input))})[0].Items[0]
		if got := c.Name + " " + string(c.Input); got != want {
			t.Errorf("%s: got %s, want %s", input, got, want)
		}
	}
}
