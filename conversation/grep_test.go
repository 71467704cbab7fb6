package conversation

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"artoo/provider"
)

func TestGrepFindsWhatWasSaidAndDone(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	one := st.Create(testHeader())
	c := New(Config{}, one)
	call := calling("", "c1")
	call.Parts = []provider.Part{provider.ToolCall{ID: "c1", Name: "bash", Input: json.RawMessage(`{"command":"grep \"needle\" *.go"}`)}}
	add(t, c, user("Where is the Größe of the HAYSTACK?"), call)
	addResult(t, c, result("c1", strings.Repeat("hay\n", 100)+"the needle is here\n"))
	must(t, one.Close())
	two := st.Create(Header{CWD: "/elsewhere"})
	add(t, New(Config{}, two), user("no straw at all"))
	must(t, two.Close())
	for _, tc := range []struct {
		words []string
		want  []string // sessions and roles
		text  string   // text in the first match
	}{
		{[]string{"haystack"}, []string{one.ID() + " user"}, "the HAYSTACK?"},
		{[]string{"haystack", "größe"}, []string{one.ID() + " user"}, "Größe"},
		{[]string{`"needle"`}, []string{one.ID() + " assistant"}, `grep`},
		{[]string{"NEEDLE"}, []string{one.ID() + " assistant", one.ID() + " tool"}, "needle"},
		{[]string{"a"}, []string{two.ID() + " user", one.ID() + " user", one.ID() + " assistant", one.ID() + " tool"}, "straw"},
		{[]string{"haystack", "straw"}, nil, ""},
		{[]string{"tool_call"}, nil, ""},
	} {
		var got []string
		first := ""
		must(t, st.Grep(tc.words, nil, func(m Match) bool {
			got = append(got, m.Session.ID+" "+string(m.Role))
			if first == "" {
				first = m.Text
			}
			return true
		}))
		slices.Sort(got)
		slices.Sort(tc.want)
		if !slices.Equal(got, tc.want) || !strings.Contains(first, tc.text) || strings.Contains(first, "\n") {
			t.Errorf("%q: %q, the first is %q", tc.words, got, first)
		}
	}
	matches := 0
	must(t, st.Grep([]string{"e"}, func(i Info) bool { return i.CWD != "/elsewhere" }, func(m Match) bool {
		matches++
		return false
	}))
	if matches != 1 {
		t.Errorf("%d matches after it was enough", matches)
	}
}

func TestRemoveTakesWhatLiesBeside(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	long := func() *Session {
		s := st.Create(testHeader())
		c := New(Config{ToolResultMaxChars: 100, OutputDir: s.OutputDir()}, s)
		add(t, c, user("x"), calling("", "c1"))
		addResult(t, c, result("c1", lines(100)))
		must(t, s.KeepSalt([]byte("salt")))
		return s
	}
	one, two := long(), long()
	must(t, one.Close())
	forked, err := st.Fork(one.ID(), 0)
	must(t, err)
	add(t, New(Config{}, forked), user("on"))
	must(t, forked.Close())
	if removed, err := st.Remove(one.ID(), two.ID()); err == nil || len(removed) != 1 || removed[0].ID != one.ID() ||
		removed[0].First != "x" || !strings.Contains(err.Error(), two.ID()+": in use") {
		t.Errorf("%+v, %v", removed, err)
	}
	left := func() (names []string) {
		entries, err := os.ReadDir(st.Dir)
		must(t, err)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	if names := left(); !slices.Contains(names, filepath.Base(one.OutputDir())) || len(names) != 6 {
		t.Errorf("the copy needs its outputs, left are %q", names)
	}
	must(t, two.Close())
	if _, err := st.Remove("nothere", two.ID()); err == nil || len(left()) != 5 {
		t.Errorf("%v, left are %q", err, left())
	}
	if removed, err := st.Remove(two.ID(), two.ID()); err != nil || len(removed) != 1 {
		t.Errorf("%+v, %v", removed, err)
	}
	if names := left(); len(names) != 2 {
		t.Errorf("left are %q", names)
	}
}

// TestGrepReadsLinesThatOthersWrote finds words in lines whose fields stand in another
// order, with blanks between them, or with letters escaped.
func TestGrepReadsLinesThatOthersWrote(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	must(t, os.MkdirAll(st.Dir, 0o700))
	must(t, os.WriteFile(filepath.Join(st.Dir, "edited.jsonl"), []byte(
		`{"v":1, "type":"session", "id":"0", "parent":"", "time":"2026-03-14T15:30:00Z", "session":"edited", "cwd":"/w"}`+"\n"+
			`{"id":"1","type":"message","parent":"0","time":"2026-03-14T15:30:01Z","message":{"parts":[{"text":"the first needle",`+
			`"type":"text"}],"role":"user"}}`+"\n"+
			`{ "type": "message", "id": "2", "parent": "1", "time": "2026-03-14T15:30:02Z", "message": {"role": "assistant", `+
			`"parts": [{"type": "text", "text": "a \u006eeedle in a\/b"}]}}`+"\n"+
			`{"id":"3","type":"note","parent":"2","time":"2026-03-14T15:30:03Z","kind":"name","text":"needle"}`+"\n"+
			`{"id":"4","type":"message","parent":"3","needle`+"\n"), 0o600))
	var found []string
	must(t, st.Grep([]string{"needle"}, nil, func(m Match) bool {
		found = append(found, string(m.Role)+": "+m.Text)
		return true
	}))
	if got := strings.Join(found, "; "); got != "user: the first needle; assistant: a needle in a/b" {
		t.Errorf("found %s", got)
	}
}
