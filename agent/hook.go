package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"artoo/agent/confine"
	"artoo/agent/permission"
	"artoo/provider"
	"artoo/tool"
	"artoo/tool/environ"
	"artoo/tool/extension"
	"artoo/tool/shell"
	"artoo/tool/text"
)

const (
	maxHookOutput  = 1 << 20 // bytes of a hook's answer; a longer one is a failure
	maxHookContext = 10_000  // bytes that one hook may add to the context
	maxHookReason  = 2_000   // bytes of a reason
	mostResumed    = 8       // times that hooks on stop let the model go on in one turn
)

// newHooks starts nothing. The error is of a rule that can match nothing.
func newHooks(opt Hooks) (*hooks, error) {
	list, err := matching(opt.List)
	if err != nil {
		return nil, err
	}
	all := &hooks{environ: opt.Environ, approved: opt.Approved, running: make(chan struct{}, 1), list: list, warned: map[string]bool{}}
	all.noticing, all.stop = context.WithCancel(context.Background())
	return all, nil
}

// matching reads the rules of hooks. The error names a rule that can match nothing.
func matching(given []extension.Hook) (list []hook, err error) {
	for _, h := range given {
		k := hook{Hook: h}
		for _, text := range h.Match {
			rule, err := permission.ParseRule(text)
			switch wrong := (*permission.RuleError)(nil); {
			case err == nil:
				k.rules = append(k.rules, rule)
			case h.Matcher != "" || h.Claude && h.Source.ThirdParty():
				k.rules = nil // It is asked about every call that the matcher lets through.
			case errors.As(err, &wrong):
				return nil, &Failure{Kind: KindConfig, What: h.Place, Err: err, Hint: "match = \"" + cmp.Or(wrong.Try, "bash(git push:*)") + "\""}
			default:
				return nil, err
			}
		}
		if h.On != extension.OnMessage && h.On != extension.OnStop { // Claude Code reads no matcher there.
			k.match()
		}
		list = append(list, k)
	}
	return list, nil
}

// hooksOn are the hooks on an event whose matcher takes the subject: a source, trigger or kind.
func (s *session) hooksOn(event extension.Event, subject string) []hook {
	s.hooks.mu.Lock()
	defer s.hooks.mu.Unlock()
	return hooksFor(s.hooks.list, event, subject, "")
}

// hooksFor are the hooks of a list on an event that fit a subject, or a tool by its name here.
func hooksFor(hooks []hook, event extension.Event, subject, tool string) (list []hook) {
	for _, k := range hooks {
		if k.On == event && k.fits(subject, tool) {
			list = append(list, k)
		}
	}
	return list
}

// hooksOnCall are the hooks on an event of a call.
func (s *session) hooksOnCall(event extension.Event, p planned) []hook {
	return concerning(s.hooksOnTool(event, p), s.opt.Policy, p.tool.Name, p.call.Access)
}

// hooksOnTool are the hooks on an event of a call whose matcher takes its tool.
func (s *session) hooksOnTool(event extension.Event, p planned) []hook {
	s.hooks.mu.Lock()
	defer s.hooks.mu.Unlock()
	return hooksOnTool(s.hooks.list, event, p.tool.Name, p.call.Access.Kind)
}

func hooksOnTool(hooks []hook, event extension.Event, name string, kind tool.Kind) []hook {
	return hooksFor(hooks, event, claudeTool(name, kind), name)
}

// concerning leaves those hooks in a list whose rules speak of a call.
func concerning(list []hook, policy *permission.Policy, name string, access tool.Access) []hook {
	return slices.DeleteFunc(list, func(k hook) bool { return !policy.Concerns(k.rules, name, access) })
}

// HooksBefore are the hooks that would be asked before a call, in order. The error is of a rule
// that can match nothing.
func HooksBefore(list []extension.Hook, policy *permission.Policy, name string, access tool.Access) (asked []extension.Hook, err error) {
	all, err := matching(list)
	for _, k := range concerning(hooksOnTool(all, extension.BeforeTool, name, access.Kind), policy, name, access) {
		asked = append(asked, k.Hook)
	}
	return asked, err
}

// called is how messages name a hook: its command, and where it stands.
func (k hook) called() string {
	return text.Clip(text.FirstLine(k.String()), 120) + " (" + k.Place + ")"
}

func (s *session) hookInput(event extension.Event) hookInput {
	in := hookInput{V: 1, Event: event, SessionID: s.sessionID, CWD: s.opt.Env.Dir, Project: s.opt.Policy.Root,
		Mode: s.opt.Policy.Mode, Model: s.model.String(), Agent: s.agentName}
	if file := s.conv.Session(); file != nil {
		in.Transcript = file.Path()
	}
	return in
}

func (s *session) callInput(event extension.Event, d decided) hookInput {
	in, a := s.hookInput(event), d.call.Access
	in.Tool, in.Input, in.ID = d.tool.Name, d.call.Input, d.call.ID
	in.Access = &hookAccess{Kind: a.Kind, Paths: a.Paths, Command: a.Command, Host: a.Host,
		Outside: a.Kind == tool.KindRun && d.decision.Place == permission.PlaceHost}
	return in
}

// ask runs a hook and reads its answer, as far as the hook may give one. The error is ctx's cause,
// or names the hook and its fault. A call in Claude Code's form has one edit of one
// file: with several the hook is run for each, and the strictest answer counts.
func (h *hooks) ask(ctx context.Context, s *session, cb *serial, k hook, in hookInput) (answer hookAnswer, err error) {
	parts := []hookInput{in}
	if k.Claude {
		parts = in.parts()
	}
	if len(parts) == 1 {
		return h.askOnce(ctx, s, cb, k, parts[0])
	}
	for i, part := range parts {
		next, err := h.askOnce(ctx, s, cb, k, part)
		if err != nil || next.Decision == permission.Refuse || next.Stop != nil && *next.Stop {
			return next, err
		}
		if next.Input != nil {
			h.warnOnce(s, cb, k.called()+": ignoring its change, since the call has several edits")
			next.Input = nil
		}
		switch {
		case i == 0:
			answer = next
			continue
		case answer.Decision == permission.Ask:
		case next.Decision != permission.Run:
			answer.Decision, answer.Reason = next.Decision, next.Reason
		}
		answer.Context = strings.TrimSpace(answer.Context + "\n" + next.Context)
	}
	return answer, nil
}

func (h *hooks) askOnce(ctx context.Context, s *session, cb *serial, k hook, in hookInput) (hookAnswer, error) {
	select {
	case h.running <- struct{}{}:
	case <-ctx.Done():
		return hookAnswer{}, context.Cause(ctx)
	}
	next := sync.OnceFunc(func() { <-h.running })
	defer next()
	failed := func(err error) (hookAnswer, error) {
		return hookAnswer{}, fmt.Errorf("%s failed: %w", k.called(), err)
	}
	if k.Source.ThirdParty() {
		in = in.masked(s)
		if h.approved != nil {
			if err := h.approved(k.Extension()); err != nil {
				return failed(unclear{err})
			}
		}
	}
	data, err := in.data(s, k)
	if err != nil {
		return failed(err)
	}
	end, err := h.run(ctx, s, k, data)
	next() // A notice may have to wait for an answer of the user.
	if end.layer != nil {
		h.takeChanges(ctx, s, cb, k, end, in.lander)
	}
	if cause := context.Cause(ctx); cause != nil {
		return hookAnswer{}, cause
	}
	if err != nil {
		return failed(err)
	}
	answer, err := k.read(end)
	if err != nil {
		return failed(err)
	}
	if k.Claude && answer.Input != nil && in.Access != nil {
		answer.Input = in.artooInput(answer.Input)
	}
	if answer.Notice != "" && cb != nil {
		cb.notice(NoticeInfo, k.called()+": "+text.Clip(answer.Notice, maxHookReason))
	}
	answer.Context = text.Clip(answer.Context, maxHookContext)
	answer.Reason = text.Clip(strings.TrimSpace(answer.Reason), maxHookReason)
	if k.Source.ThirdParty() && (answer.Decision == permission.Run || answer.Input != nil) {
		h.warnOnce(s, cb, k.called()+" may only deny, ask and add context: its allow, or its change of the input, is ignored")
		answer.Input = nil
		if answer.Decision == permission.Run {
			answer.Decision = ""
		}
	}
	return answer, nil
}

// masked is the input with marks in place of keys.
func (in hookInput) masked(s *session) hookInput {
	in.Diff, in.Reason, in.Input = s.masked(in.Diff), s.masked(in.Reason), s.maskedJSON(in.Input)
	if in.Text != nil {
		in.Text = new(s.masked(*in.Text))
	}
	if in.Access != nil {
		access := *in.Access
		access.Command = s.masked(access.Command)
		in.Access = &access
	}
	return in
}

// takeChanges lands changes of a hook on its layer, names the others once, and gives the layer up.
func (h *hooks) takeChanges(ctx context.Context, s *session, cb *serial, k hook, end hookEnd, land lander) {
	if ctx.Err() != nil {
		_ = end.layer.Discard() // it goes with the sandbox
		return
	}
	changes, err := end.layer.Changes(ctx)
	if err != nil {
		h.warnOnce(s, cb, k.called()+": the files that it wrote cannot be read: "+err.Error())
		return
	}
	left := changes.List()
	if land != nil && !end.late && end.exit.Signal == "" {
		left = land.landChanges(ctx, changes)
	}
	if err := changes.Discard(true); err != nil {
		h.warnOnce(s, cb, k.called()+": its layer could not be removed: "+err.Error())
	}
	if len(left) == 0 {
		return
	}
	var paths []string
	for _, change := range left {
		paths = append(paths, change.Path)
	}
	h.warn(s, cb, k.called()+" wrote", k.called()+" wrote files that artoo discards, because the hook is not your own: "+text.UpTo(mostNamed, s.namesOf(paths)))
}

// data is the input as the hook reads it. A notice does not wait for the conversation, which may go on.
func (in hookInput) data(s *session, k hook) (data []byte, err error) {
	if !k.Claude {
		return provider.Marshal(in)
	}
	if in.Event != extension.OnNotify {
		if in.Transcript, err = s.transcript(k); err != nil {
			return nil, err
		}
	}
	return in.claude()
}

// hookEnd is how a hook ended.
type hookEnd struct {
	out, err []byte
	exit     shell.Exit
	late     bool
	layer    confine.Confined // holds the files that it wrote; nil where it ran on no layer
	hidden   []string         // names what it could not see, where its program is missing
}

// run runs a hook's command with data on its standard input, and ends all that it started.
func (h *hooks) run(ctx context.Context, s *session, k hook, data []byte) (end hookEnd, err error) {
	words := k.Command
	root := s.opt.Policy.Root
	variables := map[string]string{"CLAUDE_PROJECT_DIR": root, "CLAUDE_PLUGIN_ROOT": k.Root, "extensionPath": k.Root}
	if k.Line != "" {
		words = []string{cmp.Or(shell.Find(s.own()), "sh"), "-c", k.Line}
	} else if k.Claude {
		words = slices.Clone(words)
		for i, word := range words {
			for name, value := range variables {
				word = strings.ReplaceAll(word, "${"+name+"}", value)
			}
			words[i] = word
		}
	}
	cmd := s.own().Command(context.Background(), words[0], words[1:]...)
	cmd.Dir, cmd.Env = root, environ.OfExtension(h.environ, k.PassEnv...)
	if k.Source.ThirdParty() { // Without the network npx and uvx would try for minutes.
		cmd.Env = append(cmd.Env, "npm_config_offline=true", "UV_OFFLINE=1")
	}
	if k.Claude {
		for name, value := range variables {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	if cmd.Err != nil {
		return end, notStarted(cmd.Err)
	}
	start := s.opt.Env.Start
	var layer confine.Confined
	switch {
	case !k.Source.ThirdParty() && start == nil:
		start = shell.StartHere
	case k.Source.ThirdParty():
		start = func(cmd *exec.Cmd) (shell.Started, error) {
			confined, err := s.startConfined(cmd)
			if err == nil && s.opt.Policy.Confinement.Layer {
				layer = confined
			}
			return confined, err
		}
	}
	r, err := startHook(cmd, start, data)
	if err != nil {
		return end, err
	}
	var beside <-chan struct{}
	if k.Claude {
		beside = r.beside
	}
	if !k.Async {
		if end, ended := r.wait(ctx, k.Limit(), beside); ended {
			if end.layer = layer; layer != nil && end.exit.Code == notFound {
				end.hidden = s.hiddenFrom(layer, root, strings.Join(words, " "), string(end.err), true)
			}
			return end, nil
		}
	}
	h.besides(func(ctx context.Context) {
		r.wait(ctx, k.Limit(), nil)
		if layer != nil {
			_ = layer.Discard() // it goes with the sandbox
		}
	})
	return end, nil
}

// besides has f go on for as long as the session does, and no one wait for it.
func (h *hooks) besides(f func(ctx context.Context)) {
	h.mu.Lock()
	ctx := h.noticing
	h.mu.Unlock()
	h.notices.Go(func() { f(ctx) })
}

// startConfined starts a command of a third party on a layer over the project. Where there are none it sees the project
// read-only, as a background command does.
func (s *session) startConfined(cmd *exec.Cmd) (confine.Confined, error) {
	if s.opt.Sandbox == nil {
		return nil, errors.New("it runs only in the sandbox, which this machine lacks")
	}
	place := permission.PlaceBackground
	if s.opt.Policy.Confinement.Layer {
		place = permission.PlaceLayer
	}
	return s.opt.Sandbox.Start(cmd, confine.Line{Place: place, Exec: true})
}

// notStarted says why a hook's program does not run. It leaves out the path: the hook is named before it.
func notStarted(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return fmt.Errorf("its program cannot be started: %w", err)
}

// hookRun is a hook that was started.
type hookRun struct {
	started shell.Started
	files   [6]*os.File // three pipes: its input, output and errors
	reading sync.WaitGroup
	end     hookEnd
	beside  chan struct{} // closed once its first line says that no one need wait for it
}

// startHook starts a hook with data on its standard input.
func startHook(cmd *exec.Cmd, start shell.Start, data []byte) (run *hookRun, err error) {
	r := &hookRun{beside: make(chan struct{})}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	for i := 0; i < len(r.files); i += 2 {
		if r.files[i], r.files[i+1], err = os.Pipe(); err != nil {
			return nil, err
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = r.files[0], r.files[3], r.files[5]
	if r.started, err = start(cmd); err != nil {
		return nil, notStarted(err)
	}
	for _, i := range []int{0, 3, 5} {
		r.files[i].Close()
	}
	r.reading.Go(func() {
		out := &lineReader{from: shell.NewPipeReader(r.files[2]), read: func(line []byte) {
			if saysAsync(line) {
				close(r.beside)
			}
		}}
		r.end.out = beginning(out)
	})
	r.reading.Go(func() { r.end.err = beginning(shell.NewPipeReader(r.files[4])) })
	go func() {
		_, _ = r.files[1].Write(data) // a hook need not read it
		r.files[1].Close()
	}()
	return r, nil
}

func (r *hookRun) close() {
	for _, file := range r.files {
		if file != nil {
			file.Close()
		}
	}
}

// wait waits for the end of the hook and ends all that it started; with beside not nil, no longer than until that is
// closed: then ended is false.
func (r *hookRun) wait(ctx context.Context, limit time.Duration, beside <-chan struct{}) (end hookEnd, ended bool) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-r.started.Done():
	case <-timer.C:
		r.end.late = true
	case <-ctx.Done():
	case <-beside:
		return end, false
	}
	r.started.KillAll()
	<-r.started.Done()
	r.started.Release()
	for _, i := range []int{2, 4} {
		shell.EndPipe(r.files[i]) // a process that could not be killed may hold it open
	}
	r.reading.Wait()
	r.close()
	r.end.exit = r.started.Exit()
	return r.end, true
}

// lineReader hands on what it reads, and its first line once that is whole.
type lineReader struct {
	from io.Reader
	read func(line []byte)
	line []byte
	done bool
}

func (f *lineReader) Read(p []byte) (int, error) {
	n, err := f.from.Read(p)
	if !f.done {
		line, _, whole := bytes.Cut(p[:n], []byte("\n"))
		f.line = append(f.line, line...)
		if f.done = whole || len(f.line) > maxHookContext; f.done {
			f.read(f.line)
		}
	}
	return n, err
}

// beginning reads a pipe to its end, and keeps a byte more than an answer may have.
func beginning(from io.Reader) []byte {
	data, _ := io.ReadAll(io.LimitReader(from, maxHookOutput+1))
	_, _ = io.Copy(io.Discard, from) // Otherwise the hook would wait for a reader.
	return data
}

// read is the answer of a hook that has ended. The error is the failure.
func (k hook) read(end hookEnd) (answer hookAnswer, err error) {
	said := strings.TrimSpace(string(bytes.ToValidUTF8(end.err, nil)))
	heard := said
	if heard = text.Clip(text.FirstLine(heard), 200); heard != "" {
		heard = ": " + heard
	}
	out := bytes.TrimSpace(end.out)
	switch {
	case end.late:
		return answer, fmt.Errorf("no answer within %v", k.Limit())
	case end.exit.Signal != "":
		return answer, fmt.Errorf("killed by %s%s", end.exit.Signal, heard)
	case end.exit.Code == 2:
		return hookAnswer{Decision: permission.Refuse, Reason: cmp.Or(said, "exit status 2")}, nil
	case k.Claude && end.exit.Code != 0 && k.deniesAnyway(out):
		return readClaude(k.On, out)
	case end.exit.Code == 126:
		return answer, fmt.Errorf("exit status 126, its program cannot be executed%s", heard)
	case end.exit.Code == notFound:
		return answer, fmt.Errorf("exit status 127, no such program%s", strings.Join(append([]string{heard}, end.hidden...), "; "))
	case end.exit.Code != 0:
		return answer, fmt.Errorf("exit status %d%s", end.exit.Code, heard)
	case len(out) > maxHookOutput:
		return answer, fmt.Errorf("its answer is longer than %s", text.Bytes(maxHookOutput))
	case len(out) == 0:
		return answer, nil
	case out[0] != '{' && (k.On == extension.SessionStart || k.On == extension.OnMessage):
		return hookAnswer{Context: string(bytes.ToValidUTF8(out, nil))}, nil
	case out[0] != '{' && k.Claude:
		return answer, nil // It talks to the user's screen, which Claude Code shows only when asked.
	case out[0] != '{':
		return answer, errors.New("its answer is not a JSON object")
	}
	if k.Claude {
		return readClaude(k.On, out)
	}
	if key, twice := provider.AmbiguousKey(out); twice {
		return answer, fmt.Errorf("its answer has the key %q twice", key)
	}
	decoder := json.NewDecoder(bytes.NewReader(out))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&answer); err != nil {
		return hookAnswer{}, fmt.Errorf("its answer cannot be parsed: %w", text.Misread(err))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return hookAnswer{}, errors.New("its answer is more than one JSON object")
	}
	return answer, answer.check()
}

// passes reports whether a failure of the hook only warns.
func (k hook) passes(err error) bool {
	_, denies := errors.AsType[unclear](err)
	return k.Warn && !denies
}

// warnFailed warns the user of the first failure of a hook.
func (h *hooks) warnFailed(s *session, cb *serial, k hook, err error) {
	h.warn(s, cb, k.called(), err.Error())
}

// warnOnce warns the user once of something about a hook.
func (h *hooks) warnOnce(s *session, cb *serial, text string) { h.warn(s, cb, text, text) }

// warn warns the user with a text unless one was already shown for the key; cb is nil between turns.
func (h *hooks) warn(s *session, cb *serial, key, text string) {
	h.mu.Lock()
	known := h.warned[key]
	h.warned[key] = true
	h.mu.Unlock()
	switch {
	case known:
	case cb != nil:
		cb.notice(NoticeWarning, text)
	default:
		s.notify(s.masked(text))
	}
}

// hookError is a failed hook on a question, which denies.
type hookError struct{ error }

// Is reports whether it stands for ErrNobody: a headless run then ends as one without an answer.
func (hookError) Is(target error) bool { return target == ErrNobody }

// SetHooks makes these the hooks from the next event on. The error is of a rule that can match
// nothing. Any goroutine may call it.
func (a *Agent) SetHooks(list []extension.Hook) error {
	all, err := matching(list)
	if err == nil {
		h := a.session.hooks
		h.mu.Lock()
		h.list = all
		h.mu.Unlock()
	}
	return err
}

// Hooks are the hooks of the session, in the order in which they run.
func (a *Agent) Hooks() (list []extension.Hook) {
	h := a.session.hooks
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, k := range h.list {
		list = append(list, k.Hook)
	}
	return list
}

// says names the hook with its reason.
func (k hook) says(reason string) string { return k.called() + because(reason) }

// remark is a hook's message to the model. Each line is quoted, so that none seems to have another author.
func (k hook) remark(does, text string) string {
	return "[the hook " + k.called() + " " + does + ":\n> " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n> ") + "\n]"
}

// stopped is the error that ends a turn because a hook says so.
func (k hook) stopped(reason string) error {
	return &Failure{Kind: KindApproval, What: "the hook " + k.called(), Err: errors.New("stopped the turn" + because(reason))}
}
