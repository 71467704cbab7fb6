package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"artoo/agent"
	"artoo/config"
	"artoo/provider"
	"artoo/provider/demo"
	"artoo/tool/project"
	"artoo/tool/text"
	"artoo/ui"
	"artoo/ui/headless"
	"artoo/ui/prompt"
	"artoo/ui/screen"
)

// talk is `artoo [prompt]`: a conversation, or a headless run.
func (a *app) talk(ctx context.Context, words []string) error {
	a.outcome.asked = a.requestedFormat()
	prompt, dash := promptOf(words)
	if err := a.load(prompt != "", true); err != nil {
		return err
	}
	if layered, err := a.workspace.worksOnLayer(); err != nil {
		return err
	} else if layered {
		return a.workspace.runOnLayer(ctx)
	}
	if err := a.readSchema(); err != nil {
		return err
	}
	if a.streams.headless {
		return a.headless(ctx, prompt, dash)
	}
	err := a.open(ctx)
	var none *config.NoProvider
	if errors.As(err, &none) {
		a.screen.Note("artoo needs a model. To get started:\n- " + strings.Join(none.Ways, "\n- "))
		return &agent.Failure{Kind: agent.KindAuth, Err: none, Hint: "artoo login"}
	}
	if err != nil {
		return err
	}
	return a.converse(ctx, prompt)
}

func (a *app) converse(ctx context.Context, first string) error {
	defer a.close()
	defer a.screen.Leave()
	if err := a.agent.StartServers(ctx); err != nil {
		return err
	}
	history := ""
	if a.cfg.History && !a.cfg.Interactive {
		if path, err := a.cfg.Paths.History(); err == nil {
			history = path
		}
	}
	profile, why := a.profile(a.streams.err)
	notify, err := a.notifier(a.cfg.Notify, profile)
	if err != nil {
		return err
	}
	defer func() { notify.Close() }()
	status, err := ui.NewStatusLine(a.cfg.Status, a.process.Environ, a.environ, prompt.Clock{})
	if err != nil {
		return fail(agent.KindUsage, a.cfg.Origin("status"), err, "full, short, off, or a command whose first line is shown")
	}
	t, err := ui.New(ui.Options{
		Agent: a.agent, Program: program{a}, Models: a.models, Screen: a.screen, Profile: profile, First: first,
		Notify: notify, Offer: a.offerNotify(profile, &notify), StatusLine: status, Trust: a.askFirst(),
		Options: prompt.Options{Device: prompt.Device{In: a.process.In, Tty: a.process.Err, Far: a.streams.far},
			Size: a.size, History: history, ViKeys: a.cfg.EditMode == "vi", Lines: bool(a.cfg.Interactive),
			Ending: prompt.Ending{Crash: a.crash, Quit: a.quit, Exit: a.process.Exit}},
		Piped: !a.streams.out, Discard: a.discard,
		Children: ui.Children{Environ: a.process.Environ, Path: a.path, KeyVariables: a.cfg.KeyVariables(), Pager: a.pager()},
	})
	if err != nil {
		return err
	}
	lose := t.Lose
	a.lose.Store(&lose)
	a.screen.Banner(screen.BannerInfo{Version: a.process.build().Version, Model: shown(a.choice), Dir: a.project.Dir,
		Branch: a.project.Branch(), Why: why, Notes: a.notes()})
	code, err := t.Run(ctx)
	if err != nil {
		return err
	}
	a.agent.Exiting(code)
	return exitStatus(code)
}

// shown is the model in the banner, with its provider where the name alone says too little.
func shown(c config.Choice) string {
	if c.Model == provider.AnyModelName || strings.Contains(c.Model, "/") {
		return c.Provider + "/" + c.Model
	}
	return c.Model
}

// pager is cat where the user set it to nothing.
func (a *app) pager() string {
	if a.cfg.IsSet("pager") && strings.TrimSpace(a.cfg.Pager) == "" {
		return "cat"
	}
	return a.cfg.Pager
}

func (a *app) notifier(how string, profile screen.Profile) (*ui.Notifier, error) {
	n, err := ui.NewNotifier(ui.NotifyOptions{
		How: how, Screen: a.screen, TTY: a.streams.err, Profile: profile, Dir: a.project.Dir,
		Own: a.process.Environ, Environ: a.environ, Env: a.env,
	})
	if err != nil {
		return nil, fail(agent.KindUsage, a.cfg.Origin("notify"), err,
			"off, bell, osc9, osc777, osc99, or a command such as notify-send")
	}
	return n, nil
}

// offerNotify is nil where the user has set something, or no terminal could do it.
func (a *app) offerNotify(profile screen.Profile, notify **ui.Notifier) *ui.NotifyOffer {
	if a.cfg.IsSet("notify") || !a.streams.err || profile == screen.Plain || bool(a.cfg.Interactive) || a.choice.Provider == demo.Name {
		return nil
	}
	return &ui.NotifyOffer{Bell: ui.OnlyRings(a.env), Take: func(how string) (*ui.Notifier, string, error) {
		n, err := a.notifier(how, profile)
		if err != nil {
			return nil, "", err
		}
		*notify, a.notify = n, how
		path, err := a.configFile()
		if err == nil {
			err = config.SetNotify(path, how)
		}
		if err != nil {
			return n, "for this conversation only: " + err.Error(), nil
		}
		return n, "written to " + path, nil
	}}
}

// longestHidden is how long the banner waits for the hidden files that git tracks.
const longestHidden = 3 * time.Second

// notes are shown before the first message.
func (a *app) notes() []string {
	ignored := a.extensions.ignored()
	if a.askFirst() != nil {
		ignored = "" // the question says it
	}
	tracked := ""
	if files := a.agent.HiddenTracked(longestHidden); len(files) > 0 {
		tracked = "hidden, but tracked by git: " + text.UpTo(3, files) +
			"; commands can read their staged and committed content"
	}
	profile := ""
	if a.cfg.Profile != "" {
		profile = "profile " + a.cfg.Profile + " (" + a.cfg.Origin("profile") + ")"
	}
	notes := []string{profile, a.choice.Note, a.agent.Model().Rules(a.cfg.Approval), ignored, a.workspace.unconfinedNote(), tracked}
	return slices.DeleteFunc(notes, func(note string) bool { return note == "" })
}

// program shows the session to its user; it implements ui.Program.
type program struct{ app *app }

// Settings implements ui.Program: the rows of /config, with the changes that slash commands made.
func (p program) Settings() []config.Value {
	values := p.app.values()
	for _, changed := range []struct{ key, before, now, by string }{
		{"effort", p.app.cfg.Effort, string(p.app.agent.Model().Defaults.Effort), "/effort"},
		{"notify", p.app.cfg.Notify, cmp.Or(p.app.notify, p.app.cfg.Notify), "config.toml"},
		{"approval", p.app.cfg.Approval, string(p.app.agent.Policy().Mode), "/approval"},
		{"model", p.app.cfg.Model, p.app.choice.Model, "/model"},
		{"provider", p.app.cfg.Provider, p.app.choice.Provider, "/model"},
	} {
		for i, v := range values {
			if v.Option.Key == changed.key && changed.now != changed.before {
				values[i].Value, values[i].Set, values[i].Origin = changed.now, true, changed.by
			}
		}
	}
	return values
}

// Policy implements ui.Program.
func (p program) Policy() string { return p.app.cfg.Policy.String() }

// Debug implements ui.Program.
func (p program) Debug(on *bool) bool {
	if on != nil {
		p.app.models.log.SetOn(*on)
	}
	return p.app.models.log.On()
}

// demo runs the scripted model on a small broken program in a directory of its own.
func (a *app) demo(ctx context.Context, yes bool) error {
	a.outcome.asked = a.requestedFormat()
	if err := a.load(true, false); err != nil {
		return err
	}
	dir, err := demo.Scratch(a.process.Environ.TempDir())
	if err != nil {
		return err
	}
	a.project, a.extensions.repoSettings = project.Project{Root: dir, Dir: dir, Environ: a.process.Environ},
		repoSettings{}
	if a.extensions.rules, err = a.extensions.readRules(); err != nil {
		return err
	}
	a.choice = config.Choice{Provider: demo.Name, Model: a.models.defaultModel(demo.Name)}
	a.cfg = a.cfg.With(a.choice)
	a.cfg.Ephemeral, a.cfg.Stdin = true, string(headless.StdinNever)
	a.cfg.MaxCost, a.cfg.DailyCost, a.models.free = 0, 0, true
	a.streams.headless = a.streams.headless || yes
	a.screen = a.newScreen()
	if !a.streams.headless {
		if err := a.open(ctx); err != nil {
			return err
		}
		err = a.converse(ctx, demo.Prompt)
	} else {
		a.outcome.approve = func(_ context.Context, q agent.Question) (agent.Answer, error) {
			if demo.Scripted(q.Call.ToolCall) {
				a.screen.Unasked(screen.Approval{Question: q}, demo.Name)
				return agent.Answer{Verdict: agent.Yes, From: agent.FromProgram}, nil
			}
			return agent.Answer{}, agent.ErrNobody
		}
		err = a.headless(ctx, demo.Prompt, false)
	}
	var status exitStatus
	if err != nil && !(errors.As(err, &status) && status == 0) {
		return err
	}
	if mended, why := demo.Outcome(a.agent.Conversation().Messages()); !mended {
		return fail(agent.KindInternal, demo.Name, errors.New(why), "artoo demo, with nothing denied and its tools on")
	}
	a.screen.Note("the fixed program is in " + dir)
	return nil
}
