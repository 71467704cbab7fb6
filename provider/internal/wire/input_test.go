package wire

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/provider"
)

func TestNewCall(t *testing.T) {
	t.Parallel()
	for in, want := range map[string][2]string{
		"":                            {`{}`, ""},
		"null":                        {`{}`, ""},
		`""`:                          {`{}`, ""},
		`" \n"`:                       {`{}`, ""},
		` {"a": 1 ,"b":"x y"} `:       {`{"a":1,"b":"x y"}`, ""},
		`"{\"a\":1}"`:                 {`{"a":1}`, ""},
		`"{}"`:                        {`{}`, ""},
		`"words"`:                     {`{}`, `"words"`},
		`[1]`:                         {`{}`, `[1]`},
		`{"a":`:                       {`{}`, `{"a":`},
		`{"a":1}{"b":2}`:              {`{}`, `{"a":1}{"b":2}`},
		`{"a":"\ud83d\ude00"}`:        {`{"a":"\ud83d\ude00"}`, ""},
		`{"a":"\ud83d"}`:              {`{"a":"\ufffd"}`, ""},
		`{"a":"\ude00\ud83d\u0041"}`:  {`{"a":"\ufffd\ufffd\u0041"}`, ""},
		`{"a":"\\ud83d"}`:             {`{"a":"\\ud83d"}`, ""},
		"{\"a\":\"\xff\"}":            {`{"a":"�"}`, ""},
		`{"a":"<b> & c"}`:             {`{"a":"<b> & c"}`, ""},
		`{"b":1.50,"a":1,"a":2}`:      {`{"a":2,"b":1.50}`, `{"b":1.50,"a":1,"a":2}`},
		`{"a":{"a":1},"b":["a","a"]}`: {`{"a":{"a":1},"b":["a","a"]}`, ""},
	} {
		c := NewCall("id", "n", in)
		if string(c.Input) != want[0] || c.Raw != want[1] {
			t.Errorf("%s: %s raw %q, want %s raw %q", in, c.Input, c.Raw, want[0], want[1])
		}
	}
}

func TestUniqueIDs(t *testing.T) {
	t.Parallel()
	history := []provider.Message{{Parts: []provider.Part{provider.ToolCall{ID: "a"}, provider.ToolCall{ID: "call_2"}}}}
	calls := []provider.ToolCall{{ID: "b"}, {ID: "a"}, {}, {ID: "b"}, {ID: "c"}}
	UniqueIDs(calls, history)
	var got []string
	for _, c := range calls {
		got = append(got, c.ID)
	}
	if diff := cmp.Diff([]string{"b", "call_3", "call_4", "call_5", "c"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	m := IDsOf("own", provider.Request{}, 10)
	for _, tc := range []struct{ id, from, want string }{
		{"functions.read:0", "own", "functions.read:0"},
		{"a.b", "other", "a_b"},
		{"a:b", "other", "a_b_1"},
		{"0123456789abc", "other", "0123456789"},
		{"0123456789abd", "other", "01234567_1"},
		{"", "other", "_1"},
		{"fine-1", "other", "fine-1"},
	} {
		if got := m.Call(tc.id, tc.from); got != tc.want {
			t.Errorf("%q: %q, want %q", tc.id, got, tc.want)
		}
		if got := m.Result(tc.id); got != tc.want {
			t.Errorf("the result of %q: %q, want %q", tc.id, got, tc.want)
		}
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"read": "read", "": "unknown", "functions.read file": "functions_read_file",
		"mcp__a__b-c": "mcp__a__b", "ža": "_a"} {
		limit := 64
		if in == "mcp__a__b-c" {
			limit = 9
		}
		if got := provider.ToolName(in, limit); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
