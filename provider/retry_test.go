package provider_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"artoo/provider"
	"artoo/provider/fake"

	"github.com/google/go-cmp/cmp"
)

// outcome is the result of one request, in a form that is easy to compare.
type outcome struct {
	Events []string
	Waits  []time.Duration
	Took   time.Duration
	Err    *provider.Error
	Done   *provider.Done
}

func drain(ctx context.Context, p provider.Provider) outcome {
	var o outcome
	start := time.Now()
	for e, err := range p.Stream(ctx, provider.Request{}) {
		if err != nil {
			o.Events = append(o.Events, "error")
			o.Err = provider.AsError(err)
			continue
		}
		switch e := e.(type) {
		case provider.Started:
			o.Events = append(o.Events, "started")
		case provider.TextDelta:
			o.Events = append(o.Events, e.Text)
		case provider.ReasoningDelta:
			o.Events = append(o.Events, "("+e.Text+")")
		case provider.Retry:
			o.Events = append(o.Events, fmt.Sprintf("try %d/%d discard=%v %s", e.Try, e.Tries, e.Discard, e.Err.Kind))
			o.Waits = append(o.Waits, e.Wait)
		case provider.Done:
			o.Events = append(o.Events, "done")
			o.Done = &e
		default:
			o.Events = append(o.Events, fmt.Sprintf("%T", e))
		}
	}
	o.Took = time.Since(start)
	return o
}

func fails(e provider.Error, text ...string) fake.Step {
	e.Provider = "api"
	return fake.Step{Err: &e, Text: text}
}

// never takes no random spare from a delay.
func never() float64 { return 0 }

func seconds(all ...float64) []time.Duration {
	var out []time.Duration
	for _, s := range all {
		out = append(out, time.Duration(s*float64(time.Second)))
	}
	return out
}

// retryTest is an error, and how long it is tried again.
type retryTest struct {
	name    string
	err     provider.Error // the error of every try
	tries   int
	maxTime time.Duration
	waits   []time.Duration
	message string // the message of the last error
	kind    provider.ErrorKind
	hint    string
}

// retryTests are the errors of every kind.
func retryTests() []retryTest {
	refused := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	overloaded := provider.Error{Kind: provider.KindOverloaded, Status: 529, Message: "Overloaded."}
	return []retryTest{
		{name: "backoff doubles", err: overloaded, waits: seconds(.5, 1, 2, 4),
			message: "api: Overloaded, after 5 tries (529)"},
		{name: "and is capped", err: overloaded, tries: 8, waits: seconds(.5, 1, 2, 4, 8, 8, 8),
			message: "api: Overloaded, after 8 tries (529)"},
		{name: "one try", err: overloaded, tries: 1, message: "api: Overloaded. (529)"},
		{name: "no time", err: overloaded, maxTime: -1, message: "api: Overloaded. (529)"},
		{name: "little time", err: overloaded, maxTime: 2 * time.Second, waits: seconds(.5, 1),
			message: "api: Overloaded, after 3 tries (529)"},
		{name: "a tiny retry-after does not burn the tries",
			err:   provider.Error{Kind: provider.KindRateLimit, Message: "slow", RetryAfter: time.Millisecond},
			waits: seconds(.5, 1, 2, 4), message: "api: slow, after 5 tries",
			hint: "again in 1s (--wait-limit waits), or choose another model with --model"},
		{name: "retry-after is obeyed while there is time",
			err:   provider.Error{Kind: provider.KindRateLimit, Message: "slow", RetryAfter: 50 * time.Second},
			waits: seconds(50, 50), message: "api: slow, after 3 tries",
			hint: "again in 50s (--wait-limit waits), or choose another model with --model"},
		{name: "hours end at once", err: provider.Error{Kind: provider.KindRateLimit, Message: "slow", Hint: "h",
			RetryAfter: 2*time.Hour + 9*time.Minute + time.Second},
			message: "api: slow", hint: "again in 2h10m (--wait-limit waits), or choose another model with --model"},
		{name: "a server's long wait is try later",
			err:  provider.Error{Kind: provider.KindProvider, Status: 500, Message: "down", RetryAfter: 3 * time.Minute},
			kind: provider.KindOverloaded, message: "api: down (500)",
			hint: "again in 3m, or choose another model with --model"},
		{name: "the server forbids it", err: provider.Error{Kind: provider.KindRateLimit, Message: "no",
			Retry: new(false), RetryAfter: time.Hour},
			message: "api: no", hint: "again in 1h, or choose another model with --model"},
		{name: "the server asks for it", err: provider.Error{Kind: provider.KindInvalid, Message: "odd", Retry: new(true)},
			waits: seconds(.5, 1, 2, 4), message: "api: odd, after 5 tries"},
		{name: "a wrong key", err: provider.Error{Kind: provider.KindAuth, Message: "no", Hint: "login"},
			message: "api: no", hint: "login"},
		{name: "no credit, whatever the header says", err: provider.Error{Kind: provider.KindBilling, Message: "no",
			Hint: "pay", RetryAfter: time.Hour}, message: "api: no", hint: "pay"},
		{name: "a timeout", err: provider.Error{Kind: provider.KindTimeout, Message: "silent"},
			waits: seconds(.5, 1, 2, 4), message: "api: silent, after 5 tries"},
		{name: "a timeout of a local server", err: provider.Error{Kind: provider.KindTimeout, Message: "silent",
			Local: true}, message: "api: silent"},
		{name: "a cut stream", err: provider.Error{Kind: provider.KindNetwork, Err: io.ErrUnexpectedEOF},
			waits: seconds(.5, 1, 2, 4), message: "api: unexpected EOF, after 5 tries"},
		{name: "a refused connection", err: provider.Error{Kind: provider.KindNetwork, Err: refused}, waits: seconds(.5, 1),
			message: "api: dial: connect: connection refused, after 3 tries"},
		{name: "an unknown host", err: provider.Error{Kind: provider.KindNetwork, Message: "who",
			Err: &net.DNSError{IsNotFound: true}}, waits: seconds(.5, 1), message: "api: who, after 3 tries"},
		{name: "a name server that is slow is another matter", err: provider.Error{Kind: provider.KindNetwork,
			Message: "dns", Err: &net.DNSError{IsTimeout: true}}, waits: seconds(.5, 1, 2, 4),
			message: "api: dns, after 5 tries"},
	}
}

func TestRetryWaits(t *testing.T) {
	t.Parallel()
	for _, tt := range retryTests() {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &fake.Provider{Then: func(provider.Request) fake.Step { return fails(tt.err) }}
				o := drain(t.Context(), &provider.Retrier{Provider: p, Tries: tt.tries, MaxTime: tt.maxTime, Rand: never})
				if diff := cmp.Diff(tt.waits, o.Waits); diff != "" {
					t.Errorf("waits (-want +got)\n%s", diff)
				}
				var sum time.Duration
				for _, w := range tt.waits {
					sum += w
				}
				if o.Took != sum {
					t.Errorf("it took %v, want %v", o.Took, sum)
				}
				if n := len(p.Requests()); n != len(tt.waits)+1 {
					t.Errorf("%d requests, want %d", n, len(tt.waits)+1)
				}
				if o.Err == nil {
					t.Fatal("no error")
				}
				if o.Err.Error() != tt.message || o.Err.Hint != tt.hint {
					t.Errorf("error %q, hint %q; want %q, %q", o.Err, o.Err.Hint, tt.message, tt.hint)
				}
				kind := tt.kind
				if kind == "" {
					kind = tt.err.Kind
				}
				if o.Err.Kind != kind {
					t.Errorf("kind %s, want %s", o.Err.Kind, kind)
				}
				if tt.err.Err != nil && !errors.Is(o.Err, tt.err.Err) {
					t.Error("the cause is lost")
				}
			})
		})
	}
}

func TestRetryJitterTakesUpToAQuarter(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		random float64
		want   []time.Duration
	}{{0, seconds(.5, 1)}, {0.5, seconds(.4375, .875)}, {1, seconds(.375, .75)}} {
		synctest.Test(t, func(t *testing.T) {
			p := &fake.Provider{Steps: []fake.Step{fake.Fail(provider.KindNetwork), fake.Fail(provider.KindNetwork),
				fake.Say("a")}}
			o := drain(t.Context(), &provider.Retrier{Provider: p, Rand: func() float64 { return tt.random }})
			if diff := cmp.Diff(tt.want, o.Waits); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRetryTellsWhatIsVoidAndCountsEverything(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cost := 0.25
		p := &fake.Provider{Steps: []fake.Step{
			fails(provider.Error{Kind: provider.KindOverloaded}),
			fails(provider.Error{Kind: provider.KindNetwork,
				Usage: provider.Usage{Input: 10, Output: 2, CostUSD: &cost}}, "a", "b"),
			{Reasoning: []string{"r"}, Cut: true},
			{Text: []string{"c"}, Usage: provider.Usage{Input: 10, CacheRead: 5, Output: 3, CostUSD: &cost}},
		}}
		o := drain(t.Context(), &provider.Retrier{Provider: p})
		want := []string{
			"started", "try 2/5 discard=false overloaded",
			"started", "a", "b", "try 3/5 discard=true network",
			"started", "(r)", "try 4/5 discard=true network",
			"started", "c", "done",
		}
		if diff := cmp.Diff(want, o.Events); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if o.Done.Tries != 4 || o.Done.Message.Text() != "c" {
			t.Errorf("done after %d tries with %q", o.Done.Tries, o.Done.Message.Text())
		}
		total := 0.5
		if diff := cmp.Diff(provider.Usage{Input: 20, CacheRead: 5, Output: 5, CostUSD: &total}, o.Done.Usage); diff != "" {
			t.Errorf("usage (-want +got)\n%s", diff)
		}
	})
}

func TestRetryAddsUsageToTheLastError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		scripted := &provider.Error{Kind: provider.KindOverloaded, Usage: provider.Usage{Input: 10}}
		p := &fake.Provider{Then: func(provider.Request) fake.Step { return fake.Step{Err: scripted} }}
		o := drain(t.Context(), &provider.Retrier{Provider: p})
		if got := o.Err.Usage.Input; got != 50 {
			t.Errorf("usage %d, want that of five tries", got)
		}
		if scripted.Usage.Input != 10 || scripted.Message != "" {
			t.Errorf("the wire's error was changed: %+v", scripted)
		}
	})
}

func TestRetryStopsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		// in the wait
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		p := &fake.Provider{Then: func(provider.Request) fake.Step {
			return fails(provider.Error{Kind: provider.KindRateLimit, RetryAfter: time.Minute,
				Usage: provider.Usage{Input: 7}})
		}}
		o := drain(ctx, &provider.Retrier{Provider: p})
		if o.Took != 200*time.Millisecond || len(p.Requests()) != 1 {
			t.Errorf("it took %v and %d requests", o.Took, len(p.Requests()))
		}
		if o.Err.Kind != provider.KindCanceled || !errors.Is(o.Err, context.DeadlineExceeded) || o.Err.Usage.Input != 7 {
			t.Errorf("error %+v", o.Err)
		}

		// in a try, whatever the wire makes of it; the cause is kept
		ctx, because := context.WithCancelCause(t.Context())
		capped := errors.New("a cap was reached")
		p = &fake.Provider{Then: func(provider.Request) fake.Step {
			because(capped)
			return fake.Step{Events: []provider.Event{}, Err: &provider.Error{Kind: provider.KindNetwork}}
		}}
		o = drain(ctx, &provider.Retrier{Provider: p})
		if len(o.Events) != 1 || o.Err.Kind != provider.KindCanceled || !errors.Is(o.Err, context.Canceled) ||
			!errors.Is(o.Err, capped) {
			t.Errorf("events %q, error %+v", o.Events, o.Err)
		}
	})
}

// brokenOff is a provider whose reply broke off, with the part that the history must hold.
type brokenOff struct{ stop context.CancelFunc }

func (b brokenOff) Stream(context.Context, provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		b.stop()
		yield(nil, &provider.Error{Kind: provider.KindCanceled, Keep: []provider.Part{provider.Text{Text: "kept"}}})
	}
}

func TestWhatAStoppedReplyLeavesIsPassedOn(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if o := drain(ctx, &provider.Retrier{Provider: brokenOff{cancel}}); o.Err.Kind != provider.KindCanceled ||
		len(o.Err.Keep) != 1 {
		t.Errorf("error %+v", o.Err)
	}
}

func TestRetryEndsWhenTheConsumerBreaks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, stop := range []int{1, 2, 3} { // started, text, retry
			p := &fake.Provider{Then: func(provider.Request) fake.Step {
				return fails(provider.Error{Kind: provider.KindOverloaded}, "a")
			}}
			n, start := 0, time.Now()
			for range (&provider.Retrier{Provider: p}).Stream(t.Context(), provider.Request{}) {
				if n++; n == stop {
					break
				}
			}
			if len(p.Requests()) != 1 || time.Since(start) > 0 {
				t.Errorf("stop at %d: %d requests, waited %v", stop, len(p.Requests()), time.Since(start))
			}
		}
	})
}

func TestRetryGivesAnAbsentServerFewSeconds(t *testing.T) {
	t.Parallel()
	refused := provider.Error{Kind: provider.KindNetwork, Message: "refused", Err: syscall.ECONNREFUSED}
	busy := provider.Error{Kind: provider.KindOverloaded, Message: "busy"}
	slowly := func(e provider.Error) fake.Step {
		return fake.Step{Func: func(provider.Request) fake.Step {
			<-time.After(2 * time.Second)
			return fails(e)
		}}
	}
	tests := []struct {
		name  string
		steps []fake.Step
		want  []string
		took  time.Duration
	}{
		{"slow to refuse", []fake.Step{slowly(refused), slowly(refused)}, []string{"try 2/3"}, 4500 * time.Millisecond},
		{"down in the middle", []fake.Step{slowly(busy), slowly(busy), fails(refused), fails(refused), fails(refused)},
			[]string{"try 2/5", "try 3/5", "try 4/5", "try 5/5"}, 7000 * time.Millisecond},
		{"and back again", []fake.Step{fails(refused), fails(busy), fails(refused), fake.Say("a")},
			[]string{"try 2/3", "try 3/5", "try 4/5"}, 2000 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &fake.Provider{Steps: tt.steps}
				o := drain(t.Context(), &provider.Retrier{Provider: p, Rand: never})
				var got []string
				for _, e := range o.Events {
					if strings.HasPrefix(e, "try ") {
						got = append(got, e[:7])
					}
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Error(diff)
				}
				if o.Took != tt.took || p.Left() != 0 {
					t.Errorf("it took %v, %d steps left", o.Took, p.Left())
				}
			})
		})
	}
}

// foreign is a provider that breaks the contract: its error is no *Error.
type foreign struct{ err error }

func (f foreign) Stream(context.Context, provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) { yield(nil, f.err) }
}

func TestRetryGivesUpOnForeignErrors(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	o := drain(t.Context(), &provider.Retrier{Provider: foreign{boom}})
	if len(o.Events) != 1 || o.Err == nil || o.Err.Kind != provider.KindProvider || !errors.Is(o.Err, boom) {
		t.Errorf("events %q, error %v", o.Events, o.Err)
	}
}
