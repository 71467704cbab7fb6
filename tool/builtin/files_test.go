package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/tool"
	"artoo/tool/files"
)

// fileWorld is a project in a temporary directory, with something outside.
type fileWorld struct {
	t       *testing.T
	env     *tool.Env
	root    string // link-free
	outside string // a directory beside the project, with secret.txt
}

func newFileWorld(t *testing.T, contents map[string]string, change ...func(*files.Config)) *fileWorld {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &fileWorld{t: t, root: filepath.Join(base, "project"), outside: filepath.Join(base, "outside")}
	w.mkdir(w.root)
	w.mkdir(w.outside)
	w.put(filepath.Join(w.outside, "secret.txt"), "outside")
	for name, content := range contents {
		w.put(w.path(name), content)
	}
	cfg := files.Config{Root: w.root}
	for _, c := range change {
		c(&cfg)
	}
	f, err := files.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	w.env = &tool.Env{Files: f, Dir: w.root}
	return w
}

func (w *fileWorld) path(name string) string { return filepath.Join(w.root, filepath.FromSlash(name)) }

func (w *fileWorld) mkdir(path string) {
	w.t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		w.t.Fatal(err)
	}
}

func (w *fileWorld) put(path, content string) {
	w.t.Helper()
	w.mkdir(filepath.Dir(path))
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *fileWorld) link(target, name string) {
	w.t.Helper()
	path := w.path(name)
	w.mkdir(filepath.Dir(path))
	if err := os.Symlink(target, path); err != nil {
		w.t.Fatal(err)
	}
}

func (w *fileWorld) content(name string) string {
	w.t.Helper()
	data, err := os.ReadFile(w.path(name))
	if err != nil {
		w.t.Fatal(err)
	}
	return string(data)
}

// names lists a directory of the project, to see leftover files.
func (w *fileWorld) names(dir string) []string {
	w.t.Helper()
	entries, err := os.ReadDir(w.path(dir))
	if err != nil {
		w.t.Fatal(err)
	}
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// call checks, plans and runs a tool as the loop does; a call that touches an Outside or Denied path is not run.
func (w *fileWorld) call(made tool.Tool, input any) (tool.Access, tool.Result, error) {
	w.t.Helper()
	raw, err := json.Marshal(input)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := made.Check(raw); err != nil {
		return tool.Access{}, tool.Result{}, err
	}
	access, err := made.Plan(context.Background(), w.env, raw)
	if err != nil || access.Outside || access.Denied {
		return access, tool.Result{}, err
	}
	env := *w.env
	env.Digest = access.Digest
	result, err := made.Run(context.Background(), &env, raw, io.Discard)
	return access, result, err
}

func (w *fileWorld) ok(made tool.Tool, input any) tool.Result {
	w.t.Helper()
	access, result, err := w.call(made, input)
	if err != nil || access.Outside || access.Denied {
		w.t.Fatalf("%s %v: %v %s", made.Name, input, err, access.Why)
	}
	return result
}

// fails runs a call that must fail with an error that has all the words.
func (w *fileWorld) fails(made tool.Tool, input any, words ...string) {
	w.t.Helper()
	_, result, err := w.call(made, input)
	if err == nil {
		w.t.Fatalf("%s %v succeeded: %s", made.Name, input, result.Text)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			w.t.Errorf("%s %v: error %q does not say %q", made.Name, input, err, word)
		}
	}
}

type in = map[string]any

func TestResolve(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"a.txt": "a", "sub/b.txt": "b", "other/c.txt": "c", ".git/config": ""})
	w.link("sub", "rel")
	w.link(w.path("sub"), "abs")
	w.link("abs/b.txt", "chain")
	w.link(filepath.Join(w.outside, "secret.txt"), "abs-out")
	w.link("../outside/secret.txt", "rel-out")
	w.link("rel-out", "chain-out")
	w.link("../outside", "dir-out")
	w.link("nowhere.txt", "dangling")
	w.link("../outside/new.txt", "dangling-out")
	w.link(".git", "git-link")
	for _, test := range []struct {
		path, display string
		outside       bool
	}{
		{path: "a.txt", display: "a.txt"},
		{path: "./sub//b.txt", display: "sub/b.txt"},
		{path: ".", display: "."},
		{path: w.root, display: "."},
		{path: w.root + "/", display: "."},
		{path: w.path("sub/b.txt"), display: "sub/b.txt"},
		{path: "sub/../a.txt", display: "a.txt"},
		{path: "no/such/../thing", display: "no/thing"},
		{path: "rel/b.txt", display: "sub/b.txt"},
		{path: "abs/b.txt", display: "sub/b.txt"},
		{path: "chain", display: "sub/b.txt"},
		{path: "dangling", display: "nowhere.txt"},
		{path: "../project/a.txt", display: "a.txt"},
		// The kernel takes .. after a link from where the link leads.
		{path: "abs/../a.txt", display: "a.txt"},
		{path: "dir-out/../project/a.txt", display: "a.txt"},
		{path: "no/../chain", display: "sub/b.txt"},
		{path: "..", outside: true},
		{path: "../project-2/x", outside: true},
		{path: "../outside/secret.txt", outside: true},
		{path: "sub/../../outside/secret.txt", outside: true},
		{path: "/etc/passwd", outside: true},
		{path: "/", outside: true},
		{path: "abs-out", outside: true},
		{path: "rel-out", outside: true},
		{path: "chain-out", outside: true},
		{path: "dir-out", outside: true},
		{path: "dir-out/secret.txt", outside: true},
		{path: "dir-out/new.txt", outside: true},
		{path: "dangling-out", outside: true},
		{path: "no/../rel-out", outside: true},
		{path: "a.txt/../rel-out", outside: true},
	} {
		place, err := w.env.Files.Resolve(test.path, true)
		if err != nil {
			t.Errorf("%s: %v", test.path, err)
			continue
		}
		if place.Outside != test.outside || !test.outside && place.Display != test.display {
			t.Errorf("%s: %+v, want display %q outside %v", test.path, place, test.display, test.outside)
		}
		if test.outside {
			if place.Why == "" {
				t.Errorf("%s: is outside, but not in words", test.path)
			}
			var refused *files.RefusedError
			if _, err := w.env.Files.Open(place.Abs); !errors.As(err, &refused) {
				t.Errorf("%s: Open says %v", test.path, err)
			}
			if _, err := w.env.Files.WriteFileAtomic(place.Abs, []byte("x"), nil); !errors.As(err, &refused) {
				t.Errorf("%s: WriteFileAtomic says %v", test.path, err)
			}
		}
	}
	for _, path := range []string{".git/config", "git-link/config", ".GIT/hooks/x", "sub/.git"} {
		if place, err := w.env.Files.Resolve(path, true); err != nil || !place.InGit || place.Why == "" || place.Denied {
			t.Errorf("%s: %+v %v, want InGit", path, place, err)
		}
	}
	if place, _ := w.env.Files.Resolve(".gitignore", true); place.InGit {
		t.Error(".gitignore counts as in .git")
	}
}

func TestResolveRefusesNonsense(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, nil)
	w.link("loop-b", "loop-a")
	w.link("loop-a", "loop-b")
	for _, path := range []string{"", " ", "a\x00b", "~", "~/x", "loop-a", "loop-a/x"} {
		if place, err := w.env.Files.Resolve(path, false); err == nil {
			t.Errorf("%q: %+v", path, place)
		}
	}
}

func TestGrants(t *testing.T) {
	t.Parallel()
	var read, write string
	w := newFileWorld(t, map[string]string{"a": "a"}, func(cfg *files.Config) {
		base := filepath.Dir(cfg.Root)
		read, write = filepath.Join(base, "read"), filepath.Join(base, "write")
		for _, dir := range []string{read, write} {
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		// The granted directory is named through a link, as /tmp is on macOS.
		if err := os.Symlink(read, filepath.Join(base, "alias")); err != nil {
			t.Fatal(err)
		}
		cfg.ReadDirs = []string{filepath.Join(base, "alias")}
		cfg.WriteDirs = []string{write}
	})
	alias := filepath.Join(filepath.Dir(w.root), "alias")
	w.put(filepath.Join(read, "x"), "x")
	for _, path := range []string{filepath.Join(alias, "x"), filepath.Join(read, "x"), "../read/x",
		filepath.Join(write, "x")} {
		if place, err := w.env.Files.Resolve(path, false); err != nil || place.Outside || place.Display != place.Abs {
			t.Errorf("reading %s: %+v %v", path, place, err)
		}
	}
	place, err := w.env.Files.Resolve(filepath.Join(alias, "x"), true)
	if err != nil || !place.Outside || !strings.Contains(place.Why, ":rw") {
		t.Errorf("writing to a read-only directory: %+v %v", place, err)
	}
	if place, err := w.env.Files.Resolve(filepath.Join(write, "x"), true); err != nil || place.Outside {
		t.Errorf("writing to a writable directory: %+v %v", place, err)
	}
	if data, err := w.readFile(filepath.Join(alias, "x"), 10); err != nil || string(data) != "x" {
		t.Errorf("ReadFile through the alias: %q %v", data, err)
	}
	if result := w.ok(Write(), in{"path": filepath.Join(write, "new"), "content": "n\n"}); result.Summary != "new, 1 line" {
		t.Errorf("write: %+v", result)
	}
}

func TestOpenFilesErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, cfg := range []files.Config{
		{Root: filepath.Join(dir, "none")},
		{Root: file},
		{Root: "relative"},
		{Root: dir, ReadDirs: []string{filepath.Join(dir, "none")}},
		{Root: dir, WriteDirs: []string{file}},
	} {
		f, err := files.Open(cfg)
		var bad *files.GrantError
		if !errors.As(err, &bad) || bad.ErrorKind() != "config" || bad.ErrorHint() == "" || bad.Unwrap() == nil {
			t.Errorf("%+v: %v", cfg, err)
		}
		if f != nil {
			f.Close()
		}
	}
}

// A link that is put in place of a file after it was judged must not be
// followed: out of the project by os.Root, inside by looking again.
func TestOpenAfterSwap(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"a.txt": "a", ".env": "TOKEN=1", "dir/x": "x"})
	judge := func(path string) files.Place {
		t.Helper()
		place, err := w.env.Files.Resolve(path, true)
		if err != nil || place.Refused() != nil {
			t.Fatalf("%s: %+v %v", path, place, err)
		}
		return place
	}
	for _, lead := range []string{".env", "../outside/secret.txt", filepath.Join(w.outside, "secret.txt"), w.path(".env")} {
		place := judge("a.txt")
		named, err := os.Lstat(place.Abs)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(w.path("a.txt")); err != nil {
			t.Fatal(err)
		}
		w.link(lead, "a.txt")
		if f, _, err := place.Open(); err == nil {
			f.Close()
			t.Errorf("a link to %s was followed", lead)
		}
		if f, _, err := place.OpenSame(named); err == nil {
			f.Close()
			t.Errorf("a link to %s that came at the last moment was followed", lead)
		}
		if _, err := place.Replaceable(); err == nil {
			t.Errorf("a link to %s may be replaced", lead)
		}
		if err := os.Remove(w.path("a.txt")); err != nil {
			t.Fatal(err)
		}
		w.put(w.path("a.txt"), "a")
	}
	place := judge("dir/secret.txt")
	if err := os.RemoveAll(w.path("dir")); err != nil {
		t.Fatal(err)
	}
	w.link("../outside", "dir")
	if f, _, err := place.Open(); err == nil {
		f.Close()
		t.Error("a directory that became a link was followed")
	}
	if err := place.Replace(nil, []byte("x"), nil); err == nil {
		t.Error("a file was written through a directory that became a link")
	}
	if got, _ := os.ReadFile(filepath.Join(w.outside, "secret.txt")); string(got) != "outside" {
		t.Errorf("the file outside is now %q", got)
	}
}

// readFile reads as the file tools do.
func (w *fileWorld) readFile(path string, limit int64) ([]byte, error) {
	place, err := w.env.Files.Resolve(path, false)
	if err != nil {
		return nil, err
	}
	data, _, err := place.ReadFile(limit)
	return data, err
}

func TestFilesReading(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"b": "12345", "a/x": "", "c": ""})
	w.link("b", "link")
	f := w.env.Files
	if _, err := w.readFile(w.path("b"), 4); !errors.Is(err, files.ErrTooLarge) {
		t.Errorf("over the limit: %v", err)
	}
	if data, err := w.readFile(w.path("link"), 5); err != nil || string(data) != "12345" {
		t.Errorf("ReadFile: %q %v", data, err)
	}
	if _, err := w.readFile(w.path("a"), 5); err == nil || !strings.Contains(err.Error(), "ls") {
		t.Errorf("ReadFile of a directory: %v", err)
	}
	if _, err := w.readFile(w.path("none"), 5); !errors.Is(err, fs.ErrNotExist) ||
		!strings.HasPrefix(err.Error(), "none: ") {
		t.Errorf("ReadFile of nothing: %v", err)
	}
	if info, err := f.Stat(w.path("link")); err != nil || info.Size() != 5 {
		t.Errorf("Stat: %v %v", info, err)
	}
	root, err := f.Resolve(w.root, false)
	if err != nil {
		t.Fatal(err)
	}
	entries, more, err := root.ReadDir(10)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff([]string{"a", "b", "c", "link"}, names); diff != "" || more || err != nil {
		t.Errorf("ReadDir: %v %v %s", more, err, diff)
	}
	if entries, more, err := root.ReadDir(2); len(entries) != 2 || !more || err != nil {
		t.Errorf("ReadDir with a limit: %v %v %v", entries, more, err)
	}
}

func TestState(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"a": "1"})
	if _, ok := w.env.Files.Seen.Of(w.path("a")); ok {
		t.Error("remembered before it was read")
	}
	w.ok(Read(), in{"path": "a"})
	seen, ok := w.env.Files.Seen.Of(w.path("a"))
	state := seen.State
	if !ok {
		t.Fatal("not remembered")
	}
	Touched := state
	Touched.ModTime = Touched.ModTime.Add(1)
	if !state.Same(Touched) {
		t.Error("the same content at another time is a change")
	}
	other := state
	other.Hash[0]++
	if state.Same(other) {
		t.Error("other content is no change")
	}
	var large files.State
	large.Size, large.ModTime = state.Size, state.ModTime
	if !state.Same(large) {
		t.Error("without a hash, size and time do not count")
	}
	large.ModTime = large.ModTime.Add(1)
	if state.Same(large) {
		t.Error("without a hash, the time does not count")
	}
	if state.Same(files.State{Missing: true}) {
		t.Error("a file that has gone is no change")
	}
}
