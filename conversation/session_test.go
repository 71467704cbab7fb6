package conversation

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/gofrs/flock"

	"artoo/provider"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// record makes a session with every kind of line.
func record(t testing.TB, st Store) *Session {
	t.Helper()
	s := st.Create(testHeader())
	c := New(Config{MaxContextTokens: 300, ToolResultMaxChars: 10_000}, s)
	add(t, c, user("the total is wrong"), calling("I look.", "c1"))
	cost := 0.0125
	must(t, c.RecordUsage("claude-test", provider.Usage{Input: 900, CacheRead: 100, Output: 40, Reasoning: 10}, &cost))
	addResult(t, c, result("c1", lines(40)))
	for _, id := range []string{"c2", "c3", "c4"} {
		add(t, c, calling("", id))
		addResult(t, c, result(id, "ok ü🎉"))
	}
	trimmed, err := c.Trim()
	must(t, err)
	if trimmed.Results != 1 {
		t.Fatalf("%+v", trimmed)
	}
	_, err = s.append(typeNote, &Note{Kind: "model", Text: "answered by another"})
	must(t, err)
	add(t, c, said(provider.RoleAssistant, "Sunday is missing."))
	must(t, c.Sync())
	return s
}

func TestSessionFileGolden(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s := record(t, st)
	must(t, s.Sync())
	must(t, s.Close())
	got := strings.ReplaceAll(readFile(t, s.Path()), s.ID(), "k3f9qx2a")
	golden := filepath.Join("testdata", "session.jsonl")
	if *update {
		must(t, os.MkdirAll("testdata", 0o755))
		must(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	if diff := cmp.Diff(readFile(t, golden), got); diff != "" {
		t.Errorf("the format changed; FORMAT.md must tell of it:\n%s", diff)
	}
	if !regexp.MustCompile(`^20260314-15300\d-[a-z2-7]{8}\.jsonl$`).MatchString(filepath.Base(s.Path())) {
		t.Errorf("name %s", s.Path())
	}
}

func TestNothingIsWrittenBeforeTheFirstAppend(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s := st.Create(testHeader())
	conv := New(Config{}, s)
	must(t, conv.Sync())
	must(t, s.Close())
	if _, err := os.Stat(st.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory: %v", err)
	}
}

func TestModes(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s := record(t, st)
	for path, want := range map[string]fs.FileMode{filepath.Dir(st.Dir): 0o700, st.Dir: 0o700, s.Path(): 0o600,
		s.Path() + lockExt: 0o600} {
		info, err := os.Stat(path)
		must(t, err)
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
	}
	must(t, s.Close())
	if _, err := os.Stat(s.Path() + lockExt); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the lock stays: %v", err)
	}
}

func TestOneWritePerLine(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s := st.Create(testHeader())
	conv := New(Config{}, s)
	add(t, conv, user("hello"))
	w := &countingFile{File: s.file}
	s.file = w
	add(t, conv, said(provider.RoleAssistant, strings.Repeat("long ", 1<<18)), user("more"))
	if w.writes != 2 || w.syncs != 0 {
		t.Errorf("%d writes, %d syncs for two lines", w.writes, w.syncs)
	}
	must(t, conv.Sync())
	must(t, conv.Sync())
	if w.writes != 3 || w.syncs != 1 {
		t.Errorf("%d writes, %d syncs after the turn", w.writes, w.syncs)
	}
	must(t, s.Close())
}

type countingFile struct {
	File
	writes, syncs int
}

func (f *countingFile) Write(b []byte) (int, error) { f.writes++; return f.File.Write(b) }
func (f *countingFile) Sync() error                 { f.syncs++; return f.File.Sync() }

func TestResumeSendsTheVeryBytes(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s := st.Create(testHeader())
	conv := New(Config{MaxContextTokens: 2500, ToolResultMaxChars: 2000, OutputDir: s.OutputDir()}, s)
	add(t, conv, user("start"))
	for i := range 40 {
		id := "c" + string(rune('A'+i))
		add(t, conv, calling(strings.Repeat("thinking aloud ", 60), id))
		addResult(t, conv, result(id, lines(30+i)))
		_, err := conv.Trim()
		must(t, err)
	}
	want := encoded(t, conv.Messages())
	must(t, s.Close())
	s, err := st.Open(s.ID()[:4])
	must(t, err)
	if len(s.Notices()) > 0 || !s.Resumed() || s.ReadOnly() {
		t.Errorf("notices %q, resumed %v", s.Notices(), s.Resumed())
	}
	conv = New(Config{MaxContextTokens: 2500}, s)
	if got := encoded(t, conv.Messages()); got != want {
		t.Errorf("%s", cmp.Diff(want, got))
	}
	if strings.Count(readFile(t, s.Path()), "line 12 of the output") != 40 {
		t.Error("something left the file")
	}
	// And it goes on, in the same file and chain.
	add(t, conv, user("go on"))
	must(t, s.Close())
	s, err = st.Open(s.ID())
	must(t, err)
	if all := s.Messages(); len(all) != 82 || all[81].Text() != "go on" {
		t.Errorf("%d messages", len(all))
	}
	must(t, s.Close())
}

func TestTotals(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	s := st.Create(testHeader())
	conv := New(Config{}, s)
	add(t, conv, user("hi"))
	half, quarter := 0.5, 0.25
	must(t, conv.RecordUsage("m", provider.Usage{Input: 10, Output: 1}, &half))
	must(t, conv.RecordUsage("m", provider.Usage{Input: 20, Output: 2}, &quarter))
	got := s.Totals()
	if got.Requests != 2 || got.Usage.Input != 30 || got.CostUSD == nil || *got.CostUSD != 0.75 {
		t.Errorf("%+v", got)
	}
	must(t, conv.RecordUsage("free?", provider.Usage{Input: 1}, nil))
	must(t, conv.RecordUsage("m", provider.Usage{Input: 1}, &half))
	live := s.Totals()
	if live.CostUSD != nil || live.Unpriced != 1 || live.Requests != 4 {
		t.Errorf("an unknown price is counted as none: %+v", live)
	}
	must(t, s.Close())
	s, err := st.Open(s.ID())
	must(t, err)
	if diff := cmp.Diff(live, s.Totals()); diff != "" {
		t.Error(diff)
	}
	must(t, s.Close())
}

func TestSessionInUseIsForked(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	first := record(t, st)
	fork, err := st.Open(first.ID())
	must(t, err)
	if fork.ID() == first.ID() || fork.Header().ForkOf != first.ID() || fork.Header().CWD != testHeader().CWD {
		t.Fatalf("%+v", fork.Header())
	}
	if n := fork.Notices(); len(n) != 1 || n[0] != "session "+first.ID()+
		" is in use by another artoo; this one continues as "+fork.ID() {
		t.Errorf("notices %q", n)
	}
	if _, err := os.Stat(fork.Path()); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the fork is on the disk before it is used")
	}
	conv := New(Config{}, fork)
	before := encoded(t, conv.Messages())
	add(t, conv, user("in the fork"))
	same := readFile(t, first.Path())
	if strings.Contains(same, "in the fork") || fork.Totals().Requests != 0 {
		t.Error("the fork is not apart")
	}
	must(t, first.Close())
	must(t, fork.Close())

	again, err := st.Open(fork.ID())
	must(t, err)
	if len(again.Notices()) > 0 {
		t.Errorf("notices %q", again.Notices())
	}
	want := []string{again.OutputDir(), first.OutputDir()}
	if diff := cmp.Diff(want, again.OutputDirs()); diff != "" {
		t.Error(diff)
	}
	messages := New(Config{}, again).Messages()
	if got := encoded(t, messages[:len(messages)-1]); got != before {
		t.Error(cmp.Diff(before, got))
	}
	second, err := st.Fork(again.ID(), 0)
	must(t, err)
	if diff := cmp.Diff(append([]string{second.OutputDir()}, want...), second.OutputDirs()); diff != "" {
		t.Error(diff)
	}
	must(t, again.Close())
}

func TestReadLeavesASessionAlone(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	first := record(t, st)
	s, err := st.Read(first.ID())
	must(t, err)
	if len(s.Messages()) != 10 || s.ID() != first.ID() {
		t.Errorf("%d messages of %s", len(s.Messages()), s.ID())
	}
	var refused *Error
	if err := New(Config{}, s).Append(user("x")); !errors.As(err, &refused) ||
		!strings.Contains(err.Error(), "for reading only") {
		t.Errorf("append: %v", err)
	}
	must(t, first.Close())
}

func TestLookup(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	if list, err := st.List(); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	must(t, os.MkdirAll(st.Dir, 0o700))
	header := `{"type":"session","id":"0","parent":"","time":"2026-03-14T15:30:00Z","v":1,"session":"%","cwd":"/w"}` + "\n"
	for _, id := range []string{"abcd2345", "abce2345", "zzzz2345"} {
		must(t, os.WriteFile(filepath.Join(st.Dir, "20260314-153000-"+id+fileExt),
			[]byte(strings.Replace(header, "%", id, 1)), 0o600))
	}
	must(t, os.WriteFile(filepath.Join(st.Dir, "mine.jsonl"), []byte(header), 0o600))
	for asked, want := range map[string]string{"abcd": "abcd2345", "ABCD2": "abcd2345", "zzzz2345": "zzzz2345",
		"z": "zzzz2345", "min": "mine"} {
		s, err := st.Open(asked)
		if err != nil || s.ID() != want {
			t.Errorf("%s: %v", asked, err)
			continue
		}
		must(t, s.Close())
	}
	for asked, found := range map[string][]string{"abc": {"abcd2345", "abce2345"}, "q": nil, "": nil, "../x": nil} {
		_, err := st.Open(asked)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), strings.Join(found, ", ")) ||
			e.ErrorKind() != "usage" || e.ErrorHint() == "" {
			t.Errorf("%q: %v", asked, err)
		}
	}
}

// TestNoLocks is a state directory on a file system without locks: sessions
// work, and one that is resumed goes on in a file of its own.
func TestNoLocks(t *testing.T) {
	t.Parallel()
	st := testStore(t)
	st.lock = func(string) (*flock.Flock, error) { return nil, errNoLocks }
	s := st.Create(testHeader())
	must(t, New(Config{}, s).Append(user("hello")))
	must(t, s.Sync())
	must(t, s.Close())
	before, err := os.ReadFile(s.Path())
	must(t, err)
	again, err := st.Open(s.ID())
	must(t, err)
	if want := []string{"session " + s.ID() + " is on a file system without locks; this one continues as " +
		again.ID()}; again.Header().ForkOf != s.ID() || !slices.Equal(again.Notices(), want) {
		t.Errorf("forked from %q, %q", again.Header().ForkOf, again.Notices())
	}
	must(t, New(Config{}, again).Append(user("and on")))
	must(t, again.Close())
	after, err := os.ReadFile(s.Path())
	must(t, err)
	if string(after) != string(before) {
		t.Errorf("the first file was written to:\n%s", after)
	}
	last, err := st.Read(again.ID())
	must(t, err)
	if n := len(last.Messages()); n != 2 {
		t.Errorf("%d messages", n)
	}
}

func TestNoLocksErrors(t *testing.T) {
	t.Parallel()
	for _, err := range []error{syscall.ENOLCK, syscall.ENOSYS, &fs.PathError{Op: "flock", Err: syscall.ENOTSUP}} {
		if !noLocks(err) {
			t.Errorf("%v is taken for a fault", err)
		}
	}
	for _, err := range []error{nil, syscall.EACCES, syscall.EINTR} {
		if noLocks(err) {
			t.Errorf("%v is taken for missing locks", err)
		}
	}
}
