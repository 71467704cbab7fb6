package cli

import (
	"context"

	"artoo/agent"
	"artoo/provider"
	"artoo/ui"
	"artoo/ui/headless"
)

// converseWithProgram is `artoo --input jsonl -o jsonl`.
func (a *app) converseWithProgram(ctx context.Context) error {
	if line := a.ignored(); line != "" {
		a.warn(line)
	}
	c := &headless.Conversation{
		Runner: headless.Runner{Format: headless.JSONL, Out: a.process.Out, Screen: a.screen, Info: a.info(), Stopped: a.broken},
		Agent:  a.agent, Host: programHost{a}, Mask: a.mask,
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

// programHost implements headless.Host.
type programHost struct{ *app }

func (h programHost) Info() headless.Info { return h.info() }

func (h programHost) Attach(ctx context.Context, paths []string) ([]provider.Part, error) {
	return ui.Attach(ctx, h.agent, paths)
}

func (h programHost) Command(ctx context.Context, line string, talk headless.Talk) (string, *agent.Response, error) {
	return ui.ForProgram(ctx, ui.Options{Agent: h.agent, Program: h.app}, line, talk.Callbacks, talk.Steering)
}
