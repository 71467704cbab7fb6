//go:build unix

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"artoo/provider"
)

const codexBegin = `{"type":"thread.started","thread_id":"th-1"}`

func codexText(text string) string {
	return fmt.Sprintf(`{"type":"item.completed","item":{"id":"i-%d","type":"agent_message","text":%q}}`, len(text), text)
}

func codexEnd(in, cached, out int) string {
	return fmt.Sprintf(
		`{"type":"turn.completed","usage":{"input_tokens":%d,"cached_input_tokens":%d,"output_tokens":%d}}`,
		in, cached, out)
}

func TestCodexAnswers(t *testing.T) {
	s := newStandIn(t, CodexName, events(codexBegin, `{"type":"turn.started"}`,
		`{"type":"item.completed","item":{"id":"r","type":"reasoning","text":"Hm."}}`,
		codexText("First."),
		`{"type":"item.started","item":{"id":"c1","type":"command_execution","command":"go test","exit_code":null,"status":"in_progress"}}`,
		`{"type":"item.completed","item":{"id":"c1","type":"command_execution","command":"go test","aggregated_output":"FAIL\n","exit_code":1,"status":"failed"}}`,
		`{"type":"item.completed","item":{"id":"f1","type":"file_change","changes":[{"path":"/x/a.go","kind":"update"},{"path":"/x/b.go","kind":"add"}],"status":"completed"}}`,
		`{"type":"item.completed","item":{"id":"m1","type":"mcp_tool_call","server":"db","tool":"ask","arguments":{"query":"q"},"error":{"message":"no table"},"status":"failed"}}`,
		`{"type":"item.completed","item":{"id":"w1","type":"web_search","query":"go 1.26"}}`,
		`{"type":"item.completed","item":{"id":"t1","type":"todo_list","items":[]}}`,
		`{"type":"item.completed","item":{"id":"e1","type":"error","message":"model rerouted"}}`,
		codexText("Done."), codexText("All of it."), codexEnd(100, 40, 7)))
	o := s.ask(user("hi"))
	o.want(t, "Done.\n\nAll of it.")
	want := []string{"command: go test", "command failed: FAIL", "change: update a.go, add b.go", "db ask: q",
		"db ask failed: no table", "web search: go 1.26"}
	if !slices.Equal(o.steps, want) {
		t.Errorf("steps %q", o.steps)
	}
	if !slices.Equal(o.notices, []string{"codex: model rerouted"}) || o.reasoning != "Hm.\n\n" {
		t.Errorf("notices %q, thought %q", o.notices, o.reasoning)
	}
	if u := o.done.Usage; u.Input != 60 || u.CacheRead != 40 || u.Output != 7 || u.CostUSD != nil {
		t.Errorf("usage %+v", u)
	}
	args := strings.Fields(s.given("args", 1))
	if want := []string{"exec", "--json", "--skip-git-repo-check",
		"--config=" + trustLevel(s.cli.Dir, s.cli.Dir, false), "--sandbox=read-only", "--ignore-rules", "-"}; !slices.Equal(args, want) {
		t.Errorf("arguments %q", args)
	}
}

// The script reads its input to the end before it says a word: it would hang on
// a pipe that stays open.
func TestCodexInputIsClosed(t *testing.T) {
	s := newStandIn(t, CodexName, events(codexBegin, codexText("Hello."), codexEnd(1, 0, 1)))
	s.cli.Idle = 20 * time.Second
	prompt := strings.Repeat("long ", 50_000) + "\n-- @x /y"
	s.ask(user(prompt)).want(t, "Hello.")
	if got := s.given("stdin", 1); got != prompt {
		t.Errorf("%d bytes came, want %d", len(got), len(prompt))
	}
}

func TestCodexErrorIsNotTheEnd(t *testing.T) {
	broken := `{"type":"error","message":"Reconnecting... 2/5 (stream disconnected)"}`
	s := newStandIn(t, CodexName, events(codexBegin, broken, broken, codexText("Hello."), codexEnd(1, 0, 1)))
	o := s.ask(user("hi"))
	o.want(t, "Hello.")
	if want := []string{"codex: Reconnecting... 2/5 (stream disconnected)"}; !slices.Equal(o.notices, want) {
		t.Errorf("notices %q", o.notices)
	}
}

// Without a network codex reports that it reconnects, and never ends.
func TestCodexReconnectsForEver(t *testing.T) {
	s := newStandIn(t, CodexName, events(codexBegin)+
		`while :; do echo '{"type":"error","message":"Reconnecting... waiting for network"}'; sleep 0.05; done`)
	s.cli.Idle = 2 * time.Second
	s.ask(user("hi")).fails(t, provider.KindTimeout,
		"codex has done nothing for 2s: Reconnecting... waiting for network")
}

func TestCodexCountsForItsThread(t *testing.T) {
	s := newStandIn(t, CodexName, "case $N in\n1)\n"+events(codexBegin, codexText("One."), codexEnd(100, 0, 10))+
		";;\n*)\n"+events(codexBegin, codexText("Two."), codexEnd(250, 30, 25))+";;\nesac\n")
	first := s.ask(user("1"))
	first.want(t, "One.")
	second := s.ask(user("1"), first.done.Message, user("2"))
	second.want(t, "Two.")
	if u := second.done.Usage; u.Input != 120 || u.CacheRead != 30 || u.Output != 15 {
		t.Errorf("the second run used %+v", u)
	}
	if args := strings.Fields(s.given("args", 2)); !slices.Equal(args[len(args)-3:], []string{"resume", "th-1", "-"}) {
		t.Errorf("arguments %q", args)
	}
	if got := s.given("stdin", 2); got != "2" {
		t.Errorf("it was told %q", got)
	}
	// A thread of its own counts from nothing.
	s.cli.Name = CodexName
	other := s.stream(t.Context(),
		provider.Request{Messages: []provider.Message{user("1"), first.done.Message, user("2")}, SessionID: "fork"}, nil)
	if u := other.done.Usage; u.Input != 220 || u.Output != 25 {
		t.Errorf("a new session used %+v", u)
	}
}

// An interrupted turn has no end event; the next message resumes its thread.
func TestAnInterruptedCodexKeepsItsThread(t *testing.T) {
	s := newStandIn(t, CodexName, "trap 'echo x >>$DIR/interrupted; sleep 0.2; exit 130' INT\ncase $N in\n1)\n"+
		events(codexBegin, codexText("Half"))+
		"echo $$ >$DIR/pid\nsetsid sleep 100 & echo $! >$DIR/stray\nwhile :; do sleep 0.02; done;;\n*)\n"+
		events(codexBegin, codexText("Two."), codexEnd(9, 0, 9))+";;\nesac\n")
	stop := errors.New("Ctrl-C")
	ctx, cancel := context.WithCancelCause(t.Context())
	var began time.Time
	o := s.stream(ctx, provider.Request{Messages: []provider.Message{user("long task")}, SessionID: "one"},
		func(e provider.Event) {
			if _, ok := e.(provider.TextDelta); ok {
				s.await("stray")
				began = time.Now()
				cancel(stop)
			}
		})
	took := time.Since(began)
	if o.err == nil || o.err.Kind != provider.KindCanceled || !errors.Is(o.err, context.Canceled) ||
		!errors.Is(o.err, stop) {
		t.Fatalf("it ended with %v", o.err)
	}
	if took > 2*time.Second { // 100 ms on an idle machine
		t.Errorf("it took %s to stop", took)
	}
	s.cli.Wait()
	s.gone("pid")
	s.gone("stray")
	// A second one would make most tools drop everything.
	if got, err := os.ReadFile(filepath.Join(s.dir, "interrupted")); err != nil || string(got) != "x\n" {
		t.Errorf("it was not interrupted once, as by Ctrl-C: %q, %v", got, err)
	}
	partial := provider.Message{Role: provider.RoleAssistant, Provider: CodexName, Partial: true,
		Parts: []provider.Part{o.err.Keep[0], provider.Text{Text: "Half"}}}
	s.ask(user("long task"), partial, user("go on")).want(t, "Two.")
	if args, told := s.given("args", 2), s.given("stdin", 2); !strings.Contains(args, "resume\nth-1\n") || told != "go on" {
		t.Errorf("arguments %q, told %q", args, told)
	}
	// That is over then: the same words to another provider were not heard.
	reply := s.ask(user("long task"), partial, user("go on")).done.Message
	other := provider.Message{Role: provider.RoleAssistant, Provider: "openai",
		Parts: []provider.Part{provider.Text{Text: "I did."}}}
	s.ask(user("long task"), partial, user("go on"), reply, user("long task"), other, user("and you?")).want(t, "Two.")
	if told := s.given("stdin", 4); !strings.Contains(told, "[user]\nlong task\n\n[assistant]\nI did.") {
		t.Errorf("it was told %q", told)
	}
}

// A tool that ignores an interrupt is terminated, and then killed.
func TestInterruptIsIgnored(t *testing.T) {
	s := newStandIn(t, CodexName,
		"trap 'echo >$DIR/interrupted' INT\ntrap 'echo >$DIR/terminated' TERM\necho $$ >$DIR/pid\n"+
			events(codexBegin, codexText("Half"))+"while :; do sleep 0.02; done\n")
	s.cli.waits.interrupt, s.cli.waits.terminate = time.Second, time.Second
	ctx, cancel := context.WithCancel(t.Context())
	s.stream(ctx, provider.Request{Messages: []provider.Message{user("hi")}}, func(e provider.Event) {
		if _, ok := e.(provider.TextDelta); ok {
			cancel()
		}
	}).fails(t, provider.KindCanceled, "stopped")
	s.cli.Wait()
	s.gone("pid")
	if !s.exists("interrupted") || !s.exists("terminated") {
		t.Error("it was killed without being asked")
	}
}

// A consumer that breaks out of the sequence also stops the tool.
func TestBreakingOffStopsTheTool(t *testing.T) {
	s := newStandIn(t, CodexName, "echo $$ >$DIR/pid\n"+events(codexBegin, codexText("Half"))+"exec sleep 100\n")
	for e := range s.cli.Stream(t.Context(), provider.Request{Messages: []provider.Message{user("hi")}}) {
		if _, ok := e.(provider.TextDelta); ok {
			break
		}
	}
	s.cli.Wait()
	s.gone("pid")
}

// A process that a good run leaves, in a session of its own, is ended too.
func TestNothingOutlivesTheRun(t *testing.T) {
	s := newStandIn(t, CodexName,
		"setsid sleep 100 >/dev/null 2>&1 & echo $! >$DIR/stray\nsleep 100 & echo $! >$DIR/child\n"+
			events(codexBegin, codexText("Hello."), codexEnd(1, 0, 1)))
	s.ask(user("hi")).want(t, "Hello.")
	s.cli.Wait()
	s.gone("stray")
	s.gone("child")
}

func TestCodexErrors(t *testing.T) {
	for _, c := range []struct {
		message string
		kind    provider.ErrorKind
	}{
		{"unexpected status 401 Unauthorized: Incorrect API key provided: sk-***, url: http://x", provider.KindAuth},
		{"You've hit your usage limit. Upgrade to Pro, visit the site to purchase more credits or try again in 3 days 2 hours 5 minutes.", provider.KindRateLimit},
		{"We're currently experiencing high demand, which may cause temporary errors.", provider.KindOverloaded},
		{"The 'gpt-x' model is not supported when using Codex with a ChatGPT account.", provider.KindConfig},
		{"stream disconnected before completion: error sending request", provider.KindNetwork},
		{"Codex ran out of room in the model's context window.", provider.KindContext},
		{"Quota exceeded. Check your plan and billing details.", provider.KindBilling},
		{"unexpected status 503 Service Unavailable: ", provider.KindOverloaded},
		{"unexpected status 400 Bad Request: nope", provider.KindInvalid},
		{"who knows", provider.KindProvider},
	} {
		s := newStandIn(t, CodexName, events(codexBegin, `{"type":"turn.started"}`,
			fmt.Sprintf(`{"type":"turn.failed","error":{"message":%q}}`, c.message))+"exit 1\n")
		o := s.ask(user("hi"))
		o.fails(t, c.kind, c.message[:min(len(c.message), 20)])
		if c.kind == provider.KindAuth && o.err.Hint != "log in: codex login" {
			t.Errorf("hint %q", o.err.Hint)
		}
	}
}
