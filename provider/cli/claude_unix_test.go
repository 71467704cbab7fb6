//go:build unix

package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"artoo/provider"
)

const (
	claudeInit = `{"type":"system","subtype":"init","session_id":"s-1","model":"claude-opus-4-8[1m]"}`
	claudeGood = `{"type":"result","subtype":"success","is_error":false,"result":"Hello.","session_id":"s-1","total_cost_usd":0.25,"usage":{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":3}}`
)

func claudeText(text string) string {
	return fmt.Sprintf(
		`{"type":"assistant","message":{"id":"m-%d","model":"claude-opus-4-8","content":[{"type":"text","text":%q}]},"parent_tool_use_id":null,"session_id":"s-1"}`, len(text), text)
}

func streamed(event string) string {
	return `{"type":"stream_event","event":` + event + `,"parent_tool_use_id":null,"session_id":"s-1"}`
}

func TestClaudeAnswers(t *testing.T) {
	s := newStandIn(t, ClaudeName, events(claudeInit, claudeText("Hello."), claudeGood))
	o := s.ask(user("hi"))
	o.want(t, "Hello.")
	if got := s.given("stdin", 1); got != "hi" {
		t.Errorf("it was told %q", got)
	}
	cost := 0.25
	if u := o.done.Usage; u.Input != 10 || u.CacheRead != 5 || u.Output != 3 || u.CostUSD == nil || *u.CostUSD != cost {
		t.Errorf("usage %+v", u)
	}
	if m := o.done.Message; m.Model != "claude-opus-4-8" || m.Provider != ClaudeName || !o.done.Several {
		t.Errorf("made by %s of %s, several %v", m.Model, m.Provider, o.done.Several)
	}
	want := []string{"-p", "--output-format=stream-json", "--verbose", "--include-partial-messages",
		"--setting-sources=user", "--strict-mcp-config",
		"--permission-mode=plan", `--settings={"useAutoModeDuringPlan":false}`, "--tools=" + claudeReads}
	if got := strings.Fields(s.given("args", 1)); !slices.Equal(got, want) {
		t.Errorf("arguments %q", got)
	}
}

func TestClaudeSaysThatItWritesACall(t *testing.T) {
	s := newStandIn(t, ClaudeName, events(claudeInit,
		streamed(`{"type":"message_start","message":{"id":"m1","model":"claude-opus-4-8"}}`),
		streamed(`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t1","name":"Write","input":{}}}`),
		streamed(`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"file_"}}`),
		streamed(`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"path\":\"a\"}"}}`),
		claudeText("Hello."), claudeGood))
	var got []provider.CallDelta
	s.stream(t.Context(), provider.Request{Messages: []provider.Message{user("hi")}, SessionID: "one",
		Options: provider.Options{Model: DefaultModel}}, func(e provider.Event) {
		if e, ok := e.(provider.CallDelta); ok {
			got = append(got, e)
		}
	})
	want := []provider.CallDelta{{Tool: "Write", Call: 1}, {Tool: "Write", Call: 1, Bytes: 7}, {Tool: "Write", Call: 1, Bytes: 10}}
	if !slices.Equal(got, want) {
		t.Errorf("reported %v, want %v", got, want)
	}
}

// The deltas come, and then the same text again; a sub-agent's text is left out.
func TestClaudeTextIsShownOnce(t *testing.T) {
	s := newStandIn(t, ClaudeName, events(claudeInit,
		streamed(`{"type":"message_start","message":{"id":"m1","model":"claude-opus-4-8"}}`),
		streamed(`{"type":"content_block_start","index":0,"content_block":{"type":"thinking"}}`),
		streamed(`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm."}}`),
		`{"type":"assistant","message":{"id":"m1","content":[{"type":"thinking","thinking":"Hm."}]}}`,
		streamed(`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`),
		streamed(`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Let me "}}`),
		streamed(`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"look."}}`),
		`{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"Let me look."}]}}`,
		`{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"false\nrm x"}}]}}`,
		`{"type":"assistant","message":{"id":"sub","content":[{"type":"text","text":"SUB"}]},"parent_tool_use_id":"t1"}`,
		`{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"Exit code 1","is_error":true}]}}`,
		`{"type":"user","message":{"content":"a plain string"}}`,
		claudeText("One."), claudeText("Two and more."), claudeGood))
	o := s.ask(user("hi"))
	o.want(t, "One.\n\nTwo and more.")
	if o.text != "Let me look.One.\n\nTwo and more." || o.reasoning != "Hm." {
		t.Errorf("streamed %q, thought %q", o.text, o.reasoning)
	}
	if want := []string{"Bash: false …", "Bash failed: Exit code 1"}; !slices.Equal(o.steps, want) {
		t.Errorf("steps %q", o.steps)
	}
}

// A tool that ends with a step has said its answer before it.
func TestClaudeAnswerBeforeTheLastStep(t *testing.T) {
	step := `{"type":"assistant","message":{"id":"m9","content":[{"type":"tool_use","id":"t1","name":"TodoWrite","input":{}}]}}`
	s := newStandIn(t, ClaudeName, events(claudeInit, claudeText("Hello."), step, claudeGood))
	o := s.ask(user("hi"))
	o.want(t, "Hello.")
	if o.text != "Hello.Hello." {
		t.Errorf("streamed %q", o.text)
	}
}

func TestClaudeStaysAfterItsResult(t *testing.T) {
	s := newStandIn(t, ClaudeName, "trap '' TERM\n"+events(claudeInit, claudeText("Hello."), claudeGood)+
		"echo $$ >$DIR/pid; sleep 100 & echo $! >$DIR/child; while :; do wait; done\n")
	began := time.Now()
	s.ask(user("hi")).want(t, "Hello.")
	if took := time.Since(began); took > 30*time.Second { // little more than a second on an idle machine
		t.Errorf("it was waited for %s", took)
	}
	s.cli.Wait()
	s.gone("pid")
	s.gone("child")
}

func TestClaudeStopsMidway(t *testing.T) {
	s := newStandIn(t, ClaudeName, "echo $$ >$DIR/pid\n"+events(claudeInit, claudeText("Hello."))+"exec sleep 100\n")
	s.cli.Idle = 300 * time.Millisecond
	o := s.ask(user("hi"))
	o.fails(t, provider.KindTimeout, "has done nothing for 300ms")
	s.cli.Wait()
	s.gone("pid")
	if o.text != "Hello." {
		t.Errorf("what came is %q", o.text)
	}
}

func TestClaudeOutputIsCut(t *testing.T) {
	long := strings.Repeat("x", 70_000)
	s := newStandIn(t, ClaudeName, events(claudeInit, claudeText("Hello."))+"printf '%s' '"+claudeText(long)[:65_536]+"'\n")
	o := s.ask(user("hi"))
	o.fails(t, provider.KindProvider, "without its last event")
	if o.text != "Hello." {
		t.Errorf("what came is %.100q", o.text)
	}
}

// The tool's output is read even while no one consumes the events.
func TestClaudeIsDrained(t *testing.T) {
	script := "i=0; while [ $i -lt 300 ]; do " + "echo '" + claudeText(strings.Repeat("y", 4000)) +
		"'; i=$((i+1)); done\n" + events(claudeGood) + "echo >$DIR/finished\n"
	s := newStandIn(t, ClaudeName, events(claudeInit)+script)
	first := true
	o := s.stream(t.Context(), provider.Request{Messages: []provider.Message{user("hi")}}, func(e provider.Event) {
		if _, ok := e.(provider.TextDelta); ok && first {
			first = false
			for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
				if s.exists("finished") {
					return
				}
				<-time.After(time.Millisecond)
			}
			t.Error("the tool waits for its reader")
		}
	})
	if o.err != nil || len(o.text) < 300*4000 {
		t.Errorf("%d bytes came, %v", len(o.text), o.err)
	}
}

func TestClaudeErrorOnlyOnStdout(t *testing.T) {
	s := newStandIn(t, ClaudeName, events(claudeInit,
		`{"type":"result","subtype":"error_during_execution","is_error":true,"errors":["It broke: no disk."],"session_id":"s-1"}`)+"exit 1\n")
	s.ask(user("hi")).fails(t, provider.KindProvider, "It broke: no disk")
}

func TestClaudeErrorWithSubtypeSuccess(t *testing.T) {
	s := newStandIn(t, ClaudeName, events(claudeInit,
		`{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","rateLimitType":"five_hour"}}`,
		`{"type":"assistant","message":{"id":"x","model":"<synthetic>","content":[{"type":"text","text":"You've hit your limit"}]},"error":"rate_limit"}`,
		`{"type":"result","subtype":"success","is_error":true,"api_error_status":429,"result":"You've hit your limit","session_id":"s-1"}`)+"exit 1\n")
	o := s.ask(user("hi"))
	o.fails(t, provider.KindRateLimit, "hit your limit")
	if o.err.Status != 429 {
		t.Errorf("status %d", o.err.Status)
	}
	if o.text != "" {
		t.Errorf("the error was shown as the answer: %q", o.text)
	}
}

// The last message comes a while after the tool saw the end of its input: it is
// given that time, and no signal.
func TestClaudeIsNotEndedAfterItsInput(t *testing.T) {
	s := newStandIn(t, ClaudeName, "trap 'echo >$DIR/signalled; exit 143' TERM INT HUP\nsleep 0.4\n"+
		events(claudeInit, claudeText("Hello."), claudeGood))
	s.ask(user("hi")).want(t, "Hello.")
	if s.exists("signalled") {
		t.Error("it got a signal")
	}
}

// After its result it may still have its session to write.
func TestClaudeMayFinishAfterItsResult(t *testing.T) {
	s := newStandIn(t, ClaudeName, "trap 'echo >$DIR/signalled; exit 143' TERM INT HUP\n"+claudeGreets+
		"sleep 0.3; echo >$DIR/written\n")
	s.cli.waits.end = 20 * time.Second
	s.ask(user("hi")).want(t, "Hello.")
	if s.exists("signalled") || !s.exists("written") {
		t.Error("it was stopped before it finished")
	}
}

func TestNestedSessionVariables(t *testing.T) {
	all := []string{"HOME=/h", "CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli", "CODEX_THREAD_ID=x", "GEMINI_CLI=1"}
	s := newStandIn(t, ClaudeName, events(claudeInit, claudeText("Hello."), claudeGood))
	s.cli.Environ, _ = Environ(ClaudeName, append(all, s.cli.Environ...), nil, nil, nil)
	s.ask(user("hi")).want(t, "Hello.")
	env := "\n" + s.given("env", 1)
	for _, name := range nested {
		if strings.Contains(env, "\n"+name+"=") {
			t.Errorf("%s is there", name)
		}
	}
	if !strings.Contains(env, "\nHOME=/h\n") && !strings.Contains(env, "\nHOME=") {
		t.Error("HOME is gone too")
	}
}

func TestValuesThatLookLikeOptions(t *testing.T) {
	for _, name := range []string{ClaudeName, CodexName, GeminiName} {
		d := dialects[name]
		for _, arg := range d.args(call{model: "-x", effort: "high", resume: "abc"}) {
			if arg == "-x" {
				t.Errorf("%s: the model is an argument of its own", name)
			}
		}
		if args := d.args(call{model: "-x"}); !slices.Contains(args, "--model=-x") {
			t.Errorf("%s: %q has no model", name, args)
		}
	}
	// A session's id that would be an option is none.
	s := newStandIn(t, CodexName, events(`{"type":"thread.started","thread_id":"--last"}`,
		`{"type":"item.completed","item":{"id":"1","type":"agent_message","text":"Hello."}}`,
		`{"type":"turn.completed","usage":{}}`))
	first := s.ask(user("--help"))
	first.want(t, "Hello.")
	s.ask(user("--help"), first.done.Message, user("-h"))
	if args := s.given("args", 2); strings.Contains(args, "--last") || strings.Contains(args, "resume") {
		t.Errorf("arguments %q", args)
	}
}

// Lines that are no events stand between them, lines end in CR LF, types are
// unknown, the last line has no end.
func TestClaudeNoiseOnStdout(t *testing.T) {
	s := newStandIn(t, ClaudeName, events("[SandboxDebug] x", "", claudeInit+"\r", `{"type":"novelty"}`,
		`{"type":"system","subtype":"novelty"}`, "{broken", claudeText("Hello."))+"printf '%s' '"+claudeGood+"'\n")
	s.ask(user("hi")).want(t, "Hello.")
}

// A good result is not enough: the exit status must be good too.
func TestClaudeResultAndExitStatus(t *testing.T) {
	s := newStandIn(t, ClaudeName, events(claudeInit, claudeText("Hello."), claudeGood)+
		"echo 'Error: the disk is full' >&2; exit 3\n")
	s.cli.waits.end = 20 * time.Second // it ends by itself, also on a busy machine
	s.ask(user("hi")).fails(t, provider.KindProvider, "the disk is full")
}

func TestClaudeLoginIsRefused(t *testing.T) {
	retry := func(n int) string {
		return fmt.Sprintf(
			`{"type":"system","subtype":"api_retry","attempt":%d,"max_retries":10,"retry_delay_ms":561.6,"error_status":401,"error":"authentication_failed"}`, n)
	}
	s := newStandIn(t, ClaudeName, events(claudeInit, retry(1), retry(2), retry(3))+"echo $$ >$DIR/pid; exec sleep 100\n")
	s.cli.Withheld = []string{"ANTHROPIC_API_KEY"}
	s.cli.waits.interrupt = time.Millisecond
	o := s.ask(user("hi"))
	o.fails(t, provider.KindAuth, "login is refused")
	if !strings.Contains(o.err.Hint, "/login") || !strings.Contains(o.err.Hint, "ARTOO_PASS_ENV=ANTHROPIC_API_KEY") {
		t.Errorf("hint %q", o.err.Hint)
	}
	if len(o.retries) != 2 || o.retries[0].Wait != 600*time.Millisecond || o.retries[1].Try != 3 ||
		o.retries[1].Tries != 11 || o.retries[0].Err.Error() != "claude-cli: authentication failed (401)" {
		t.Errorf("retries %+v", o.retries)
	}
	s.cli.Wait()
}

// Claude's waits for retries of one request are bounded as for other providers.
func TestClaudeDoesNotWaitLongerThanItMay(t *testing.T) {
	retry := func(n, seconds, status int, why string) string {
		return fmt.Sprintf(`{"type":"system","subtype":"api_retry","attempt":%d,"max_retries":10,"retry_delay_ms":%d,"error_status":%d,"error":%q}`,
			n, seconds*1000, status, why)
	}
	const hangs = "echo $$ >$DIR/pid; exec sleep 100\n"
	for _, c := range []struct {
		script  string
		most    time.Duration
		kind    provider.ErrorKind
		retries int
	}{
		{events(claudeInit, retry(1, 50, 529, "overloaded"), retry(2, 50, 529, "overloaded"), retry(3, 50, 529, "overloaded")) + hangs,
			2 * time.Minute, provider.KindOverloaded, 2},
		{events(claudeInit, retry(1, 1, 429, "rate_limit")) + hangs, 0, provider.KindRateLimit, 0},
		// The next request has its own time.
		{events(claudeInit, retry(1, 50, 529, "overloaded"), claudeText("Hello."), retry(1, 50, 529, "overloaded"), claudeGood),
			time.Minute, "", 2},
	} {
		s := newStandIn(t, ClaudeName, c.script)
		s.cli.MaxRetry = c.most
		s.cli.waits.interrupt = time.Millisecond
		o := s.ask(user("hi"))
		if c.kind == "" {
			o.want(t, "Hello.")
		} else {
			o.fails(t, c.kind, "ARTOO_MAX_RETRY_TIME")
		}
		if len(o.retries) != c.retries {
			t.Errorf("%d retries, want %d: %+v", len(o.retries), c.retries, o.retries)
		}
		s.cli.Wait()
	}
}
