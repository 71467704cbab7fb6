package ui

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"

	"artoo/ui/screen"
)

// offerAfter is how long a turn takes before notifications are offered.
const offerAfter = 30 * time.Second

// NotifyOffer is the offer of notifications, which comes once, after a long turn.
type NotifyOffer struct {
	// Bell says that the terminal can only ring: what stands between takes no more.
	Bell bool
	// Take makes the notifier of an answer (a word of NotifyOptions.How or a command
	// line), and keeps the answer; kept says where. The error says why the answer cannot
	// be used. It is called by the goroutine that runs Terminal.Run.
	Take func(how string) (n *Notifier, kept string, err error)
}

// offerNotify offers notifications after a turn that took so long. Enter alone is no.
// What is no answer was meant as a message, and comes back with the prompt. The offer
// comes no second time in a conversation, and after an answer in none.
func (t *Terminal) offerNotify(ctx context.Context, took time.Duration) {
	offer := t.opt.Offer
	if offer == nil || took <= offerAfter || t.console.modes == nil || t.console.busy() {
		return
	}
	t.opt.Offer = nil
	choices := []string{"osc9: a notification by the terminal", "bell: the terminal rings",
		"command: a program that you name, such as notify-send", "no"}
	hows := []string{"osc9", "bell", "", "off"}
	if offer.Bell {
		choices, hows = choices[1:], hows[1:]
	}
	show := func() string {
		return t.Screen.Offer("That took more than 30 seconds. Shall artoo notify you when a long turn ends or a question waits?", choices)
	}
	prompt := show()
	for {
		l, err := t.console.ask(ctx, lineRequest{prompt: prompt, again: func() string { prompt = show(); return prompt }})
		if err != nil {
			return // what ended the input ends the conversation at its prompt
		}
		text := strings.TrimSpace(l.text)
		if text == "" {
			text = "no"
		}
		answer, _ := chosen(choices, text)
		how, known := "", false
		for i, choice := range choices {
			if choice == answer {
				how, known = hows[i], true
			}
		}
		if !known {
			t.initial = draft{text: l.text}
			t.Note("that was no answer: nothing is kept, and what you typed is back")
			return
		}
		if how == "" {
			if how, err = t.notifyCommand(ctx); err != nil {
				return
			}
		}
		n, kept, err := offer.Take(how)
		if err != nil {
			t.Note(err.Error())
			continue
		}
		t.opt.Notify = n
		t.Note("notify = " + how + "; " + kept)
		return
	}
}

// notifyCommand asks for the command of a notification.
func (t *Terminal) notifyCommand(ctx context.Context) (string, error) {
	for {
		l, err := t.console.ask(ctx, lineRequest{prompt: screen.OfferCommand, again: func() string { return screen.OfferCommand }})
		if err != nil {
			return "", err
		}
		words, err := splitWords(l.text)
		if err == nil && len(words) > 0 {
			_, err = exec.LookPath(words[0])
		}
		switch {
		case l.burst:
			t.Note(lookedPasted)
		case err != nil:
			t.Note(cannotRun(err))
		default:
			return strings.TrimSpace(l.text), nil
		}
	}
}

// cannotRun says why a command line cannot be run.
func cannotRun(err error) string {
	if errors.Is(err, exec.ErrNotFound) {
		return "no such program; the text of the notification becomes its last argument"
	}
	return err.Error()
}

// busy reports whether lines wait to be sent, or no more will come.
func (c *console) busy() (busy bool) {
	c.do(func() { busy = len(c.queue) > 0 || c.ending != nil })
	return busy
}
