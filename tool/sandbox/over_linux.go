//go:build amd64 || arm64

package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"artoo/tool/sandbox/launcher"
	"artoo/tool/tempdir"
)

// Over is this program once more, in a file tree in which layers lie over directories. It is not
// confined: the kernel keeps its writes there from the directories themselves, no more. It ends
// with this process. Its methods are called by one goroutine at a time.
type Over struct {
	Socket  *os.File // connected with descriptor 3 of the program
	config  OverConfig
	room    *tempdir.Dir
	begun   time.Time
	process *os.Process
	status  syscall.WaitStatus // once ended is closed
	ended   chan struct{}
	names   existing
}

// StartOver starts the program. The layers need a machine with Facts.Layer.
func StartOver(config OverConfig) (_ *Over, err error) {
	o := &Over{config: config, begun: time.Now(), ended: make(chan struct{})}
	if o.config.Dirs, err = outermost(config.Dirs); err != nil {
		return nil, fmt.Errorf("sandbox: %w", err)
	}
	if o.room, err = makeRoom(config.Layers); err != nil {
		return nil, fmt.Errorf("sandbox: layers: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("sandbox: %w", err), o.Close())
		}
	}()
	ours, theirs, err := newChannel()
	if err != nil {
		return nil, err
	}
	o.Socket = ours.file
	attr := namespaces(true)
	attr.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS
	attr.Setpgid = false // the terminal's keys reach it
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: []string{launcher.OverName}, Env: environment, Dir: "/",
		Stdin: config.Streams[0], Stdout: config.Streams[1], Stderr: config.Streams[2],
		ExtraFiles: []*os.File{theirs}, SysProcAttr: attr}
	begun := make(chan error)
	go o.parent(cmd, begun)
	err = <-begun
	theirs.Close()
	if err != nil {
		return nil, err
	}
	o.names = lookAt(o.config.Dirs)
	frame := launcher.Over{Dirs: o.config.Dirs, Dir: config.Dir, Args: config.Args(o.room.Path), Env: config.Env}
	for i := range o.config.Dirs {
		frame.Uppers = append(frame.Uppers, filepath.Join(o.room.Path, upperName(i)))
		frame.Works = append(frame.Works, filepath.Join(o.room.Path, "work"+strconv.Itoa(i)))
	}
	if err = ours.send(frame); err != nil {
		return nil, err
	}
	said, _, err := ours.receive()
	if err == nil && said.Say != launcher.SayReady {
		err = errors.New(said.Why)
	}
	return o, err
}

// parent starts the program and waits for it on one thread: the kernel ends both together.
func (o *Over) parent(cmd *exec.Cmd, begun chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(o.ended)
	err := dumpable(cmd.Start)
	o.process = cmd.Process
	begun <- err
	if err == nil {
		_ = cmd.Wait() // the state says how it ended
		o.status = cmd.ProcessState.Sys().(syscall.WaitStatus)
	}
}

// Done is closed once the program has ended.
func (o *Over) Done() <-chan struct{} { return o.ended }

// Status is how the program ended, once Done is closed.
func (o *Over) Status() syscall.WaitStatus { return o.status }

// Signal sends a signal to the program, unless it has ended.
func (o *Over) Signal(signal os.Signal) { _ = o.process.Signal(signal) }

// Changes reads the changes on the layers, without those below directories of the name ".git". A file that someone else
// made, changed or removed there since the start has moved. Changes that the program makes meanwhile may be seen in
// part. An error changes nothing.
func (o *Over) Changes(ctx context.Context) (*Changes, error) {
	c := &Changes{room: o.room.Path, roots: o.config.Dirs}
	d := differ{ctx: ctx, changes: c, begun: o.begun, hidden: map[string]bool{}, above: map[string]bool{}, buffer: make([]byte, 64<<10),
		isCache: func(rel string) bool { return filepath.Base(rel) == gitDir }}
	for i, root := range c.roots {
		d.root = i
		if err := d.entry(spot{unix.AT_FDCWD, filepath.Join(o.room.Path, upperName(i))}, spot{unix.AT_FDCWD, root}, root, false); err != nil {
			return nil, fmt.Errorf("sandbox: read the layer: %w", err)
		}
	}
	known := <-o.names
	o.names <- known
	for i, e := range d.entries {
		if !e.Before.Exists() && known.has(e.Path) {
			d.entries[i].Before.Moved = true
		}
	}
	c.Entries = slices.DeleteFunc(d.entries, func(e Change) bool {
		return slices.Contains(c.roots, e.Path) || strings.Contains(e.Path+"/", "/"+gitDir+"/")
	})
	slices.SortFunc(c.Entries, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	return c, nil
}

// Close removes the layers. It is called after Done.
func (o *Over) Close() error {
	if o.Socket != nil {
		o.Socket.Close()
	}
	return o.room.Remove()
}

const gitDir = ".git"

// existing are the paths that were there at the start, as hashes. The layer does not record whether a
// file replaced one below it.
type existing chan paths

type paths struct {
	seed   maphash.Seed
	hashes map[uint64]struct{}
}

func (p paths) has(path string) bool {
	_, there := p.hashes[maphash.String(p.seed, path)]
	return there
}

// lookAt lists directories on a goroutine of its own. A directory that cannot be read is not known.
func lookAt(dirs []string) existing {
	found := make(existing, 1)
	go func() {
		p := paths{maphash.MakeSeed(), map[uint64]struct{}{}}
		for _, dir := range dirs {
			_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				if d != nil && d.IsDir() && d.Name() == gitDir {
					return fs.SkipDir
				}
				p.hashes[maphash.String(p.seed, path)] = struct{}{}
				return nil
			})
		}
		found <- p
	}()
	return found
}
