package provider_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"artoo/provider"
	"artoo/provider/fake"
)

// TestARefusedKeyIsLookedForOnce: when there is another by then, the request
// goes again at once; the second refusal ends it.
func TestARefusedKeyIsLookedForOnce(t *testing.T) {
	t.Parallel()
	refused := fails(provider.Error{Kind: provider.KindAuth, Status: 401, Message: "expired"})
	forbidden := fails(provider.Error{Kind: provider.KindAuth, Status: 403, Message: "not yours"})
	for _, tc := range []struct {
		name   string
		steps  []fake.Step
		other  bool // there is another key
		asked  int
		events []string
	}{
		{"another key", []fake.Step{refused, fake.Say("ok")},
			true, 1, []string{"started", "try 2/2 discard=false auth", "started", "ok", "done"}},
		{"refused too", []fake.Step{refused, refused}, true,
			1, []string{"started", "try 2/2 discard=false auth", "started", "error"}},
		{"no other", []fake.Step{refused}, false, 1, []string{"started", "error"}},
		{"the key is not at fault", []fake.Step{forbidden}, true, 0, []string{"started", "error"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				began := time.Now()
				newKey := func(_ context.Context, since time.Time) bool {
					if asked++; !since.Equal(began) {
						t.Errorf("asked for a key since %v, the try began at %v", since, began)
					}
					return tc.other
				}
				o := drain(t.Context(), &provider.Retrier{Provider: &fake.Provider{Steps: tc.steps}, Rand: never,
					NewKey: newKey})
				if diff := cmp.Diff(tc.events, o.Events); diff != "" || asked != tc.asked || o.Took != 0 {
					t.Errorf("asked %d times, took %s, events (-want +got)\n%s", asked, o.Took, diff)
				}
			})
		})
	}
}

// TestHowLongIsWaited: a tiny wait does not burn the tries, none at
// all ends after five, hours end at once and say when to come back.
func TestHowLongIsWaited(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		after time.Duration
		tries int
		waits []time.Duration
		hint  string
	}{
		"a millisecond": {time.Millisecond, 0, seconds(.5, 1, 2, 4), "again in 1s"},
		"no word":       {0, 0, seconds(.5, 1, 2, 4), ""},
		"hours":         {3 * time.Hour, 0, nil, "again in 3h"},
		"days":          {49 * time.Hour, 0, nil, "again in 3 days"},
		"a minute":      {time.Minute, 0, seconds(60, 60), "again in 60s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limit := provider.Error{Kind: provider.KindRateLimit, Status: 429, Message: "slow", RetryAfter: tc.after}
				p := &fake.Provider{Then: func(provider.Request) fake.Step { return fails(limit) }}
				o := drain(t.Context(), &provider.Retrier{Provider: p, Rand: never})
				if tc.hint != "" {
					tc.hint += " (--wait-limit waits), or choose another model with --model"
				}
				if diff := cmp.Diff(tc.waits, o.Waits); diff != "" || o.Err == nil || o.Err.Hint != tc.hint ||
					o.Err.Kind != provider.KindRateLimit {
					t.Errorf("%+v, waits (-want +got)\n%s", o.Err, diff)
				}
			})
		})
	}
}

// TestARetriedReplyStartsFromNothing: the consumer learns that the earlier events are void, and the message is that of
// the last try alone.
func TestARetriedReplyStartsFromNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cut := fails(provider.Error{Kind: provider.KindNetwork, Message: "cut"}, "one ", "two")
		o := drain(t.Context(),
			&provider.Retrier{Provider: &fake.Provider{Steps: []fake.Step{cut, fake.Say("one ", "two ", "three")}},
				Rand: never})
		want := []string{"started", "one ", "two", "try 2/5 discard=true network", "started", "one ", "two ",
			"three", "done"}
		if diff := cmp.Diff(want, o.Events); diff != "" || o.Done.Message.Text() != "one two three" {
			t.Errorf("%+v, events (-want +got)\n%s", o.Done, diff)
		}
	})
}
