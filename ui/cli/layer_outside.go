package cli

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/tool/journal"
	"artoo/tool/names"
	"artoo/tool/sandbox"
	"artoo/tool/text"
	"artoo/ui/headless"
)

// outsider is an artoo that lets another one work on layers over the project, and lands or prints the
// changes of that one.
type outsider struct {
	workspace *workspace
	over      *sandbox.Over
	options   agent.ProjectOptions
	landed    bool
	kept      bool // the changes are in a file
}

// longestPatch bounds the reading of the changes after the end, longestLastPatch after a second signal.
const (
	longestPatch     = time.Minute
	longestLastPatch = 10 * time.Second
)

// runOnLayer runs this program once more, on a layer.
func (w *workspace) runOnLayer(ctx context.Context) error {
	opt, err := w.options(ctx)
	if err != nil {
		return err
	}
	if !w.facts.Layer {
		return w.layerLack(w.layerOption())
	}
	o := &outsider{workspace: w, options: opt}
	w.recover(opt.Env.Environ)
	state, err := w.cfg.Paths.StateDir()
	if err != nil {
		return err
	}
	dirs := append([]string{w.project.Root}, w.addedDirs().Write...)
	if w.project.Common != "" {
		dirs = append(dirs, w.project.Common)
	}
	ctx, signals := w.watch(ctx, w.process.Out, w.process.Err)
	layers := filepath.Join(state, "layers")
	o.over, err = sandbox.StartOver(sandbox.OverConfig{Dirs: dirs, Layers: layers, Dir: w.project.Dir,
		Args: func(dir string) []string {
			return slices.Concat([]string{os.Args[0], onLayerArgument + dir}, w.process.Args)
		},
		Env: w.sameEnviron(), Streams: [3]*os.File{w.process.In, w.process.Out, w.process.Err}})
	if err != nil {
		return fail(agent.KindConfig, w.layerOption(), err, "artoo doctor")
	}
	signal.Ignore(syscall.SIGQUIT) // the other one leaves its trace
	stop := context.AfterFunc(ctx, func() { o.over.Signal(signals.Caught()) })
	defer stop()
	settled := make(chan struct{})
	signals.Last(func() { // The other one ends now; its changes are kept all the same.
		o.over.Signal(syscall.SIGKILL)
		select {
		case <-settled:
		case <-time.After(longestLastPatch):
		}
	})
	var serving sync.WaitGroup
	serving.Go(func() { o.serve(ctx) })
	<-o.over.Done()
	serving.Wait()
	err = o.settle(signals)
	close(settled)
	if closeErr := o.over.Close(); closeErr != nil {
		w.warn(closeErr.Error())
	}
	return err
}

// sameEnviron is the environment of this process, with the PATH that it was given.
func (w *workspace) sameEnviron() []string {
	if w.path == "" {
		return w.process.Environ
	}
	return w.process.Environ.With("PATH", w.path)
}

// settle is the outcome of the run, once the other one has ended.
func (o *outsider) settle(signals *headless.Signals) error {
	if o.landed {
		return exitStatus(0)
	}
	ctx, cancel := context.WithTimeout(context.Background(), longestPatch)
	defer cancel()
	status, conflict := o.over.Status(), ""
	var err error
	switch {
	case o.workspace.cfg.Output == string(headless.Patch):
		conflict, err = o.print(ctx)
	case !o.kept:
		var answer reply
		if answer, err = o.keep(ctx, ""); err == nil {
			o.workspace.noteAll(answer.Notes)
		}
	}
	signal, signaled := status.Signal(), status.Signaled() && status.Signal() != syscall.SIGKILL
	if sent, ok := signals.Caught().(syscall.Signal); ok && status.Signaled() && !signaled { // after a second one
		signal, signaled = sent, true
	}
	switch {
	case errors.Is(err, syscall.EPIPE):
		signals.Broken(err)
		signals.Die()
	case err != nil:
		o.workspace.show(agent.Classify(err))
	case signaled:
		signals.Stop(signal)
		signals.Die()
	}
	switch {
	case signaled:
		return exitStatus(128 + int(signal))
	case status.Signaled():
		return fail(agent.KindInternal, o.workspace.layerOption(), errors.New("the artoo on the layer was killed"), "again")
	case status.ExitStatus() != 0:
		return exitStatus(status.ExitStatus())
	case err != nil:
		return exitStatus(1)
	case conflict != "":
		return fail(agent.KindConflict, "patch", errors.New("changed by others since the start: "+conflict),
			"the patch is made for these files as they are now")
	case o.workspace.cfg.Until != "":
		return fail(agent.KindInternal, "nothing landed", errors.New("the artoo on the layer did not ask for it"), "report it")
	}
	return exitStatus(0)
}

// serve answers the other one until it ends.
func (o *outsider) serve(ctx context.Context) {
	in := bufio.NewReader(o.over.Socket)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var r request
		var answer reply
		if err = json.Unmarshal(line, &r); err == nil {
			err = o.workspace.guarded(func() (err error) { answer, err = o.do(ctx, r); return err })
		}
		if err != nil {
			answer.Error = err.Error()
		}
		if line, err = json.Marshal(answer); err == nil {
			_, err = o.over.Socket.Write(append(line, '\n'))
		}
		if err != nil {
			return // it has ended
		}
	}
}

func (o *outsider) do(ctx context.Context, r request) (reply, error) {
	switch r.Do {
	case doState:
		changes, err := o.changes(ctx)
		if err != nil {
			return reply{}, err
		}
		state, err := hashOf(changes)
		return reply{State: state}, err
	case doLand:
		return o.land(ctx, r)
	case doKeep:
		return o.keep(context.WithoutCancel(ctx), r.Dir)
	}
	return reply{}, fmt.Errorf("no such request: %q", r.Do)
}

// changes are the changes on the layers, without git's own data, and without new caches of tools that git ignores, or
// that are in no repository.
func (o *outsider) changes(ctx context.Context) (*sandbox.Changes, error) {
	changes, err := o.over.Changes(ctx)
	if err != nil {
		return nil, err
	}
	changes.Entries = slices.DeleteFunc(changes.Entries, func(c sandbox.Change) bool {
		return o.workspace.project.Common != "" && names.Within(o.workspace.project.Common, c.Path)
	})
	var caches []string
	cache := func(c sandbox.Change) string { // with a slash behind a directory; "" for another path
		rel, ok := names.Relative(c.Dir, c.Path)
		switch {
		case c.Before.Exists() || !ok || !permission.IsCache(rel):
			return ""
		case c.Mode.IsDir():
			return c.Path + "/"
		}
		return c.Path
	}
	for _, c := range changes.Entries {
		if path := cache(c); path != "" {
			caches = append(caches, path)
		}
	}
	if len(caches) == 0 {
		return changes, nil
	}
	ignored := o.workspace.project.IgnoredSince(ctx, o.options.Env.Environ, o.workspace.began, caches)
	changes.Entries = slices.DeleteFunc(changes.Entries, func(c sandbox.Change) bool {
		path := cache(c)
		return path != "" && (!o.workspace.project.Git || ignored[path])
	})
	return changes, nil
}

// hashOf is a hash of all that was changed.
func hashOf(changes *sandbox.Changes) (string, error) {
	sum := sha256.New()
	for _, c := range changes.Entries {
		fmt.Fprintf(sum, "%q %s %o %q\n", c.Path, c.Kind, c.Mode, c.Target)
		if c.Kind == sandbox.Deleted || !c.Mode.IsRegular() {
			continue
		}
		file, err := changes.Open(c.Path)
		if err != nil {
			return "", err
		}
		_, err = io.Copy(sum, file)
		if err = errors.Join(err, file.Close()); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// land lands the changes: all or nothing. The error means that nothing landed.
func (o *outsider) land(ctx context.Context, r request) (reply, error) {
	answer, err := o.apply(ctx, r)
	return answer.after(o.landed, err)
}

// after is the answer to a landing with the error of a later step: nothing reverts the landing.
func (r reply) after(landed bool, err error) (reply, error) {
	if landed && err != nil {
		r.Notes = append(r.Notes, "the changes landed; a later step failed: "+err.Error())
		err = nil
	}
	return r, err
}

// apply applies the changes as one step of the session's journal, and sets landed. An error may come after it.
func (o *outsider) apply(ctx context.Context, r request) (answer reply, err error) {
	changes, err := o.changes(ctx)
	if err != nil {
		return answer, err
	}
	if len(changes.Entries) == 0 {
		o.landed = true
		return reply{Notes: []string{"nothing was changed"}}, nil
	}
	trials, err := agent.NewTrials(o.options)
	if err != nil {
		return answer, err
	}
	defer func() { err = errors.Join(err, trials.Close()) }()
	if err := trials.KeepIn(r.Session, r.Turn); err != nil {
		return answer, err
	}
	report, err := trials.Over(changes).Keep(ctx, "run until "+o.workspace.cfg.Until)
	left := journal.Named(report.Left)
	switch failure, _ := errors.AsType[*agent.Failure](err); {
	case failure != nil && failure.Kind == agent.KindConflict:
		return reply{Conflict: text.UpTo(mostNamedPaths, left)}, nil
	case err != nil:
		return answer, err
	}
	o.landed = true
	answer.Notes = []string{"landed: " + text.Count(len(report.Done), "path")}
	if len(left) > 0 {
		answer.Notes = append(answer.Notes, "not landed: "+text.UpTo(mostNamedPaths, left))
	}
	if len(report.Cannot) > 0 {
		answer.Notes = append(answer.Notes, "cannot be undone: "+text.UpTo(mostNamedPaths, journal.Named(report.Cannot)))
	}
	return answer, nil
}

// mostNamedPaths is how many paths a line names.
const mostNamedPaths = 10

// keep writes the changes to a file of their own in a directory, "" for artoo's.
func (o *outsider) keep(ctx context.Context, dir string) (answer reply, err error) {
	changes, err := o.changes(ctx)
	if err != nil || len(changes.Entries) == 0 {
		return answer, err
	}
	if dir == "" {
		state, err := o.workspace.cfg.Paths.StateDir()
		if err != nil {
			return answer, err
		}
		dir = filepath.Join(state, "patches")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return answer, err
	}
	file, err := os.CreateTemp(dir, "changes-*.patch")
	if err != nil {
		return answer, err
	}
	notes, err := o.write(ctx, file, changes)
	if err = errors.Join(err, file.Close()); err != nil {
		return answer, err
	}
	o.kept = true
	return reply{Patch: file.Name(), Notes: append(notes, "the changes did not land; they are in "+file.Name())}, nil
}

// print writes the changes to stdout. conflict names the files that others changed as well.
func (o *outsider) print(ctx context.Context) (conflict string, err error) {
	changes, err := o.changes(ctx)
	if err != nil {
		return "", err
	}
	var moved []string
	for _, c := range changes.Entries {
		if c.Before.Moved && !c.Mode.IsDir() {
			moved = append(moved, strings.TrimPrefix(c.Path, o.workspace.project.Root+"/"))
		}
	}
	notes, err := o.write(ctx, o.workspace.process.Out, changes)
	if err != nil {
		return "", &agent.Failure{Kind: agent.KindInternal, What: "stdout", Err: err, Hint: "check where stdout goes: a full disk, or a reader that left"}
	}
	o.workspace.noteAll(notes)
	return text.UpTo(mostNamedPaths, moved), nil
}

// write writes the changes of the project as a patch. notes name those that it lacks.
func (o *outsider) write(ctx context.Context, w io.Writer, changes *sandbox.Changes) (notes []string, err error) {
	trials, err := agent.NewTrials(o.options)
	if err != nil {
		return nil, err
	}
	left, err := trials.Over(changes).Patch(ctx, w)
	if len(left) > 0 {
		notes = []string{notInPatch(left)}
	}
	return notes, errors.Join(err, trials.Close())
}
