package builtin

import (
	"bytes"
	"crypto/sha1"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"artoo/tool/git"
	"artoo/tool/needs"
	gitpatch "artoo/tool/patch"
	"artoo/tool/sweep"
)

// editSession edits a file of numbered lines among others that are all the same, at places a few lines apart.
type editSession struct {
	*rand.Rand
	w     *fileWorld
	file  string
	next  int             // the number of the next new line
	knows map[string]bool // the numbered lines that the model was shown or wrote
}

var numberedLine = regexp.MustCompile(`line \d+`)

// line is a new line, numbered where it must be unique.
func (s *editSession) line(unique bool) string {
	if !unique && s.IntN(2) == 0 {
		return "same\n"
	}
	s.next++
	return fmt.Sprintf("line %d\n", s.next)
}

// edit replaces some numbered lines that the model knows, from one on each a few lines below the one before.
func (s *editSession) edit() {
	s.w.t.Helper()
	there := slices.DeleteFunc(numberedLine.FindAllString(s.w.content(s.file), -1), func(line string) bool { return !s.knows[line] })
	var edits []in
	for at := s.IntN(max(1, len(there)-2)); at < len(there) && len(edits) < 4; at += 1 + s.IntN(2) {
		var replacement string
		for range s.IntN(4) {
			replacement += s.line(false)
		}
		edits = append(edits, in{"old_string": there[at] + "\n", "new_string": replacement})
		s.learn(replacement)
	}
	if len(edits) == 0 {
		return
	}
	said := s.w.ok(Edit(), in{"path": s.file, "edits": edits})
	now := strings.Split(s.w.content(s.file), "\n")
	_, shown, _ := strings.Cut(said.Text, "it now reads\n")
	for line := range strings.Lines(shown) {
		number, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if n, err := strconv.Atoi(strings.TrimSpace(number)); err == nil && now[n-1] != text {
			s.w.t.Fatalf("%s, line %d is %q, and edit said %q:\n%s", s.file, n, now[n-1], text, said.Text)
		}
		s.learn(text)
	}
	s.checkSeen(now)
}

func (s *editSession) learn(text string) {
	for _, line := range numberedLine.FindAllString(text, -1) {
		s.knows[line] = true
	}
}

// checkSeen compares the lines that the model is held to have read with those that it has.
func (s *editSession) checkSeen(now []string) {
	s.w.t.Helper()
	seen, _ := s.w.env.Files.Seen.Of(s.w.path(s.file))
	for _, span := range seen.Lines {
		for n := span.From; n < span.To; n++ {
			if line := now[n-1]; line != "same" && !s.knows[line] {
				s.w.t.Fatalf("%s: line %d, %q, counts as read, and was not; read are %v", s.file, n, line, seen.Lines)
			}
		}
	}
}

// TestAnySessionOfEditsAsAPatch has git apply the changes of many sessions.
func TestAnySessionOfEditsAsAPatch(t *testing.T) {
	t.Parallel()
	sessions := sweep.Cases(t, 30, 200)
	before, changes := map[string]string{}, []gitpatch.Change{}
	for _, i := range sessions {
		s := editSession{Rand: rand.New(rand.NewPCG(uint64(i), 41)), knows: map[string]bool{}}
		var b strings.Builder
		for range 20 + s.IntN(60) {
			b.WriteString(s.line(false))
		}
		name := fmt.Sprintf("f%d", i)
		before[name] = b.String()
		changes = append(changes, gitpatch.Change{Path: name, Before: &gitpatch.File{Mode: 0o644}, After: &gitpatch.File{Mode: 0o644}})
	}
	w := newFileWorld(t, before)
	for _, i := range sessions {
		s := editSession{Rand: rand.New(rand.NewPCG(uint64(i), 42)), w: w, file: fmt.Sprintf("f%d", i), next: 1000, knows: map[string]bool{}}
		s.learn(w.ok(Read(), in{"path": s.file, "offset": 1 + s.IntN(10), "limit": 15 + s.IntN(10)}).Text)
		for range 1 + s.IntN(4) {
			s.edit()
		}
	}
	var text bytes.Buffer
	if _, err := gitpatch.Write(&text, changes, openers{w, before}, sha1.New); err != nil {
		t.Fatal(err)
	}
	dir := newFileWorld(t, before).root
	cmd := exec.Command(needs.Git(t), "apply", "--whitespace=nowarn")
	cmd.Dir, cmd.Stdin, cmd.Env = dir, &text, append(git.SafeEnviron(os.Environ()), "GIT_CEILING_DIRECTORIES="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	applied := fileWorld{t: t, root: dir}
	for name := range before {
		if got, want := applied.content(name), w.content(name); got != want {
			t.Errorf("%s: the patch gives\n%q, not\n%q", name, got, want)
		}
	}
}

// openers are the files as they were, and as they are.
type openers struct {
	*fileWorld
	before map[string]string
}

func (o openers) Before(path string) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(o.before[path])), nil
}

func (o openers) After(path string) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(o.content(path))), nil
}
