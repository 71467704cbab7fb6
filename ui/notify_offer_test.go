//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"artoo/agent"
	"artoo/ui/screen"
)

// offered is a conversation in which "long" is a long turn; taken gets the choices.
func offered(t *testing.T, change func(*Options)) (k *talk, taken *[]string) {
	taken = new([]string)
	play := func(_ context.Context, text string, cb agent.Callbacks) (*agent.Response, error) {
		if strings.HasPrefix(text, "long") {
			k.clock.advance(31 * time.Second)
		}
		cb.OnText("answer to " + text + "\n")
		return &agent.Response{}, nil
	}
	k = startPTY(t, &sender{play: play}, func(o *Options) {
		o.Offer = &NotifyOffer{Take: func(how string) (*Notifier, string, error) {
			if how == "sh" {
				return nil, "", errors.New("not this one")
			}
			*taken = append(*taken, how)
			return nil, "written to config.toml", nil
		}}
		if change != nil {
			change(o)
		}
	})
	k.expect("you: ")
	return k, taken
}

// After the first long turn notifications are offered, once, and the answer is kept.
func TestNotificationsAreOfferedOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answers []string
		want    string
	}{{[]string{"1"}, "osc9"}, {[]string{"Bell"}, "bell"}, {[]string{""}, "off"}, {[]string{"4"}, "off"},
		{[]string{"3", "no-such-program x", "true 'a b'"}, "true 'a b'"}, {[]string{"command", "sh", "2"}, "bell"}} {
		k, taken := offered(t, nil)
		k.enter("short")
		k.expect(pasteOn + "you: ")
		k.enter("long")
		k.expect("Do you want to be notified")
		for _, answer := range c.answers {
			k.expect("answer: which ")
			k.expect(" ")
			k.answerWith(answer)
		}
		k.expect("notify = " + c.want + "; written to config.toml")
		k.expect(pasteOn + "you: ")
		k.enter("long again")
		k.expect(pasteOn + "you: ")
		if shown := k.status.String(); !slices.Equal(*taken, []string{c.want}) || strings.Count(shown, "Do you want") != 1 {
			t.Errorf("%q: taken %q; the terminal shows %q", c.answers, *taken, shown)
		}
	}
}

// The offer is not in the way: a message that was begun goes on after it, one that was
// queued goes first, and a line that is no answer comes back.
func TestTheOfferIsNotInTheWay(t *testing.T) {
	t.Parallel()
	k, taken := offered(t, nil)
	k.enter("long")
	k.expect("answer: which one? [1-4] (no) ")
	k.clock.advance(quiet)
	k.send("now the tests\r")
	k.expect("not an answer, so nothing is saved")
	k.expect("you: now the tests")
	k.send("\r")
	k.expect("you: ")
	if len(*taken) > 0 || k.answer.String() != "answer to long\n\nanswer to now the tests\n" {
		t.Errorf("taken %q, the answers are %q", *taken, k.answer)
	}

	gate := make(chan struct{})
	k, taken = offered(t, func(o *Options) {
		play := o.Sender.(*sender).play
		o.Sender.(*sender).play = func(ctx context.Context, text string, cb agent.Callbacks) (*agent.Response, error) {
			if text == "long" {
				<-gate
			}
			return play(ctx, text, cb)
		}
	})
	k.enter("long")
	k.send("next\r")
	k.expect("next")
	k.settle()
	close(gate)
	k.expect("you: next")
	k.expect(pasteOn + "you: ")
	if shown := k.status.String(); len(*taken) > 0 || strings.Contains(shown, "Shall artoo") {
		t.Errorf("taken %q; the terminal shows %q", *taken, shown)
	}

	k, taken = offered(t, func(o *Options) { o.Offer.Bell = true })
	k.enter("long")
	k.expect("  1  bell: the terminal rings")
	k.expect("[1-3] (no) ")
	k.send("\x03")
	k.expect("you: ")
	if len(*taken) > 0 {
		t.Errorf("taken %q", *taken)
	}

	k, _ = offered(t, func(o *Options) { o.Profile = screen.Plain })
	if _, err := k.in.Write([]byte("long\n")); err != nil {
		t.Fatal(err)
	}
	k.expect("you: ")
	if shown := k.status.String(); strings.Contains(shown, "Shall artoo") {
		t.Errorf("a plain terminal shows %q", shown)
	}
}
