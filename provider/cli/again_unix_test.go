//go:build unix

package cli

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"artoo/provider"
)

// plays is a script that prints a file of testdata.
func plays(t *testing.T, file string) string {
	t.Helper()
	dir, err := os.Getwd()
	must(t, err)
	return "cat " + dir + "/testdata/" + file + ".jsonl\n"
}

// words is the recorded answer of the model: word1 to word29.
const words = "word1 word2 word3 word4 word5 word6 word7 word8 word9 word10 word11 word12 word13 word14 word15 word16 word17 word18 word19 word20 word21 word22 word23 word24 word25 word26 word27 word28 word29 "

func TestClaudeTextOfACutStreamIsVoid(t *testing.T) {
	s := newStandIn(t, ClaudeName, plays(t, "claude-flaky"))
	o := s.ask(user("hi"))
	o.want(t, words)
	if o.heldBack != words || len(o.retries) != 1 || !o.retries[0].Discard ||
		o.retries[0].Err.Message != "the reply ended early" || o.retries[0].Try != 2 || o.retries[0].Tries != 11 {
		t.Errorf("held back %q, retries %+v", o.heldBack, o.retries)
	}
	if len(o.notices) > 0 {
		t.Errorf("notices %q", o.notices)
	}
}

// A whole message before the one that broke off stays.
func TestClaudeTextBeforeACutStreamStays(t *testing.T) {
	start := func(id string) string {
		return streamed(`{"type":"message_start","message":{"id":"`+id+`"}}`) + "\n" +
			streamed(`{"type":"content_block_start","content_block":{"type":"text"}}`)
	}
	piece := func(text string) string {
		return streamed(`{"type":"content_block_delta","delta":{"type":"text_delta","text":"` + text + `"}}`)
	}
	whole := func(id, text string) string {
		return `{"type":"assistant","message":{"id":"` + id + `","content":[{"type":"text","text":"` + text +
			`"}]},"session_id":"s-1"}`
	}
	s := newStandIn(t, ClaudeName, events(claudeInit, start("a"), piece("One."), whole("a", "One."), start("b"),
		piece("Tw"), start("c"), piece("Two."), whole("c", "Two."), claudeGood))
	o := s.ask(user("hi"))
	o.want(t, "One.\n\nTwo.")
	if o.heldBack != "One.\n\nTwo." {
		t.Errorf("held back %q", o.heldBack)
	}
	// The result of a step is no text that broke off.
	step := `{"type":"assistant","message":{"id":"a","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make"}}]},"session_id":"s-1"}`
	failed := `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"no","is_error":true}]}}`
	s = newStandIn(t, ClaudeName, events(claudeInit, start("a"), piece("One."), whole("a", "One."), step, failed,
		start("c"), piece("Two."), whole("c", "Two."), claudeGood))
	if o := s.ask(user("hi")); o.heldBack != "Two." || len(o.retries) > 0 {
		t.Errorf("held back %q, retries %+v", o.heldBack, o.retries)
	}
	// It may be given whole, without a stream, instead.
	s = newStandIn(t, ClaudeName, events(claudeInit, start("a"), piece("On"), whole("b", "One."), claudeGood))
	if o := s.ask(user("hi")); o.heldBack != "One." || o.done.Message.Text() != "One." {
		t.Errorf("held back %q", o.heldBack)
	}
}

func TestClaudeGoesOnWithinALineAtItsLimit(t *testing.T) {
	s := newStandIn(t, ClaudeName, plays(t, "claude-continues"))
	s.ask(user("hi")).want(t, "Hello from the fake.Hello from the fake.")
}

func TestClaudeTextThatAFilterStoppedIsVoid(t *testing.T) {
	s := newStandIn(t, ClaudeName, plays(t, "claude-refused"))
	o := s.ask(user("hi"))
	o.want(t, "Hello from the fake.")
	if o.heldBack != "Hello from the fake." || len(o.notices) != 1 || !strings.Contains(o.notices[0], "safeguards") {
		t.Errorf("held back %q, notices %q", o.heldBack, o.notices)
	}
}

// A tool's first event is no answer of a model.
func TestNobodyAnsweredBeforeTheFirstWord(t *testing.T) {
	failed := `{"type":"result","subtype":"success","is_error":true,"result":"Invalid API key","session_id":"s-1"}`
	s := newStandIn(t, ClaudeName, events(claudeInit, failed)+"exit 1\n")
	s.stream(t.Context(), provider.Request{Messages: []provider.Message{user("hi")}}, func(e provider.Event) {
		if started, ok := e.(provider.Started); ok {
			t.Errorf("%+v", started)
		}
	})
	g := newStandIn(t, ClaudeName, claudeGreets)
	model := ""
	g.stream(t.Context(), provider.Request{Messages: []provider.Message{user("hi")}}, func(e provider.Event) {
		if started, ok := e.(provider.Started); ok {
			model = started.Model
		}
	})
	if model != "claude-opus-4-8" {
		t.Errorf("answered by %q", model)
	}
}

func TestCallsThatAToolRefusedAreTold(t *testing.T) {
	call := `{"type":"assistant","message":{"id":"m9","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make"}}]}}`
	no := `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"This command requires approval","is_error":true}]}}`
	denied := strings.Replace(claudeGood, `"is_error"`,
		`"permission_denials":[{"tool_name":"Bash","tool_use_id":"t1","tool_input":{"command":"make"}},{"tool_name":"ExitPlanMode","tool_use_id":"t2","tool_input":{}}],"is_error"`, 1)
	s := newStandIn(t, ClaudeName, events(claudeInit, call, no, claudeText("I may not."), denied))
	if o := s.ask(user("hi")); !slices.Equal(o.refused,
		[]provider.Refused{{Tool: "Bash", Object: "make", Reason: "This command requires approval"}}) {
		t.Errorf("claude: %+v", o.refused)
	}
	c := newStandIn(t, CodexName, events(codexBegin,
		`{"type":"item.completed","item":{"id":"c1","type":"command_execution","command":"make","status":"declined"}}`,
		codexText("I may not."), codexEnd(1, 0, 1)))
	if o := c.ask(user("hi")); !slices.Equal(o.refused, []provider.Refused{{Tool: "command execution", Object: "make"}}) {
		t.Errorf("codex: %+v", o.refused)
	}
	g := newStandIn(t, GeminiName, events(geminiInit,
		`{"type":"tool_use","tool_name":"run_shell_command","tool_id":"1","parameters":{"command":"make"}}`,
		`{"type":"tool_result","tool_id":"1","status":"error","output":"no","error":{"type":"tool_not_registered","message":"not found"}}`,
		`{"type":"tool_use","tool_name":"novelty","tool_id":"2","parameters":{}}`,
		`{"type":"tool_result","tool_id":"2","status":"error","error":{"type":"tool_not_registered","message":"not found"}}`, geminiGood))
	if o := g.ask(user("hi")); !slices.Equal(o.refused,
		[]provider.Refused{{Tool: "run_shell_command", Object: "make", Reason: "not found"}}) {
		t.Errorf("gemini: %+v", o.refused)
	}
}

// The tool's session knows of a message that was stopped; another process of
// artoo's learns that from the history.
func TestAStoppedMessageIsNotSentAgain(t *testing.T) {
	for name, begins := range map[string]string{
		ClaudeName: claudeInit + "\n" + `{"type":"system","subtype":"status","status":"requesting"}`,
		CodexName:  codexBegin + "\n" + `{"type":"turn.started"}`,
	} {
		greets := claudeGreets
		if name == CodexName {
			greets = events(codexBegin, codexText("Hello."), codexEnd(1, 0, 1))
		}
		s := newStandIn(t, name, "case $N in\n1)\n"+events(begins)+"echo x >$DIR/begun; exec sleep 100;;\n*)\n"+
			greets+";;\nesac\n")
		s.cli.waits.interrupt = time.Millisecond
		ctx, cancel := context.WithCancel(t.Context())
		s.cli.Trace = func(event, text string) {
			if strings.Contains(text, "requesting") || strings.Contains(text, "turn.started") {
				cancel()
			}
		}
		o := s.stream(ctx, provider.Request{Messages: []provider.Message{user("FIRST")}, SessionID: "one",
			Options: provider.Options{Model: DefaultModel}}, nil)
		o.fails(t, provider.KindCanceled, "stopped")
		s.cli.Wait()
		cut := provider.Message{Role: provider.RoleAssistant, Provider: name, Partial: true, Parts: o.err.Keep}
		history := provider.Repair([]provider.Message{user("FIRST"), cut, user("SECOND")})
		s.ask(history...).want(t, "Hello.")
		if told := s.given("stdin", 2); told != "SECOND" {
			t.Errorf("%s was told %q", name, told)
		}
		if args := s.given("args", 2); !strings.Contains(args, "resume") {
			t.Errorf("%s: %s", name, args)
		}
	}
}

func TestCapsThatAToolDoesNotKeepAreCheckedAfterIt(t *testing.T) {
	item := func(n string) string {
		return `{"type":"item.completed","item":{"id":"` + n +
			`","type":"command_execution","command":"ls","exit_code":0,"status":"completed"}}`
	}
	s := newStandIn(t, CodexName, events(codexBegin, item("1"), item("2"), codexText("Done."), codexEnd(1000, 0, 10)))
	s.terms.Tokens = 500
	o := s.ask(user("hi"))
	o.fails(t, provider.KindCap, "codex used 1010 tokens, of 500 that were left")
	if o.text != "Done." || o.err.Usage.Total() != 1010 || len(o.err.Keep) != 2 {
		t.Errorf("%q, %+v, notices %q", o.text, o.err, o.notices)
	}
	s.terms = Terms{Steps: 2}
	if o := s.ask(user("hi")); o.err == nil || o.err.Kind != provider.KindCap ||
		!strings.Contains(o.err.Message, "about 3 steps, of 2") || len(o.notices) > 0 {
		t.Errorf("%+v, notices %q", o.err, o.notices)
	}
	s.terms = Terms{Steps: 3, Tokens: 5000}
	s.ask(user("hi")).want(t, "Done.")
}

func TestCodexErrorIsToldOnceInItsWords(t *testing.T) {
	raw := `{\"error\":{\"message\":\"prompt is too long: 9 tokens\",\"type\":\"invalid_request_error\",\"code\":\"x\"}}`
	s := newStandIn(t, CodexName, events(codexBegin, `{"type":"turn.started"}`, `{"type":"error","message":"`+raw+`"}`,
		`{"type":"turn.failed","error":{"message":"`+raw+`"}}`)+"exit 1\n")
	o := s.ask(user("hi"))
	o.fails(t, provider.KindContext, "prompt is too long: 9 tokens")
	if len(o.notices) > 1 || strings.Contains(o.err.Message, "{") {
		t.Errorf("%q, notices %q", o.err.Message, o.notices)
	}
}

// The cost of an interrupted run of claude follows from its model's price.
func TestInterruptedClaudeHasACost(t *testing.T) {
	for _, model := range []string{"claude-sonnet-4-5", "claude-opus-4-8"} {
		begin := streamed(`{"type":"message_start","message":{"id":"a","model":"` +
			model + `","usage":{"input_tokens":1000,"output_tokens":1}}}`)
		said := strings.ReplaceAll(claudeText("Hel"), "claude-opus-4-8", model)
		s := newStandIn(t, ClaudeName, events(claudeInit, begin, said)+"exec sleep 100\n")
		s.cli.waits.interrupt = time.Millisecond
		ctx, cancel := context.WithCancel(t.Context())
		o := s.stream(ctx, provider.Request{Messages: []provider.Message{user("hi")}}, func(e provider.Event) {
			if _, ok := e.(provider.TextDelta); ok {
				cancel()
			}
		})
		o.fails(t, provider.KindCanceled, "stopped")
		if u := o.err.Usage; u.CostUSD == nil || *u.CostUSD <= 0 || !u.Estimated {
			t.Errorf("%s: usage %+v", model, u)
		}
	}
}
