package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"artoo/agent"
	"artoo/agent/ledger"
	"artoo/config"
	"artoo/config/bundle"
	"artoo/config/keyring"
	"artoo/provider"
	"artoo/provider/redact"
	"artoo/provider/transport"
	"artoo/telemetry"
	"artoo/tool/project"
	"artoo/tool/sandbox"
	"artoo/tool/skill"
	"artoo/tool/web"
	"artoo/ui/acp"
	"artoo/ui/headless"
	"artoo/ui/screen"
)

// Main is the whole program; its result is the exit code. It is called once, by
// main, with the process's own arguments, streams and exit.
func Main(p Process) int {
	hideEnvironment()
	setHome()
	a := &app{process: p, began: time.Now()}
	recorder, warnings := telemetry.New(os.Getenv, p.build().Version)
	a.telemetry, a.unsaid = recorder, warnings
	a.layer, a.process.Args = onLayer(p.Args)
	return a.exit(a.guarded(func() error { return a.run(context.Background()) }))
}

// app is one run, or one session of a client's.
type app struct {
	dir          string              // the directory that it works in, absolute; "" is the process's
	editor       acp.Editor          // the editor whose session it is; nil for runs
	elicits      bool                // an MCP client began the run, and answers its questions
	added        []string            // the editor's own directories, in the form of add_dirs
	flags        map[string][]string // those of settings, by key
	process      Process
	began        time.Time
	cfg          *config.Config
	screen       *screen.Screen
	streams      streams
	catalog      *provider.Catalog // nil for the models that are built in
	choice       config.Choice     // the provider and the model now; the settings have the first ones
	found        found
	project      project.Project
	repoSettings repoSettings
	skills       *skill.Library // the user's skills, commands and agents
	rules        ruleSet
	marks        keyMarks
	http         *http.Client
	tokens       *http.Client // asks servers that give credentials, and collectors, and records nothing
	beside       *http.Client // the same, of those beside this machine: never through a proxy
	signers      sync.Map     // holds *cloud.Transport by provider.Auth
	web          *web.Client
	log          *transport.Log
	telemetry    *telemetry.Recorder // All sessions of the process share it.
	unsaid       []string            // warnings of telemetry that were not shown yet
	environ      []string            // the tools get it
	path         string              // the user's PATH; artoo's own is without the directories that commands may write
	facts        sandbox.Facts       // on the sandbox of commands
	ledger       *ledger.Ledger      // nil where nothing is counted
	bundled      []bundle.Bundle
	bundlesOnce  sync.Once    // guards bundled
	answering    sync.Mutex   // guards repoSettings.approvals once servers may start
	approving    sync.Mutex   // one question about a server of the editor's at a time
	agent        *agent.Agent // nil before there is one
	outcome      outcome
	schema       *agent.Schema // Answers have to fit it; nil for any text.
	layer        *layer        // the way to the artoo outside, of one that works on a layer; nil of all others
	notify       string        // the user chose it in this conversation; may be ""
	reviews      bool          // It only reads: the model has no tool that changes anything.
	free         bool          // it costs nothing: nothing is counted
	// scripted answers in place of the chosen provider, for a test of oneself; nil
	// otherwise.
	scripted provider.Provider

	crashing sync.Mutex                  // held for ever by the crash that ends the program
	lose     atomic.Pointer[func(error)] // ends the conversation when an output cannot be written; nil without one
}

// load reads the settings, with trust also those of a trusted project, and makes the screen.
func (a *app) load(prompt, trust bool) error {
	dir, err := a.dir, error(nil)
	if dir == "" {
		dir, err = os.Getwd()
	}
	if err != nil {
		return fail(agent.KindUsage, "working directory", err, "cd into a directory that exists")
	}
	if a.project, err = findProject(dir); err != nil {
		return fail(agent.KindUsage, "working directory", err, "cd into a directory that can be read")
	}
	a.cfg, err = config.Load(config.LoadOptions{Flags: a.flags, System: config.SystemDir, Keyring: keyring.System{},
		KeySays: a.keySays, Mask: redact.Mask})
	if err != nil {
		return err
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
	if err := a.ownPath(); err != nil {
		return err
	}
	if trust {
		if err := errors.Join(a.findTrust(), a.applyTrust()); err != nil {
			return err
		}
		a.bundleHooks()
		a.bundleServers()
		if left := a.cfg.Policy.LeavesOut(a.cfg.Hooks); left != "" {
			a.warn(left)
		}
	}
	a.skills = skill.New(a.skillPlaces())
	if a.rules, err = a.readRules(); err != nil {
		return err
	}
	for _, w := range slices.Concat(a.cfg.Warnings, a.unsaid) {
		a.warn(w)
	}
	a.openCatalog()
	return nil
}

func findProject(dir string) (project.Project, error) {
	home, _ := os.LookupEnv("HOME")
	return project.Find(dir, home, os.Geteuid() == 0)
}

// ownPath removes directories that commands may write from the PATH by which artoo itself starts programs.
func (a *app) ownPath() error {
	readable, writable, err := a.workspace().AddedDirs()
	if err != nil {
		return fail(agent.KindUsage, "working directory", err, "cd into a directory that exists")
	}
	home, _ := os.LookupEnv("HOME")
	for _, dir := range slices.Concat(readable, writable) {
		if project.AboveProjects(dir, home) || a.isOwn(dir) {
			return fail(agent.KindConfig, "directory "+dir, errors.New("the home directory, the directories above it and artoo's own "+
				"directories cannot be added"), "name directories below the home directory")
		}
	}
	found := os.Getenv("PATH") // another session of an editor's may have shortened it
	if a.path = cmp.Or(a.path, found); a.path == "" {
		return nil
	}
	programs := []string{"git", "bash", "sh"}
	kept, left := a.project.HostPath(found, home, writable, programs)
	var dirs []string
	for _, dir := range left {
		has := slices.ContainsFunc(programs, func(name string) bool {
			_, err := exec.LookPath(filepath.Join(dir, name))
			return err == nil
		})
		if abs, err := filepath.Abs(dir); err == nil && has && !slices.Contains(dirs, abs) {
			dirs = append(dirs, abs)
		}
	}
	if len(dirs) > 0 {
		a.warn("artoo does not start programs from " + strings.Join(dirs, ", ") + " itself: commands may write them")
	}
	return os.Setenv("PATH", kept)
}

func (a *app) warn(text string) {
	if a.layer != nil && a.facts.Mechanism == "" { // while settings are read: the artoo outside says it
		return
	}
	a.screen.OnNotice(agent.Notice{Kind: agent.NoticeWarning, Text: text})
}

// fail makes the failure that ends the run: the failing thing, its error, and the imperative after try:, which may be "".
func fail(kind agent.Kind, what string, err error, hint string) *agent.Failure {
	return &agent.Failure{Kind: kind, What: what, Err: err, Hint: hint}
}

// exitStatus is an exit code that has been explained already.
type exitStatus int

// Error is never shown.
func (e exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(e)) }

// broken takes note that stdout or stderr cannot be written.
func (a *app) broken(err error) {
	if a.outcome.signals != nil {
		a.outcome.signals.Broken(err)
	}
	if lose := a.lose.Load(); lose != nil {
		(*lose)(err)
	}
}

// close waits for the last processes and gives the session back.
func (a *app) close() {
	a.agent.EndBackground() // while the session that started them is open
	for _, done := range a.found.closers {
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
	failure, code := agent.Classify(err), 0
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

// printResult writes the object of a JSON run, once.
func (a *app) printResult(info headless.Info, failure *agent.Failure, code int) (err error) {
	if f := a.format(); f != headless.JSON && f != headless.JSONL {
		return nil
	}
	a.outcome.printed.Do(func() {
		err = headless.WriteLine(a.process.Out, headless.NewResult(info, a.outcome.response.Load(), failure, code))
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

// show prints a failure, also when there is no screen yet.
func (a *app) show(f *agent.Failure) {
	s := a.screen
	if s == nil {
		tty := term.IsTerminal(int(a.process.Err.Fd()))
		s = screen.New(screen.Options{Out: io.Discard, Err: a.process.Err, ErrTTY: tty,
			ErrColor: screen.ColorDecision("auto", os.Getenv, tty), UTF8: screen.UTF8Decision(os.Getenv)})
	}
	s.Failure(f)
}
