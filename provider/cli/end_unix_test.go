//go:build unix

package cli

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"artoo/provider"
)

// A tool that a signal ended has no exit status.
func TestToolEndedByASignal(t *testing.T) {
	s := newStandIn(t, ClaudeName, events(claudeInit, claudeText("Hel"))+"kill -KILL $$\n")
	s.ask(user("hi")).fails(t, provider.KindProvider, "claude was ended by a signal (killed) and said nothing")
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

func TestClaudeTellsThatItsReplyIsCut(t *testing.T) {
	s := newStandIn(t, ClaudeName, events(claudeInit, claudeText("Hello."),
		strings.Replace(claudeGood, `"is_error"`, `"stop_reason":"max_tokens","is_error"`, 1)))
	o := s.ask(user("hi"))
	o.want(t, "Hello.")
	if want := []string{"claude's reply is cut at its limit"}; !slices.Equal(o.notices, want) {
		t.Errorf("notices %q", o.notices)
	}
}

// A run that is cut off, or aborts with a result that counts nothing, has the usage of its requests; its cost is the
// reported one, if any.
func TestClaudeUsageOfABrokenRun(t *testing.T) {
	begin := func(id string, in int) string {
		return claudeStream(`{"type":"message_start","message":{"id":"` + id +
			`","model":"claude-opus-4-8","usage":{"input_tokens":` + strings.Repeat("1", in) +
			`,"cache_read_input_tokens":5,"output_tokens":1}}}`)
	}
	end := claudeStream(`{"type":"message_delta","delta":{},"usage":{"output_tokens":20}}`)
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
	s.cli.Caps = func() Caps { return Caps{Money: 0.123456789, Steps: 7} }
	o := s.ask(user("hi"))
	if args := s.given("args", 1); !strings.Contains(args, "\n--max-budget-usd=0.123457\n--max-turns=7\n") {
		t.Errorf("arguments %q", args)
	}
	if o.err == nil || o.err.Kind != provider.KindCap || o.err.Usage.CostUSD == nil || *o.err.Usage.CostUSD != 0.25 {
		t.Errorf("it ended with %+v", o.err)
	}
	s.cli.Caps = func() Caps { return Caps{} }
	s.ask(user("hi"))
	if args := s.given("args", 2); strings.Contains(args, "--max") {
		t.Errorf("arguments %q", args)
	}
}

// A cap of tokens, which it cannot keep, ends the run as soon as it reports more.
func TestClaudeIsStoppedAtTheTokenCap(t *testing.T) {
	s := newStandIn(t, ClaudeName, "echo $$ >$DIR/pid\n"+events(claudeInit,
		claudeStream(`{"type":"message_start","message":{"id":"a","usage":{"input_tokens":90,"output_tokens":1}}}`),
		claudeText("One."),
		claudeStream(`{"type":"message_start","message":{"id":"b","usage":{"input_tokens":190,"output_tokens":1}}}`))+
		"exec sleep 100\n")
	s.cli.Caps = func() Caps { return Caps{Tokens: 200} }
	o := s.ask(user("hi"))
	o.fails(t, provider.KindCap, "282 tokens")
	s.cli.Close()
	s.gone("pid")
	if o.err.Usage.Total() != 282 || o.text != "One." {
		t.Errorf("%q, usage %+v", o.text, o.err.Usage)
	}
}

// An option is newer than the rest: the version that has it is named.
func TestOptionNeedsANewerVersion(t *testing.T) {
	s := newStandIn(t, ClaudeName, "echo \"error: unknown option '--max-budget-usd=1'\" >&2; exit 1\n")
	s.cli.Caps = func() Caps { return Caps{Money: 1} }
	s.write("version", "2.0.20 (Claude Code)\n")
	s.ask(user("hi")).fails(t, provider.KindConfig,
		"claude 2.0.20 is too old for --max-budget-usd: 2.0.28 or newer is needed")
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
	r := &reply{send: func(provider.Event) {}, size: mostReply - 3}
	if r.say("abc"); r.abort {
		t.Error("it is ended too early")
	}
	if r.step("d", ""); !r.abort || !strings.Contains(r.failure.text, "larger than 256 MiB") {
		t.Errorf("it goes on for ever: %+v", r.failure)
	}
}

// A limit that was reached and passed by is not why a run fails later.
func TestClaudeLimitThatIsNotTheReason(t *testing.T) {
	rejected := `{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":4000000000,"rateLimitType":"five_hour"}}`
	turns := `{"type":"result","subtype":"error_max_turns","is_error":true,"session_id":"s-1"}`
	s := newStandIn(t, ClaudeName, events(claudeInit, rejected, turns)+"exit 1\n")
	s.ask(user("hi")).fails(t, provider.KindCap, "error max turns")
	broke := `{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["It broke."],"session_id":"s-1"}`
	s = newStandIn(t, ClaudeName, events(claudeInit, rejected, strings.Replace(rejected, `"rejected"`, `"allowed"`, 1),
		broke)+"exit 1\n")
	s.ask(user("hi")).fails(t, provider.KindProvider, "It broke")
}

// A model that claude does not know is replaced by it, which it reports on stderr.
func TestClaudeDoesNotKnowTheModel(t *testing.T) {
	s := newStandIn(t, ClaudeName, "echo '[claude-code:unrecognized_model] opsu is unknown' >&2\n"+claudeGreets)
	o := s.ask(user("hi"))
	o.want(t, "Hello.")
	if want := []string{"claude: [claude-code:unrecognized_model] opsu is unknown"}; !slices.Equal(o.notices, want) {
		t.Errorf("notices %q", o.notices)
	}
}

// Until the last run is gone the next one waits, and reports the reason.
func TestWaitForTheLastRunIsTold(t *testing.T) {
	s := newStandIn(t, ClaudeName, "case $N in\n1)\ntrap '' INT TERM\n"+events(claudeInit, claudeText("One."))+
		"while :; do sleep 0.02; done;;\n*)\n"+claudeGreets+";;\nesac\n")
	s.cli.timeouts.interrupt, s.cli.timeouts.terminate, s.cli.timeouts.quiet = 200*time.Millisecond,
		200*time.Millisecond, time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	s.stream(ctx, provider.Request{Messages: []provider.Message{user("hi")}}, func(e provider.Event) {
		if _, ok := e.(provider.TextDelta); ok {
			cancel()
		}
	}).fails(t, provider.KindCanceled, "stopped")
	o := s.ask(user("2"))
	o.want(t, "Hello.")
	if want := []string{"waiting for claude, which was stopped, to end"}; !slices.Equal(o.notices, want) {
		t.Errorf("notices %q", o.notices)
	}
}
