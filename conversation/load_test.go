package conversation

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"artoo/provider"
	"artoo/tool/sweep"

	"github.com/google/go-cmp/cmp"
)

// TestCutAnywhere cuts a session file at any byte: it loads, it holds a prefix of the messages, and it can be
// continued.
func TestCutAnywhere(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s := record(t, st)
	must(t, s.Close())
	whole := readFile(t, s.Path())
	full, err := Store{}.load(strings.NewReader(whole), true, 0)
	must(t, err)
	if len(full.notices) > 0 {
		t.Fatalf("whole file: %q", full.notices)
	}
	messages := func(l *Session) (ms []provider.Message) {
		s := &Session{history: l.history}
		return s.Messages()
	}
	all := messages(full)
	most := 0
	for _, cut := range append(sweep.Cases(t, 200, len(whole)), len(whole)) {
		l, err := Store{}.load(strings.NewReader(whole[:cut]), true, 0)
		must(t, err)
		got := messages(l)
		if len(got) < most || len(got) > len(all) || !reflect.DeepEqual(got, all[:len(got)]) && len(got) > 0 {
			t.Fatalf("cut at %d: %d messages that are no prefix", cut, len(got))
		}
		most = len(got)
		atLine := cut == 0 || whole[cut-1] == '\n'
		wholeLine := cut < len(whole) && whole[cut] == '\n'
		torn := strings.Contains(strings.Join(l.notices, "\n"), "was cut off and is left out")
		if torn == (atLine || wholeLine) || l.torn == atLine {
			t.Fatalf("cut at %d: torn %v, notices %q", cut, l.torn, l.notices)
		}
	}
	if most != len(all) {
		t.Errorf("%d of %d messages", most, len(all))
	}
}

// TestGoingOnAfterACut appends to files cut in all kinds of places; the next load must report nothing new and hold
// both.
func TestGoingOnAfterACut(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s := record(t, st)
	must(t, s.Close())
	whole := readFile(t, s.Path())
	for cut := 1; cut < len(whole); cut += 97 {
		path := filepath.Join(st.Dir, "cut.jsonl")
		must(t, os.WriteFile(path, []byte(whole[:cut]), 0o600))
		s, err := st.Open("cut")
		must(t, err)
		before := s.Messages()
		conv := New(Config{}, s)
		add(t, conv, user("on"))
		must(t, conv.Sync())
		must(t, s.Close())
		if raw := readFile(t, path); !strings.HasPrefix(raw, whole[:cut]) {
			t.Fatalf("cut at %d: bytes were taken away", cut)
		}
		s, err = st.Open("cut")
		must(t, err)
		if diff := cmp.Diff(append(before, user("on")), s.Messages()); diff != "" {
			t.Fatalf("cut at %d:\n%s", cut, diff)
		}
		for _, n := range s.Notices() {
			if strings.Contains(n, "was cut off and is left out") || strings.Contains(n, "cannot be read") {
				t.Fatalf("cut at %d: told again: %q", cut, n)
			}
		}
		must(t, s.Close())
	}
}

func TestDamage(t *testing.T) {
	t.Parallel()
	const (
		header = `{"type":"session","id":"0","parent":"","time":"2026-03-14T15:30:00Z","v":1,"session":"x","cwd":"/w","artoo":"1","provider":"p","model":"m"}`
		one    = `{"type":"message","id":"1","parent":"0","time":"2026-03-14T15:30:01Z","message":{"role":"user","parts":[{"type":"text","text":"one"}]}}`
		two    = `{"type":"message","id":"2","parent":"1","time":"2026-03-14T15:30:02Z","message":{"role":"assistant","parts":[{"type":"text","text":"two"}]}}`
		three  = `{"type":"message","id":"3","parent":"2","time":"2026-03-14T15:30:03Z","message":{"role":"user","parts":[{"type":"text","text":"three"}]}}`
		call   = `{"type":"message","id":"4","parent":"3","time":"2026-03-14T15:30:03Z","message":{"role":"assistant","parts":[{"type":"tool_call","id":"c","name":"ls","input":{}}]}}`
		branch = `{"type":"message","id":"9","parent":"1","time":"2026-03-14T15:30:03Z","message":{"role":"user","parts":[{"type":"text","text":"nine"}]}}`
		later  = `{"type":"hologram","id":"3","parent":"2","time":"2026-03-14T15:30:03Z","x":[1]}`
		part   = `{"type":"message","id":"3","parent":"2","time":"2026-03-14T15:30:03Z","message":{"role":"user","parts":[{"type":"hologram"}]}}`
		trim   = `{"type":"trim","id":"5","parent":"4","time":"2026-03-14T15:30:03Z","edits":[{"message":"77","part":0,"text":"x"},{"message":"1","part":5,"text":"x"}],"drop":["88"],"before":1,"after":1}`
	)
	newer := strings.Replace(header, `"v":1`, `"v":3`, 1)
	latin := strings.Replace(two, "two", "tw\xf6", 1)
	for name, tc := range map[string]struct {
		lines   []string
		texts   string
		notices []string
	}{
		"whole":       {[]string{header, one, two, three}, "one two three", nil},
		"empty file":  {nil, "", nil},
		"header only": {[]string{header}, "", nil},
		"no header":   {[]string{one, two}, "one two", []string{"the session's first line is missing"}},
		"two headers": {[]string{header, one, header, two}, "one two", []string{"2 headers"}},
		"glued files": {[]string{header, one, two, header, one, two}, "one two one two", []string{"2 headers"}},
		"unknown type": {[]string{header, one, two, later, call}, "one two ",
			[]string{"skipped 1 line of the session, of a kind that this artoo does not know", "1 tool call without a result"}},
		"unknown part": {[]string{header, one, part, two}, "one two",
			[]string{"left out 1 line of the session that cannot be read (the first is line 3)"}},
		"rubbish in between": {[]string{header, one, "rubbish", "\x00\x00\x00", two}, "one two",
			[]string{"left out 2 lines of the session that cannot be read (the first is line 3)"}},
		"last one broke off": {[]string{header, one, two[:40]}, "one", []string{"the last line of the session was cut off"}},
		"last ones broke off": {[]string{header, one, two[:len(two)-9], three[:len(three)-9]}, "one",
			[]string{"the last line of the session was cut off", "left out 1 line of the session that cannot be read (the first is line 3)"}},
		"lost parent": {[]string{header, one, three}, "one three", []string{"the session has 1 line out of place"}},
		"no result": {[]string{header, one, two, three, call}, "one two three ",
			[]string{"1 tool call without a result"}},
		"a branch": {[]string{header, one, two, three, branch}, "one nine", nil},
		"its own parent": {[]string{header, strings.Replace(one, `"parent":"0"`, `"parent":"1"`, 1)}, "one",
			[]string{"out of place"}},
		"not UTF-8":   {[]string{header, one, latin}, "one tw\ufffd", nil},
		"blank lines": {[]string{header, "", "  ", one}, "one", nil},
		"CRLF":        {[]string{header + "\r", one + "\r"}, "one", nil},
		"trim of the lost": {[]string{header, one, two, three, trim}, "one two three",
			[]string{"out of place"}},
		"newer": {[]string{newer, one, later}, "one",
			[]string{"newer artoo (format 3)", "out of place", "of a kind"}},
		"JSON but no line": {[]string{header, "[]", "3", "null", `{"id":"1"}`, one}, "one", []string{"4 lines"}},
	} {
		t.Run(name, func(t *testing.T) { damaged(t, tc.lines, tc.texts, tc.notices, name == "newer") })
	}
}

// Where several lines at the end broke off, the session is as old as the last whole one.
func TestTheLastWholeLineIsTheNewest(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s := st.Create(testHeader())
	c := New(Config{}, s)
	add(t, c, user("one"))
	last := s.Updated()
	add(t, c, said(provider.RoleAssistant, "two"), user("three"))
	must(t, s.Close())
	file := strings.ReplaceAll(readFile(t, s.Path()), `"}]}}`, `"}]}`)
	file = strings.Replace(file, `"text":"one"}]}`, `"text":"one"}]}}`, 1)
	must(t, os.WriteFile(s.Path(), []byte(file), 0o600))
	again, err := st.Read(s.ID())
	must(t, err)
	if got := again.Messages(); len(got) != 1 || !again.Updated().Equal(last) {
		t.Errorf("%d messages, the last of %v, not of %v", len(got), again.Updated(), last)
	}
}

// damaged opens a file of these lines, checks the messages left and the notices, and continues the session, which a
// newer artoo's does not allow.
func damaged(t *testing.T, lines []string, said string, told []string, newer bool) {
	st := testStore(t)
	must(t, os.MkdirAll(st.Dir, 0o700))
	path := filepath.Join(st.Dir, "x.jsonl")
	file := strings.Join(lines, "\n")
	if file != "" {
		file += "\n"
	}
	must(t, os.WriteFile(path, []byte(file), 0o600))
	s, err := st.Open("x")
	must(t, err)
	conv := New(Config{}, s)
	var texts []string
	for _, m := range conv.Messages() {
		texts = append(texts, m.Text())
	}
	if got := strings.Join(texts, " "); got != said {
		t.Errorf("messages %q, want %q", got, said)
	}
	notices := s.Notices()
	if len(notices) != len(told) {
		t.Fatalf("notices %q, want %q", notices, told)
	}
	for i, want := range told {
		if !strings.Contains(notices[i], want) {
			t.Errorf("notice %q, want %q", notices[i], want)
		}
	}
	err = conv.Append(user("on"))
	if newer {
		var e *Error
		if !errors.As(err, &e) || e.ErrorKind() != "usage" || !strings.Contains(err.Error(), "newer artoo (format 3") ||
			!s.ReadOnly() {
			t.Errorf("append: %v", err)
		}
		if readFile(t, path) != file {
			t.Error("the file was changed")
		}
		return
	}
	must(t, err)
	want := encoded(t, conv.Messages())
	must(t, s.Close())
	s, err = st.Open("x")
	must(t, err)
	defer s.Close()
	if got := encoded(t, New(Config{}, s).Messages()); got != want {
		t.Error(cmp.Diff(want, got))
	}
	if !strings.HasPrefix(readFile(t, path), file) {
		t.Error("something was taken out of the file")
	}
}

// FuzzLoad feeds any bytes: loading never fails, and the loaded session can be continued.
func FuzzLoad(f *testing.F) {
	raw, err := os.ReadFile(filepath.Join("testdata", "session.jsonl"))
	must(f, err)
	f.Add(raw)
	f.Add(bytes.ReplaceAll(raw, []byte(`"parent":"3"`), []byte(`"parent":"9"`)))
	f.Add([]byte("{}\n\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := Store{}.load(bytes.NewReader(data), true, 0)
		must(t, err)
		c := New(Config{MaxContextTokens: 100}, nil)
		c.replay(l.history)
		if c.EstimatedTokens() < 0 {
			t.Error("less than nothing")
		}
		if _, err := c.Trim(); err != nil && !isFull(err) {
			t.Error(err)
		}
	})
}
