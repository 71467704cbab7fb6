package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"artoo/agent"
	"artoo/provider"
	"artoo/tool/environ"
	"artoo/tool/git"
	"artoo/ui"
	"artoo/ui/headless"
	"artoo/ui/prompt"
	"artoo/ui/result"
	"artoo/ui/screen"
)

// streams describes the three streams, and the decisions that follow.
type streams struct {
	headless     bool // there is no conversation
	in, out, err bool // are terminals
	watched      bool // stderr is a terminal with artoo in its foreground

	outputs []*prompt.Output // the screen writes them to terminals
	// far is the one whose terminal stdin reads, over ssh; else nil.
	far *prompt.Output
}

func (s *session) look(given bool) streams {
	cfg := s.cfg
	tty := func(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
	w := streams{in: tty(s.process.In), out: tty(s.process.Out), err: tty(s.process.Err)}
	ci := !slices.Contains([]string{"", "0", "false"}, strings.ToLower(s.env("CI")))
	w.headless = s.editor == nil && !bool(cfg.Interactive) && (s.fromProgram() || bool(cfg.Print) || !w.in || !w.err || given && (!w.out || ci))
	w.watched = w.err && prompt.Foreground(s.process.Err)
	return w
}

// profile is how much a stream can show, a terminal or not, and why not more.
func (s *session) profile(tty bool) (screen.Profile, string) {
	profile, why := screen.ProfileDecision(s.cfg.UI, s.env, tty)
	if why == "asked for" {
		why = s.cfg.Origin("ui")
	}
	return profile, why
}

// colored looks at one stream: the other may be a file.
func (s *session) colored(tty bool) bool {
	profile, _ := s.profile(tty)
	return screen.ColorDecision(s.cfg.Color, s.env, tty && profile == screen.Rich)
}

func (s *session) utf8() bool { return screen.UTF8Decision(s.env) }

// palette is how the terminal looks: as the user says, else in diffs as the user's git.
func (s *session) palette() *screen.Palette {
	return screen.NewPalette(s.cfg.Styles(), func() map[string]string { return gitColors(s.process.Environ) },
		strings.Contains(s.env("TERM"), "256color"))
}

// gitColors are the colours of color.diff in the user's and the system's configuration of
// git. Those of a repository are left out: no repository decides how a diff looks. Without
// git, without such settings, or with one that git does not understand, the map is empty.
func gitColors(vars environ.Vars) map[string]string {
	settings, err := git.UserConfig(vars, vars.With("GIT_DIR", os.DevNull), "/", "--type=color", "--get-regexp",
		`^color\.diff\.(old|new|meta|frag|context|plain)$`)
	if err != nil {
		return nil
	}
	names := map[string]string{"old": "remove", "new": "add", "meta": "meta", "frag": "frag", "context": "context", "plain": "context"}
	styles := map[string]string{}
	for _, setting := range settings {
		key, value, _ := strings.Cut(setting, "\n")
		name := names[strings.TrimPrefix(key, "color.diff.")]
		styles[name] = strings.TrimSuffix(strings.TrimPrefix(value, "\x1b["), "m") // git gives the sequence
	}
	return styles
}

func (s *session) newScreen() *screen.Screen {
	cfg := s.cfg
	profile, _ := s.profile(s.streams.err)
	home := s.process.Environ.Home()
	o := screen.Options{
		Out: s.process.Out, Err: s.process.Err, ErrFile: s.process.Err, OutTTY: s.streams.out, ErrTTY: s.streams.err, Profile: profile,
		OutColor: s.colored(s.streams.out), ErrColor: s.colored(s.streams.err), Palette: s.palette(),
		Links: s.streams.out && profile == screen.Rich && prompt.IsModern(s.env),
		UTF8:  s.utf8(), Width: func() int { cols, _ := s.size(); return cols },
		Conversation: !s.streams.headless, Hold: s.streams.headless && !s.streams.out, Quiet: bool(cfg.Quiet), Verbose: bool(cfg.Debug),
		SSH: s.env("SSH_TTY") != "" || s.env("SSH_CONNECTION") != "", Status: screen.StatusMode(cfg.Status),
		Root: s.project.Dir, Home: home,
		Broken: func(err error) { s.broken(err) },
	}
	if o.Conversation && o.ErrTTY && profile == screen.Rich {
		o.Signs = screen.SignsDecision(cfg.Title, s.env, prompt.IsModern(s.env))
	}
	if stdout, err := s.process.Out.Stat(); err == nil {
		o.OutPipe = stdout.Mode()&os.ModeNamedPipe != 0
	}
	one := o.OutTTY && o.ErrTTY && sameFile(s.process.Out, s.process.Err)
	if o.Err = s.terminalOutput(s.process.Err, o.ErrTTY, o); one {
		o.Out = o.Err
	} else {
		o.Out = s.terminalOutput(s.process.Out, o.OutTTY, o)
	}
	if json := []string{string(headless.JSON), string(headless.JSONL)}; s.streams.headless && (cfg.Schema != "" || slices.Contains(json, cfg.Output)) {
		o.Out, o.OutTTY, o.OutPipe, o.Hold = io.Discard, false, false, true // stdout is the JSON's
	}
	shown := screen.New(o)
	shown.ExplainBy(s.explain)
	return shown
}

// terminalOutput lets an interrupt discard output that a slow terminal has not shown.
func (s *session) terminalOutput(w *os.File, tty bool, o screen.Options) io.Writer {
	if !tty || s.streams.headless {
		return w
	}
	reset := "\n"
	if o.Profile == screen.Rich {
		reset = "\x18\x1b[0m\n" // CAN ends the sequence that was cut
		if o.Links {
			reset = "\x18\x1b]8;;\x1b\\\x1b[0m\n"
		}
	}
	far := o.SSH && sameFile(w, s.process.In)
	out := prompt.NewOutput(w, reset, far)
	if far {
		s.streams.far = out
	}
	s.streams.outputs = append(s.streams.outputs, out)
	return out
}

// sameFile reports whether two streams are one terminal.
func sameFile(a, b *os.File) bool {
	x, errA := a.Stat()
	y, errB := b.Stat()
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// discard drops output that slow terminals have not shown, and reports whether one is slow.
func (s *session) discard() (bool, error) {
	var errs []error
	slow := false
	for _, o := range s.streams.outputs {
		dropped, err := o.Discard()
		slow, errs = slow || dropped, append(errs, err)
	}
	return slow, errors.Join(errs...)
}

// size is the size of the terminal; without one, a default width and 0 rows.
func (s *session) size() (cols, rows int) {
	tty := s.process.Err
	if s.streams.out {
		tty = s.process.Out
	}
	cols, rows, err := term.GetSize(int(tty.Fd()))
	if err != nil {
		cols, rows = 0, 0
	}
	return screen.WidthDecision(s.env, func() int { return cols }), rows
}

// outcome collects the facts about a headless run, for its result and its exit code.
type outcome struct {
	asked    headless.Format // the format of stdout; "" where there is no answer
	approve  headless.Asker  // approves the demo's own calls; nil otherwise
	stdin    string          // a note on how standard input was used
	signals  *headless.Signals
	response atomic.Pointer[agent.Response]
	printed  sync.Once // the result object
}

// requestedFormat is the output format as far as flags and environment tell it, before
// the settings are read: errors in them are reported in JSON too.
func (a *app) requestedFormat() headless.Format {
	format := headless.Format(a.env("ARTOO_OUTPUT"))
	if given := a.flags["output"]; len(given) > 0 {
		format = headless.Format(given[len(given)-1])
	}
	if format != headless.JSON && format != headless.JSONL {
		return headless.Text
	}
	return format
}

// format is the format of stdout.
func (a *app) format() headless.Format {
	switch {
	case a.outcome.asked == "":
	case a.cfg == nil:
		return a.outcome.asked
	case a.streams.headless:
		return headless.Format(a.cfg.Output)
	}
	return headless.Text
}

// fromProgram reports whether a program converses by JSON lines.
func (s *session) fromProgram() bool { return s.cfg.Input == "jsonl" }

// canAsk reports whether somebody can be asked beside a pipe.
func (s *session) canAsk() bool { return !bool(s.cfg.Print) && s.streams.watched && !s.fromProgram() }

// answersAll reports whether a program answers questions of any kind.
func (s *session) answersAll() bool { return s.conversesWithProgram() || s.cfg.AskProgram != "" }

// conversesWithProgram reports whether the program that began the run answers questions, as a user does.
func (s *session) conversesWithProgram() bool { return s.fromProgram() || s.elicits }

func (a *app) headless(ctx context.Context, prompt string, dash bool) error {
	if prompt == "" && !dash && !bool(a.cfg.Print) && a.streams.in && !a.streams.err {
		return usage("stderr", "not a terminal, and a conversation needs one there",
			"artoo | tee log, which keeps the answers; script log, then artoo, which keeps the whole screen")
	}
	if a.fromProgram() && (headless.Format(a.cfg.Output) != headless.JSONL || prompt != "" || dash) {
		return usage("--input jsonl", "goes with -o jsonl, and without a prompt", "artoo --input jsonl -o jsonl, with the messages on stdin")
	}
	ctx, a.outcome.signals = a.watch(ctx, a.process.Out, a.process.Err)
	a.lastWords()
	a.watchQuit()
	in := headless.Stdin{
		File: a.process.In, Mode: headless.StdinMode(a.cfg.Stdin), Prompt: prompt, Dash: dash,
		Patient: a.streams.watched, Wait: time.Duration(a.cfg.StdinWait),
		Max: int64(a.cfg.StdinMax), Notice: func(text string) { a.screen.Note(text) },
	}
	if a.cfg.MaxTime > 0 {
		in.Until = a.began.Add(time.Duration(a.cfg.MaxTime))
	}
	called, err := a.extensions.calledBy(prompt)
	if err != nil {
		return err
	}
	if err := a.open(ctx); err != nil {
		return cmp.Or(in.Missing(ctx), err)
	}
	defer a.close()
	if err := a.agent.StartServers(ctx); err != nil {
		return err
	}
	if a.fromProgram() {
		return a.converseWithProgram(ctx)
	}
	message, sender, restore, err := a.outgoing(ctx, called)
	defer restore()
	if err != nil {
		return err
	}
	in.Prompt, in.Dir = message.Text, a.agent.OutputDir()
	input, err := in.Read(ctx)
	if err != nil {
		return err
	}
	a.outcome.stdin = input.State
	a.agent.Spend(time.Since(a.began))
	r := &headless.Runner{Agent: sender, Format: headless.Format(a.cfg.Output), Out: a.process.Out, Screen: a.screen,
		Ask: a.outcome.approve, Info: a.info(), Stopped: a.broken}
	if program, err := a.askProgram(); err != nil {
		return err
	} else if r.Ask == nil && program != nil {
		r.Ask, r.AnyKind = program, true
	}
	if r.Ask == nil && a.canAsk() {
		profile, _ := screen.ProfileDecision(a.cfg.UI, a.env, a.streams.err)
		notify, err := a.notifier(a.cfg.Notify, profile)
		if err != nil {
			return err
		}
		defer notify.Close()
		r.Ask = ui.AskOnTTY(a.screen, notify)
	}
	a.lastWords()
	response, failure := r.Run(ctx, input.Text, message.Parts...)
	a.outcome.response.Store(response)
	if failure == nil && input.Late() {
		failure = usage("stdin", "input came after the run had continued without it",
			"--stdin never, or a longer ARTOO_STDIN_WAIT")
	}
	failure = a.workspace.settleLayer(ctx, failure)
	if failure != nil {
		a.agent.Exiting(failure.Kind.ExitCode())
		return failure
	}
	return nil
}

// outgoing makes the message of a prompt, and shows the notes on it. restore undoes the choice of
// a model that comes with the prompt; it is never nil.
func (a *app) outgoing(ctx context.Context, c calledPrompt) (message ui.Expansion, sender headless.Sender, restore func(), err error) {
	options, restore, note := ui.UseModel(ctx, a.models, a.agent, c.own.Item.Model)
	if note != "" {
		a.screen.Note(note)
	}
	if line := a.extensions.ignored(); line != "" {
		a.warn(line)
	}
	if !c.isPrompt {
		message = ui.Expand(ctx, a.agent, c.text)
	} else if m := a.agent.Env().MCP; m == nil {
		err = usage(c.text, "no MCP servers are set up", "artoo mcp add NAME adds one")
	} else {
		message.Text, message.Parts, err = ui.ServerPrompt(ctx, m, c.server, c.name, c.values)
	}
	for _, note := range message.Notes {
		a.screen.Note(note)
	}
	sender = a.agent
	if c.isOwn {
		sender = invoker{a, c.own, options}
	}
	return message, sender, restore, err
}

// lastWords lets a second signal print the result object. Its facts are copied now,
// since the run goes on meanwhile.
func (a *app) lastWords() {
	info, signals := a.info(), a.outcome.signals
	signals.Last(func() {
		failure := agent.Classify(&headless.SignalError{Signal: signals.Caught()})
		_ = a.printResult(info, failure, signals.Code()) // the process dies next
	})
}

// mode is the approval mode of the agent, "" before there is one.
func (a *app) mode() string {
	if a.agent == nil {
		return ""
	}
	return string(a.agent.Policy().Mode)
}

func (a *app) info() result.Info {
	session, quota := "", (*provider.Quota)(nil)
	if a.agent != nil {
		session, quota = a.agent.SessionID(), a.agent.Quota()
	}
	confines, unconfined := a.confines()
	return result.Info{SessionID: session, Provider: a.choice.Provider, Model: a.choice.Model, Sandbox: string(confines), Unconfined: unconfined,
		Mode: a.mode(), Stdin: a.outcome.stdin, Began: a.began, Patch: a.layer.kept(),
		Schema: a.cfg != nil && a.cfg.Schema != "", Quota: quota}
}
