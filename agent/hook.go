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
	"maps"
	"os"
	"os/exec"
	"reflect"
	"regexp"
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
	hookPipe       = 200 * time.Millisecond
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
			k.matcher = matcherOf(h.Matcher)
		}
		list = append(list, k)
	}
	return list, nil
}

// matcherOf reads Claude Code's matcher. One that cannot be read matches everything, so that no
// call passes a guard by a mistake in it.
func matcherOf(text string) *regexp.Regexp {
	if text == "" || text == "*" {
		return nil
	}
	if plain, err := regexp.Compile(`^[A-Za-z0-9_|]+$`); err == nil && plain.MatchString(text) {
		text = "^(" + text + ")$"
	}
	matcher, _ := regexp.Compile(text) // nil after an error
	return matcher
}

// hooksOn are the hooks on an event whose matcher takes the subject: a tool, or a source, trigger or kind.
func (s *session) hooksOn(event extension.Event, subject string) []hook {
	s.hooks.mu.Lock()
	defer s.hooks.mu.Unlock()
	return hooksFor(s.hooks.list, event, subject)
}

func hooksFor(hooks []hook, event extension.Event, subject string) (list []hook) {
	for _, k := range hooks {
		if k.On == event && (k.matcher == nil || k.matcher.MatchString(subject)) {
			list = append(list, k)
		}
	}
	return list
}

// hooksOnCall are the hooks on an event of a call.
func (s *session) hooksOnCall(event extension.Event, p *pending) []hook {
	return concerning(s.hooksOn(event, claudeTool(p.tool.Name, p.call.Access.Kind)), s.opt.Policy, p.tool.Name, p.call.Access)
}

// concerning leaves those hooks in a list whose rules speak of a call.
func concerning(list []hook, policy *permission.Policy, name string, access tool.Access) []hook {
	return slices.DeleteFunc(list, func(k hook) bool { return !policy.Concerns(k.rules, name, access) })
}

// claudeTools are Claude Code's names of artoo's tools.
var claudeTools = map[string]string{
	"bash": "Bash", "read": "Read", "write": "Write", "edit": "Edit", "apply_patch": "Edit", "notebook_edit": "NotebookEdit",
	"glob": "Glob", "grep": "Grep", "ls": "LS", "web_fetch": "WebFetch", "web_search": "WebSearch", "task": "Task",
	"todo": "TodoWrite", "exit_plan_mode": "ExitPlanMode", "ask_user": "AskUserQuestion",
}

// claudeTool is Claude Code's name of a tool; others keep theirs. A call that types text to a running command is a
// Bash call, as one that starts a command is.
func claudeTool(name string, kind tool.Kind) string {
	if kind == tool.KindRun {
		return "Bash"
	}
	if claude, ok := claudeTools[name]; ok {
		return claude
	}
	return name
}

// HooksBefore are the hooks that would be asked before a call, in order. The error is of a rule
// that can match nothing.
func HooksBefore(list []extension.Hook, policy *permission.Policy, name string, access tool.Access) (asked []extension.Hook, err error) {
	all, err := matching(list)
	for _, k := range concerning(hooksFor(all, extension.BeforeTool, claudeTool(name, access.Kind)), policy, name, access) {
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

func (s *session) callInput(event extension.Event, p *pending) hookInput {
	in, a := s.hookInput(event), p.call.Access
	in.Tool, in.Input, in.ID = p.tool.Name, p.call.Input, p.call.ID
	in.Access = &hookAccess{Kind: a.Kind, Paths: a.Paths, Command: a.Command, Host: a.Host,
		Outside: a.Kind == tool.KindRun && p.decision.Place == permission.PlaceHost}
	return in
}

// ask runs a hook and reads its answer, as far as the hook may give one. The error is ctx's cause,
// or names the hook and its fault. A call in Claude Code's form has one file: with a
// patch of several the hook is run for each, and the strictest answer counts.
func (h *hooks) ask(ctx context.Context, s *session, cb *serial, k hook, in hookInput) (answer hookAnswer, err error) {
	if !k.Claude || in.Tool != "apply_patch" || len(in.Access.Paths) < 2 {
		return h.askOnce(ctx, s, cb, k, in)
	}
	whole := *in.Access
	for i, path := range whole.Paths {
		one := whole
		one.Paths, in.Access = []string{path}, &one
		next, err := h.askOnce(ctx, s, cb, k, in)
		if err != nil || next.Decision == permission.Refuse || next.Stop != nil && *next.Stop {
			return next, err
		}
		if next.Input != nil {
			h.warnOnce(s, cb, k.called()+": its change of a patch of several files does not count")
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
			if err := h.approved(k.Hook); err != nil {
				return failed(err)
			}
		}
	}
	data, err := provider.Marshal(in)
	if k.Claude {
		data, err = in.claude()
	}
	if err != nil {
		return failed(err)
	}
	end, err := h.run(ctx, s, k, data)
	next() // A notice may have to wait for an answer of the user.
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
		h.warnOnce(s, cb, k.called()+" may only deny, ask and add context: its allow or its change of the input does not count")
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

// hookEnd is how a hook ended.
type hookEnd struct {
	out, err []byte
	exit     shell.Exit
	late     bool
}

// run runs a hook's command with data on its standard input, and ends all that it started.
func (h *hooks) run(ctx context.Context, s *session, k hook, data []byte) (end hookEnd, err error) {
	words := k.Command
	root := s.opt.Policy.Root
	variables := map[string]string{"CLAUDE_PROJECT_DIR": root, "CLAUDE_PLUGIN_ROOT": k.Root, "extensionPath": k.Root}
	if k.Line != "" {
		words = []string{cmp.Or(shell.Find(), "sh"), "-c", k.Line}
	} else if k.Claude {
		words = slices.Clone(words)
		for i, word := range words {
			for name, value := range variables {
				word = strings.ReplaceAll(word, "${"+name+"}", value)
			}
			words[i] = word
		}
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir, cmd.Env = root, environ.OfExtension(h.environ, k.PassEnv...)
	if k.Claude {
		for name, value := range variables {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	if cmd.Err != nil {
		return end, notStarted(cmd.Err)
	}
	start := s.opt.Env.Start
	switch {
	case !k.Source.ThirdParty() && start == nil:
		start = shell.StartHere
	case k.Source.ThirdParty():
		start = s.startConfined
	}
	return runHook(ctx, cmd, start, data, k.Limit())
}

// startConfined starts a command of a third party on the project itself, as a background command.
func (s *session) startConfined(cmd *exec.Cmd) (shell.Started, error) {
	if s.opt.Sandbox == nil {
		return nil, errors.New("it runs only in the sandbox, which is not to be had here")
	}
	hidden, err := s.hidden(cmd, false)
	if err != nil {
		return nil, err
	}
	return s.opt.Sandbox.Start(cmd, confine.Line{Place: permission.PlaceBackground, Exec: true, Hidden: hidden})
}

// notStarted says why a hook's program does not run. It leaves out the path: the hook is named before it.
func notStarted(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return fmt.Errorf("its program cannot be started: %w", err)
}

func runHook(ctx context.Context, cmd *exec.Cmd, start shell.Start, data []byte, limit time.Duration) (end hookEnd, err error) {
	var files [6]*os.File // three pipes: the hook's input, output and errors
	for i := 0; i < len(files); i += 2 {
		if files[i], files[i+1], err = os.Pipe(); err != nil {
			return end, err
		}
		defer files[i].Close()
		defer files[i+1].Close()
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = files[0], files[3], files[5]
	started, err := start(cmd)
	if err != nil {
		return end, notStarted(err)
	}
	for _, i := range []int{0, 3, 5} {
		files[i].Close()
	}
	var reading sync.WaitGroup
	reading.Go(func() { end.out = beginning(files[2]) })
	reading.Go(func() { end.err = beginning(files[4]) })
	go func() {
		_, _ = files[1].Write(data) // a hook need not read it
		files[1].Close()
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-started.Done():
	case <-timer.C:
		end.late = true
	case <-ctx.Done():
	}
	started.KillAll()
	<-started.Done()
	started.Release()
	for _, i := range []int{2, 4} {
		_ = files[i].SetReadDeadline(time.Now().Add(hookPipe)) // a process that could not be killed may hold it open
	}
	reading.Wait()
	end.exit = started.Exit()
	return end, nil
}

// beginning reads a pipe to its end, or to its deadline, and keeps a byte more than an answer may have.
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
		return answer, fmt.Errorf("ended by %s%s", end.exit.Signal, heard)
	case end.exit.Code == 2:
		return hookAnswer{Decision: permission.Refuse, Reason: cmp.Or(said, "exit status 2")}, nil
	case end.exit.Code == 126:
		return answer, fmt.Errorf("exit status 126, its program cannot be executed%s", heard)
	case end.exit.Code == notFound:
		return answer, fmt.Errorf("exit status 127, no such program%s", heard)
	case end.exit.Code != 0:
		return answer, fmt.Errorf("exit status %d%s", end.exit.Code, heard)
	case len(out) > maxHookOutput:
		return answer, fmt.Errorf("its answer is longer than %s", text.Bytes(maxHookOutput))
	case len(out) == 0:
		return answer, nil
	case out[0] != '{' && (k.On == extension.SessionStart || k.On == extension.OnMessage):
		return hookAnswer{Context: string(bytes.ToValidUTF8(out, nil))}, nil
	case out[0] != '{':
		return answer, errors.New("its answer is not a JSON object")
	}
	if key, twice := provider.AmbiguousKey(out); twice {
		return answer, fmt.Errorf("its answer has the key %q twice", key)
	}
	if k.Claude {
		return readClaude(k.On, out)
	}
	decoder := json.NewDecoder(bytes.NewReader(out))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&answer); err != nil {
		return hookAnswer{}, fmt.Errorf("its answer is not understood: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return hookAnswer{}, errors.New("its answer is more than one JSON object")
	}
	return answer, answer.check()
}

const notFound = 127 // the status with which shells say that there is no such program

// warnOnce warns the user once of something about a hook; cb is nil between turns.
func (h *hooks) warnOnce(s *session, cb *serial, text string) {
	h.mu.Lock()
	known := h.warned[text]
	h.warned[text] = true
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

// claudeModes are Claude Code's names of the modes.
var claudeModes = map[permission.Mode]string{
	permission.ModeAsk: "default", permission.ModeEdits: "acceptEdits", permission.ModeAuto: "auto", permission.ModePlan: "plan",
}

// claudeNotice is Claude Code's name of a kind of notice.
func claudeNotice(kind string) string {
	if kind == "question" {
		return "permission_prompt"
	}
	return kind
}

// claude is the input as Claude Code gives it to its hooks.
func (in hookInput) claude() ([]byte, error) {
	out := map[string]any{"session_id": in.SessionID, "transcript_path": in.Transcript, "cwd": in.CWD,
		"permission_mode": claudeModes[in.Mode], "hook_event_name": in.Event.Claude()}
	text := ""
	if in.Text != nil {
		text = *in.Text
	}
	if in.Agent != "" {
		out["agent_id"], out["agent_type"] = in.Agent, in.Agent
	}
	switch in.Event {
	case extension.BeforeTool, extension.OnQuestion, extension.AfterTool:
		input, err := in.claudeInput()
		if err != nil {
			return nil, err
		}
		out["tool_name"], out["tool_input"], out["tool_use_id"] = claudeTool(in.Tool, in.Access.Kind), input, in.ID
		if in.Event == extension.AfterTool {
			out["tool_response"] = map[string]any{"content": text, "is_error": in.Status != CallOK}
			out["duration_ms"] = in.Millis
		}
	case extension.OnMessage:
		out["prompt"] = text
	case extension.OnStop, extension.OnAgentStop:
		out["stop_hook_active"], out["last_assistant_message"] = in.Active, text
	case extension.SessionStart:
		out["source"] = in.Source
	case extension.BeforeCompact:
		out["trigger"], out["custom_instructions"] = in.Trigger, text
	case extension.OnNotify:
		out["message"], out["notification_type"] = text, claudeNotice(in.Kind)
	case extension.SessionEnd:
		out["reason"] = in.Reason
	}
	return provider.Marshal(out)
}

// claudeInput is the input of a call with the names of Claude Code's tools.
func (in hookInput) claudeInput() (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(in.Input, &fields); err != nil {
		return nil, err
	}
	raw := func(v any) json.RawMessage {
		data, err := provider.Marshal(v)
		if err != nil { // a string or a number, which always has a form
			return json.RawMessage("null")
		}
		return data
	}
	path := ""
	if len(in.Access.Paths) > 0 {
		path = in.Access.Paths[0]
	}
	switch in.Tool {
	case "shell":
		if in.Access.Kind == tool.KindRun {
			fields = map[string]json.RawMessage{"command": raw(in.Access.Command)}
		}
	case "read", "write", "edit", "apply_patch":
		if path != "" {
			delete(fields, "path")
			fields["file_path"] = raw(path)
		}
	case "notebook_edit":
		delete(fields, "path")
		fields["notebook_path"] = raw(path)
	case "bash":
		var seconds float64
		if json.Unmarshal(fields["timeout"], &seconds) == nil {
			fields["timeout"] = raw(int64(seconds * 1000))
		}
	}
	var edits []map[string]json.RawMessage
	if json.Unmarshal(fields["edits"], &edits) == nil && len(edits) == 1 {
		delete(fields, "edits")
		maps.Copy(fields, edits[0])
	}
	return fields, nil
}

// artooInput is an input that a hook gave back, in Claude Code's names, as artoo's tools take it: nil
// where it is the input that the hook got. The names of other programs the tools know themselves.
func (in hookInput) artooInput(input json.RawMessage) json.RawMessage {
	if given, err := in.claudeInput(); err == nil {
		if data, err := provider.Marshal(given); err == nil && sameJSON(data, input) {
			return nil
		}
	}
	var fields map[string]json.RawMessage
	var millis float64
	switch {
	case json.Unmarshal(input, &fields) != nil:
		return input // Planning the call reports the error.
	case in.Tool == "shell" && in.Access.Kind == tool.KindRun:
		typed := fields["command"]
		if json.Unmarshal(in.Input, &fields) != nil || typed == nil {
			return input
		}
		delete(fields, "command")
		fields["input"] = typed
	case in.Tool == "bash" && json.Unmarshal(fields["timeout"], &millis) == nil:
		fields["timeout"] = json.RawMessage(fmt.Sprint(int64((time.Duration(millis)*time.Millisecond + time.Second - 1) / time.Second)))
	default:
		return input
	}
	changed, err := provider.Marshal(fields)
	if err != nil {
		return input
	}
	return changed
}

// sameJSON reports whether two texts are one JSON value, whatever its spacing and the order of its keys.
func sameJSON(a, b []byte) bool {
	var values [2]any
	for i, data := range [][]byte{a, b} {
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.UseNumber()
		if decoder.Decode(&values[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}

// readClaude reads an answer in Claude Code's form.
func readClaude(event extension.Event, out []byte) (answer hookAnswer, err error) {
	var said struct {
		Continue      *bool  `json:"continue"`
		StopReason    string `json:"stopReason"`
		SystemMessage string `json:"systemMessage"`
		Decision      string `json:"decision"`
		Reason        string `json:"reason"`
		Specific      struct {
			Decision    string          `json:"permissionDecision"`
			Reason      string          `json:"permissionDecisionReason"`
			Input       json.RawMessage `json:"updatedInput"`
			Context     string          `json:"additionalContext"`
			Output      json.RawMessage `json:"updatedToolOutput"`
			ForQuestion *struct {
				Behavior  string          `json:"behavior"`
				Input     json.RawMessage `json:"updatedInput"`
				Message   string          `json:"message"`
				Interrupt bool            `json:"interrupt"`
			} `json:"decision"`
		} `json:"hookSpecificOutput"`
	}
	if err := json.Unmarshal(out, &said); err != nil {
		return answer, fmt.Errorf("its answer is not understood: %w", err)
	}
	if said.Specific.Output != nil {
		return answer, errors.New("it changes the result of a call, which no hook can here")
	}
	answer = hookAnswer{Reason: said.Reason, Input: said.Specific.Input, Context: said.Specific.Context, Notice: said.SystemMessage}
	word := said.Decision
	if word == "allow" {
		word = "allow beside hookSpecificOutput" // where Claude Code has approve and block
	}
	if event == extension.BeforeTool && said.Specific.Decision != "" {
		word, answer.Reason = said.Specific.Decision, said.Specific.Reason
	}
	if q := said.Specific.ForQuestion; event == extension.OnQuestion && q != nil {
		word, answer.Reason, answer.Input = q.Behavior, q.Message, q.Input
		if q.Interrupt {
			answer.Stop = new(true)
		}
	}
	switch word {
	case "block":
		answer.Decision = permission.Refuse
	case "approve":
		answer.Decision = permission.Run
	case "defer":
	default:
		answer.Decision = permission.Verdict(word)
	}
	if said.Continue != nil && !*said.Continue {
		answer.Stop = new(true)
		if answer.Reason == "" {
			answer.Reason = said.StopReason
		}
	}
	return answer, answer.check()
}
