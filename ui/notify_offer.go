package ui

import (
	"cmp"
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"time"

	"artoo/ui/prompt"
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
	if offer == nil || took <= offerAfter || !t.prompt.Edits() || t.busy() {
		return
	}
	t.opt.Offer = nil
	choices := []string{"osc9: a notification by the terminal", "bell: the terminal rings",
		"command: a program that you name, such as notify-send", "no"}
	hows := []string{"osc9", "bell", "", "off"}
	if offer.Bell {
		choices, hows = choices[1:], hows[1:]
	}
	type answer struct{ how, text string }
	line, retry := "", false
	ask := dialogue[answer]{
		show: func() (string, bool) {
			if !retry {
				line = t.Screen.Offer("That took more than 30 seconds. Shall artoo notify you when a long turn ends or a question waits?", choices)
			}
			retry = false
			return line, false
		},
		read: func(text string) (answer, meaning, string) {
			choice, _ := chosen(choices, cmp.Or(strings.TrimSpace(text), "no"))
			if i := slices.Index(choices, choice); i >= 0 {
				return answer{how: hows[i]}, declines, ""
			}
			return answer{"", text}, declines, ""
		},
	}
	at := t.asker()
	for {
		a, err := ask.ask(ctx, at)
		switch {
		case err != nil:
			return // what ended the input ends the conversation at its prompt
		case a.text != "":
			t.initial = prompt.Draft{Text: a.text}
			t.Note("that was no answer: nothing is kept, and what you typed is back")
			return
		case a.how == "":
			if a.how, err = notifyCommand().ask(ctx, at); err != nil {
				return
			}
		}
		n, kept, err := offer.Take(a.how)
		if err != nil {
			t.Note(err.Error())
			retry = true
			continue
		}
		t.opt.Notify = n
		t.Note("notify = " + a.how + "; " + kept)
		return
	}
}

// notifyCommand asks for the command of a notification.
func notifyCommand() dialogue[string] {
	return dialogue[string]{
		show: func() (string, bool) { return screen.OfferCommand, false },
		read: func(text string) (string, meaning, string) {
			words, err := splitWords(text)
			if err == nil {
				_, err = exec.LookPath(words[0])
			}
			if err != nil {
				return "", unclear, cannotRun(err)
			}
			return strings.TrimSpace(text), grants, ""
		},
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
func (t *Terminal) busy() (busy bool) {
	t.prompt.Queue(func(q *prompt.Queue) { busy = len(q.Lines()) > 0 })
	return busy || t.prompt.Over() != nil
}
