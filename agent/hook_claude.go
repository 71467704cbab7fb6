package agent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"artoo/agent/permission"
	"artoo/provider"
	"artoo/tool"
	"artoo/tool/edit"
	"artoo/tool/extension"
	"artoo/tool/spelling"
	"artoo/tool/text"
)

// plainMatcher is a matcher that names tools, with bars, commas or spaces between them.
const plainMatcher = `^[A-Za-z0-9_|, ]+$`

// match reads Claude Code's matcher. One that cannot be read matches everything, so that no call passes a guard by a
// mistake in it. One that has the form of rules, as Bash(git push:*), is taken for them: as an expression it fits nothing.
func (k *hook) match() {
	text := strings.TrimSpace(k.Matcher)
	if text == "" || text == "*" {
		return
	}
	if plain, err := regexp.Compile(plainMatcher); err == nil && plain.MatchString(text) {
		k.names = strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("|, ", r) })
		text = "^(" + strings.Join(k.names, "|") + ")$"
	}
	k.matcher, _ = regexp.Compile(text) // nil after an error
	if rules := rulesIn(text); rules != nil && k.On.OfTool() {
		k.matcher, k.rules = nil, rules
	}
}

// rulesIn are the rules that a matcher with arguments in parentheses means; nil for an expression.
func rulesIn(matcher string) (rules []permission.Rule) {
	limits := false
	for _, part := range text.Outside(matcher, "|, ") {
		name, arg, has := strings.Cut(part, "(")
		rule, err := permission.ParseRule(part)
		if err != nil || has && strings.HasPrefix(arg, ".") { // Bash(.*) is an expression.
			return nil
		}
		limits = limits || has && permission.ToolsNamed(name) != nil
		rules = append(rules, rule)
	}
	if !limits {
		return nil
	}
	return rules
}

// fits reports whether the matcher takes a subject: Claude Code's name of a tool, or a source, trigger or kind. tool is
// artoo's name of the tool, "" for none: a matcher may also call it as other programs do.
func (k hook) fits(subject, tool string) bool {
	return k.matcher == nil || k.matcher.MatchString(subject) ||
		slices.ContainsFunc(k.names, func(name string) bool { return permission.IsCalled(tool, name) })
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
			out["tool_response"], out["duration_ms"] = in.claudeResponse(text), in.Millis
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

// claudeResponse is the result of a call, under the names that Claude Code has for it by the kind of tool.
func (in hookInput) claudeResponse(text string) map[string]any {
	out := map[string]any{"content": text, "is_error": in.Status != CallOK, "success": in.Status == CallOK}
	switch {
	case in.Access.Kind == tool.KindRun:
		out["stdout"], out["stderr"], out["interrupted"], out["isImage"] = text, "", in.Status == CallInterrupted, false
	case len(in.Access.Paths) > 0:
		out["filePath"] = in.Access.Paths[0]
	}
	return out
}

// parts are the edits of a call, each as a call of its own: Claude Code's tools change one place of one file.
func (in hookInput) parts() (list []hookInput) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(in.Input, &fields) != nil {
		return []hookInput{in}
	}
	add := func(path string, changed map[string]any) {
		part, all := in, maps.Clone(fields)
		for name, value := range changed {
			all[name] = raw(value)
		}
		access := *in.Access
		part.Access, part.Input = &access, raw(all)
		if path != "" {
			access.Paths = []string{path}
		}
		list = append(list, part)
	}
	switch in.Tool {
	case "edit":
		var edits []json.RawMessage
		if json.Unmarshal(fields["edits"], &edits) == nil {
			for _, one := range edits {
				add("", map[string]any{"edits": []json.RawMessage{one}})
			}
		}
	case "apply_patch":
		texts := patchTexts(fields["input"])
		for i, path := range in.Access.Paths {
			var text map[string]any
			if i < len(texts) {
				text = texts[i]
			}
			add(path, text)
		}
	}
	if list == nil {
		list = []hookInput{in}
	}
	return list
}

// patchTexts are the old and the new text of each path of a patch, as Claude Code's Edit has them.
func patchTexts(input json.RawMessage) (list []map[string]any) {
	var patch string
	if json.Unmarshal(input, &patch) != nil {
		return nil
	}
	files, err := edit.ParsePatch(patch)
	if err != nil {
		return nil // Planning the call reports the error.
	}
	for _, f := range files {
		var before, after []string
		for _, chunk := range f.Chunks {
			before, after = append(before, chunk.Old...), append(after, chunk.New...)
		}
		text := map[string]any{"old_string": strings.Join(before, "\n"), "new_string": cmp.Or(f.Text, strings.Join(after, "\n"))}
		for range f.Paths() {
			list = append(list, text)
		}
	}
	return list
}

// raw is a value as JSON.
func raw(v any) json.RawMessage {
	data, err := provider.Marshal(v)
	if err != nil { // a value without a form, which no input holds
		return json.RawMessage("null")
	}
	return data
}

// claudeInput is the input of a call with the names of Claude Code's tools.
func (in hookInput) claudeInput() (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(in.Input, &fields); err != nil {
		return nil, err
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

// claudeKeys are the keys of an answer in Claude Code's form, and specificKeys those of hookSpecificOutput. The last two of
// each say nothing by themselves.
const (
	claudeKeys   = "decision continue systemMessage suppressOutput hookSpecificOutput async asyncTimeout stopReason reason"
	specificKeys = "permissionDecision updatedInput additionalContext updatedToolOutput updatedMCPToolOutput decision " +
		"initialUserMessage sessionTitle watchPaths reloadSkills retry worktreePath permissionDecisionReason hookEventName"
)

// checkKeys reports an object of which no key says anything, or one with a misspelt key: its author meant something that
// would be lost.
func checkKeys(object map[string]json.RawMessage, keys string) error {
	known := strings.Fields(keys)
	speaks := len(object) == 0
	var unknown []string
	for key := range object {
		at := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, key) })
		speaks = speaks || at >= 0 && at < len(known)-2
		if at < 0 {
			unknown = append(unknown, key)
		}
	}
	slices.Sort(unknown)
	for _, key := range unknown {
		if near := spelling.Nearest(key, known); near != "" {
			return fmt.Errorf("its answer has an unknown key %q; did you mean %s", text.Clip(key, 40), near)
		}
	}
	if !speaks && len(unknown) > 0 {
		return fmt.Errorf("its answer has no key that Claude Code knows: %s", text.Clip(text.UpTo(3, unknown), 100))
	}
	if !speaks && object["permissionDecisionReason"] != nil {
		return errors.New("its answer has a permissionDecisionReason and no permissionDecision")
	}
	return nil
}

// claudeAnswer is an answer in Claude Code's form.
type claudeAnswer struct {
	Continue      *bool          `json:"continue"`
	StopReason    string         `json:"stopReason"`
	SystemMessage string         `json:"systemMessage"`
	Decision      string         `json:"decision"`
	Reason        string         `json:"reason"`
	Specific      claudeSpecific `json:"hookSpecificOutput"`
}

type claudeSpecific struct {
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
}

// parse reads an answer. The error says why it is not clear.
func (said *claudeAnswer) parse(out []byte) error {
	if key, twice := provider.AmbiguousKey(out); twice {
		return fmt.Errorf("its answer has the key %q twice", key)
	}
	if err := json.Unmarshal(out, said); err != nil {
		return fmt.Errorf("its answer cannot be parsed: %w", err)
	}
	var object, specific map[string]json.RawMessage
	if err := json.Unmarshal(out, &object); err != nil {
		return err
	}
	for key, value := range object {
		switch {
		case strings.EqualFold(key, "permissionDecision"):
			return errors.New("its permissionDecision belongs in hookSpecificOutput")
		case strings.EqualFold(key, "hookSpecificOutput"):
			if err := json.Unmarshal(value, &specific); err != nil {
				return err
			}
		}
	}
	return cmp.Or(checkKeys(object, claudeKeys), checkKeys(specific, specificKeys))
}

// saysAsync reports whether the first line of a hook's output says that no one need wait for it.
func saysAsync(line []byte) bool {
	var said struct{ Async bool }
	return json.Unmarshal(line, &said) == nil && said.Async
}

// deniesAnyway reports whether a hook denies by its output though it failed.
func (k hook) deniesAnyway(out []byte) bool {
	answer, err := readClaude(k.On, out)
	return bytes.HasPrefix(out, []byte("{")) && err == nil && answer.Decision == permission.Refuse
}

// readClaude reads an answer in Claude Code's form. One that is not clear denies.
func readClaude(event extension.Event, out []byte) (answer hookAnswer, err error) {
	var said claudeAnswer
	if err := said.parse(out); err != nil {
		return answer, unclear{err}
	}
	if said.Specific.Output != nil {
		return answer, errors.New("it changes a call's result, which artoo's hooks cannot do")
	}
	answer = hookAnswer{Reason: said.Reason, Input: said.Specific.Input, Context: said.Specific.Context, Notice: said.SystemMessage}
	if string(answer.Input) == "null" {
		answer.Input = nil
	}
	word := said.Decision
	switch word {
	case "approve":
		word = "allow"
	case "allow":
		word = "" // Claude Code has approve in this place, and goes on as without an answer.
	}
	if special := said.Specific.Decision; special != "" && (event == extension.BeforeTool || special == "deny") {
		word, answer.Reason = special, cmp.Or(said.Specific.Reason, said.Reason)
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
	case "defer":
	default:
		answer.Decision = permission.Verdict(word)
	}
	if said.Continue != nil && !*said.Continue {
		answer.Stop = new(true)
		answer.Reason = cmp.Or(said.StopReason, answer.Reason)
	}
	if err := answer.check(); err != nil {
		return hookAnswer{}, unclear{err}
	}
	return answer, nil
}
