package cli

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"artoo/agent"
	"artoo/provider"
	"artoo/tool/names"
	"artoo/ui"
	"artoo/ui/headless"
	"artoo/ui/result"
)

// converseWithProgram is `artoo --input jsonl -o jsonl`.
func (a *app) converseWithProgram(ctx context.Context) error {
	if line := a.extensions.ignored(); line != "" {
		a.warn(line)
	}
	last, err := a.askProgram() // once the input has ended
	if err != nil {
		return err
	}
	c := &headless.Conversation{
		Runner: headless.Runner{Format: headless.JSONL, Out: a.process.Out, Screen: a.screen, Info: a.info(), Stopped: a.broken, Ask: last},
		Agent:  a.agent, Host: programHost{a},
	}
	response, failure := c.Run(ctx, a.process.In)
	a.outcome.stdin = "read"
	a.outcome.response.Store(response)
	if failure == nil {
		return nil
	}
	a.agent.Exiting(failure.Kind.ExitCode())
	return failure
}

// askProgram is the program that answers questions in the user's place; nil for none.
func (a *app) askProgram() (headless.Asker, error) {
	if a.cfg.AskProgram == "" {
		return nil, nil
	}
	path := names.InHome(a.cfg.AskProgram, a.process.Environ.Home())
	if strings.Contains(path, "/") && !filepath.IsAbs(path) {
		return nil, fail(agent.KindConfig, a.cfg.Origin("ask_program"), errors.New("ask_program is a relative path"), "give a whole path, or a name on PATH")
	}
	found, err := a.process.Environ.LookPath(path)
	if err != nil {
		return nil, fail(agent.KindConfig, a.cfg.Origin("ask_program"), err, "give the path of a program that can be executed")
	}
	p := agent.AskProgram{Path: found, Timeout: time.Duration(a.cfg.AskTimeout)}
	return func(ctx context.Context, q agent.Question) (agent.Answer, error) {
		return a.agent.AskProgram(ctx, p, q)
	}, nil
}

// programHost implements headless.Host.
type programHost struct{ app *app }

func (h programHost) Info() result.Info { return h.app.info() }

func (h programHost) Attach(ctx context.Context, paths []string) ([]provider.Part, error) {
	return ui.Attach(ctx, h.app.agent, paths)
}

func (h programHost) Command(ctx context.Context, line string, talk headless.Talk) (string, *agent.Response, error) {
	return ui.ForProgram(ctx, ui.Options{Agent: h.app.agent, Program: program(h), Models: h.app.models}, line, talk.Callbacks, talk.Steering)
}
