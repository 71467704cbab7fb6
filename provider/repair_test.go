package provider_test

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"testing/quick"

	"artoo/provider"
	"artoo/provider/fake"

	"github.com/google/go-cmp/cmp"
)

func user(text string) provider.Message { return provider.UserText(text) }

func said(parts ...provider.Part) provider.Message {
	return provider.Message{Role: provider.RoleAssistant, Provider: "p", Model: "m", Parts: parts}
}

func call(id, name, input string) provider.ToolCall {
	return provider.ToolCall{ID: id, Name: name, Input: json.RawMessage(input)}
}

func answer(id, name, text string) provider.Message {
	return provider.Message{Role: provider.RoleTool,
		Parts: []provider.Part{provider.ToolResult{CallID: id, Name: name, Text: text}}}
}

func missing(id, name string) provider.Message {
	return provider.Message{Role: provider.RoleTool, Parts: []provider.Part{
		provider.ToolResult{CallID: id, Name: name, Text: "interrupted, no result", IsError: true},
	}}
}

type history []provider.Message

func text(s string) provider.Text { return provider.Text{Text: s} }

func partial(parts ...provider.Part) provider.Message {
	m := said(parts...)
	m.Partial = true
	return m
}

var (
	noStart = user("(The start of this conversation is not available.)")
	longID  = strings.Repeat("x", 80)
)

// repairs are histories and their repaired forms.
var repairs = []struct {
	name     string
	in, want history // want nil: nothing is wrong
}{
	{"nothing", history{}, nil},
	{"a sound history", history{
		user("a"), said(provider.Reasoning{Text: "hm", Opaque: "\xff"}, call("1", "ls", `{"a": "\ud83d\ude00"}`),
			call("2", "ls", `{}`)),
		answer("1", "ls", ""), answer("2", "ls", "y"), said(text("b")), user("c"),
	}, nil},
	{"a missing result", history{user("a"), said(call("1", "ls", `{}`), call("2", "rm", `{}`)), answer("1", "ls", "x")},
		history{user("a"), said(call("1", "ls", `{}`), call("2", "rm", `{}`)), answer("1", "ls", "x"),
			missing("2", "rm")}},
	{"results out of order and behind the user's words",
		history{user("a"), said(call("1", "ls", `{}`), call("2", "rm", `{}`)), answer("2", "rm", "y"), user("b"),
			answer("1", "ls", "x"), said(text("c")), user("d")},
		history{user("a"), said(call("1", "ls", `{}`), call("2", "rm", `{}`)), answer("1", "ls", "x"),
			answer("2", "rm", "y"), user("b"), said(text("c")), user("d")}},
	{"an orphan and a second result",
		history{user("a"), answer("9", "ls", "?"), said(call("1", "ls", `{}`)), answer("1", "ls", "x"),
			answer("1", "ls", "again")},
		history{user("a"), said(call("1", "ls", `{}`)), answer("1", "ls", "x")}},
	{"a result that comes before its call is an orphan",
		history{user("a"), answer("1", "ls", "x"), said(call("1", "ls", `{}`))},
		history{user("a"), said(call("1", "ls", `{}`)), missing("1", "ls")}},
	{"one id for several calls",
		history{user("a"), said(call("1", "ls", `{}`), call("1", "ls", `{}`)), answer("1", "ls", "x"),
			answer("1", "ls", "y"), said(call("1", "ls", `{}`)), answer("1", "ls", "z")},
		history{user("a"), said(call("1", "ls", `{}`), call("1-2", "ls", `{}`)), answer("1", "ls", "x"),
			answer("1-2", "ls", "y"), said(call("1-3", "ls", `{}`)), answer("1-3", "ls", "z")}},
	{"the newer of two open calls with one id gets the result",
		history{user("a"), said(call("1", "ls", `{}`)), user("b"), said(call("1", "ls", `{}`)), answer("1", "ls", "x")},
		history{user("a"), said(call("1", "ls", `{}`)), missing("1", "ls"), user("b"), said(call("1-2", "ls", `{}`)),
			answer("1-2", "ls", "x")}},
	{"foreign names; ids stay, the wires map those of others",
		history{user("a"), said(call("fc|1.é", "a.b c", `{}`), call(longID, "ls", `{}`), call(longID+"y", "ls", `{}`),
			call("", "", `{}`)), answer("fc|1.é", "a.b c", "x"), answer(longID, "ls", "1"),
			answer(longID+"y", "ls", "2"), answer("", "", "3")},
		history{user("a"), said(call("fc|1.é", "a_b_c", `{}`), call(longID, "ls", `{}`), call(longID+"y", "ls", `{}`),
			call("unknown", "unknown", `{}`)), answer("fc|1.é", "a_b_c", "x"), answer(longID, "ls", "1"),
			answer(longID+"y", "ls", "2"), answer("unknown", "unknown", "3")}},
	{"input that is not an object",
		history{user("a"), said(call("1", "ls", `[1]`), call("2", "ls", ``),
			provider.ToolCall{ID: "3", Name: "ls", Input: json.RawMessage(`{`), Raw: "raw"}), answer("1", "ls", "x"),
			answer("2", "ls", "x"), answer("3", "ls", "x")},
		history{user("a"), said(provider.ToolCall{ID: "1", Name: "ls", Input: json.RawMessage(`{}`), Raw: "[1]"},
			call("2", "ls", `{}`), provider.ToolCall{ID: "3", Name: "ls", Input: json.RawMessage(`{}`), Raw: "raw"}),
			answer("1", "ls", "x"), answer("2", "ls", "x"), answer("3", "ls", "x")}},
	{"empty texts, images and messages",
		history{user(" \n"), user("a"), said(text(""), text("b"), text("\t")), said(),
			said(provider.Reasoning{Text: "only"}), provider.UserText("c", provider.Image{MediaType: "image/png"})},
		history{user("a"), said(text("b")), user("c")}},
	{"an empty message at the end", history{user("a"), said()}, history{user("a")}},
	{"an empty text with a signature stays",
		history{user("a"), said(provider.Text{Opaque: "sig"}, call("1", "ls", `{}`)), answer("1", "ls", "x")}, nil},
	{"a partial message",
		history{user("a"), partial(provider.Reasoning{Text: "r"}, provider.Text{Text: "b", Opaque: "o"},
			call("1", "ls", `{}`)), answer("1", "ls", "x"), partial(provider.Reasoning{Text: "r"}), user("c")},
		history{user("a"), partial(text("b")), user("c")}},
	{"bytes that are not UTF-8",
		history{user("a\xf0\x9f"), said(provider.Reasoning{Text: "\xff", Opaque: "\xff"},
			call("1", "ls", "{\"a\":\"\xed\xa0\x80\"}")), answer("1", "ls", "\xc3")},
		history{user("a\uFFFD"), said(provider.Reasoning{Text: "\uFFFD", Opaque: "\xff"},
			call("1", "ls", "{\"a\":\"\uFFFD\"}")), answer("1", "ls", "\uFFFD")}},
	{"half surrogate pairs",
		history{user("a"), said(call("1", "ls",
			`{"a":"\ud83d","b":"\uDE00x","c":"\ud83d\ud83d\ude00","d":"\\ud83d \u00e9"}`)), answer("1", "ls", "x")},
		history{user("a"), said(call("1", "ls",
			`{"a":"\ufffd","b":"\ufffdx","c":"\ufffd\ud83d\ude00","d":"\\ud83d \u00e9"}`)), answer("1", "ls", "x")}},
	{"it begins with an assistant", history{said(call("1", "ls", `{}`)), answer("1", "ls", "x")},
		history{noStart, said(call("1", "ls", `{}`)), answer("1", "ls", "x")}},
	{"it ends with an assistant", history{user("a"), said(text("b"))},
		history{user("a"), said(text("b")), user("Continue.")}},
	{"nothing is left", history{answer("1", "ls", "x"), said()}, history{user("Continue.")}},
	{"parts in the wrong place",
		history{
			{Role: "system", Parts: []provider.Part{text("s"), nil}},
			said(provider.Image{MediaType: "image/png", Data: []byte("x")}, call("1", "ls", `{}`),
				call("2", "ls", `{}`)),
			{Role: provider.RoleUser, Parts: []provider.Part{provider.Reasoning{Text: "r"}, call("7", "ls", `{}`),
				provider.ToolResult{CallID: "1", Name: "cat", Text: "x"}, text("b")}},
			{Role: provider.RoleTool, Parts: []provider.Part{text("t"),
				provider.ToolResult{CallID: "2", Name: "ls", Text: "y",
					Images: []provider.Image{{}, {MediaType: "image/png", Data: []byte("x")}}}}},
		},
		history{user("s"), said(call("1", "ls", `{}`), call("2", "ls", `{}`)), answer("1", "ls", "x"),
			{Role: provider.RoleTool, Parts: []provider.Part{provider.ToolResult{CallID: "2", Name: "ls", Text: "y",
				Images: []provider.Image{{MediaType: "image/png", Data: []byte("x")}}}}},
			user("b")}},
}

func TestRepair(t *testing.T) {
	t.Parallel()
	for _, tt := range repairs {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.want
			if want == nil {
				want = tt.in
			}
			got := provider.Repair(tt.in)
			if diff := cmp.Diff(want, history(got)); diff != "" {
				t.Fatalf("(-want +got)\n%s", diff)
			}
			if tt.want == nil && len(got) > 0 && &got[0] != &tt.in[0] {
				t.Error("a sound history was copied")
			}
			if err := fake.Check(got); err != nil {
				t.Error(err)
			}
		})
	}
}

// build makes a history out of any bytes: each takes one small step. Ids are
// few, so that they clash, and all kinds of damage come up.
func build(script []byte) history {
	var h history
	ids := []string{"1", "2", "1-2", "a.b", "a_b", "", strings.Repeat("L", 64), strings.Repeat("L", 70), "\xff"}
	inputs := []string{`{}`, `{"a":1}`, ` {"s":"\ud800"}`, `[]`, ``, `null`, "{\"x\":\"\xff\"}", `"{}"`, `{"a`}
	texts := []string{"hello", "", " \n", "\xff\xfe", "é", "caf\xc3"}
	roles := []provider.Role{provider.RoleUser, provider.RoleAssistant, provider.RoleTool, "system"}
	for i := 0; i+1 < len(script); i += 2 {
		kind, n := script[i]%8, int(script[i+1])
		if kind < 3 || len(h) == 0 {
			h = append(h, provider.Message{Role: roles[n%len(roles)], Partial: n%7 == 0})
			continue
		}
		last := &h[len(h)-1]
		var p provider.Part
		switch kind {
		case 3:
			p = provider.Text{Text: texts[n%len(texts)], Opaque: strings.Repeat("o", n/100)}
		case 4:
			p = provider.Reasoning{Text: texts[n%len(texts)], Opaque: "\xff"}
		case 5:
			p = provider.ToolCall{ID: ids[n%len(ids)], Name: "t" + texts[n%len(texts)],
				Input: json.RawMessage(inputs[n%len(inputs)])}
		case 6:
			p = provider.ToolResult{CallID: ids[n%len(ids)], Name: "t", Text: texts[n%len(texts)]}
		case 7:
			p = provider.Image{MediaType: "image/png", Data: make([]byte, n%2)}
		}
		last.Parts = append(last.Parts, p)
	}
	return h
}

// sound checks everything Repair promises of one history.
func sound(h history) error {
	before := fmt.Sprintf("%#v", h)
	got := provider.Repair(h)
	if err := fake.Check(got); err != nil {
		return err
	}
	if after := fmt.Sprintf("%#v", h); after != before {
		return fmt.Errorf("the input was changed:\n%s\n%s", before, after)
	}
	if len(got) > 0 {
		if again := provider.Repair(got); len(again) != len(got) || &again[0] != &got[0] {
			return fmt.Errorf("repairing twice is not repairing once: %s", cmp.Diff(got, again))
		}
	}
	return words(h, got)
}

// words checks that all words of users and models are there, in order.
func words(before, after []provider.Message) error {
	collect := func(h []provider.Message) string {
		var b strings.Builder
		for _, m := range h {
			if m.Role == provider.RoleTool {
				continue
			}
			for _, p := range m.Parts {
				if t, ok := p.(provider.Text); ok && strings.TrimSpace(t.Text) != "" {
					fmt.Fprintf(&b, "%s|", strings.ToValidUTF8(t.Text, "\uFFFD"))
				}
			}
		}
		return b.String()
	}
	want, got := collect(before), collect(after)
	if !strings.Contains(got, want) {
		return fmt.Errorf("words were lost: %q became %q", want, got)
	}
	return nil
}

func TestRepairHoldsForAnyHistory(t *testing.T) {
	t.Parallel()
	check := func(script []byte) bool {
		if err := sound(build(script)); err != nil {
			t.Errorf("%v: %v", script, err)
			return false
		}
		return true
	}
	config := &quick.Config{MaxCount: 3000, Rand: rand.New(rand.NewSource(1))}
	if err := quick.Check(check, config); err != nil {
		t.Error(err)
	}
}

func FuzzRepair(f *testing.F) {
	f.Add([]byte{0, 1, 5, 0, 6, 0})
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 2000 {
			return
		}
		if err := sound(build(script)); err != nil {
			t.Error(err)
		}
	})
}

// A history keeps its repaired form while it grows in whole steps, so that the
// provider's prompt cache keeps matching.
func TestRepairKeepsThePrefix(t *testing.T) {
	t.Parallel()
	h, before := history{}, history{}
	for i := range 40 {
		h = append(h, user(fmt.Sprint("q", i)), said(call("dup", "a.b", `{}`), call("x|y", "ls", `[]`)))
		if i%3 > 0 {
			h = append(h, answer("x|y", "ls", "late"))
		}
		h = append(h, answer("dup", "a.b", "r"))
		got := provider.Repair(h)
		if diff := cmp.Diff(before, history(got[:len(before)])); diff != "" {
			t.Fatalf("step %d changed what was sent before:\n%s", i, diff)
		}
		before = got
	}
}
