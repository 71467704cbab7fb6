package agent_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"artoo/agent"
	"artoo/conversation"
	"artoo/provider"
	"artoo/provider/fake"
)

// TestNothingNearTheWindowIsAnOverflow: some servers answer a request that is too long with an empty 200. It is trimmed
// and asked once more, then the turn names a remedy, which works.
func TestNothingNearTheWindowIsAnOverflow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		fits float64 // the part of the first long request that the server still answers
		kind agent.Kind
	}{{"less is answered", 0.9, ""}, {"nothing helps", 0, agent.KindContext}} {
		t.Run(c.name, func(t *testing.T) {
			most, last := 1<<30, 0
			p := &fake.Provider{Then: func(req provider.Request) fake.Step {
				if last = size(t, req); last > most {
					return fake.Step{Usage: provider.Usage{Input: last / 4}}
				}
				step := fake.Say("noted: " + strings.Repeat("all of it ", 120))
				step.Usage = provider.Usage{Input: last / 4, Output: 300}
				return step
			}}
			a := newAgent(p)
			a.Asked().Info.Context = 10_000
			a.Hold(conversation.New(conversation.Config{MaxContextTokens: 9000}, nil))
			for i := 0; a.Conversation().EstimatedTokens() < 7500; i++ {
				mustSend(t, a, &recorder{}, fmt.Sprint(i, strings.Repeat(" more of it", 150)))
			}
			most = int(float64(last) * c.fits)
			before := len(p.Requests())
			cb := &recorder{}
			r, err := send(t, a, cb, "and now")
			if f := agent.Classify(err); (f == nil) != (c.kind == "") ||
				f != nil && (f.Kind != c.kind || !strings.Contains(f.Hint, "/compact")) {
				t.Fatalf("error %v, want kind %q", err, c.kind)
			}
			requests := p.Requests()[before:]
			if len(requests) != 2 || size(t, requests[1]) >= size(t, requests[0])*3/4 {
				t.Errorf("%d requests, the last no smaller than the first", len(requests))
			}
			told := fmt.Sprintf("%+v", cb.notices)
			if !strings.Contains(told, "perhaps because the request was too long") ||
				!strings.Contains(told, "the context was trimmed") {
				t.Errorf("told %s", told)
			}
			for _, m := range requests[1].Messages {
				if strings.Contains(m.Text(), "was empty") {
					t.Errorf("a request that was too long has more in it: %q", m.Text())
				}
			}
			if c.kind == "" {
				if !strings.HasPrefix(r.Text, "noted") {
					t.Errorf("text %q", r.Text)
				}
				return
			}
			most = last / 2
			if trimmed, err := a.Conversation().Compact(); err != nil || trimmed.After >= trimmed.Before {
				t.Fatalf("%+v %v", trimmed, err)
			}
			if r, err := send(t, a, &recorder{}, "again"); err != nil || !strings.HasPrefix(r.Text, "noted") {
				t.Errorf("after /compact: %+v, %v", r, err)
			}
		})
	}
}

// TestNoReplyAtAllNearTheWindowIsAnOverflow: the second empty body in a row is not
// followed by the same request, which a server that it is too long for never answers.
// Far from the window it is a fault like others.
func TestNoReplyAtAllNearTheWindowIsAnOverflow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		window   int
		fits     bool // less is answered
		requests int
		kind     agent.Kind
	}{
		{"less is answered", 10_000, true, 3, ""},
		{"nothing helps", 10_000, false, 4, agent.KindContext},
		{"far from the window", 200_000, false, 5, agent.KindNetwork},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				most, last := 1<<30, 0
				p := &fake.Provider{Then: func(req provider.Request) fake.Step {
					if last = size(t, req); last > most {
						return fake.Step{Events: []provider.Event{}, Err: &provider.Error{Kind: provider.KindNetwork, Empty: true}}
					}
					return fake.Say("noted: " + strings.Repeat("all of it ", 120))
				}}
				a := newAgent(&provider.Retrier{Provider: p})
				a.Asked().Info.Context = c.window
				a.Hold(conversation.New(conversation.Config{MaxContextTokens: c.window - 1000}, nil))
				for i := 0; a.Conversation().EstimatedTokens() < 7500; i++ {
					mustSend(t, a, &recorder{}, fmt.Sprint(i, strings.Repeat(" more of it", 150)))
				}
				if most = 0; c.fits {
					most = last * 9 / 10
				}
				before := len(p.Requests())
				_, err := send(t, a, &recorder{}, "and now")
				if f := agent.Classify(err); (f == nil) != (c.kind == "") || f != nil && f.Kind != c.kind {
					t.Errorf("error %v, want kind %q", err, c.kind)
				}
				if n := len(p.Requests()) - before; n != c.requests {
					t.Errorf("%d requests, want %d", n, c.requests)
				}
			})
		})
	}
}

// TestNothingFarFromTheWindowIsNotTrimmed: it is asked in other words.
func TestNothingFarFromTheWindowIsNotTrimmed(t *testing.T) {
	t.Parallel()
	p := &fake.Provider{Steps: []fake.Step{{}, fake.Say("ok")}}
	a := newAgent(p)
	cb := &recorder{}
	mustSend(t, a, cb, strings.Repeat("some words ", 500))
	for _, n := range cb.notices {
		if n.Kind == agent.NoticeTrimmed {
			t.Errorf("told %+v", n)
		}
	}
}
