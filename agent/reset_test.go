package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"artoo/agent"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
)

// limited is a reply that is refused until a limit resets.
func limited(after time.Duration) fake.Step {
	err := &provider.Error{Kind: provider.KindRateLimit, Provider: fake.Name, Message: "slow", RetryAfter: after}
	return fake.Step{Err: err}
}

// sleeper is a clock on which waits take no time.
type sleeper struct {
	now   time.Time
	slept []string
	// cancel is called in a wait; nil for none.
	cancel context.CancelFunc
}

func newSleeper() *sleeper { return &sleeper{now: time.Date(2026, 3, 26, 12, 0, 0, 0, time.Local)} }

func (s *sleeper) Now() time.Time { return s.now }

func (s *sleeper) Sleep(ctx context.Context, d time.Duration) error {
	s.slept = append(s.slept, d.String())
	s.now = s.now.Add(d)
	if s.cancel != nil {
		s.cancel()
	}
	return ctx.Err()
}

func TestALimitThatResetsIsWaitedFor(t *testing.T) {
	t.Parallel()
	forbidden := limited(time.Hour)
	forbidden.Err.(*provider.Error).Retry = new(false)
	done, hour := fake.Say("done"), limited(time.Hour)
	broken := fake.Step{Text: []string{"half"}, Err: limited(time.Minute).Err}
	overloaded := fake.Step{Err: &provider.Error{Kind: provider.KindOverloaded, RetryAfter: time.Minute}}
	for name, tc := range map[string]struct {
		limit time.Duration
		steps []fake.Step
		yes   bool
		slept string
		exit  int
		asked int
	}{
		"unasked":               {2 * time.Hour, []fake.Step{hour, done}, false, "1h0m0s", 0, 0},
		"again, within it":      {2 * time.Hour, []fake.Step{hour, hour, done}, false, "1h0m0s 1h0m0s", 0, 0},
		"again, beyond it":      {90 * time.Minute, []fake.Step{hour, hour}, false, "1h0m0s", 5, 1},
		"beyond it":             {time.Hour, []fake.Step{limited(61 * time.Minute)}, false, "", 5, 1},
		"no":                    {0, []fake.Step{limited(time.Minute)}, false, "", 5, 1},
		"yes":                   {0, []fake.Step{hour, done}, true, "50m0s", 0, 1},
		"no time":               {time.Hour, []fake.Step{limited(0)}, true, "", 5, 0},
		"the server forbids it": {2 * time.Hour, []fake.Step{forbidden}, true, "", 5, 0},
		"another failure":       {time.Hour, []fake.Step{overloaded}, true, "", 5, 0},
		"a broken reply":        {time.Hour, []fake.Step{broken, done}, false, "1m0s", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := newSleeper()
			opt := testOptions(steps(tc.steps...))
			opt.Limits.WaitLimit, opt.Waits.Clock = tc.limit, clock
			cb := &recorder{onAsk: func(agent.Question) { clock.now = clock.now.Add(10 * time.Minute) }}
			if tc.yes {
				cb.answers = []agent.Answer{{Verdict: agent.Yes}}
			}
			r, err := anAgent(t, opt).SendMessage(t.Context(), "go", cb)
			exit := 0
			if failure := agent.Classify(err); failure != nil {
				exit = failure.Kind.ExitCode()
			}
			slept := strings.Join(clock.slept, " ")
			if slept != tc.slept || exit != tc.exit || len(cb.asked) != tc.asked || exit == 0 && r.Text != "done" {
				t.Errorf("slept %q, %q, error %v, asked %v", slept, r.Text, err, cb.asked)
			}
			for _, q := range cb.asked {
				if q.Kind != agent.QuestionLimit || !strings.HasSuffix(q.Reason, ") for the rate limit of fake?") {
					t.Errorf("%s: %q", q.Kind, q.Reason)
				}
			}
			if tc.slept != "" && (len(cb.notices) == 0 || cb.notices[0].Retry == nil || !cb.notices[0].Retry.Discard) {
				t.Errorf("no countdown: %+v", cb.notices)
			}
		})
	}
}

func TestAWaitForALimitEndsWithTheTurn(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("Ctrl-C")
	clock := newSleeper()
	clock.cancel = func() { cancel(stopped) }
	opt := testOptions(steps(limited(time.Hour)))
	opt.Limits.WaitLimit, opt.Waits.Clock = time.Hour, clock
	if _, err := anAgent(t, opt).SendMessage(ctx, "go", &recorder{}); !errors.Is(err, stopped) {
		t.Error(err)
	}
}

// Sub-agents are refused together: the user answers once.
func TestSubAgentsWaitByOneAnswer(t *testing.T) {
	t.Parallel()
	clock := newSleeper()
	task := fake.Step{Calls: []provider.ToolCall{{ID: "a", Name: "task", Input: []byte(`{"prompt":"one"}`)},
		{ID: "b", Name: "task", Input: []byte(`{"prompt":"two"}`)}}}
	p := &fake.Provider{Then: func(req provider.Request) fake.Step {
		switch last := req.Messages[len(req.Messages)-1]; {
		case last.Text() == "":
			return fake.Say("done")
		case last.Text() == "go":
			return task
		case clock.slept == nil:
			return limited(time.Hour)
		}
		return fake.Say("found")
	}}
	opt := testOptions(p, agent.OwnTools(nil)[0], makeTool("look", tool.KindRead, nil))
	opt.Waits.Clock, opt.Concurrency = clock, 1
	cb := &recorder{answers: []agent.Answer{{Verdict: agent.Yes}}}
	if r := mustSend(t, anAgent(t, opt), cb, "go"); r.Text != "done" || len(cb.asked) != 1 {
		t.Errorf("%q, %d questions", r.Text, len(cb.asked))
	}
}
