//go:build unix

package cli

import (
	"strings"
	"testing"
	"time"

	"artoo/provider"
)

// A tool that a signal ended has no exit status.
func TestToolEndedByASignal(t *testing.T) {
	s := newStandIn(t, ClaudeName, events(claudeInit, claudeText("Hel"))+"kill -KILL $$\n")
	s.ask(user("hi")).fails(t, provider.KindProvider, "claude ended with signal: killed")
}

// A reply of work without a word is no answer: another request continues the session that knows of the work.
func TestEmptyAnswerKeepsItsSession(t *testing.T) {
	step := `{"type":"assistant","message":{"id":"m9","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make"}}]}}`
	silent := strings.Replace(claudeGood, `"result":"Hello."`, `"result":""`, 1)
	s := newStandIn(t, ClaudeName, "case $N in\n1)\n"+events(claudeInit, step, silent)+";;\n*)\n"+claudeGreets+";;\nesac\n")
	s.ask(user("do it")).want(t, "")
	s.ask(user("do it"), user("Your last reply was empty.")).want(t, "Hello.")
	if args, told := s.given("args", 2), s.given("stdin", 2); !strings.Contains(args, "\n--resume=s-1\n") ||
		told != "Your last reply was empty." {
		t.Errorf("arguments %q, told %q", args, told)
	}
}

// In its plan mode claude hands its plan to a tool that gets no answer: that is
// the answer.
func TestClaudePlanIsShown(t *testing.T) {
	plan := `{"type":"assistant","message":{"id":"m9","content":[{"type":"tool_use","id":"t1","name":"ExitPlanMode","input":{"plan":"# Plan\n\n1. Mend it."}}]}}`
	refused := `{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"Exit plan mode?","is_error":true}]}}`
	s := newStandIn(t, ClaudeName, events(claudeInit, claudeText("I looked."), plan,
		refused, strings.Replace(claudeGood, "Hello.", "", 1)))
	o := s.ask(user("mend it"))
	o.want(t, "I looked.\n\n# Plan\n\n1. Mend it.")
	if len(o.steps) != 0 {
		t.Errorf("steps %q", o.steps)
	}
}

func TestClaudeRefuses(t *testing.T) {
	s := newStandIn(t, ClaudeName, events(claudeInit, claudeText("I cannot."),
		strings.Replace(claudeGood, `"is_error"`, `"stop_reason":"refusal","is_error"`, 1)))
	o := s.ask(user("hi"))
	o.want(t, "I cannot.")
	if o.done.Stop != provider.StopRefusal {
		t.Errorf("stopped for %s", o.done.Stop)
	}
}

// A run that is cut off, or aborts with a result that counts nothing, has the usage of its requests; its cost is the
// reported one, if any.
func TestClaudeUsageOfABrokenRun(t *testing.T) {
	begin := func(id string, in int) string {
		return streamed(`{"type":"message_start","message":{"id":"` + id +
			`","model":"claude-opus-4-8","usage":{"input_tokens":` + strings.Repeat("1", in) +
			`,"cache_read_input_tokens":5,"output_tokens":1}}}`)
	}
	end := streamed(`{"type":"message_delta","delta":{},"usage":{"output_tokens":20}}`)
	sub := `{"type":"stream_event","event":{"type":"message_start","message":{"id":"sub","usage":{"input_tokens":1000,"output_tokens":1}}},"parent_tool_use_id":"t1"}`
	none := `{"type":"result","subtype":"error_during_execution","is_error":true,"session_id":"s-1","total_cost_usd":0,"usage":{"input_tokens":0,"output_tokens":0},"modelUsage":{}}`
	for name, last := range map[string]string{"cut": "", "aborted": none,
		"aborted, with its cost": strings.Replace(none, `usd":0`, `usd":0.4`, 1)} {
		s := newStandIn(t, ClaudeName, events(claudeInit, begin("a", 2), end, sub, begin("b", 3), last)+"exit 1\n")
		o := s.ask(user("hi"))
		if o.err == nil || o.err.Usage.Input != 1122 || o.err.Usage.CacheRead != 10 || o.err.Usage.Output != 22 {
			t.Errorf("%s: %+v", name, o.err)
		}
		told := strings.Contains(last, "0.4")
		if cost := o.err.Usage.CostUSD; cost == nil || told == o.err.Usage.Estimated || told != (*cost == 0.4) {
			t.Errorf("%s: it cost %v, estimated %v", name, cost, o.err.Usage.Estimated)
		}
	}
}

// The caps that claude itself can keep are passed on; a run that it ends for them ends by a cap.
func TestClaudeKeepsTheCaps(t *testing.T) {
	spent := strings.Replace(strings.Replace(claudeGood, `"success"`, `"error_max_budget_usd"`, 1), `"is_error":false`,
		`"is_error":true`, 1)
	s := newStandIn(t, ClaudeName, events(claudeInit, claudeText("Half."), spent)+"exit 1\n")
	s.terms = Terms{Mode: "ask", Money: 0.123456789, Steps: 7}
	o := s.ask(user("hi"))
	if args := s.given("args", 1); !strings.Contains(args, "\n--max-budget-usd=0.123457\n--max-turns=7\n") {
		t.Errorf("arguments %q", args)
	}
	if o.err == nil || o.err.Kind != provider.KindCap || o.err.Usage.CostUSD == nil || *o.err.Usage.CostUSD != 0.25 {
		t.Errorf("it ended with %+v", o.err)
	}
	s.terms = Terms{Mode: "ask"}
	s.ask(user("hi"))
	if args := s.given("args", 2); strings.Contains(args, "--max") {
		t.Errorf("arguments %q", args)
	}
}

// A cap of tokens, which it cannot keep, ends the run as soon as it reports more.
func TestClaudeIsStoppedAtTheTokenCap(t *testing.T) {
	s := newStandIn(t, ClaudeName, "echo $$ >$DIR/pid\n"+events(claudeInit,
		streamed(`{"type":"message_start","message":{"id":"a","usage":{"input_tokens":90,"output_tokens":1}}}`),
		claudeText("One."),
		streamed(`{"type":"message_start","message":{"id":"b","usage":{"input_tokens":190,"output_tokens":1}}}`))+
		"exec sleep 100\n")
	s.terms = Terms{Mode: "ask", Tokens: 200}
	o := s.ask(user("hi"))
	o.fails(t, provider.KindCap, "282 tokens")
	s.cli.Wait()
	s.gone("pid")
	if o.err.Usage.Total() != 282 || o.text != "One." {
		t.Errorf("%q, usage %+v", o.text, o.err.Usage)
	}
}

// Output that waits for its consumer is no silence of the tool.
func TestSlowReaderIsNoSilence(t *testing.T) {
	s := newStandIn(t, ClaudeName, events(claudeInit, claudeText("One."))+
		"while ! [ -e $DIR/read ]; do sleep 0.01; done\n"+events(claudeText("And two."), claudeGood))
	s.cli.Idle = time.Second
	o := s.stream(t.Context(), provider.Request{Messages: []provider.Message{user("hi")}}, func(e provider.Event) {
		if text, ok := e.(provider.TextDelta); ok && text.Text == "One." {
			<-time.After(s.cli.Idle + 200*time.Millisecond)
			s.write("read", "")
		}
	})
	o.want(t, "One.\n\nAnd two.")
}

func TestReplyIsBounded(t *testing.T) {
	t.Parallel()
	r := &reply{send: func(provider.Event) {}, content: content{size: mostReply - 3}}
	if r.say("abc"); r.aborted {
		t.Error("it is ended too early")
	}
	if r.step("d", ""); !r.aborted || !strings.Contains(r.failure.text, "larger than 256 MiB") {
		t.Errorf("it goes on for ever: %+v", r.failure)
	}
}

func TestClaudeMayTakeNoMoreTurns(t *testing.T) {
	turns := `{"type":"result","subtype":"error_max_turns","is_error":true,"session_id":"s-1"}`
	s := newStandIn(t, ClaudeName, events(claudeInit, turns)+"exit 1\n")
	s.ask(user("hi")).fails(t, provider.KindCap, "error max turns")
}
