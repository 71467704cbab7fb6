package agent

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"artoo/agent/confine"
	"artoo/agent/permission"
	"artoo/conversation"
	"artoo/tool/git"
	"artoo/tool/journal"
	"artoo/tool/patch"
	repository "artoo/tool/project"
	"artoo/tool/sandbox"
	"artoo/tool/shell"
)

// Trials runs commands that the user typed on layers over a project, where there is no conversation, and lands what is
// kept of them. They have no network, and the project's own programs may run. Its methods are called by one goroutine at
// a time.
type Trials struct {
	calls *calls
	parts *projectParts
	// turn is the one of which changes are kept.
	turn int
}

// NewTrials makes the Trials of a project. It needs Workspace; of Options only Env, Policy, Skills and Notice
// count. Without layers the error is a *Failure.
func NewTrials(opt ProjectOptions) (t *Trials, err error) {
	if err := needLayers(*opt.Confinement); err != nil {
		return nil, err
	}
	p := newProjectParts(&opt)
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	policy := *opt.Policy
	policy.Mode = permission.ModeAsk // The mode does not apply to commands that a user typed.
	opt.Policy = &policy
	if err := p.workspace.openFiles(opt.Env, opt.Policy, nil); err != nil {
		return nil, err
	}
	p.closers = append(p.closers, opt.Env.Files.Close)
	p.makeConfiner()
	s := &session{opt: opt.Options, conv: conversation.New(conversation.Config{}, nil)}
	k := &keeper{session: s, approved: new(madeFiles)}
	return &Trials{calls: &calls{session: s, keeper: k, cb: &serial{cb: NopCallbacks{}}}, parts: p}, nil
}

// KeepIn opens the journal in which trials keep changes: that of a session, "" for one that is not kept. They are of
// this turn, which counts from 1.
func (t *Trials) KeepIn(session string, turn int) (err error) {
	k, p := t.calls.keeper, t.parts
	if k.journal, err = p.openJournal(session, ""); err == nil {
		p.closers = append(p.closers, k.journal.Close)
		t.turn = turn
	}
	return err
}

// needLayers is the error that says why no command runs on a layer here; nil where one does.
func needLayers(facts sandbox.Facts) error {
	if facts.Layer {
		return nil
	}
	f := &Failure{Kind: KindConfig, What: "layers", Err: errors.New("this machine cannot make a throwaway copy"), Hint: "artoo doctor"}
	for _, lack := range facts.Missing {
		if slices.Contains([]string{"layer", "sandbox", "namespaces"}, lack.What) {
			f.Err = fmt.Errorf("no throwaway copy can be made: %s: %s", lack.What, lack.Why)
			if lack.Cure != "" {
				f.Hint = lack.Cure
			}
		}
	}
	return f
}

// Close ends the sandbox and the journal.
func (t *Trials) Close() error { return t.parts.close() }

// Over is the Trial of changes on layers on which another artoo worked: there they were judged and agreed to, one by
// one.
func (t *Trials) Over(changes *sandbox.Changes) *Trial {
	r := &Trial{trials: t, layerEffects: layerEffects{changes: changes}}
	r.Effects.Apply = changes.Entries
	return r
}

// Trial is a command that has ended on its layer. Close gives the layer up.
type Trial struct {
	Exit    shell.Exit
	Limit   string   // the limit that ended it, in words; "" for none
	Hidden  []string // what it could not see, once it has failed, each in words
	Diff    string   // readable form of the changes
	Never   []string // its changes that are never applied
	Stopped error    // why its changes cannot be kept as they are; nil if they can

	trials *Trials
	layerEffects
}

// Run runs a command, whose Path is absolute, until it has ended. Its streams are files, or nil. The end of ctx ends
// the command; where a signal of the user's is its cause, that has a method Sent, the command gets the signal and may
// go on. One that the signal ends has no Trial, and the error is the cause.
func (t *Trials) Run(ctx context.Context, cmd *exec.Cmd) (r *Trial, err error) {
	c := t.calls
	confined, err := c.session.opt.Sandbox.Start(cmd, confine.Line{Place: sandbox.PlaceLayer, Exec: true})
	if err != nil {
		return nil, err
	}
	select {
	case <-confined.Done():
	case <-ctx.Done():
		var sent interface{ Sent() syscall.Signal }
		if errors.As(context.Cause(ctx), &sent) {
			confined.Signal(sent.Sent())
			<-confined.Done() // A second signal ends artoo, and with it the sandbox.
		}
		if sent == nil || signaled(confined.Exit(), sent.Sent()) {
			confined.KillAll()
			return nil, errors.Join(context.Cause(ctx), confined.Discard())
		}
		ctx = context.WithoutCancel(ctx)
	}
	r = &Trial{Exit: confined.Exit(), Limit: confined.Limit(), trials: t}
	if r.Exit != (shell.Exit{}) {
		r.Hidden = c.session.hiddenFrom(confined, cmd.Dir, shell.Quote(cmd.Args...), "", true)
	}
	if r.changes, err = confined.Changes(ctx); err != nil {
		return nil, errors.Join(err, confined.Discard())
	}
	return r, nil
}

// signaled reports whether a command ended as a signal has it end, by itself or as shells say it.
func signaled(exit shell.Exit, signal syscall.Signal) bool {
	return exit.Signal != "" || exit.Code == 128+int(signal)
}

// Judge looks at the changes of the command.
func (r *Trial) Judge(ctx context.Context) (err error) {
	c, policy := r.trials.calls, r.trials.calls.session.opt.Policy
	if r.layerEffects, err = c.effects(ctx, policy, permission.Decision{Place: permission.PlaceLayer}, r.changes); err != nil {
		return fmt.Errorf("the changes of .git cannot be read: %w", err)
	}
	for _, e := range r.Effects.By[permission.Never] {
		r.Never = append(r.Never, e.String())
	}
	if r.Verdict == permission.Refuse && r.Changed() {
		r.Stopped = errors.New(r.Reason())
	}
	r.Diff = r.diff(ctx, policy.Root)
	return context.Cause(ctx)
}

// Changed reports whether anything would be kept.
func (r *Trial) Changed() bool { return len(r.Effects.Apply) > 0 || r.Effects.Git > 0 }

// Keep applies all changes or, after an error, none, as one step of the journal. A file that was changed since is a
// *Failure of KindConflict; Left of the report names it, and else build output and directories that stay as they are.
func (r *Trial) Keep(ctx context.Context, what string) (journal.Report, error) {
	c := r.trials.calls
	report, err := c.applyLayer(ctx, r.trials.turn, what, r.layerEffects)
	if errors.Is(err, journal.ErrConflict) {
		err = &Failure{Kind: KindConflict, What: "nothing was kept", Err: err, Hint: "the same command again"}
	}
	return report, err
}

// Patch writes the changes of the project's files as input of git apply. left are the files that it lacks:
// ignored ones, those outside the project or in a .git, and those that no patch can hold.
func (r *Trial) Patch(ctx context.Context, w io.Writer) (left []string, err error) {
	s := r.trials.calls.session
	at := s.opt.Workspace.Project
	var paths []string
	for _, c := range r.Effects.Apply {
		if c.Mode.IsDir() {
			c.Path += "/" // git ignores some names as directories only
		}
		paths = append(paths, c.Path)
	}
	ignored := at.IgnoredSince(ctx, s.opt.Env.Environ, s.opt.Workspace.Began, paths)
	contents := layerContents{root: at.Root, layer: r.layerEffects, modes: map[string]bool{}}
	var list []patch.Change
	for _, c := range r.Effects.Apply {
		rel, err := filepath.Rel(at.Root, c.Path)
		name := filepath.ToSlash(rel)
		_, _, inGit := repository.SplitGit(name) // Git apply refuses such paths.
		if err != nil || !filepath.IsLocal(rel) || inGit || r.git.has(c.Path) || ignored[c.Path] {
			if !c.Mode.IsDir() {
				left = append(left, name)
			}
			continue
		}
		change := patch.Change{Path: name}
		if c.Before.Exists() {
			change.Before = &patch.File{Mode: c.Before.Mode, Target: c.Before.Target}
		}
		if c.Kind != sandbox.Deleted {
			change.After = &patch.File{Mode: c.Mode, Target: c.Target}
		}
		contents.modes[name] = c.Kind == sandbox.Mode
		list = append(list, change)
	}
	// A new directory of files that are left out is no change of its own.
	list = slices.DeleteFunc(list, func(c patch.Change) bool {
		return c.Before == nil && c.After.Mode.IsDir() && slices.ContainsFunc(left, func(name string) bool {
			return strings.HasPrefix(name, c.Path+"/")
		})
	})
	lacks, err := patch.Write(w, list, contents, objectHash(at))
	return append(left, lacks...), err
}

// objectHash is the hash by which the repository of a project names objects.
func objectHash(p repository.Project) func() hash.Hash {
	newHash := sha1.New
	config, err := os.ReadFile(filepath.Join(p.Common, "config"))
	if err != nil {
		config, err = os.ReadFile(filepath.Join(p.GitDir(), "config"))
	}
	if err == nil {
		git.EachSetting(string(config), func(section, key, value string) {
			if strings.EqualFold(section, "extensions") && strings.EqualFold(key, "objectformat") && strings.EqualFold(value, "sha256") {
				newHash = sha256.New
			}
		})
	}
	return newHash
}

// layerContents are the files of a project as they are, and as a layer has them. modes has the paths below root, with
// slashes, of which only the mode changed.
type layerContents struct {
	root  string
	layer layerEffects
	modes map[string]bool
}

// Before implements patch.Contents.
func (l layerContents) Before(path string) (io.ReadCloser, error) {
	return os.Open(filepath.Join(l.root, filepath.FromSlash(path)))
}

// After implements patch.Contents.
func (l layerContents) After(path string) (io.ReadCloser, error) {
	if l.modes[path] {
		return l.Before(path)
	}
	return l.layer.open(filepath.Join(l.root, filepath.FromSlash(path)))
}

// Close gives the layer up; with keepCaches, caches that the command wrote stay for the next one.
func (r *Trial) Close(keepCaches bool) error {
	return errors.Join(r.git.close(), r.changes.Discard(keepCaches))
}
