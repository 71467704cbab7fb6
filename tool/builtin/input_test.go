package builtin

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/tool"
)

// TestBrokenInputIsMended is about slips that models make: those that can mean only one
// thing are taken, and nothing else is touched.
func TestBrokenInputIsMended(t *testing.T) {
	tests := []struct {
		tool     tool.Tool
		in, want string
	}{
		{Read(), `{"path":"a","offset":null}`, `{"path":"a"}`},
		{Read(), `{"path":null}`, `{"path":null}`},
		{Read(), `{"path":"a","offset":"2"}`, `{"offset":2,"path":"a"}`},
		{Read(), `{"path":"a","offset":2.0}`, `{"offset":2,"path":"a"}`},
		{Read(), `{"path":"a","offset":"2e3"}`, `{"offset":2000,"path":"a"}`},
		{Read(), `{"path":"a","offset":1.5}`, `{"path":"a","offset":1.5}`},
		{Read(), `{"path":"a","offset":1e30}`, `{"path":"a","offset":1e30}`},
		{Read(), `{"path":"a","offset":1e999999999}`, `{"path":"a","offset":1e999999999}`},
		{Read(), `{"path":"a","offset":"two"}`, `{"path":"a","offset":"two"}`},
		{Read(), `{"path":"a","offset":"null"}`, `{"path":"a","offset":"null"}`},
		{Read(), `{"path":"12"}`, `{"path":"12"}`},
		{Grep(), `{"pattern":"true","multiline":"true"}`, `{"multiline":true,"pattern":"true"}`},
		{Bash(BashOptions{Path: "sh"}), `{"command":"ls","timeout":"1.5"}`, `{"command":"ls","timeout":1.5}`},
		{Edit(), `{"path":"a","edits":"[{\"old_string\":\"1\",\"new_string\":\"2\",\"replace_all\":\"false\"}]"}`,
			`{"edits":[{"new_string":"2","old_string":"1","replace_all":false}],"path":"a"}`},
		{Edit(), `{"path":"a","edits":null,"old_string":"null","new_string":"x"}`,
			`{"new_string":"x","old_string":"null","path":"a"}`},
		{Edit(), `{"path":"a","edits":[{"old_string":"1","new_string":null}]}`,
			`{"path":"a","edits":[{"old_string":"1","new_string":null}]}`},
		{Write(), `{"path":"a","content":"[1]"}`, `{"path":"a","content":"[1]"}`},
		{Read(), ` [] `, `[]`},
		{Read(), `{`, `{`},
		{Read(), ``, ``},
	}
	for _, tt := range tests {
		if got := string(tt.tool.Repair(json.RawMessage(tt.in))); got != tt.want {
			t.Errorf("%s: %s became %s, want %s", tt.tool.Name, tt.in, got, tt.want)
		}
	}
}

func TestCheckWords(t *testing.T) {
	tests := []struct {
		tool tool.Tool
		in   string
		want string // "" when it fits
	}{
		{Read(), `{"path":"a","limit":"7","offset":null}`, ""},
		{Read(), `{"file_path":"a"}`, ""},
		{Read(), `{"pth":"a"}`, `there is no property "pth" (did you mean path?); path is missing`},
		{Read(), `{"path":"a","ofset":3}`, `there is no property "ofset" (did you mean offset?)`},
		{Read(), `{"path":"a","encoding":"x"}`, `there is no property "encoding"`},
		{Read(), `{"path":"a","offset":1.5}`, `offset must be a whole number, not 1.5`},
		{Read(), `{"path":"a","offset":1e30}`, `offset must be a whole number, not 1e+30`},
		{Read(), `{"path":["a","b"]}`, `path must be a string, not an array`},
		{Read(), `{"path":null}`, `path must be a string, not null`},
		{Read(), `"a"`, `the input must be an object, not a string`},
		{Bash(BashOptions{Path: "sh"}), `{"cmd":"ls"}`, ""},
		{Write(), `{"path":"a.yaml","content":{"a":1}}`, `content must be a string, not an object`},
		{Edit(), `{"path":"a","edits":[{"old_str":"1","new_str":"2"}]}`, ""},
		{Edit(), `{"path":"a","edits":[{"was":"1","new_str":"2"}]}`,
			`there is no property "edits[0].was" (did you mean old_string?); edits[0].old_string is missing`},
	}
	for _, tt := range tests {
		err := tt.tool.Check([]byte(tt.in))
		if tt.want == "" {
			if err != nil {
				t.Errorf("%s: %s: %v", tt.tool.Name, tt.in, err)
			}
			continue
		}
		if err == nil {
			t.Errorf("%s: %s fits", tt.tool.Name, tt.in)
			continue
		}
		words, takes, _ := strings.Cut(err.Error(), "; it takes ")
		words = strings.TrimPrefix(words, "the input of "+tt.tool.Name+" does not fit: ")
		if diff := cmp.Diff(tt.want, words); diff != "" {
			t.Errorf("%s: %s:\n%s", tt.tool.Name, tt.in, diff)
		}
		if !strings.Contains(takes, " (string, required)") {
			t.Errorf("%s: the properties are not listed: %s", tt.tool.Name, err)
		}
	}
}

// TestMendedInputRuns is the way a call takes: what Check lets pass must be read
// by Plan and Run alike.
func TestMendedInputRuns(t *testing.T) {
	env := treeEnv(t, map[string]string{"a.txt": "one\ntwo\nthree\n"})
	for _, in := range []string{
		`{"path":"a.txt","offset":"2","limit":1.0}`,
		`{"path":"a.txt","offset":2,"limit":"1"}`,
	} {
		if text := mustCall(t, Read(), env, in).Text; !strings.Contains(text, "2\ttwo\n") ||
			strings.Contains(text, "three") {
			t.Errorf("%s: %q", in, text)
		}
	}
}
