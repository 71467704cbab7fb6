//go:build unix

package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"artoo/tool/needs"
	"artoo/tool/sweep"
)

// copied is a layer in a directory, whose files are not renamed.
type copied struct{ upper }

func (copied) Path(string) string { return "" }

// layer is a directory with such files.
func (p *project) layer(files map[string]string) upper {
	p.t.Helper()
	dir := upper(p.t.TempDir())
	for path, content := range files {
		p.ok(write(dir.Path(path), content))
	}
	return dir
}

// P7: holes are neither read nor written.
func TestAFileOfHolesLandsAtOnce(t *testing.T) {
	t.Parallel()
	const size = 900 << 30
	for name, source := range map[string]func(upper) Source{
		"renamed": func(u upper) Source { return u },
		"copied":  func(u upper) Source { return copied{u} },
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t, map[string]string{"a": "a\n"})
			dir := p.layer(map[string]string{"big": "data\n", "a": ""})
			needs.Thing(t, "large files with holes", os.Truncate(dir.Path("big"), size))
			p.ok(os.Truncate(dir.Path("a"), size))
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			changes := []layerChange{{Path: "a", Before: p.now("a"), After: file(0o644)}, {Path: "big", After: file(0o600)}}
			_, err := p.ApplyLayer(ctx, 1, "run", changes, source(dir), Then{})
			p.ok(err)
			for _, path := range []string{"a", "big"} {
				st, blocks, err := statBlocks(unix.AT_FDCWD, p.path(path))
				if err != nil || st.size != size || blocks > 1<<20 {
					t.Errorf("%s: %d bytes, %d on the disk, %v", path, st.size, blocks, err)
				}
			}
			// The next line removes both, and the originals are kept.
			_, err = p.ApplyLayer(ctx, 2, "run", []layerChange{{Path: "a", Before: p.now("a")},
				{Path: "big", Before: p.now("big")}}, nil, Then{})
			p.ok(err)
			for _, n := range []int{1, 1} {
				plan, err := p.Plan(ctx, n, false)
				p.ok(err)
				_, err = p.Apply(ctx, plan)
				p.ok(err)
			}
			data, err := os.ReadFile(p.path("a"))
			if err != nil || string(data) != "a\n" {
				t.Errorf("a is %q, %v", data, err)
			}
			if info, err := os.Stat(p.path("big")); err != nil || info.Size() != size { // No content of it was kept.
				t.Errorf("big: %v, %v", info, err)
			}
		})
	}
}

// Files that cargo builds have two names: such a file cannot be renamed from the layer.
func TestNewNamesOfOneFileLand(t *testing.T) {
	t.Parallel()
	p := newProject(t, nil)
	dir := p.layer(map[string]string{"first": "one\n"})
	p.ok(os.Link(dir.Path("first"), dir.Path("second")))
	_, err := p.ApplyLayer(t.Context(), 1, "run", []layerChange{{Path: "first", After: file(0o644)},
		{Path: "second", After: file(0o644)}}, dir, Then{})
	p.ok(err)
	for _, path := range []string{"first", "second"} {
		if data, err := os.ReadFile(p.path(path)); err != nil || string(data) != "one\n" {
			t.Errorf("%s is %q, %v", path, data, err)
		}
	}
}

// A landing that is stopped at any point is undone, and the layer is whole again.
func TestALandingThatIsStoppedIsTakenBack(t *testing.T) {
	t.Parallel()
	for stopAt := int64(1); ; stopAt++ {
		p := newProject(t, map[string]string{"a": "a\n", "gone": "g\n", "d/x": "x\n"})
		dir := p.layer(map[string]string{"a": "A\n", "new/f": "f\n"})
		start, layer := p.look(), lookAt(t, string(dir))
		ctx, cancel := context.WithCancel(t.Context())
		var n atomic.Int64 // Contents are written by another goroutine.
		p.Journal.at = func(string) error {
			if n.Add(1) == stopAt {
				cancel()
			}
			return nil
		}
		_, err := p.ApplyLayer(ctx, 1, "run", []layerChange{{Path: "a", Before: p.now("a"), After: file(0o644)},
			{Path: "gone", Before: p.now("gone")}, {Path: "d/x", Before: p.now("d/x")}, {Path: "d", Before: p.now("d")},
			{Path: "new", After: State{Kind: Folder, Mode: 0o755}}, {Path: "new/f", After: file(0o644)}}, dir, Then{})
		if n.Load() < stopAt {
			break
		}
		if err == nil {
			continue // only its record was missing
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("stopped at %d: %v", stopAt, err)
		}
		p.same(start)
		if got := lookAt(t, string(dir)); !maps.Equal(got, layer) {
			t.Errorf("stopped at %d the layer holds %v", stopAt, got)
		}
		p.quarantines()
	}
}

// Times come from the layer, other attributes do not.
func TestModificationTimesLandAndAttributesDoNot(t *testing.T) {
	t.Parallel()
	written := time.Date(2001, 2, 3, 4, 5, 6, 7, time.UTC)
	for _, source := range []func(upper) Source{func(u upper) Source { return u }, func(u upper) Source { return copied{u} }} {
		p := newProject(t, nil)
		dir := p.layer(map[string]string{"f": "f\n"})
		p.ok(os.Chtimes(dir.Path("f"), written, written))
		if err := unix.Setxattr(dir.Path("f"), "user.artoo", []byte("x"), 0); err != nil {
			t.Log("without attributes: ", err)
		}
		_, err := p.ApplyLayer(t.Context(), 1, "run", []layerChange{{Path: "f", After: file(0o640)}}, source(dir), Then{})
		p.ok(err)
		info, err := os.Stat(p.path("f"))
		if err != nil || !info.ModTime().Equal(written) || info.Mode() != 0o640 {
			t.Errorf("%v, %v, %v", info.ModTime(), info.Mode(), err)
		}
		if n, err := unix.Listxattr(p.path("f"), nil); err == nil && n > 0 {
			t.Errorf("%d bytes of attributes", n)
		}
	}
}

// The step after the files belongs to the landing: its error reverts everything, and undo reverts both.
func TestAStepThatFollowsBelongsToTheLanding(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a": "a\n", ".git/HEAD": "main\n", ".git/index": "1\n"})
	start := p.look()
	land := func(fails error) error {
		_, err := p.ApplyLayer(t.Context(), 1, "run", []layerChange{{Path: "a", Before: p.now("a"), After: file(0o644)}},
			p.layer(map[string]string{"a": "A\n"}), Then{Paths: []string{".git/HEAD", p.path(".git/index"), ".git/refs/new"},
				Do: func(context.Context) error {
					if data, err := os.ReadFile(p.path("a")); err != nil || string(data) != "A\n" {
						t.Errorf("before it came %q, %v", data, err)
					}
					p.write(".git/HEAD", "other\n")
					p.ok(os.Remove(p.path(".git/index")))
					p.write(".git/refs/new", "1\n")
					return fails
				}})
		return err
	}
	failed := errors.New("failed")
	if err := land(failed); !errors.Is(err, failed) {
		t.Errorf("%v", err)
	}
	p.same(start)
	p.ok(land(nil))
	end := p.look()
	p.backAndForth(start, end)
}

// A file that a program has open for writing is not replaced: their writes would be lost. If it is opened meanwhile,
// everything goes back before they write.
func TestAFileThatIsOpenForWritingIsNotReplaced(t *testing.T) {
	t.Parallel()
	needs.True(t, "leases", runtime.GOOS == "linux")
	p := newProject(t, map[string]string{"a": "a\n", "gone": "g\n"})
	start := p.look()
	changes := []layerChange{{Path: "a", Before: p.now("a"), After: file(0o644)}, {Path: "gone", Before: p.now("gone")}}
	for _, path := range []string{"a", "gone"} {
		open, err := os.OpenFile(p.path(path), os.O_WRONLY, 0)
		p.ok(err)
		report, err := p.apply(map[string]string{"a": "A\n"}, changes...)
		if !errors.Is(err, ErrConflict) || why(report.Left)[path] != ChangedSince {
			t.Errorf("%v, %+v", err, report)
		}
		p.same(start)
		p.ok(open.Close())
	}
	// Through its other name the original can still be opened when it has left.
	wrote := make(chan error)
	_, err := p.ApplyLayer(t.Context(), 1, "run", changes[:1], contentsOf{"a": "A\n"}, Then{Do: func(context.Context) error {
		q, err := p.openQuarantine(false)
		if err != nil {
			return err
		}
		slot, _, _ := q.find(changes[0].Before)
		fd, err := unix.Openat(int(q.dir.Fd()), slot, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return fmt.Errorf("opened as %d: %w", fd, err)
		}
		go func() { wrote <- os.WriteFile(p.path("gone"), []byte("theirs\n"), 0o644) }() // not part of it
		return nil
	}})
	p.ok(<-wrote)
	if !errors.Is(err, ErrConflict) {
		t.Errorf("%v", err)
	}
	start["gone"] = "-rw-r--r-- theirs\n"
	p.same(start)
}

// A program that artoo starts holds for a moment the files that artoo has open: that is no program that writes to them.
func TestAFileThatIsOpenForAMomentIsReplaced(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a": "a\n"})
	open, err := os.OpenFile(p.path("a"), os.O_WRONLY, 0)
	p.ok(err)
	closed := make(chan error)
	time.AfterFunc(40*time.Millisecond, func() { closed <- open.Close() })
	_, err = p.apply(map[string]string{"a": "A\n"}, layerChange{Path: "a", Before: p.now("a"), After: file(0o644)})
	p.ok(err)
	p.ok(<-closed)
}

// Writes to an original that has left the project go back with it.
func TestAnOriginalThatWasWrittenToMeanwhileGoesBack(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a": "a\n", "gone": "g\n"})
	before := map[string]State{"a": p.now("a"), "gone": p.now("gone")}
	start := p.look()
	_, err := p.ApplyLayer(t.Context(), 1, "run", []layerChange{{Path: "a", Before: before["a"], After: file(0o644)},
		{Path: "gone", Before: before["gone"]}}, contentsOf{"a": "A\n"}, Then{Do: func(context.Context) error {
		for _, was := range before {
			q, err := p.openQuarantine(false)
			if err != nil {
				return err
			}
			slot, _, _ := q.find(was)
			if err := os.Chtimes(filepath.Join(q.dir.Name(), slot), time.Time{}, time.Unix(1e9, 0)); err != nil {
				return err
			}
		}
		return nil
	}})
	if !errors.Is(err, ErrConflict) {
		t.Errorf("%v", err)
	}
	p.same(start)
	for path, was := range before {
		if now := p.now(path); now.Stamp.Inode != was.Stamp.Inode || now.Stamp.Mtime != 1e18 {
			t.Errorf("%s is %+v, not %+v", path, now.Stamp, was.Stamp)
		}
	}
}

// Plan and Apply end with their context, and change nothing then.
func TestAnUndoEndsWithItsContext(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a": "1\n", "b": "1\n"})
	p.command(1, func() { p.write("a", "2\n"); p.write("b", "2\n"); p.write("new", "n\n") })
	start := p.look()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Plan(over, 1, false); !errors.Is(err, context.Canceled) {
		t.Errorf("the plan: %v", err)
	}
	for at := 1; at < 8; at++ {
		plan := p.planned(1, false)
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		p.Journal.at = func(string) error {
			if n++; n == at {
				cancel()
			}
			return nil
		}
		if _, err := p.Apply(ctx, plan); n >= at && err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("stopped at %d: %v", at, err)
			}
			p.same(start)
			continue
		}
		p.redo(1)
		p.same(start)
	}
}

// TestNoEditOfTheUserIsLostWhileAnyLayerLands saves files in the ways that editors do,
// while layers change the same files.
func TestNoEditOfTheUserIsLostWhileAnyLayerLands(t *testing.T) {
	t.Parallel()
	edits := sweep.Cases(t, 120, 1000)
	p := newProject(t, map[string]string{"a": "0\n", "d/b": "0\n", "other/b": "0\n"})
	dir := upper(t.TempDir())
	landed := 0
	for _, i := range edits {
		path, content := []string{"a", "d/b"}[i%2], fmt.Sprintf("edit %d %s\n", i, strings.Repeat("x", i%5000))
		before := p.now(path)
		p.ok(write(dir.Path(path), fmt.Sprintf("layer %d\n", i)))
		at := int64(i % 6)
		var n atomic.Int64
		began, edited := make(chan bool), make(chan error)
		p.Journal.at = func(string) error {
			if n.Add(1) == at+1 {
				close(began)
			}
			return nil
		}
		go func() {
			<-began
			edited <- edit(p.path(path), i, content)
		}()
		_, err := p.ApplyLayer(t.Context(), i, "run", []layerChange{{Path: path, Before: before, After: file(0o644)}}, dir, Then{})
		if n.Load() <= at {
			close(began)
		}
		p.ok(<-edited)
		if err == nil {
			landed++
		} else if !errors.Is(err, ErrConflict) {
			t.Fatalf("landing %d: %v", i, err)
		}
		if data, err := os.ReadFile(p.path(path)); err != nil || string(data) != content {
			t.Fatalf("edit %d is lost: there is %.30q, %v", i, data, err)
		}
		if info, err := os.Lstat(p.path(path)); err != nil || info.Mode()&fs.ModeSymlink != 0 {
			p.ok(errors.Join(err, os.Remove(p.path(path)), os.WriteFile(p.path(path), []byte(content), 0o644)))
		}
	}
	t.Logf("%d of %d landed", landed, len(edits))
}

// edit is one save: by a rename, in place, or by a link.
func edit(path string, how int, content string) error {
	temp := path + ".save"
	switch how % 3 {
	case 0:
		return errors.Join(os.WriteFile(temp, []byte(content), 0o644), os.Rename(temp, path))
	case 1:
		return os.WriteFile(path, []byte(content), 0o644)
	}
	target := path + ".target"
	return errors.Join(os.WriteFile(target, []byte(content), 0o644), os.Symlink(filepath.Base(target), temp),
		os.Rename(temp, path))
}

// BenchmarkLanding measures the cost of landing a file of a layer, by
// the clock and by the time of the processor, which other programs disturb less.
func BenchmarkLanding(b *testing.B) {
	const files = 5000
	var cpu time.Duration
	for b.Loop() {
		b.StopTimer()
		base, err := filepath.EvalSymlinks(b.TempDir())
		if err != nil {
			b.Fatal(err)
		}
		root, dir := filepath.Join(base, "project"), upper(filepath.Join(base, "upper"))
		changes := make([]layerChange, 0, files+files/20)
		for i := range files {
			sub := fmt.Sprintf("package%03d", i/20)
			if i%20 == 0 {
				changes = append(changes, layerChange{Path: sub, After: State{Kind: Folder, Mode: 0o755}})
			}
			path := fmt.Sprintf("%s/file%02d.go", sub, i%20)
			if err := write(dir.Path(path), strings.Repeat("line\n", 100+i%500)); err != nil {
				b.Fatal(err)
			}
			changes = append(changes, layerChange{Path: path, After: file(0o644)})
		}
		if err := os.Mkdir(root, 0o755); err != nil {
			b.Fatal(err)
		}
		j, err := Open(Config{Dir: filepath.Join(base, "state", "s1"), Root: root})
		if err != nil {
			b.Fatal(err)
		}
		unix.Sync()
		before := cpuTime(b)
		b.StartTimer()
		if _, err := applyLayer(j, b.Context(), 1, "run", changes, dir, Then{}); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		cpu += cpuTime(b) - before
		if err := j.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*files), "µs/entry")
	b.ReportMetric(float64(cpu.Microseconds())/float64(b.N*files), "cpu-µs/entry")
}

func cpuTime(b *testing.B) time.Duration {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// Text that the user saves, after a landing, to a file that it has replaced comes back beside the new one: without
// leases nothing else reports it.
func TestALateSaveComesBackAsYours(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"b": "b\n", "b.yours": "b.yours\n", "gone/b": "g\n", "same": "same\n",
		"touched": "touched\n"})
	p.most = 0
	changes := []layerChange{{Path: "b", Before: p.now("b"), After: file(0o644)}, {Path: "gone/b", Before: p.now("gone/b")},
		{Path: "gone", Before: p.now("gone")}, {Path: "same", Before: p.now("same"), After: file(0o644)},
		{Path: "touched", Before: p.now("touched"), After: file(0o644)}}
	open := map[string]*os.File{}
	for _, path := range []string{"b", "gone/b", "same", "touched"} {
		file, err := os.OpenFile(p.path(path), os.O_WRONLY, 0)
		p.ok(err)
		defer file.Close()
		open[path] = file
	}
	_, err := p.apply(contentsOf{"b": "artoo's\n", "same": "artoo's\n", "touched": "artoo's\n"}, changes...)
	p.ok(err)
	for path, text := range map[string]string{"b": "saved\n", "gone/b": "saved too\n", "touched": "touched\n"} {
		_, err := open[path].WriteString(text)
		p.ok(err)
	}
	yours, err := p.Late()
	p.ok(err)
	expect(t, "yours", yours, "b.yours-2", "b.yours-3")
	now := p.look()
	got := []string{now["b"], now["b.yours"], now["b.yours-3"], now["b.yours-2"], now["same.yours"], now["touched.yours"]}
	slices.Sort(got)
	expect(t, "there are", got, "", "", "-rw-r--r-- artoo's\n", "-rw-r--r-- b.yours\n", "-rw-r--r-- saved\n",
		"-rw-r--r-- saved too\n")
	if _, err := open["b"].WriteString("again\n"); err != nil {
		t.Error(err)
	}
	if again, err := p.Late(); err != nil || len(again) > 0 {
		t.Errorf("the second time: %v, %v", again, err)
	}
}

// Directories in each other land, and go, in a time that their number and length decide.
func TestDeepDirectoriesLandAndGo(t *testing.T) {
	t.Parallel()
	p := newProject(t, map[string]string{"a": "a\n"})
	start := p.look()
	var changes []layerChange
	for n := 1; n <= 700; n++ {
		changes = append(changes, layerChange{Path: strings.Repeat("z/", n-1) + "z", After: State{Kind: Folder, Mode: 0o755}})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	report, err := p.ApplyLayer(ctx, 1, "run", changes, contentsOf{}, Then{})
	p.ok(err)
	if len(report.Done) != len(changes) {
		t.Errorf("%d landed", len(report.Done))
	}
	plan, err := p.Plan(ctx, 1, false)
	p.ok(err)
	_, err = p.Apply(ctx, plan)
	p.ok(err)
	p.same(start)
}
