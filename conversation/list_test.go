package conversation

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"artoo/provider"

	"github.com/google/go-cmp/cmp"
)

// touch sets the time a session file was last written.
func touch(t *testing.T, path string, minute int) time.Time {
	t.Helper()
	at := time.Date(2026, 3, 14, 16, minute, 0, 0, time.UTC)
	must(t, os.Chtimes(path, at, at))
	return at
}

func TestList(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	short := record(t, st)
	must(t, short.Close())
	shortAt := touch(t, short.Path(), 1)

	// The line is longer than the part read of the end, with a turn marker there.
	h := testHeader()
	h.CWD = "/elsewhere"
	large := st.Create(h)
	c := New(Config{}, large)
	add(t, c, user("  a question\nover two lines, and longer than what a list can hold, which goes on and on and on"))
	for range 20 {
		add(t, c, said(provider.RoleAssistant, strings.Repeat("x", 10_000)))
	}
	must(t, c.Sync())
	add(t, c, user("unfinished"))
	must(t, large.Close())
	largeAt := touch(t, large.Path(), 3)

	// Without a marker in its end, and cut off.
	raw := readFile(t, large.Path())
	i := strings.Index(raw, `{"type":"turn"`)
	cut := filepath.Join(st.Dir, "20260101-000000-cutcutcu.jsonl")
	must(t, os.WriteFile(cut, []byte(raw[:i-100]), 0o600))
	cutAt := touch(t, cut, 2)

	broken := filepath.Join(st.Dir, "broken.jsonl")
	must(t, os.WriteFile(broken, []byte("\x00\xff{]\n\n{\"type\":3}"), 0o600))
	brokenAt := touch(t, broken, 0)
	must(t, os.Mkdir(filepath.Join(st.Dir, "directory.jsonl"), 0o700))

	first := "a question over two lines, and longer than what a list can hold, which goes on …"
	cost := 0.0125
	want := []Info{
		{ID: large.ID(), Path: large.Path(), CWD: "/elsewhere", Started: large.Header().Started, Updated: largeAt,
			First: first, Messages: 22, Provider: "anthropic", Model: "claude-test"},
		{ID: "cutcutcu", Path: cut, CWD: "/elsewhere", Started: large.Header().Started, Updated: cutAt, First: first,
			Messages: 20, Provider: "anthropic", Model: "claude-test"},
		{ID: short.ID(), Path: short.Path(), CWD: "/home/me/shop", Started: short.Header().Started, Updated: shortAt,
			First: "the total is wrong", Messages: 10, Provider: "anthropic", Model: "claude-test", CostUSD: &cost},
		{ID: "broken", Path: broken, Updated: brokenAt},
	}
	got, err := st.List()
	must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	recent, err := st.Recent(2)
	must(t, err)
	if diff := cmp.Diff(want[:2], recent); diff != "" {
		t.Error(diff)
	}
	if all, err := st.Recent(10); err != nil || len(all) != 4 {
		t.Errorf("%d sessions, %v", len(all), err)
	}
}

func TestNewest(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	var last *Session
	for i, dir := range []string{"/a", "/b", "/a", "/b/c"} {
		h := testHeader()
		h.CWD = dir
		s := st.Create(h)
		add(t, New(Config{}, s), user(dir))
		must(t, s.Close())
		touch(t, s.Path(), i)
		if dir == "/a" {
			last = s
		}
	}
	s, err := st.Newest("/a/")
	must(t, err)
	if s.ID() != last.ID() || len(s.Notices()) != 0 || len(s.Messages()) != 1 {
		t.Errorf("%s, want %s", s.ID(), last.ID())
	}
	fork, err := st.Newest("/a")
	must(t, err)
	if fork.Header().ForkOf != last.ID() {
		t.Error("a session in use was opened twice")
	}
	must(t, s.Close())
	_, err = st.Newest("/none")
	var e *Error
	if !errors.As(err, &e) || err.Error() != "no session was started in /none" {
		t.Errorf("%v", err)
	}
}

// TestNameIsKeptAndFinds names a session: lists show it, the next artoo knows it, and
// it can be asked for by it.
func TestNameIsKeptAndFinds(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s := record(t, st)
	must(t, s.Rename("the  wrong\ttotal"))
	must(t, s.Close())
	again, err := st.Open("The wrong total")
	must(t, err)
	if again.ID() != s.ID() || again.Name() != "the wrong total" {
		t.Errorf("%s is called %q", again.ID(), again.Name())
	}
	forked, err := st.Fork(s.ID(), 0)
	must(t, err)
	if forked.Name() != "" {
		t.Errorf("the copy is called %q too", forked.Name())
	}
	add(t, New(Config{}, forked), user("on"))
	must(t, forked.Sync())
	must(t, forked.Close())
	add(t, New(Config{}, again), user("on"))
	must(t, again.Close()) // before its turn ended
	infos, err := st.List()
	must(t, err)
	for _, info := range infos {
		if want := map[string]string{s.ID(): "the wrong total"}[info.ID]; info.Name != want {
			t.Errorf("%s is listed as %q, want %q", info.ID, info.Name, want)
		}
	}
}

// A session that broke off in a line, in its first turn, is listed with the same facts
// as one whose turn ended.
func TestListOfASessionThatBrokeOff(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s := record(t, st)
	must(t, s.Sync())
	must(t, s.Close())
	whole, err := st.List()
	must(t, err)
	raw := readFile(t, s.Path())
	i := strings.Index(raw, `{"type":"turn"`)
	must(t, os.WriteFile(s.Path(), []byte(raw[:i+20]), 0o600))
	broken, err := st.List()
	must(t, err)
	if len(whole) != 1 || len(broken) != 1 || whole[0].First == "" || whole[0].CostUSD == nil {
		t.Fatalf("listed %+v and %+v", whole, broken)
	}
	broken[0].Updated = whole[0].Updated
	if diff := cmp.Diff(whole, broken); diff != "" {
		t.Error(diff)
	}
}

// TestForkBeforeALastMessage copies a session up to one of the user's messages.
func TestForkBeforeALastMessage(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s := st.Create(testHeader())
	c := New(Config{}, s)
	for _, text := range []string{"one", "two", "three"} {
		add(t, c, user(text), said(provider.RoleAssistant, "answer to "+text))
	}
	must(t, c.Sync())
	for back, want := range []string{"answer to three", "answer to two", "answer to one"} {
		forked, err := st.Fork(s.ID(), back)
		must(t, err)
		f := New(Config{}, forked)
		if got := f.Messages(); got[len(got)-1].Text() != want || forked.UserCount() != 3-back {
			t.Errorf("%d back: %d messages, the last is %q", back, len(got), got[len(got)-1].Text())
		}
		add(t, f, user("on"))
		before := encoded(t, f.Messages())
		must(t, forked.Close())
		read, err := st.Open(forked.ID())
		must(t, err)
		if got := encoded(t, New(Config{}, read).Messages()); got != before || len(read.Notices()) > 0 {
			t.Errorf("%d back, read again: %s %q", back, got, read.Notices())
		}
		must(t, read.Close())
	}
	for _, back := range []int{3, 4} {
		if _, err := st.Fork(s.ID(), back); err == nil {
			t.Errorf("there is a copy without %d messages", back)
		}
	}
	must(t, s.Close())
}
