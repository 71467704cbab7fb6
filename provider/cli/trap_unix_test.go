//go:build unix

package cli

import (
	"context"
	"slices"
	"strings"
	"testing"

	"artoo/provider"
)

// Output on stderr never blocks the tool, and its end names the reason of a failure.
func TestStderrIsDrained(t *testing.T) {
	s := newStandIn(t, ClaudeName, events(claudeInit)+
		"head -c 3000000 /dev/zero | tr '\\0' 'x' >&2\necho >&2\necho 'Error: the disk is full' >&2\nexit 1\n")
	o := s.ask(user("hi"))
	o.fails(t, provider.KindProvider, "the disk is full")
	if len(o.err.Message) > 100 {
		t.Errorf("it failed with %.200q", o.err.Message)
	}
}

func TestLongLines(t *testing.T) {
	long := `printf '{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"'` +
		"\nhead -c 4000000 /dev/zero | tr '\\0' 'y'\n" + `printf '"}]}}\n'` + "\n"
	s := newStandIn(t, ClaudeName, events(claudeInit)+long+events(claudeGood))
	if o := s.ask(user("hi")); o.err != nil || len(o.text) != 4_000_000 {
		t.Errorf("%d bytes came, %v", len(o.text), o.err)
	}
	// One that is too long for any event is left out.
	s = newStandIn(t, ClaudeName, events(claudeInit, claudeText("Hello."))+
		"head -c 67200000 /dev/zero | tr '\\0' 'y'; echo\n"+events(claudeGood))
	s.ask(user("hi")).want(t, "Hello.")
}

// claude may begin a conversation of its own: the next message resumes the one that was named last.
func TestClaudeChangesItsConversation(t *testing.T) {
	s := newStandIn(t, ClaudeName, events(claudeInit, strings.ReplaceAll(claudeText("Hello."), "s-1", "s-2"),
		strings.ReplaceAll(claudeGood, "s-1", "s-2")))
	first := s.ask(user("1"))
	first.want(t, "Hello.")
	s.ask(user("1"), first.done.Message, user("2"))
	if args := s.given("args", 2); !strings.Contains(args, "\n--resume=s-2\n") {
		t.Errorf("arguments %q", args)
	}
}

// The cost is that of the sum of all models; the messages are not added to it.
func TestClaudeUsageOfAllModels(t *testing.T) {
	all := strings.Replace(claudeGood, `"usage":`,
		`"modelUsage":{"a":{"inputTokens":10,"outputTokens":3,"cacheReadInputTokens":5,"cacheCreationInputTokens":2},"b":{"inputTokens":100,"outputTokens":30}},"usage":`, 1)
	one := strings.Replace(claudeText("Hello."), `"content"`, `"usage":{"input_tokens":10,"output_tokens":3},"content"`, 1)
	s := newStandIn(t, ClaudeName, events(claudeInit, one, one, all))
	o := s.ask(user("hi"))
	if u := o.done.Usage; u.Input != 110 || u.Output != 33 || u.CacheRead != 5 || u.CacheWrite != 2 || u.CostUSD == nil {
		t.Errorf("usage %+v", u)
	}
}

// A message that was stopped before its run begins starts nothing.
func TestNothingIsStartedForAStoppedMessage(t *testing.T) {
	s := newStandIn(t, ClaudeName, claudeGreets)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := s.stream(ctx, provider.Request{Messages: []provider.Message{user("hi")}}, nil)
	o.fails(t, provider.KindCanceled, "stopped")
	if s.exists("args.1") {
		t.Error("it was run")
	}
}

// An error is one, however little is said of it.
func TestClaudeFailsWithoutAWord(t *testing.T) {
	s := newStandIn(t, ClaudeName, events(claudeInit, `{"type":"result","is_error":true,"session_id":"s-1"}`))
	s.ask(user("hi")).fails(t, provider.KindProvider, "an error without a message")
}

func TestCodexDeclined(t *testing.T) {
	s := newStandIn(t, CodexName, events(codexBegin,
		`{"type":"item.completed","item":{"id":"c1","type":"command_execution","command":"rm x","exit_code":null,"status":"declined"}}`,
		codexText("Hello."), codexEnd(1, 0, 1)))
	o := s.ask(user("hi"))
	o.want(t, "Hello.")
	if want := []string{"command: rm x"}; !slices.Equal(o.steps, want) {
		t.Errorf("steps %q", o.steps)
	}
}
