package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"artoo/agent"
	"artoo/agent/ledger"
	"artoo/config"
	"artoo/config/keyring"
	"artoo/provider/redact"
	"artoo/provider/telemetry"
	"artoo/tool/names"
	"artoo/tool/project"
	"artoo/ui/headless"
	"artoo/ui/result"
)

// Main is the whole program; its result is the exit code. main calls it once. Tests run several at a time in their own
// process: what one changes in it ends with it.
func Main(p Process) int {
	if p.Environ = withHome(p.Environ); p.Dir != "" {
		p.Environ = p.Environ.With("PWD", p.Dir)
	}
	a := newApp(&session{process: p, began: time.Now()})
	a.telemetry, a.unsaid = telemetry.New(a.env, p.build().Version)
	a.layer, a.process.Args = onLayer(p.Args)
	defer func() {
		for _, end := range a.ends {
			end()
		}
	}()
	return a.exit(a.guarded(func() error { return commandLine{a}.run(context.Background()) }))
}

// app is one run, or one session of a client's: what it consists of, and how it begins and ends.
type app struct {
	*session
	extensions *extensions
	models     *models
	workspace  *workspace

	dir      string              // the directory that it works in, absolute; "" is the process's
	added    []string            // the editor's own directories, in the form of add_dirs
	flags    map[string][]string // those of settings, by key
	unsaid   []string            // warnings of telemetry that were not shown yet
	ledger   *ledger.Ledger      // nil where nothing is counted
	schema   *agent.Schema       // Answers have to fit it; nil for any text.
	notify   string              // the user chose it in this conversation; may be ""
	crashing sync.Mutex          // held for ever by the crash that ends the program
}

func newApp(s *session) *app {
	x := &extensions{session: s}
	return &app{session: s, extensions: x, models: &models{session: s, extensions: x}, workspace: &workspace{session: s, extensions: x}}
}

// noDirectory says why a path leads to no directory; nil where it does.
func noDirectory(path string) error {
	info, err := os.Stat(path)
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err // the caller names the path
	}
	if err == nil && !info.IsDir() {
		err = syscall.ENOTDIR
	}
	return err
}

// load reads the settings, with trust also those of a trusted project, and makes the screen.
func (a *app) load(prompt, trust bool) error {
	dir, err := cmp.Or(a.dir, a.process.Dir), error(nil)
	if dir == "" {
		return fail(agent.KindUsage, "working directory", syscall.ENOENT, "cd into a directory that exists")
	}
	if err := noDirectory(dir); a.dir != "" && err != nil { // a client named it
		return fail(agent.KindUsage, "cwd "+dir, err, "the absolute path of a directory that exists")
	}
	if a.project, err = a.findProject(dir); err != nil {
		return fail(agent.KindUsage, "working directory", err, "cd into a directory that can be read")
	}
	a.cfg, err = config.Load(config.LoadOptions{Environ: a.process.Environ, Dir: a.process.Dir, Flags: a.flags, System: config.SystemDir,
		Keyring: keyring.System{Environ: a.process.Environ},
		KeySays: a.keySays, Mask: redact.Mask})
	if err != nil {
		return err
	}
	if len(a.cfg.GitDirs) > 0 {
		if a.project, err = a.findProject(dir, a.cfg.GitDirs...); err != nil {
			return fail(agent.KindConfig, a.cfg.Origin("git_dirs"), err, `git_dirs = ["~/src/store.git"]`)
		}
	}
	a.cfg.AddDirs = append(a.cfg.AddDirs, a.added...)
	if a.project.None == "" && a.isOwn(a.project.Root) {
		a.project.None = "this is artoo's own directory"
	}
	if a.layer != nil && a.cfg.Output == string(headless.Patch) {
		a.cfg.Output, a.process.Out = string(headless.Text), a.process.Err // stdout is the patch's
	}
	a.streams = a.look(prompt)
	a.screen = a.newScreen()
	if err := a.workspace.ownPath(); err != nil {
		return err
	}
	if err := a.extensions.read(trust); err != nil {
		return err
	}
	a.keepCredentials()
	for _, w := range slices.Concat(a.cfg.Warnings, a.unsaid) {
		a.warn(w)
	}
	a.models.openCatalog()
	return nil
}

// findProject finds the project of a directory. gitDirs are as the user wrote them.
func (s *session) findProject(dir string, gitDirs ...string) (project.Project, error) {
	gitDirs = slices.Clone(gitDirs)
	for i, dir := range gitDirs {
		if gitDirs[i] = names.InHome(dir, s.process.Environ.Home()); !filepath.IsAbs(gitDirs[i]) {
			return project.Project{}, fmt.Errorf("%q is not an absolute path", dir)
		}
	}
	return project.Find(dir, s.process.Environ, gitDirs...)
}

// fail makes the failure that ends the run: the failing thing, its error, and the imperative after try:, which may be "".
func fail(kind agent.Kind, what string, err error, hint string) *agent.Failure {
	return &agent.Failure{Kind: kind, What: what, Err: err, Hint: hint}
}

// exitStatus is an exit code that has been explained already.
type exitStatus int

// Error is never shown.
func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// endBackground ends the background commands, which the result names.
func (s *session) endBackground() {
	ended := s.agent.EndBackground()
	if r := s.outcome.response.Load(); r != nil {
		r.Background = append(r.Background, ended...)
	}
}

// close waits for the last processes and gives the session back.
func (a *app) close() {
	a.endBackground() // while the session that started them is open
	for _, done := range a.closers {
		done()
	}
	if err := a.agent.Close(); err != nil {
		a.warn(err.Error())
	}
	if a.ledger == nil {
		return
	}
	if err := a.ledger.Close(); err != nil {
		a.warn(err.Error())
	}
}

// exit shows the error, prints the result of a JSON run, and returns the exit code.
func (a *app) exit(err error) int {
	status, explained := errors.AsType[exitStatus](err)
	if err == nil || explained && status == 0 {
		if lost := a.lost(); lost != nil {
			err, explained = lost, false
		}
	}
	if explained {
		a.telemetry.Close()
		return int(status)
	}
	failure, code := a.explain(err), 0
	if failure != nil {
		code = failure.Kind.ExitCode()
	}
	signals := a.outcome.signals
	caught := signals != nil && signals.Caught() != nil && !a.layer.hasLanded()
	if caught {
		code = signals.Code()
	}
	switch {
	case caught:
		if signal := (&headless.SignalError{Signal: signals.Caught()}); signal.Shown() { // else the user sees it anyway
			failure := agent.Classify(signal)
			if a.agent != nil && !a.cfg.Ephemeral {
				failure.Hint = "artoo -c to continue"
			}
			a.show(failure)
		}
	case failure != nil:
		a.show(failure)
	}
	if err := a.printResult(a.info(), failure, code); err != nil && code == 0 {
		a.broken(err)
		if signals != nil && signals.Caught() != nil { // a reader that left ends the run as SIGPIPE does
			signals.Die()
		}
		a.show(fail(agent.KindInternal, "stdout", err, ""))
		code = 1
	}
	a.telemetry.Close()
	if caught {
		signals.Die()
	}
	return code
}

// explain is the failure of an error as it may be shown, nil for none.
func (a *app) explain(err error) *agent.Failure {
	f := agent.Classify(err)
	if masked := f.Masked(a.shown); masked != nil {
		return masked
	}
	return f
}

// printResult writes the object of a JSON run, once.
func (a *app) printResult(info result.Info, failure *agent.Failure, code int) (err error) {
	if f := a.format(); f != headless.JSON && f != headless.JSONL {
		return nil
	}
	a.outcome.printed.Do(func() {
		err = headless.WriteLine(a.process.Out, result.New(info, a.outcome.response.Load(), failure, code))
	})
	return err
}

// lost is the error of an output that did not take all of the answer or the notices, or nil.
func (a *app) lost() error {
	if a.screen == nil {
		return nil
	}
	if err := a.screen.Err(); err != nil {
		return fail(agent.KindInternal, "stdout", err, "check where stdout goes: a full disk, or a reader that left")
	}
	if err := a.screen.ErrStatus(); err != nil {
		return fail(agent.KindInternal, "stderr", err, "")
	}
	return nil
}
