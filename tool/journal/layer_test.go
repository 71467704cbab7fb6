package journal

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"artoo/tool/sandbox"
)

// apply applies a layer of such contents.
func (p *project) apply(contents map[string]string, changes ...layerChange) (Report, error) {
	return p.ApplyLayer(p.t.Context(), 1, "run", changes, contentsOf(contents), Then{})
}

// layerChange is a change of a layer in the words of the journal.
type layerChange struct {
	Path, Dir, Output string
	Moved             bool
	Before, After     State
}

func (p *project) ApplyLayer(ctx context.Context, turn int, what string, changes []layerChange, from Source, then Then) (Report, error) {
	return applyLayer(p.Journal, ctx, turn, what, changes, from, then)
}

func applyLayer(j *Journal, ctx context.Context, turn int, what string, list []layerChange, from Source, then Then) (Report, error) {
	types := map[Kind]fs.FileMode{Folder: fs.ModeDir, Link: fs.ModeSymlink, Special: fs.ModeNamedPipe}
	var changes []sandbox.Change
	for _, c := range list {
		change := sandbox.Change{Path: Abs(j.cfg.Root, c.Path), Dir: cmp.Or(c.Dir, j.cfg.Root), Output: c.Output, Kind: sandbox.Modified,
			Mode: c.After.Mode | types[c.After.Kind], Target: c.After.Target}
		if c.After.Kind == Absent {
			change.Kind = sandbox.Deleted
		}
		if b := c.Before; b.Kind != Absent {
			change.Before = sandbox.Before{Mode: b.Mode | types[b.Kind], Size: b.Size, Target: b.Target, Inode: b.Stamp.Inode,
				Changed: time.Unix(0, b.Stamp.Ctime)}
		}
		change.Before.Moved = c.Moved
		changes = append(changes, change)
	}
	return j.ApplyLayer(ctx, turn, what, changes, inProject{j, from, then})
}

// Source has the new contents of a layer, by the names that the journal has for their paths.
type Source interface {
	Open(path string) (*os.File, error)
	Path(path string) string
}

// Then is what follows the files of a layer: Do, which may change the files of Paths. The zero one does nothing.
type Then struct {
	Paths []string
	Do    func(ctx context.Context) error
}

// inProject is a layer whose files are known by the names that the journal has for them.
type inProject struct {
	j *Journal
	Source
	then Then
}

func (s inProject) Touches() []string { return s.then.Paths }

func (s inProject) Replay(ctx context.Context) error {
	if s.then.Do == nil {
		return nil
	}
	return s.then.Do(ctx)
}

func (s inProject) Open(path string) (*os.File, error) {
	name, _ := s.j.named(path)
	return s.Source.Open(name)
}

func (s inProject) Path(path string) string {
	name, _ := s.j.named(path)
	return s.Source.Path(name)
}

// contentsOf is a layer whose files are copied.
type contentsOf map[string]string

func (c contentsOf) Open(path string) (*os.File, error) {
	content, ok := c[path]
	if !ok {
		return nil, fs.ErrNotExist
	}
	f, err := os.CreateTemp("", "layer-*")
	if err != nil {
		return nil, err
	}
	_, err = f.WriteString(content)
	_, err2 := f.Seek(0, io.SeekStart)
	return f, errors.Join(err, err2, os.Remove(f.Name()))
}

func (contentsOf) Path(string) string { return "" }

// upper is a layer in a directory, whose files are renamed.
type upper string

func (u upper) Open(path string) (*os.File, error) { return os.Open(u.Path(path)) }
func (u upper) Path(path string) string            { return filepath.Join(string(u), path) }

// now is the state that a line on a layer would have seen.
func (p *project) now(path string) State {
	p.t.Helper()
	state, err := p.Journal.look(p.t.Context(), path, hashOnly)
	p.ok(err)
	return state
}

func file(mode fs.FileMode) State { return State{Kind: File, Mode: mode} }

func TestALayerIsAppliedAndTakenBack(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("large\n", 400_000)
	p := newProject(t, map[string]string{"a": "a\n", "d/x": "x\n", "d/y": "y\n", "large": large, "link": "-> a"})
	start := p.look()
	changes := []layerChange{
		{Path: "a", Before: p.now("a"), After: file(0o755)},
		{Path: "d/x", Before: p.now("d/x")}, {Path: "d/y", Before: p.now("d/y")}, {Path: "d", Before: p.now("d")},
		{Path: "large", Before: p.now("large"), After: file(0o644)},
		{Path: "link", Before: p.now("link"), After: State{Kind: Link, Target: "new"}},
		{Path: "new", After: State{Kind: Folder, Mode: 0o700}}, {Path: "new/f", After: file(0o600)},
	}
	report, err := p.apply(map[string]string{"a": "A\n", "large": large + "more\n", "new/f": "f\n"}, changes...)
	p.ok(err)
	if len(report.Done) != len(changes) || len(report.Left)+len(report.Cannot) > 0 {
		t.Errorf("applied: %+v", report)
	}
	p.same(map[string]string{".": "drwxr-xr-x", "a": "-rwxr-xr-x A\n", "large": "-rw-r--r-- " + large + "more\n",
		"link": "-> new",
		"new":  "drwx------", "new/f": "-rw------- f\n"})
	p.undo(1)
	p.same(start)
}

func TestALayerOfAProjectThatChangedIsNotApplied(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*project){
		"another content":       func(p *project) { p.write("a", "b\n") },
		"the same content anew": func(p *project) { p.ok(os.Remove(p.path("a"))); p.write("a", "a\n") },
		"another mode":          func(p *project) { p.ok(os.Chmod(p.path("a"), 0o600)) },
		"a new path is there":   func(p *project) { p.write("new", "theirs\n") },
		"its directory is a link": func(p *project) {
			p.ok(os.Rename(p.path("d"), p.path("e")))
			p.write("d",
				"-> e")
		},
		"a deleted file has gone":   func(p *project) { p.ok(os.Remove(p.path("d/x"))) },
		"a directory is a file now": func(p *project) { p.ok(os.RemoveAll(p.path("d"))); p.write("d", "d\n") },
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t, map[string]string{"a": "a\n", "d/x": "x\n"})
			changes := []layerChange{{Path: "a", Before: p.now("a"), After: file(0o644)}, {Path: "new",
				After: file(0o644)},
				{Path: "d/x", Before: p.now("d/x")}, {Path: "d/z", After: file(0o644)}}
			change(p)
			start := p.look()
			report, err := p.apply(map[string]string{"a": "A\n", "new": "n\n", "d/z": "z\n"}, changes...)
			if !errors.Is(err, ErrConflict) || len(report.Left) == 0 || len(report.Done) > 0 {
				t.Errorf("%v, %+v", err, report)
			}
			p.same(start)
		})
	}
}

func TestWhatALayerMayNotBringIsLeftOut(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a": "a\n", "secret/x": "x\n", "gone/seen": "s\n", "gone/unseen": "u\n"})
	p.cfg.Denied = func(path string) bool { return strings.HasPrefix(path, "secret") }
	p.reopen()
	report, err := p.apply(map[string]string{"setuid": "s\n", "fine": "f\n", "secret/y": "y\n", "../out": "o\n",
		"a": "a\n"},
		layerChange{Path: "setuid", After: file(0o755 | fs.ModeSetuid)},
		layerChange{Path: "a", Before: p.now("a"), After: file(0o755 | fs.ModeSetgid)},
		layerChange{Path: "fifo", After: State{Kind: Special}},
		layerChange{Path: "secret/y", After: file(0o644)},
		layerChange{Path: "../out", After: file(0o644)},
		layerChange{Path: "gone/seen", Before: p.now("gone/seen")},
		layerChange{Path: "gone", Before: p.now("gone")},
		layerChange{Path: "fine", After: file(0o644)})
	p.ok(err)
	got := why(report.Left)
	for path, want := range map[string]Reason{"setuid": SetID, "a": SetID, "fifo": IsSpecial, "secret/y": IsDenied,
		filepath.Join(filepath.Dir(p.root), "out"): Outside,
		"gone": NotEmpty} {
		if got[path] != want {
			t.Errorf("%s: %q, not %q", path, got[path], want)
		}
	}
	p.same(map[string]string{".": "drwxr-xr-x", "a": "-rw-r--r-- a\n", "secret": "drwxr-xr-x",
		"secret/x": "-rw-r--r-- x\n",
		"gone":     "drwxr-xr-x", "gone/unseen": "-rw-r--r-- u\n", "fine": "-rw-r--r-- f\n"})
}

func TestADirectoryThatAFileWouldReplaceMustBeEmptyByThen(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"d/seen": "s\n", "d/unseen": "u\n"})
	start := p.look()
	_, err := p.apply(map[string]string{"d": "file\n"},
		layerChange{Path: "d/seen", Before: p.now("d/seen")}, layerChange{Path: "d", Before: p.now("d"),
			After: file(0o644)})
	if !errors.Is(err, ErrHolds) || !strings.Contains(err.Error(), "d/unseen") || strings.Contains(err.Error(), "d/seen") {
		t.Errorf("the error is %v", err)
	}
	p.same(start)
}

// Where only build output conflicts its directory is left out whole, and the rest lands.
func TestOutputThatConflictsIsLeftOutWithItsDirectory(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a": "1\n", "dist/x": "1\n", "dist/y": "1\n", "out/z": "1\n"})
	layer := func(path, output string, moved bool) layerChange {
		return layerChange{Path: path, Output: output, Before: p.now(path), Moved: moved, After: file(0o644)}
	}
	contents := map[string]string{"a": "2\n", "dist/x": "2\n", "dist/y": "2\n", "out/z": "2\n", "dist/new": "2\n"}
	land := func(moved bool) (Report, error) {
		changes := []layerChange{layer("a", "", moved), layer("dist/x", "dist", false), layer("dist/y", "dist", false),
			layer("dist/new", "dist", false), layer("out/z", "out", false)}
		p.write("dist/y", "theirs\n")
		return p.apply(contents, changes...)
	}
	start := p.look()
	start["dist/y"] = "-rw-r--r-- theirs\n"
	if report, err := land(true); !errors.Is(err, ErrConflict) || why(report.Left)["a"] != ChangedSince {
		t.Errorf("beside content that conflicts: %v, %+v", err, report)
	}
	p.same(start)
	p.write("dist/y", "1\n")
	report, err := land(false)
	p.ok(err)
	expect(t, "left", paths(report.Left), "dist/")
	p.same(map[string]string{".": "drwxr-xr-x", "a": "-rw-r--r-- 2\n", "dist": "drwxr-xr-x", "dist/x": "-rw-r--r-- 1\n",
		"dist/y": "-rw-r--r-- theirs\n", "out": "drwxr-xr-x", "out/z": "-rw-r--r-- 2\n"})
}

// The content of new build output takes no space in the journal, undo and redo bring it back and forth, and what the
// user has written to it since stays.
func TestBuildOutputIsUndoneThoughItsContentIsNotKept(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"renamed", "copied"} {
		p := newProject(t, map[string]string{"dist/x": "1\n"})
		contents := map[string]string{"dist/x": "new x\n", "dist/y": "new y\n", "source": "text\n"}
		from := Source(p.layer(contents))
		if how == "copied" {
			from = contentsOf(contents)
		}
		_, err := p.ApplyLayer(t.Context(), 1, "run", []layerChange{
			{Path: "dist/x", Output: "dist", Before: p.now("dist/x"), After: file(0o644)},
			{Path: "dist/y", Output: "dist", After: file(0o644)},
			{Path: "source", After: file(0o644)},
		}, from, Then{})
		p.ok(err)
		objects := p.files.objects
		objects.flush()
		if used := objects.bytes(); used != int64(len("text\n")) {
			t.Errorf("%s: the journal holds %d bytes of contents", how, used)
		}
		landed := p.look()
		p.undo(1)
		p.same(map[string]string{".": "drwxr-xr-x", "dist": "drwxr-xr-x", "dist/x": "-rw-r--r-- 1\n"})
		p.redo(1)
		p.same(landed)
		p.write("dist/y", "mine!\n")
		p.undo(1)
		p.same(map[string]string{".": "drwxr-xr-x", "dist": "drwxr-xr-x", "dist/x": "-rw-r--r-- 1\n",
			"dist/y": "-rw-r--r-- mine!\n"})
	}
}

func TestAnOriginalWithoutSpaceIsNamedBeforehand(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"small": "s\n", "large": strings.Repeat("l", 5000)})
	p.cfg.MaxSession = 3000
	p.reopen()
	changes := []layerChange{{Path: "large", Before: p.now("large")}, {Path: "small", Before: p.now("small")}}
	report, err := p.apply(nil, changes...)
	p.ok(err)
	expect(t, "cannot be undone", paths(report.Cannot), "large")
	for path, what := range lookAt(t, filepath.Join(p.cfg.Dir, objectsName)) {
		if len(what) > 3000 {
			t.Errorf("%s takes %d bytes", path, len(what))
		}
	}
	plan := p.planned(1, false)
	expect(t, "the plan cannot", paths(plan.Cannot), "large")
	p.undo(1)
	p.same(map[string]string{".": "drwxr-xr-x", "small": "-rw-r--r-- s\n"})
}

// mergeLines is Config.Merge for files whose parts are lines "NAME=VALUE".
func mergeLines(_ context.Context, _ string, from, to, now []byte) (merged []byte, left []string, err error) {
	parts := func(data []byte) (names []string, values map[string]string) {
		values = map[string]string{}
		for line := range strings.Lines(string(data)) {
			name, value, _ := strings.Cut(line, "=")
			names, values[name] = append(names, name), value
		}
		return names, values
	}
	_, was := parts(from)
	_, shall := parts(to)
	names, is := parts(now)
	if is["broken"] != "" {
		return nil, nil, errors.New("cannot be read")
	}
	for _, name := range names {
		switch {
		case was[name] == shall[name] || is[name] == shall[name]:
		case is[name] == was[name]:
			is[name] = shall[name]
		default:
			left = append(left, name)
		}
		if is[name] != "" {
			merged = append(merged, (name + "=" + is[name])...)
		}
	}
	return merged, left, nil
}

// A file that is changed in parts goes back part by part, over several steps, and comes again.
func TestUndoByParts(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"parts": "a=1\nb=1\nc=1\n", "other": "1\n"})
	p.cfg.Merges = func(path string) bool { return path == p.path("parts") }
	p.cfg.Merge, p.cfg.MaxFile = mergeLines, 1 // The size of one file is no limit here.
	p.reopen()
	change := func(turn int, content string) {
		t.Helper()
		dir := p.layer(map[string]string{"other": content})
		_, err := p.ApplyLayer(t.Context(), turn, "run", []layerChange{{Path: "other", Before: p.now("other"), After: file(0o644)}},
			dir, Then{Paths: []string{"parts"}, Do: func(context.Context) error { return os.WriteFile(p.path("parts"), []byte(content), 0o644) }})
		p.ok(err)
	}
	holds := func(want string) {
		t.Helper()
		if data, err := os.ReadFile(p.path("parts")); err != nil || string(data) != want {
			t.Fatalf("parts holds %q, %v; want %q", data, err, want)
		}
	}
	apply := func(n int, redo bool, left ...string) {
		t.Helper()
		plan := p.planned(n, redo)
		var names []string
		for _, l := range plan.Left {
			names = append(names, l.Path)
		}
		report := p.applied(plan)
		if !slices.Equal(names, left) || len(report.Left) > 0 {
			t.Fatalf("left %q, then %v", names, report.Left)
		}
	}
	change(1, "a=2\nb=1\nc=1\n")
	p.write("parts", "a=2\nb=1\nc=1\nuser=1\n")
	change(2, "a=2\nb=2\nc=2\nuser=1\n")
	p.write("parts", "a=2\nb=2\nc=7\nuser=2\n")
	p.reopen()
	apply(2, false, "parts: c")
	holds("a=1\nb=1\nc=7\nuser=2\n")
	p.write("parts", "a=1\nb=1\nc=7\nuser=3\n")
	apply(1, true)
	holds("a=2\nb=2\nc=7\nuser=3\n")
	p.write("parts", "broken=1\n")
	apply(1, false, "parts")
	holds("broken=1\n")
}

// A file that the user replaces by a link, and back, while it is looked at is one of both, or is being written to;
// nothing else is wrong with it.
func TestAFileThatBecomesALinkIsReadAsOneOfBoth(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a": "0\n"})
	over, saved := make(chan bool), make(chan error)
	go func() {
		for i := 0; ; i++ {
			select {
			case <-over:
				saved <- nil
				return
			default:
			}
			if err := edit(p.path("a"), i*2, "x\n"); err != nil {
				saved <- err
				return
			}
		}
	}()
	for range 10_000 {
		if _, err := p.Journal.look(t.Context(), "a", hashOnly); err != nil && !errors.Is(err, errUnsteady) {
			t.Error(err)
			break
		}
	}
	close(over)
	p.ok(<-saved)
}
