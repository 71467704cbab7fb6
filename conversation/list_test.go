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
	st := testStore(t)
	short := record(t, st)
	must(t, short.Close())
	shortAt := touch(t, short.Path(), 1)

	// Longer than what is read of the end, with a turn marker there.
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

	first := "a question over two lines, and longer than what a list can hold, which goes on..."
	want := []Info{
		{ID: large.ID(), Path: large.Path(), CWD: "/elsewhere", Started: large.Header().Started, Updated: largeAt,
			First: first, Messages: 22, Provider: "anthropic", Model: "claude-test"},
		{ID: "cutcutcu", Path: cut, CWD: "/elsewhere", Started: large.Header().Started, Updated: cutAt, First: first,
			Messages: 20, Provider: "anthropic", Model: "claude-test"},
		{ID: short.ID(), Path: short.Path(), CWD: "/home/me/shop", Started: short.Header().Started, Updated: shortAt,
			First: "the total is wrong", Messages: 10, Provider: "anthropic", Model: "claude-test"},
		{ID: "broken", Path: broken, Updated: brokenAt},
	}
	got, err := st.List()
	must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	recent, err := st.Recent(2)
	must(t, err)
	want = want[:2]
	want[0].Messages, want[1].Messages = 0, 0
	if diff := cmp.Diff(want, recent); diff != "" {
		t.Error(diff)
	}
	if all, err := st.Recent(10); err != nil || len(all) != 4 {
		t.Errorf("%d sessions, %v", len(all), err)
	}
}

func TestNewest(t *testing.T) {
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

func TestFirstWordsOfWide(t *testing.T) {
	if got := firstWords(user(strings.Repeat("日本語", 1000))); got != strings.Repeat("日本語", 26)+"日本..." {
		t.Errorf("%q", got)
	}
}
