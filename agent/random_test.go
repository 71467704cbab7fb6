package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/conversation"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
	"artoo/tool/sweep"
)

// story is a random conversation: replies, tools, answers, interrupts and
// session files that fail.
type story struct {
	*rand.Rand
	interrupt func()
	calls     int
	wanted    [][]string // ids of the calls of each whole reply, in order
}

func (s *story) chance(n int) bool { return s.IntN(n) == 0 }

func (s *story) maybeInterrupt(n int) {
	if s.chance(n) {
		s.interrupt()
	}
}

func (s *story) step() fake.Step {
	var st fake.Step
	for range s.IntN(3) {
		st.Text = append(st.Text, fmt.Sprintf("w%d ", s.IntN(9)))
	}
	if s.chance(3) {
		st.Reasoning = []string{"hm"}
	}
	for range max(0, s.IntN(6)-1) {
		s.calls++
		name := []string{"look", "look", "none", "change", "bash", "nothing"}[s.IntN(6)]
		input := []string{`{}`, fmt.Sprintf(`{"arg":"%d"}`, s.calls), `{"arg":"same"}`, `{"arg":`, `[]`, `{"arg":1}`,
			"{\"arg\":\"\\ud800\"}"}[s.IntN(7)]
		id := []string{fmt.Sprint("c", s.calls), fmt.Sprint("id.", s.calls), "twice"}[min(s.IntN(20), 2)]
		if len(st.Calls) > 0 && id == "twice" { // within a reply ids are unique
			id = fmt.Sprint("c", s.calls)
		}
		st.Calls = append(st.Calls, fake.ToolCall(id, name, input))
	}
	switch s.IntN(12) {
	case 0:
		st.Stop = provider.StopMaxTokens
	case 1:
		st.Stop = []provider.StopReason{provider.StopRefusal, provider.StopContext, provider.StopPause}[s.IntN(3)]
	case 2:
		st.Err = &provider.Error{Kind: []provider.ErrorKind{provider.KindNetwork, provider.KindContext,
			provider.KindAuth}[s.IntN(3)], Provider: "fake"}
	case 3:
		st.Cut = true
	}
	if st.Err == nil && !st.Cut && st.Stop == "" && len(st.Calls) > 0 {
		var ids []string
		for _, c := range st.Calls {
			ids = append(ids, c.ID)
		}
		s.wanted = append(s.wanted, ids)
	}
	s.maybeInterrupt(15)
	return st
}

func (s *story) tools() []tool.Tool {
	run := func(ctx context.Context, arg string, out io.Writer) (tool.Result, error) {
		s.maybeInterruptSafe(arg)
		switch len(arg) % 3 {
		case 0:
			fmt.Fprintf(out, "out %s", arg)
		case 1:
			if arg == "7" {
				panic(arg)
			}
		}
		if strings.HasSuffix(arg, "3") {
			return tool.Result{Text: "failed", IsError: true}, nil
		}
		return tool.Result{Text: arg, Images: []tool.Image{{}}}, ctx.Err()
	}
	return []tool.Tool{makeTool("look", tool.KindRead, run), makeTool("none", tool.KindNone, run),
		makeTool("change", tool.KindWrite, run), makeTool("bash", tool.KindRun, run)}
}

// maybeInterruptSafe is for tools, which run side by side: it takes no random
// numbers.
func (s *story) maybeInterruptSafe(arg string) {
	if strings.HasSuffix(arg, "13") {
		s.interrupt()
	}
}

func (s *story) answer() (agent.Answer, error) {
	s.maybeInterrupt(10)
	switch s.IntN(9) {
	case 0:
		return agent.Answer{}, agent.ErrNobody
	case 1:
		return agent.Answer{Reason: "no"}, nil
	case 2:
		return agent.Answer{Verdict: agent.StopTurn}, nil
	case 3:
		return agent.Answer{Input: []byte(`{"arg":"edited"}`)}, nil
	case 4:
		return agent.Answer{Input: []byte(`nonsense`)}, nil
	case 5:
		return agent.Answer{Verdict: agent.YesForSession, Rule: "bash(nothing)"}, nil
	case 6:
		return agent.Answer{}, errors.New("the terminal is gone")
	}
	return agent.Answer{Verdict: agent.Yes}, nil
}

type storyteller struct {
	*recorder
	*story
}

func (c *storyteller) OnText(text string)         { c.recorder.OnText(text); c.maybeInterrupt(60) }
func (c *storyteller) OnToolCall(call agent.Call) { c.recorder.OnToolCall(call); c.maybeInterrupt(60) }
func (c *storyteller) OnThinking()                { c.recorder.OnThinking(); c.maybeInterrupt(60) }
func (c *storyteller) Ask(ctx context.Context, q agent.Question) (agent.Answer, error) {
	_, _ = c.recorder.Ask(ctx, q)
	answer, err := c.answer()
	if ctx.Err() != nil {
		return answer, ctx.Err()
	}
	return answer, err
}

// TestAnyTurnsLeaveAGoodHistory plays random conversations: whatever
// happens, callbacks come one at a time and in pairs, every call of a reply has
// one result, and the next request is in order.
func TestAnyTurnsLeaveAGoodHistory(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for _, seed := range sweep.Cases(t, 20, 150) {
		s := &story{Rand: rand.New(rand.NewPCG(uint64(seed), 1))}
		p := &fake.Provider{Then: func(provider.Request) fake.Step { return s.step() }}
		a := newAgent(p, s.tools()...)
		a.Opt().Policy.Mode = []permission.Mode{permission.ModeAsk, permission.ModeEdits, permission.ModePlan}[s.IntN(3)]
		a.Opt().Limits = agent.Limits{MaxTurns: 8}
		if s.chance(4) {
			a.Opt().Limits.MaxTotalTokens = 2000
		}
		var session *conversation.Session
		if s.chance(3) {
			session = conversation.Store{Dir: t.TempDir()}.Create(conversation.Header{CWD: "/p"})
			a.Hold(conversation.New(conversation.Config{MaxContextTokens: 50000}, session))
		}
		for turn := range 4 {
			ctx, cancel := context.WithCancel(t.Context())
			s.interrupt = cancel
			cb := &storyteller{&recorder{}, s}
			if session != nil && s.chance(8) {
				must(t, session.Close())
			}
			r, err := a.SendMessage(ctx, fmt.Sprint("message ", turn), cb)
			a.Close()
			if r == nil || err == nil && r.Stop == "" {
				t.Errorf("seed %d: response %+v, error %v", seed, r, err)
			}
			if err != nil && agent.Classify(err).Err == nil {
				t.Errorf("seed %d: %v has no cause", seed, err)
			}
			if fail := provider.AsError(err); fail != nil && fail.Kind == provider.KindInvalid {
				t.Errorf("seed %d: a request was refused: %v", seed, err)
			}
			pairs(t, cb.lines)
			if cb.broken {
				t.Errorf("seed %d: two callbacks at once", seed)
			}
			usable(t, a)
			if session == nil {
				checkResults(t, a.Conversation().Messages())
			}
			cancel()
			if t.Failed() {
				t.Fatalf("seed %d, turn %d: %q\n%q", seed, turn, cb.lines, history(a))
			}
		}
	}
}

// checkResults checks that the history itself, not only the repaired copy, holds the results of every reply in order.
func checkResults(t *testing.T, messages []provider.Message) {
	t.Helper()
	for i, m := range messages {
		for j, c := range m.Calls() {
			at := i + 1 + j
			if at >= len(messages) || messages[at].Role != provider.RoleTool {
				t.Errorf("call %s has no result in its place", c.ID)
				continue
			}
			if r := messages[at].Parts[0].(provider.ToolResult); r.CallID != c.ID {
				t.Errorf("call %s has the result of %s: %q", c.ID, r.CallID, r.Text)
			}
		}
	}
}
