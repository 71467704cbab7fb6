package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"artoo/agent"
	"artoo/config"
	"artoo/provider/cloud"
	"artoo/provider/redact"
	"artoo/provider/telemetry"
	"artoo/tool/project"
	"artoo/tool/sandbox"
	"artoo/tool/web"
	"artoo/ui/acp"
	"artoo/ui/headless"
	"artoo/ui/screen"
)

// session is what all parts of an app share: the process, the settings, the screen and the project, and the agent once it is open.
type session struct {
	editor    acp.Editor // the editor whose session it is; nil for runs
	elicits   bool       // an MCP client began the run, and answers its questions
	process   Process
	began     time.Time
	cfg       *config.Config // nil until the settings are read
	screen    *screen.Screen // the same
	streams   streams
	choice    config.Choice // the provider and the model now; the settings have the first ones
	project   project.Project
	marks     keyMarks
	parts     redact.Parts
	web       *web.Client
	telemetry *telemetry.Recorder // All sessions of the process share it.
	environ   []string            // the tools get it
	path      string              // the user's PATH; artoo's own is without the directories that commands may write
	facts     sandbox.Facts       // on the sandbox of commands
	agent     *agent.Agent        // nil before there is one
	ends      []func()            // Main calls them last
	closers   []func()            // wait for processes that the session started beside the agent
	outcome   outcome
	layer     *layer // the way to the artoo outside, of one that works on a layer; nil of all others
	reviews   bool   // It only reads: the model has no tool that changes anything.

	lose atomic.Pointer[func(error)] // ends the conversation when an output cannot be written; nil without one
}

// watch is headless.Watch until the end of Main: between two signals the result object is still to be written.
func (s *session) watch(ctx context.Context, outputs ...*os.File) (context.Context, *headless.Signals) {
	ctx, signals := headless.Watch(ctx, outputs...)
	s.ends = append(s.ends, signals.End)
	return ctx, signals
}

func (s *session) warn(text string) {
	if s.layer != nil && s.facts.Mechanism == "" { // while settings are read: the artoo outside says it
		return
	}
	s.screen.OnNotice(agent.Notice{Kind: agent.NoticeWarning, Text: s.shown(text)})
}

// show prints a failure, also when there is no screen yet.
func (s *session) show(f *agent.Failure) {
	shown := s.screen
	if shown == nil {
		tty := term.IsTerminal(int(s.process.Err.Fd()))
		profile, _ := screen.ProfileDecision("auto", s.env, tty)
		shown = screen.New(screen.Options{Out: io.Discard, Err: s.process.Err, ErrTTY: tty, Profile: profile,
			Width:    func() int { columns, _ := s.size(); return columns },
			ErrColor: screen.ColorDecision("auto", s.env, tty), UTF8: screen.UTF8Decision(s.env)})
	}
	shown.Failure(f)
}

// broken takes note that stdout or stderr cannot be written.
func (s *session) broken(err error) {
	if s.outcome.signals != nil {
		s.outcome.signals.Broken(err)
	}
	if lose := s.lose.Load(); lose != nil {
		(*lose)(err)
	}
}

// effectCaps bound the changes of the run. A review changes nothing, so it has no caps.
func (s *session) effectCaps() agent.EffectCaps {
	if s.reviews {
		return agent.EffectCaps{}
	}
	return agent.EffectCaps{MaxFiles: int(s.cfg.MaxFiles), MaxLines: int(s.cfg.MaxLines), Only: s.cfg.OnlyPaths(), NoDelete: bool(s.cfg.NoDelete)}
}

// confirm asks a question on the terminal, unless given, which is --yes, answers it. ask is nil
// if no question may be asked; hint is for a user that cannot be asked.
func (s *session) confirm(what string, q screen.YesNo, given bool, hint string, ask func() (bool, error)) (bool, error) {
	if ask != nil && !given && s.streams.watched {
		if yes, err := ask(); !errors.Is(err, agent.ErrNobody) {
			return yes, err
		}
		return false, fail(agent.KindApproval, what, agent.ErrNobody, hint)
	}
	if given {
		s.screen.Unasked(q, "--yes")
		return true, nil
	}
	s.screen.Unasked(q, "")
	return false, fail(agent.KindApproval, what, agent.ErrNobody, hint)
}

func (s *session) configFile() (string, error) {
	if s.cfg.File != "" {
		return s.abs(s.cfg.File), nil
	}
	return s.cfg.Paths.ConfigFile()
}

// keySays shows the output of a key command while it runs.
func (s *session) keySays(line string) {
	if s.screen != nil {
		s.screen.Note(s.shown(line))
	}
}

// own are artoo's own settings, keys and state, which are denied: to write them gives rights.
func (s *session) own() (paths []string) {
	p := s.cfg.Paths
	for _, find := range []func() (string, error){p.ConfigDir, p.DataDir, p.StateDir, p.CacheDir, p.Credentials, p.Trust, p.Approved} {
		if path, err := find(); err == nil {
			paths = append(paths, path)
		}
	}
	for _, file := range append(cloud.Files(s.process.Environ), s.cfg.File, s.cfg.APIKeyFile) {
		if file != "" {
			paths = append(paths, s.abs(file))
		}
	}
	return paths
}

// isOwn reports whether a directory is artoo's own, or lies in one.
func (s *session) isOwn(dir string) bool {
	return slices.ContainsFunc(s.own(), func(own string) bool { return project.Within(own, dir) })
}

// hidden are those of them that nothing may read: bundles are in the data directory, too.
func (s *session) hidden() []string {
	dir, err := s.cfg.Paths.DataDir()
	if err != nil {
		return s.own()
	}
	hidden := slices.DeleteFunc(s.own(), func(path string) bool { return path == dir })
	if memory, err := s.cfg.Paths.Memory(); err == nil {
		hidden = append(hidden, memory)
	}
	return hidden
}
