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
	t.Parallel()
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
	t.Parallel()
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

// TestMendedInputRuns is the way a call takes: input that Check lets pass must be read by Plan and Run alike.
func TestMendedInputRuns(t *testing.T) {
	t.Parallel()
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

// madeCall is a call as models make it that know other programs' tools, and the result: the input it runs with, or the
// words of the refusal.
type madeCall struct{ name, in, want string }

func checkMade(t *testing.T, calls []madeCall) {
	t.Helper()
	tools := []tool.Tool{Read(), Ls(), Glob(), Grep(), Write(), Edit(), Bash(BashOptions{Path: "/bin/bash"}), Shell()}
	for _, tt := range calls {
		got := "no tool"
		if tool, input := FindCall(tools, tt.name, json.RawMessage(tt.in)); tool != nil {
			if err := tool.Check(input); err != nil {
				got = strings.TrimPrefix(err.Error(), "the input of "+tool.Name+" does not fit: ")
				got, _, _ = strings.Cut(got, "; it takes ")
				got, _, _ = strings.Cut(got, " (did you mean")
				got, _, _ = strings.Cut(got, "; path is missing")
			} else {
				got = string(tool.Repair(input))
			}
		}
		if got != tt.want {
			t.Errorf("%s %s\n got %s\nwant %s", tt.name, tt.in, got, tt.want)
		}
	}
}

func TestReadsAndListsThatCanMeanOnlyOneThingAreTaken(t *testing.T) {
	t.Parallel()
	checkMade(t, []madeCall{
		{"Read", `{"file_path":"a"}`, `{"path":"a"}`},
		{"read_file", `{"filePath":"a"}`, `{"path":"a"}`},
		{"READ", `{"filename":"a","limit":5}`, `{"limit":5,"path":"a"}`},
		{"view", `{"path":"a","view_range":[7,3]}`, `there is no property "view_range"`},
		{"read", `{"path":"a","start_line":9,"end_line":7}`, `there is no property "end_line"`},
		{"read", `{"target_file":"a","explanation":"to see"}`, `{"path":"a"}`},
		{"read", `{"path":"a","file_path":"a"}`, `{"path":"a"}`},
		{"read", `{"path":"a","file_path":"b"}`, `there is no property "file_path"`},
		{"read", `{"file":"a","filename":"b"}`, `there is no property "file"; there is no property "filename"`},
		{"read", `{"path":"a","encoding":"utf-8"}`, `{"path":"a"}`},
		{"read", `{"path":"a","encoding":"latin1"}`, `there is no property "encoding"`},
		{"read", `{"path":"a","pages":"1-5"}`, `there is no property "pages"`},
		{"read", `{"path":"a","pages":null}`, `{"path":"a"}`},
		{"functions.read", `{"path":"a"}`, `{"path":"a"}`},
		{"default_api:read_file", `{"absolute_path":"/a"}`, `{"path":"/a"}`},
		{"LS", `{"directory":"a"}`, `{"path":"a"}`},
		{"list_directory", `{"dir_path":"a"}`, `{"path":"a"}`},
		{"ls", `{"path":"a","recursive":false}`, `{"path":"a"}`},
		{"ls", `{"path":"a","recursive":true}`, `there is no property "recursive"`},
		{"ls", `{"path":"a","ignore":[]}`, `{"path":"a"}`},
	})
}

func TestSearchesThatCanMeanOnlyOneThingAreTaken(t *testing.T) {
	t.Parallel()
	checkMade(t, []madeCall{
		{"Glob", `{"glob":"*.go"}`, `{"pattern":"*.go"}`},
		{"glob", `{"glob_pattern":"*.go","dir":"x"}`, `{"path":"x","pattern":"*.go"}`},
		{"file_search", `{"query":"*.go"}`, `{"pattern":"*.go"}`},
		{"glob", `{"pattern":"*.go","respect_git_ignore":true}`, `{"pattern":"*.go"}`},
		{"Grep", `{"pattern":"x","include":"*.go"}`, `{"glob":"*.go","pattern":"x"}`},
		{"grep", `{"regex":"x","glob_pattern":"*.go"}`, `{"glob":"*.go","pattern":"x"}`},
		{"grep", `{"pattern":"x","-i":true,"-n":true,"-C":2}`, `{"context":2,"ignore_case":true,"pattern":"x"}`},
		{"grep", `{"pattern":"x","-A":2}`, `{"context":2,"pattern":"x"}`},
		{"grep", `{"pattern":"x","output_mode":"content"}`, `{"pattern":"x"}`},
		{"grep", `{"pattern":"x","output_mode":"count"}`, `there is no property "output_mode"`},
	})
}

func TestWritesAndEditsThatCanMeanOnlyOneThingAreTaken(t *testing.T) {
	t.Parallel()
	checkMade(t, []madeCall{
		{"Write", `{"file_path":"a","content":"x"}`, `{"content":"x","path":"a"}`},
		{"create_file", `{"path":"a","file_text":"x"}`, `{"content":"x","path":"a"}`},
		{"write", `{"path":"a.json","content":{"b":1,"a":[2]}}`,
			`{"content":"{\n  \"b\": 1,\n  \"a\": [\n    2\n  ]\n}\n","path":"a.json"}`},
		{"write", `{"file_path":"A.JSON","contents":[]}`, `{"content":"[]\n","path":"A.JSON"}`},
		{"write", `{"path":"a.txt","content":{"a":1}}`, `content must be a string, not an object`},
		{"write", `{"path":"a.json","content":7}`, `{"content":"7","path":"a.json"}`},
		{"write", `{"path":"a.json","content":true}`, `content must be a string, not a boolean`},
		{"write", `{"path":"a","content":"x","append":true}`, `there is no property "append"`},
		{"write", `{"path":"a","content":"x","create_directories":true}`, `{"content":"x","path":"a"}`},
		{"Edit", `{"file_path":"a","old_string":"1","new_string":"2"}`, `{"new_string":"2","old_string":"1","path":"a"}`},
		{"str_replace", `{"path":"a","old_str":"1","new_str":"2"}`, `{"new_string":"2","old_string":"1","path":"a"}`},
		{"edit", `{"path":"a","oldText":"1","newText":"2"}`, `{"new_string":"2","old_string":"1","path":"a"}`},
		{"replace", `{"file_path":"a","old_string":"1","new_string":"2","instruction":null}`,
			`{"new_string":"2","old_string":"1","path":"a"}`},
		{"edit", `{"path":"a","edits":{"old_str":"1","new_str":"2"}}`,
			`{"edits":[{"new_string":"2","old_string":"1"}],"path":"a"}`},
		{"MultiEdit", `{"file_path":"a","edits":[{"old_string":"1","new_string":"2","replaceAll":true}]}`,
			`{"edits":[{"new_string":"2","old_string":"1","replace_all":true}],"path":"a"}`},
		{"edit", `{"path":"a","edits":"{\"oldText\":\"1\",\"newText\":\"2\"}"}`,
			`{"edits":[{"new_string":"2","old_string":"1"}],"path":"a"}`},
		{"edit", `{"path":"a","replacements":[{"search":"1","replace":"2"}]}`,
			`{"edits":[{"new_string":"2","old_string":"1"}],"path":"a"}`},
		{"edit", `{"path":"a","old_string":"1","new_string":"2","expected_replacements":3}`,
			`there is no property "expected_replacements"`},
	})
}

func TestCommandsThatCanMeanOnlyOneThingAreTaken(t *testing.T) {
	t.Parallel()
	checkMade(t, []madeCall{
		{"Bash", `{"cmd":"ls"}`, `{"command":"ls"}`},
		{"run_shell_command", `{"command":"ls","description":"lists"}`, `{"command":"ls"}`},
		{"bash", `{"command":"ls","workdir":"x"}`, `{"command":"ls","cwd":"x"}`},
		{"bash", `{"command":"ls","directory":"x"}`, `{"command":"ls","cwd":"x"}`},
		{"bash", `{"command":"ls","run_in_background":false}`, `{"background":false,"command":"ls"}`},
		{"bash", `{"command":"ls","run_in_background":true}`, `{"background":true,"command":"ls"}`},
		{"run_terminal_cmd", `{"command":"ls","is_background":true}`, `{"background":true,"command":"ls"}`},
		{"write_stdin", `{"session_id":2,"chars":"ls","yield_time_ms":1000,"max_output_tokens":500}`,
			`{"id":"2","input":"ls"}`},
		{"bash", `{"command":"ls","timeout_seconds":5}`, `{"command":"ls","timeout":5}`},
		{"bash", `{"command":"ls","sudo":true}`, `there is no property "sudo"`},
		{"python", `{}`, "no tool"},
		{"search", `{"query":"x"}`, "no tool"},
		{"web_fetch", `{"url":"x"}`, "no tool"},
	})
}

func TestATimeoutInMillisecondsIsToldOfAsSuch(t *testing.T) {
	t.Parallel()
	env := &tool.Env{}
	for asked, want := range map[float64]string{
		120: "2m0s", 1800: "30m0s",
		2000:    "30m0s [a timeout of 2000 seconds is more than the maximum, so it was 1800 seconds]\n",
		120_000: "2m0s [timeout counts seconds; 120000 was taken for milliseconds, so it was 120 seconds]\n",
		1e9:     "30m0s [a timeout of 1000000000 seconds is more than the maximum, so it was 1800 seconds]\n",
		1e308:   "30m0s [a timeout of 1e+308 seconds is more than the maximum, so it was 1800 seconds]\n",
	} {
		limit, remark := bashInput{Timeout: asked}.limit(env)
		if got := strings.TrimSpace(limit.String() + " " + remark); got != strings.TrimSpace(want) {
			t.Errorf("%v: %q, want %q", asked, got, want)
		}
	}
}
