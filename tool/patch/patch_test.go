package patch_test

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"artoo/tool/git"
	"artoo/tool/git/gittest"
	"artoo/tool/needs"
	"artoo/tool/patch"
	"artoo/tool/sweep"
)

// file is a file of a tree in memory.
type file struct {
	mode    fs.FileMode // fs.ModeSymlink: content is the target
	content string
}

// tree is the files of a directory, by their paths with slashes.
type tree map[string]file

// sides are the contents of two trees.
type sides struct{ before, after tree }

func (s sides) Before(path string) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(s.before[path].content)), nil
}

func (s sides) After(path string) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(s.after[path].content)), nil
}

func (s sides) changes() (list []patch.Change) {
	side := func(t tree, path string) *patch.File {
		f, ok := t[path]
		switch {
		case !ok:
			return nil
		case f.mode&fs.ModeSymlink != 0:
			return &patch.File{Mode: f.mode, Target: f.content}
		}
		return &patch.File{Mode: f.mode}
	}
	all := maps.Clone(s.before)
	maps.Copy(all, s.after)
	for path := range all {
		before, was := s.before[path]
		after, is := s.after[path]
		if was != is || before != after {
			list = append(list, patch.Change{Path: path, Before: side(s.before, path), After: side(s.after, path)})
		}
	}
	return list
}

func (t tree) write(test testing.TB, dir string) {
	test.Helper()
	for path, f := range t {
		abs := filepath.Join(dir, filepath.FromSlash(path))
		err := os.MkdirAll(filepath.Dir(abs), 0o755)
		if f.mode&fs.ModeSymlink != 0 {
			err = errors.Join(err, os.Symlink(f.content, abs))
		} else {
			err = errors.Join(err, os.WriteFile(abs, []byte(f.content), 0o600), os.Chmod(abs, f.mode))
		}
		if err != nil {
			test.Fatal(err)
		}
	}
}

// read reads a directory, with the permissions that git keeps.
func read(test testing.TB, dir string) tree {
	test.Helper()
	t := tree{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(path)
			t[filepath.ToSlash(rel)] = file{fs.ModeSymlink | 0o777, target}
			return err
		}
		data, err := os.ReadFile(path)
		t[filepath.ToSlash(rel)] = file{info.Mode(), string(data)}
		return err
	})
	if err != nil {
		test.Fatal(err)
	}
	return t.kept()
}

// kept is the tree with the permissions that git keeps.
func (t tree) kept() tree {
	kept := tree{}
	for path, f := range t {
		switch {
		case f.mode&fs.ModeSymlink != 0:
		case f.mode&0o100 != 0:
			f.mode = 0o755
		default:
			f.mode = 0o644
		}
		kept[path] = f
	}
	return kept
}

func write(t testing.TB, s sides, newHash func() hash.Hash) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := patch.Write(&b, s.changes(), s, newHash); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// apply gives a patch to git apply in dir, which lies in no repository.
func apply(t testing.TB, dir string, text []byte, args ...string) {
	t.Helper()
	cmd := exec.Command(needs.Git(t), append([]string{"apply", "--whitespace=nowarn"}, args...)...)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(text)
	cmd.Env = append(git.SafeEnviron(os.Environ()), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git apply %v: %v\n%s\n%s", args, err, out, text)
	}
}

func same(t testing.TB, want, got tree, text []byte) {
	t.Helper()
	for _, path := range slices.Sorted(maps.Keys(want)) {
		if got[path] != want[path] {
			t.Errorf("%q: got %v %.200q, want %v %.200q", path, got[path].mode, got[path].content, want[path].mode, want[path].content)
		}
	}
	for path := range got {
		if _, ok := want[path]; !ok {
			t.Errorf("%q is there, and should not be", path)
		}
	}
	if t.Failed() {
		t.Fatalf("the patch was\n%.20000s", text)
	}
}

// roundTrip applies the patch from one tree to the other, and back.
func roundTrip(t testing.TB, s sides) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tree")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s.before.write(t, dir)
	text := write(t, s, sha1.New)
	apply(t, dir, text)
	same(t, s.after.kept(), read(t, dir), text)
	needs.True(t, "a git whose apply -R keeps modes", reverses(t))
	apply(t, dir, text, "-R")
	same(t, s.before.kept(), read(t, dir), text)
}

// reverses reports whether git brings a deleted link back as a link: with -R, git 2.47 makes a regular file of it.
func reverses(t testing.TB) bool {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tree")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	apply(t, dir, []byte("diff --git a/l b/l\ndeleted file mode 120000\n--- a/l\n+++ /dev/null\n@@ -1 +0,0 @@\n-to\n\\ No newline at end of file\n"), "-R")
	info, err := os.Lstat(filepath.Join(dir, "l"))
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()&fs.ModeSymlink != 0
}

// TestAnyTrees makes git apply patches between random trees, back and forth, many in one
// patch: starting git takes longer than all the rest.
func TestAnyTrees(t *testing.T) {
	t.Parallel()
	for _, seed := range sweep.Cases(t, 3, 12) {
		random := rand.New(rand.NewPCG(uint64(seed), 26))
		s := sides{tree{}, tree{}}
		for i := range 80 {
			before := randomTree(random)
			after := changed(random, before)
			for path, f := range before {
				s.before[fmt.Sprintf("%d/%s", i, path)] = f
			}
			for path, f := range after {
				s.after[fmt.Sprintf("%d/%s", i, path)] = f
			}
		}
		t.Logf("seed %d: %d files before, %d after", seed, len(s.before), len(s.after))
		roundTrip(t, s)
	}
}

// TestAnyChangesNearEachOther has git apply, and patch where it is installed, change many files of lines that are mostly
// the same at several places a few lines apart. A place that is wrong by a line still fits there.
func TestAnyChangesNearEachOther(t *testing.T) {
	t.Parallel()
	s := sides{tree{}, tree{}}
	for _, i := range sweep.Cases(t, 250, 2000) {
		before, after := textsWithNearChanges(rand.New(rand.NewPCG(uint64(i), 41)))
		path := fmt.Sprintf("%d/%d", i%100, i)
		s.before[path], s.after[path] = file{0o644, before}, file{0o644, after}
	}
	dir := filepath.Join(t.TempDir(), "tree")
	text := write(t, s, sha1.New)
	s.before.write(t, dir)
	apply(t, dir, text)
	same(t, s.after, read(t, dir), text)
	needs.Program(t, "patch")
	s.before.write(t, dir)
	cmd := exec.Command("patch", "-p1", "--binary", "--silent", "--fuzz=0", "--no-backup-if-mismatch", "--directory="+dir)
	cmd.Stdin = bytes.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("patch: %v\n%.2000s", err, out)
	}
	same(t, s.after, read(t, dir), text)
}

// textsWithNearChanges are two texts of which neither is empty: patch removes a file that becomes so.
func textsWithNearChanges(r *rand.Rand) (before, after string) {
	line := func() string { return []string{"same", "same", "same", "other", "", "x\r"}[r.IntN(6)] + "\n" }
	was := []string{"first\n"}
	for range r.IntN(40) {
		was = append(was, line())
	}
	now := slices.Clone(was)
	at := r.IntN(len(now))
	for range 1 + r.IntN(5) {
		removed := min(r.IntN(3), len(now)-at)
		added := []string{"new\n"}
		for range r.IntN(3) {
			added = append(added, line())
		}
		now = slices.Replace(now, at, at+removed, added...)
		at = min(at+len(added)+r.IntN(9), len(now))
	}
	end := func(lines []string) string {
		if text := strings.Join(lines, ""); r.IntN(4) > 0 {
			return text
		} else {
			return strings.TrimSuffix(text, "\n")
		}
	}
	return end(was), end(now)
}

var parts = []string{"a", "b", "c.go", "two words", " lead", "trail ", "qu\"ote", "back\\slash", "tab\tname", "line\nbreak", "größe",
	"日本", "bad\xffbyte", "bell\a", "del\x7f", "-dash", "a b/b", "x b", "'", "$HOME", "\x1b[31m", "e\u0301", "\u0085nel"}

// targets are those of links. None leads in a circle: git apply makes no file below a name that such a
// link has had.
var targets = []string{"nowhere", ".", "..", "../a", "/etc/passwd", "two words", "line\nbreak\n", "größe", "bad\xff"}

func randomTree(r *rand.Rand) tree {
	t := tree{}
	for range r.IntN(8) {
		t.add(randomPath(r), randomFile(r))
	}
	return t
}

func randomPath(r *rand.Rand) string {
	path := parts[r.IntN(len(parts))]
	for range r.IntN(3) {
		path += "/" + parts[r.IntN(len(parts))]
	}
	return path
}

// add adds a file, in place of all that is in its way.
func (t tree) add(path string, f file) {
	maps.DeleteFunc(t, func(other string, _ file) bool {
		return strings.HasPrefix(other, path+"/") || strings.HasPrefix(path, other+"/")
	})
	t[path] = f
}

func randomFile(r *rand.Rand) file {
	modes := []fs.FileMode{0o644, 0o755, 0o600, 0o700, 0o664, 0o444, 0o555}
	f := file{mode: modes[r.IntN(len(modes))]}
	switch r.IntN(8) {
	case 0:
		f.mode, f.content = fs.ModeSymlink|0o777, targets[r.IntN(len(targets))]
	case 1: // empty
	case 2: // binary
		data := make([]byte, r.IntN(300))
		for i := range data {
			data[i] = byte(r.IntN(256))
		}
		f.content = string(data) + "\x00"
	default:
		f.content = randomText(r)
	}
	return f
}

func randomText(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(60) {
		words := []string{"", "x", "y", "-- z", "++ z", "diff --git a/x b/x", "@@ -1 +1 @@", "tail  ", "\tin", "cr\r", "caf\xe9", "é", "\\ No newline"}
		b.WriteString(words[r.IntN(len(words))] + "\n")
	}
	s := b.String()
	if r.IntN(4) == 0 {
		s = strings.TrimSuffix(s, "\n")
	}
	return s
}

// changed is a tree after some random changes.
func changed(r *rand.Rand, before tree) tree {
	t := maps.Clone(before)
	for range 1 + r.IntN(4) {
		paths := slices.Sorted(maps.Keys(t))
		if len(paths) == 0 || r.IntN(4) == 0 {
			t.add(randomPath(r), randomFile(r))
			continue
		}
		path := paths[r.IntN(len(paths))]
		f := t[path]
		switch r.IntN(7) {
		case 0:
			delete(t, path)
		case 1: // renamed, maybe to its old name or over another
			delete(t, path)
			t.add(randomPath(r), f)
		case 2:
			if f.mode&fs.ModeSymlink == 0 {
				f.mode ^= 0o111
				t[path] = f
			}
		case 3: // another kind
			t[path] = randomFile(r)
		case 4: // below itself
			delete(t, path)
			t.add(path+"/below", f)
		case 5: // exchanged
			other := paths[r.IntN(len(paths))]
			t[path], t[other] = t[other], t[path]
		default:
			if f.mode&fs.ModeSymlink == 0 {
				lines := strings.SplitAfter(f.content, "\n")
				for range 1 + r.IntN(3) {
					i := r.IntN(len(lines))
					lines = slices.Insert(lines, i, randomText(r))
					if r.IntN(2) == 0 {
						lines = slices.Delete(lines, i, i+1)
					}
				}
				f.content = strings.Join(lines, "")
				t[path] = f
			}
		}
	}
	return t
}

func TestLargeFileIsBinary(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("0123456789abcdef\n", 1<<19)
	roundTrip(t, sides{tree{"log": {0o644, line + "end\n"}}, tree{"log": {0o644, line + "another end\n"}}})
}

// TestRepository applies patches in repositories that name objects by either hash.
func TestRepository(t *testing.T) {
	t.Parallel()
	s := sides{tree{"bin": {0o644, "a\x00b"}, "text": {0o644, "one\n"}}, tree{"bin": {0o755, "a\x00c"}, "text": {0o644, "two\n"}}}
	for format, newHash := range map[string]func() hash.Hash{"sha1": sha1.New, "sha256": sha256.New} {
		dir := t.TempDir()
		gittest.Git(t, dir, "init", "-q", "--object-format="+format)
		s.before.write(t, dir)
		gittest.Git(t, dir, "add", ".")
		name := filepath.Join(t.TempDir(), "patch")
		text := write(t, s, newHash)
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		gittest.Git(t, dir, "apply", "--index", name)
		if err := os.RemoveAll(filepath.Join(dir, ".git")); err != nil {
			t.Fatal(err)
		}
		same(t, s.after.kept(), read(t, dir), text)
	}
}

// TestNoPatchHolds checks which changes are reported as left out, and that a patch without them is still one.
func TestNoPatchHolds(t *testing.T) {
	t.Parallel()
	dir, regular := &patch.File{Mode: fs.ModeDir | 0o755}, &patch.File{Mode: 0o644}
	contents := sides{tree{}, tree{"new/file": {0o644, "x\n"}, "was-dir": {0o644, "z\n"}, "was-fifo": {0o644, "y\n"}}}
	var b bytes.Buffer
	left, err := patch.Write(&b, []patch.Change{
		{Path: "empty", After: dir},
		{Path: "new", After: dir},
		{Path: "new/file", After: regular},
		{Path: "fifo", After: &patch.File{Mode: fs.ModeNamedPipe | 0o644}},
		{Path: "was-dir", Before: dir, After: regular},
		{Path: "was-fifo", Before: &patch.File{Mode: fs.ModeNamedPipe | 0o644}, After: regular},
		{Path: "private", Before: regular, After: &patch.File{Mode: 0o600}},
		{Path: "mode", Before: dir, After: &patch.File{Mode: fs.ModeDir | 0o700}},
	}, contents, sha1.New)
	if want := []string{"empty", "fifo", "mode", "private", "was-fifo"}; err != nil || !slices.Equal(left, want) {
		t.Errorf("left out: %q, %v, want %q", left, err, want)
	}
	to := filepath.Join(t.TempDir(), "tree")
	if err := os.Mkdir(to, 0o755); err != nil {
		t.Fatal(err)
	}
	apply(t, to, b.Bytes())
	same(t, contents.after, read(t, to), b.Bytes())
}

// TestForm shows the form of a patch.
func TestForm(t *testing.T) {
	t.Parallel()
	s := sides{
		tree{"moved": {0o644, "same\n"}, "run.sh": {0o644, "#!/bin/sh\n"}, "a b": {0o644, "old\n"}},
		tree{"größe/moved": {0o644, "same\n"}, "run.sh": {0o755, "#!/bin/sh\n"}, "a b": {0o644, "new"}},
	}
	const want = `diff --git a/a b b/a b
index 3367afdbbf91e638efe983616377c60477cc6612..3e5126c4e761fd09582fc517918a1601b218dff0 100644
--- a/a b	
+++ b/a b	
@@ -1 +1 @@
-old
+new
\ No newline at end of file
diff --git a/moved b/größe/moved
similarity index 100%
rename from moved
rename to größe/moved
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
`
	if got := string(write(t, s, sha1.New)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// broken fails while a file is read.
type broken struct{ sides }

func (broken) After(string) (io.ReadCloser, error) { return nil, fs.ErrPermission }

func TestUnreadable(t *testing.T) {
	t.Parallel()
	s := sides{tree{}, tree{"x": {0o644, "x\n"}}}
	if _, err := patch.Write(io.Discard, s.changes(), broken{s}, sha1.New); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "x: ") {
		t.Errorf("err = %v", err)
	}
}
