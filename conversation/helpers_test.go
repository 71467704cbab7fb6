package conversation

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"artoo/provider"
)

// testStore is a store in a new directory whose clock goes a second a call.
func testStore(t testing.TB) Store {
	t.Helper()
	now := time.Date(2026, 3, 14, 15, 30, 0, 0, time.UTC)
	return Store{
		Dir: filepath.Join(t.TempDir(), "state", "sessions"),
		Now: func() time.Time { now = now.Add(time.Second); return now },
	}
}

func testHeader() Header {
	return Header{CWD: "/home/me/shop", Version: "1.2.3", Provider: "anthropic", Model: "claude-test"}
}

func said(role provider.Role, text string) provider.Message {
	m := provider.Message{Role: role, Parts: []provider.Part{provider.Text{Text: text}}}
	if role == provider.RoleAssistant {
		m.Provider, m.Model = "anthropic", "claude-test"
	}
	return m
}

func user(text string) provider.Message { return said(provider.RoleUser, text) }

func calling(text string, ids ...string) provider.Message {
	m := said(provider.RoleAssistant, text)
	if text == "" {
		m.Parts = nil
	}
	for _, id := range ids {
		m.Parts = append(m.Parts, provider.ToolCall{ID: id, Name: "bash", Input: json.RawMessage(`{"command":"ls"}`)})
	}
	return m
}

func result(id, text string) provider.ToolResult {
	return provider.ToolResult{CallID: id, Name: "bash", Text: text}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func add(t testing.TB, c *Conversation, messages ...provider.Message) {
	t.Helper()
	for _, m := range messages {
		must(t, c.Append(m))
	}
}

func addResult(t testing.TB, c *Conversation, r provider.ToolResult) provider.ToolResult {
	t.Helper()
	r, err := c.AppendToolResult(r)
	must(t, err)
	return r
}

func encoded(t testing.TB, messages []provider.Message) string {
	t.Helper()
	raw, err := provider.Marshal(messages)
	must(t, err)
	return string(raw)
}

func readFile(t testing.TB, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	must(t, err)
	return string(raw)
}

// lines is n numbered lines.
func lines(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "line %d of the output\n", i)
	}
	return b.String()
}

func isFull(err error) bool {
	_, full := errors.AsType[*FullError](err)
	return full
}

// overhead puts a system prompt of about so many bytes before the history.
func overhead(c *Conversation, bytes int) {
	c.SetOverhead(strings.Repeat("abcdefg", bytes/7), nil)
}
