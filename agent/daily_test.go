package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"artoo/agent"
	"artoo/agent/ledger"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
)

// daily makes an agent whose ledger is in a directory.
func daily(t *testing.T, p provider.Provider, dir string, usd float64) *agent.Agent {
	t.Helper()
	a := newAgent(p)
	l := ledger.Open(dir, time.Now)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	a.Opt().Ledger, a.Opt().Limits.DailyCost = l, usd
	a.Asked().Info.Price, a.Asked().Defaults.MaxTokens = &provider.Price{Input: 1, Output: 10}, 4000
	return a
}

func always(usage provider.Usage) *fake.Provider {
	return &fake.Provider{Then: func(provider.Request) fake.Step {
		st := fake.Say("x")
		st.Usage = usage
		return st
	}}
}

func TestADaysMoneyHoldsOverAgents(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var replies []int
	var told []agent.Notice
	var last error
	for range 9 {
		p := always(provider.Usage{Output: 1000}) // a cent
		a, cb := daily(t, p, dir, 0.0499), &recorder{}
		_, last = send(t, a, cb, "go")
		told = append(told, cb.notices...)
		if r, ok := p.Last(); ok {
			replies = append(replies, r.MaxTokens)
		}
	}
	if len(replies) != 5 || replies[0] != 4000 || replies[2] > 3010 || replies[4] < 900 || replies[4] > 1010 {
		t.Errorf("the replies could have %v tokens", replies)
	}
	f := agent.Classify(last)
	if f == nil || f.Kind != agent.KindCap || !strings.Contains(f.Hint, "ARTOO_DAILY_COST") ||
		!strings.Contains(f.Error(), time.Now().Format("2006-01-")) {
		t.Errorf("ended with %v (%+v)", last, f)
	}
	if !slices.ContainsFunc(told, func(n agent.Notice) bool {
		return n.Kind == agent.NoticeCap && strings.Contains(n.Text, "today's $0.0499")
	}) {
		t.Errorf("not told that the cap is near: %+v", told)
	}
}

func TestADaysCapWaitsForWhatOtherRunsLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		other := ledger.Open(dir, time.Now)
		defer other.Close()
		hold, err := other.Reserve(ledger.Spent{}, 0, 0.049, 0.05)
		must(t, err)
		go func() {
			<-time.After(30 * time.Second) // fake time
			if err := hold.Release(); err != nil {
				t.Error(err)
			}
		}()
		began, p := time.Now(), always(provider.Usage{Output: 10})
		mustSend(t, daily(t, p, dir, 0.05), &recorder{}, "go")
		if took := time.Since(began); took < 30*time.Second || took > 31*time.Second {
			t.Errorf("waited %s", took)
		}
		if _, err := other.Reserve(ledger.Spent{}, 0, 1, 0.05); err != nil {
			t.Fatal(err)
		}
		_, err = send(t, daily(t, always(provider.Usage{}), dir, 0.05), &recorder{}, "go")
		if f := agent.Classify(err); f == nil || f.Kind != agent.KindCap || !strings.Contains(f.Error(), "under way") {
			t.Errorf("a run that holds the rest for ever: %v", err)
		}
	})
}

func TestTriesThatFailedCountForTheDay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		long := fake.Step{Text: []string{strings.Repeat("words ", 1000)},
			Err: &provider.Error{Kind: provider.KindNetwork, Provider: "fake"}}
		p := &fake.Provider{Then: func(provider.Request) fake.Step { return long }}
		a := daily(t, &provider.Retrier{Provider: p}, dir, 0.04)
		_, err := send(t, a, &recorder{}, "go")
		if f := agent.Classify(err); f == nil || f.Kind != agent.KindCap {
			t.Errorf("error %v", err)
		}
		_, spent, _ := a.Today()
		if n := len(p.Requests()); n < 2 || n > 3 || spent < 0.02 || spent > 0.045 {
			t.Errorf("%d tries for $%v", n, spent)
		}
	})
}

func TestNothingIsAskedWhereTheDayCannotBeCounted(t *testing.T) {
	t.Parallel()
	blocked := filepath.Join(t.TempDir(), "ledger")
	must(t, os.WriteFile(blocked, nil, 0o600))
	p := always(provider.Usage{})
	_, err := send(t, daily(t, p, blocked, 1), &recorder{}, "go")
	if f := agent.Classify(err); f == nil || f.Kind != agent.KindConfig || len(p.Requests()) > 0 {
		t.Errorf("%d requests, %v", len(p.Requests()), err)
	}
	cb := &recorder{}
	if _, err := send(t, daily(t, p, blocked, 0), cb, "go"); err != nil || len(cb.notices) == 0 {
		t.Errorf("without a cap: %v, %+v", err, cb.notices)
	}
	a := daily(t, p, t.TempDir(), 1)
	a.Asked().Info.Price = nil
	if _, err := send(t, a, &recorder{}, "go"); agent.Classify(err) == nil || agent.Classify(err).Kind != agent.KindUsage {
		t.Errorf("of unknown price: %v", err)
	}
}

func TestNoRequestIsMadeForAReplyThatSaysNothing(t *testing.T) {
	t.Parallel()
	for name, limits := range map[string]agent.Limits{"tokens": {MaxTotalTokens: 400}, "money": {MaxCost: 0.004}} {
		p := always(provider.Usage{Output: 1})
		a := newAgent(p)
		a.Opt().Limits, a.Asked().Defaults.MaxTokens = limits, 4000
		a.Asked().Info.Price = &provider.Price{Output: 10}
		_, err := send(t, a, &recorder{}, "go")
		if f := agent.Classify(err); f == nil || f.Kind != agent.KindCap || len(p.Requests()) > 0 {
			t.Errorf("%s: %d requests, %v", name, len(p.Requests()), err)
		}
	}
}

func TestTheUserIsNotifiedOnceThatTimeIsNear(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		p := &fake.Provider{Then: func(provider.Request) fake.Step {
			<-time.After(time.Second)
			n++
			return fake.Call(fmt.Sprint("c", n), "look", fmt.Sprintf(`{"arg":"%d"}`, n))
		}}
		a := newAgent(p, makeTool("look", tool.KindRead, nil))
		a.Opt().Limits = agent.Limits{MaxTime: 20 * time.Second}
		cb := &recorder{}
		_, err := a.SendMessage(t.Context(), "go", cb)
		if f := agent.Classify(err); f == nil || f.Kind != agent.KindCap {
			t.Errorf("error %v", err)
		}
		told := 0
		for _, notice := range cb.notices {
			if notice.Kind == agent.NoticeCap {
				told++
			}
		}
		if told != 1 {
			t.Errorf("%d notices of %+v", told, cb.notices)
		}
	})
}
