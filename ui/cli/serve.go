package cli

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"time"

	"golang.org/x/term"

	"artoo/agent"
	"artoo/conversation"
	"artoo/tool/environ"
	"artoo/ui/acp"
	"artoo/ui/headless"
)

// serveClient serves a program on stdin and stdout until it leaves. name is the subcommand, client the
// program that starts it; out is stdout, which carries the protocol alone.
func (a *app) serveClient(ctx context.Context, name, client string, serve func(ctx context.Context, h *sessionHost, out *os.File) error) error {
	if term.IsTerminal(int(a.process.In.Fd())) {
		return usage(name, client+" starts this command and talks to it; it takes no typed input", "artoo help "+name)
	}
	out := a.process.Out
	a.process.Out = a.process.Err
	vars := a.process.Environ
	if err := a.load(false, false); err != nil {
		return err
	}
	sessions, err := a.cfg.Paths.Sessions()
	if err != nil {
		return err
	}
	ctx, a.outcome.signals = a.watch(ctx, out, a.process.Err)
	err = serve(ctx, &sessionHost{app: a, environ: vars, store: conversation.Store{Dir: sessions, OpenFile: a.process.openSession}}, out)
	if caught := a.outcome.signals.Caught(); caught != nil {
		return &headless.SignalError{Signal: caught}
	}
	return err
}

// sessionHost makes an app for each session that a client opens.
type sessionHost struct {
	app     *app
	environ environ.Vars // those of the process, with the user's PATH
	store   conversation.Store
}

// session is an app for one session in a directory, with the flags of this one. "" is the process's directory.
func (h *sessionHost) session(dir string) *app {
	flags := maps.Clone(h.app.flags)
	for key, values := range flags {
		flags[key] = slices.Clone(values)
	}
	process := h.app.process
	process.Environ = h.environ
	a := newApp(&session{process: process, began: time.Now(), telemetry: h.app.telemetry})
	a.flags, a.dir = flags, dir
	return a
}

// find is the session of an id; the error wraps acp.ErrNotFound for none.
func (h *sessionHost) find(id string) (conversation.Info, error) {
	infos, err := h.store.List()
	if err != nil {
		return conversation.Info{}, err
	}
	i := slices.IndexFunc(infos, func(i conversation.Info) bool { return i.ID == id })
	if i < 0 {
		return conversation.Info{}, fail(agent.KindUsage, "session "+id, acp.ErrNotFound, "artoo sessions lists those that are kept")
	}
	return infos[i], nil
}

// begin opens the agent of a session whose settings are read: a new one for the id "".
func (a *app) begin(ctx context.Context, id string) error {
	a.cfg.Resume, a.cfg.Continue = id, false
	if err := a.open(ctx); err != nil {
		return noModel(err)
	}
	err := a.agent.StartServers(ctx)
	if err == nil && id != "" && a.agent.SessionID() != id {
		err = fail(agent.KindUsage, "session "+id, errors.New("in use by another run or artoo"), "wait until that run has ended, or exit the other artoo first")
	}
	if err != nil {
		a.close()
		a.agent = nil // It is closed once.
	}
	return err
}
