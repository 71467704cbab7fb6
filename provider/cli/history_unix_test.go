//go:build unix

package cli

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"artoo/provider"
)

// claudeGreets is a claude that says hello in session s-1.
var claudeGreets = events(claudeInit, claudeText("Hello."), claudeGood)

func TestSessionIsResumedAfterItWasSaved(t *testing.T) {
	s := newStandIn(t, ClaudeName, claudeGreets)
	first := s.ask(user("1"))
	first.want(t, "Hello.")
	line, err := json.Marshal(first.done.Message)
	must(t, err)
	var saved provider.Message
	must(t, json.Unmarshal(line, &saved))
	history := provider.Repair([]provider.Message{user("1"), saved, user("2")})
	s.ask(history...).want(t, "Hello.")
	if args := s.given("args", 2); !strings.Contains(args, "\n--resume=s-1\n") {
		t.Errorf("arguments %q", args)
	}
	if told := s.given("stdin", 2); told != "2" {
		t.Errorf("it was told %q", told)
	}
	if args := s.given("args", 1); strings.Contains(args, "--resume") {
		t.Errorf("the first run had %q", args)
	}
}

// Turns of another provider meanwhile are sent as text, once.
func TestSwitchFromAnotherProvider(t *testing.T) {
	s := newStandIn(t, ClaudeName, claudeGreets)
	other := []provider.Message{
		user("look"),
		{Role: provider.RoleAssistant, Provider: "openai", Model: "m", Parts: []provider.Part{
			provider.Reasoning{Text: "SECRET THOUGHT", Opaque: "SEALED"}, provider.Text{Text: "I look."},
			provider.ToolCall{ID: "c1", Name: "bash", Input: json.RawMessage(`{"command":"ls"}`)}}},
		{Role: provider.RoleTool, Parts: []provider.Part{provider.ToolResult{CallID: "c1", Name: "bash",
			Text: "a.go" + strings.Repeat(" b.go", 3000)}}},
		{Role: provider.RoleAssistant, Provider: "openai", Model: "m",
			Parts: []provider.Part{provider.Text{Text: "There is a.go."}}},
	}
	s.ask(append(slices.Clone(other), user("now you"))...).want(t, "Hello.")
	told := s.given("stdin", 1)
	for _, want := range []string{"[user]\nlook\n", "[assistant]\nI look.\n",
		"[assistant called bash]\n{\"command\":\"ls\"}\n", "[result of bash]\na.go", "(…)", "There is a.go.",
		"The user's message is now:\n\nnow you"} {
		if !strings.Contains(told, want) {
			t.Errorf("it was not told %q", want)
		}
	}
	if strings.Contains(told, "SECRET") || strings.Contains(told, "SEALED") || len(told) > 6000 {
		t.Errorf("it was told %d bytes: %.300q", len(told), told)
	}
	// After that it gets only new messages; and it learns of the other's next turn.
	reply := s.ask(append(slices.Clone(other), user("now you"))...).done.Message
	later := append(slices.Clone(other), user("now you"), reply, user("back"),
		provider.Message{Role: provider.RoleAssistant, Provider: "openai",
			Parts: []provider.Part{provider.Text{Text: "BETWEEN"}}}, user("again"))
	s.ask(later...).want(t, "Hello.")
	told = s.given("stdin", 3)
	if strings.Contains(told, "There is a.go") || !strings.Contains(told, "[user]\nback\n") ||
		!strings.Contains(told, "BETWEEN") || !strings.HasSuffix(told, "now:\n\nagain") {
		t.Errorf("it was told %q", told)
	}
	if !strings.Contains(s.given("args", 3), "--resume=s-1") {
		t.Error("its session was not resumed")
	}
}

// A fork may begin before the last messages of the tool's session.
func TestForkBeginsASessionOfItsOwn(t *testing.T) {
	s := newStandIn(t, ClaudeName, claudeGreets)
	first := s.ask(user("1")).done.Message
	s.stream(t.Context(), provider.Request{Messages: []provider.Message{user("1"), first, user("2")},
		SessionID: "fork"}, nil).want(t, "Hello.")
	if strings.Contains(s.given("args", 2), "--resume") {
		t.Error("the fork resumes the session it came from")
	}
	if told := s.given("stdin", 2); !strings.Contains(told, "[user]\n1\n") ||
		!strings.Contains(told, "[assistant]\nHello.\n") {
		t.Errorf("it was told %q", told)
	}
}

// The tool may have lost its session: it then gets the conversation.
func TestLostSessionIsToldAgain(t *testing.T) {
	for name, c := range map[string]struct{ lost, good string }{
		ClaudeName: {events(
			`{"type":"result","subtype":"error_during_execution","is_error":true,"session_id":"s-1","errors":["No conversation found with session ID: s-1"]}`) + "exit 1\n", claudeGreets},
		CodexName: {"echo 'Error: thread/resume: thread/resume failed: no rollout found for thread id th-1 (code -32600)' >&2; exit 1\n", events(codexBegin, codexText("Hello."), codexEnd(1, 0, 1))},
		GeminiName: {"echo 'Error resuming session: No previous sessions found for this project.' >&2; exit 42\n",
			events(geminiInit, `{"type":"message","role":"assistant","content":"Hello.","delta":true}`, geminiGood)},
	} {
		s := newStandIn(t, name, "case $N in\n2)\n"+c.lost+";;\n*)\n"+c.good+";;\nesac\n")
		first := s.ask(user("1"))
		first.want(t, "Hello.")
		o := s.ask(user("1"), first.done.Message, user("2"))
		o.want(t, "Hello.")
		if told := s.given("stdin", 3); !strings.Contains(told, "[user]\n1\n") || !strings.HasSuffix(told, "2") {
			t.Errorf("%s was told %q", name, told)
		}
		if args := s.given("args", 3); strings.Contains(args, "resume") {
			t.Errorf("%s: arguments %q", name, args)
		}
		if len(o.notices) != 1 || !strings.Contains(o.notices[0], "no longer knows its session") {
			t.Errorf("%s: notices %q", name, o.notices)
		}
	}
}

func TestInstructionsBeginASession(t *testing.T) {
	s := newStandIn(t, ClaudeName, claudeGreets)
	s.cli.Instructions = "Answer in verse."
	first := s.ask(user("1")).done.Message
	s.ask(user("1"), first, user("2")).want(t, "Hello.")
	if one, two := s.given("stdin", 1), s.given("stdin", 2); one != "Answer in verse.\n\n1" || two != "2" {
		t.Errorf("it was told %q, then %q", one, two)
	}
}

func TestImagesAndEffortAreNotDroppedSilently(t *testing.T) {
	s := newStandIn(t, GeminiName,
		events(geminiInit, `{"type":"message","role":"assistant","content":"Hello.","delta":true}`, geminiGood))
	image := provider.UserText("see", provider.Image{MediaType: "image/png", Data: []byte{1}})
	o := s.stream(t.Context(), provider.Request{Messages: []provider.Message{image},
		Options: provider.Options{Effort: provider.EffortHigh}}, nil)
	if want := []string{"gemini takes no images from artoo (1 not sent)",
		"gemini takes no effort high: its own setting applies"}; !slices.Equal(o.notices, want) {
		t.Errorf("notices %q", o.notices)
	}
}

func TestModesAndOptions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, mode, model, want string }{
		{ClaudeName, "plan", "", "--permission-mode=plan"},
		{ClaudeName, "ask", "opus", "--model=opus --effort=max"},
		{ClaudeName, "edits", "", "--permission-mode=acceptEdits"},
		{ClaudeName, "auto", "", "--permission-mode=acceptEdits"},
		{CodexName, "ask", "", "--sandbox=read-only"},
		{CodexName, "plan", "", "--sandbox=read-only"},
		{CodexName, "edits", "gpt-x", "--sandbox=workspace-write --model=gpt-x --config=model_reasoning_effort=xhigh -"},
		{CodexName, "auto", "", "--sandbox=workspace-write"},
		{GeminiName, "ask", "", "--approval-mode=plan"},
		{GeminiName, "plan", "", "--approval-mode=plan"},
		{GeminiName, "edits", "pro", "--approval-mode=auto_edit --model=pro"},
		{GeminiName, "auto", "", "--approval-mode=auto_edit"},
	} {
		r := run{CLI: &CLI{Name: c.name}, terms: Terms{Mode: c.mode}, dialect: dialects[c.name],
			req: provider.Request{Options: provider.Options{Model: c.model}}}
		if c.model == "" {
			r.req.Model = DefaultModel
		} else {
			r.req.Effort = provider.EffortMax
		}
		args := strings.Join(r.args(r.call()), " ")
		if !strings.Contains(args+" ", c.want+" ") || c.model == "" && strings.Contains(args, DefaultModel) {
			t.Errorf("%s %s: %s", c.name, c.mode, args)
		}
		for _, bypass := range []string{"bypass", "danger", "yolo", "skip-trust", "full-auto"} {
			if strings.Contains(args, bypass) {
				t.Errorf("%s %s: %s passes by the tool's own rules", c.name, c.mode, args)
			}
		}
		if rules := Rules(c.name, c.mode, false); strings.Contains(rules, "only reads") != (c.mode == "ask" || c.mode == "plan") {
			t.Errorf("%s %s: %s", c.name, c.mode, rules)
		}
	}
}

func TestAnnounceOnce(t *testing.T) {
	s := newStandIn(t, ClaudeName, claudeGreets)
	s.cli.Announce = true
	one, two := s.ask(user("1")), s.ask(user("1"))
	if want := []string{
		"claude runs its own tools by its own rules, not artoo's: in mode ask it only reads and runs no command"}; !slices.Equal(one.notices, want) || len(two.notices) > 0 {
		t.Errorf("notices %q, then %q", one.notices, two.notices)
	}
}

func TestNotInstalled(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, name := range []string{ClaudeName, CodexName, GeminiName} {
		c := &CLI{Name: name}
		e := provider.AsError(c.Check())
		if e == nil || e.Kind != provider.KindConfig || !strings.Contains(e.Message, "is not installed") ||
			!strings.Contains(e.Hint, "npm install -g ") {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// A tool that does not know an option may be too old, which artoo doctor tells by its version.
func TestTooOld(t *testing.T) {
	for name, c := range map[string]struct{ program, old, new, least string }{
		ClaudeName: {"claude", "1.0.30 (Claude Code)", "2.0.28 (Claude Code)", "2.0.28"},
		CodexName:  {"codex", "codex-cli 0.20.1", "codex-cli 0.100.0", "0.50.0"},
		GeminiName: {"gemini", "0.9.0", "v0.34.0-nightly", "0.34.0"},
	} {
		least, install := TooOld(c.program, c.old)
		if least != c.least || !strings.HasPrefix(install, "npm install -g ") {
			t.Errorf("%s needs %q, %q", c.old, least, install)
		}
		if least, _ := TooOld(c.program, c.new); least != "" {
			t.Errorf("%s needs %q", c.new, least)
		}
		o := newStandIn(t, name, "echo \"error: unknown option '--new'\" >&2; exit 1\n").ask(user("hi"))
		o.fails(t, provider.KindProvider, "unknown option '--new'")
		if !strings.Contains(o.err.Hint, "artoo doctor says whether "+c.program+" is new enough") {
			t.Errorf("%s: hint %q", name, o.err.Hint)
		}
	}
}

func TestEnviron(t *testing.T) {
	t.Parallel()
	scrubbed := []string{"HOME=/h", "CLAUDECODE=1", "CODEX_HOME=/c"}
	all := append(slices.Clone(scrubbed), "ANTHROPIC_API_KEY=a", "CLAUDE_CODE_OAUTH_TOKEN=o", "OPENAI_API_KEY=b",
		"CODEX_API_KEY=c", "GEMINI_API_KEY=g", "GOOGLE_API_KEY=", "AWS_SECRET_ACCESS_KEY=s")
	for _, c := range []struct {
		name           string
		pass           []string
		want, withheld string
	}{
		{ClaudeName, nil, "HOME=/h CODEX_HOME=/c CLAUDE_CODE_OAUTH_TOKEN=o", "ANTHROPIC_API_KEY"},
		{ClaudeName, []string{"ANTHROPIC_API_KEY", "OPENAI_API_KEY"},
			"HOME=/h CODEX_HOME=/c CLAUDE_CODE_OAUTH_TOKEN=o ANTHROPIC_API_KEY=a", ""},
		{CodexName, nil, "HOME=/h CODEX_HOME=/c CODEX_API_KEY=c", "OPENAI_API_KEY"},
		{GeminiName, nil, "HOME=/h CODEX_HOME=/c", "GEMINI_API_KEY"},
	} {
		var kept []string
		env, withheld := Environ(c.name, scrubbed, all, c.pass, func(key string) { kept = append(kept, key) })
		if got := strings.Join(env, " "); got != c.want || strings.Join(withheld, " ") != c.withheld {
			t.Errorf("%s: %s, withheld %s", c.name, got, withheld)
		}
	}
}

// The output of real tools is understood: answers, steps, failures, exit statuses.
func TestCaptures(t *testing.T) {
	for _, c := range []struct {
		file, name, text string
		steps            int
		kind             provider.ErrorKind
		words            string
	}{
		{"claude-plain", ClaudeName, "Hello from the fake.", 0, "", ""},
		{"claude-tool", ClaudeName, "Hello from the fake.", 1, "", ""},
		{"claude-e401", ClaudeName, "", 0, provider.KindAuth, "login is refused"},
		{"claude-e401-1retry", ClaudeName, "", 0, provider.KindAuth, "Invalid API key"},
		{"claude-e500-1retry", ClaudeName, "", 0, provider.KindProvider, "Internal server error"},
		{"claude-e500", ClaudeName, "", 0, provider.KindProvider, "ended with status 124"},
		{"claude-interrupt", ClaudeName, "", 0, provider.KindProvider, "error during execution"},
		{"codex-plain", CodexName, "Hello from the fake.", 0, "", ""},
		{"codex-tool", CodexName, "Hello from the fake.", 1, "", ""},
		{"codex-e401", CodexName, "", 0, provider.KindAuth, "401 Unauthorized"},
		{"codex-e500", CodexName, "", 0, provider.KindOverloaded, "high demand"},
		{"codex-interrupt", CodexName, "", 0, provider.KindProvider, "ended with status 124"},
		{"gemini-plain", GeminiName, "Hello from the fake.", 0, "", ""},
		{"gemini-tool", GeminiName, "Hello from the fake.", 1, "", ""},
		{"gemini-e401", GeminiName, "", 0, provider.KindAuth, "API key not valid"},
		{"gemini-e500", GeminiName, "", 0, provider.KindProvider, ""},
		{"gemini-interrupt", GeminiName, "", 0, provider.KindProvider, ""},
	} {
		t.Run(c.file, func(t *testing.T) {
			dir, err := os.Getwd()
			must(t, err)
			file := dir + "/testdata/" + c.file
			s := newStandIn(t, c.name, "cat "+file+".jsonl; cat "+file+".stderr >&2; exit $(cat "+file+".rc)\n")
			o := s.ask(user("hi"))
			if c.kind != "" {
				o.fails(t, c.kind, c.words)
				return
			}
			o.want(t, c.text)
			if len(o.steps) != c.steps || c.steps == 1 && !strings.Contains(o.steps[0], "echo hi-there") ||
				o.done.Usage.Total() == 0 {
				t.Errorf("steps %q, usage %+v", o.steps, o.done.Usage)
			}
		})
	}
}
