package ui

import (
	"context"
	"errors"
	"os"
	"strings"

	"artoo/agent"
	"artoo/ui/screen"
)

// Trust is the question whether to trust what the repository brings, which a
// conversation begins with.
type Trust struct {
	Question screen.TrustQuestion
	// Answered is told of a yes or a no. Its error ends the conversation.
	Answered func(yes bool) error
}

// askTrust asks the first question, if there is one. Whoever gives no answer (the
// end of the input, Ctrl-C) is asked again the next time.
func (t *Terminal) askTrust(ctx context.Context) error {
	if t.opt.Trust == nil {
		return nil
	}
	t.tellNotify()
	q := t.opt.Trust.Question
	t.opt.Notify.Question()
	yes, err := askTrust(t.Screen, q, t.truster(ctx, func() string { prompt, _ := t.Screen.Trust(q); return prompt }))
	if err != nil {
		return nil // what ended the input ends the conversation at its prompt
	}
	return t.opt.Trust.Answered(yes)
}

// truster asks in the conversation; again prints the question once more and returns
// its prompt.
func (t *Terminal) truster(ctx context.Context, again func() string) truster {
	return truster{
		line: func(prompt string) (string, bool, error) {
			l, err := t.console.ask(ctx, lineRequest{prompt: prompt, again: again})
			return l.text, l.burst, err
		},
		page: func(text string) {
			if err := t.page(text); err != nil { // then it was printed
				t.Note("pager: " + err.Error())
			}
		},
	}
}

// truster is the place where the question is asked.
type truster struct {
	line func(prompt string) (text string, burst bool, err error)
	page func(text string)
}

func askTrust(s *screen.Screen, q screen.TrustQuestion, a truster) (yes bool, err error) {
	c := confirmation{
		show: func() (string, bool) { return s.Trust(q) }, all: func() string { return s.TrustAll(q) },
		help: func() { s.TrustHelp(q) }, decided: func(yes bool) { s.TrustDecided(q, yes) },
	}
	if q.Run {
		c.all = nil
	}
	return confirm(s, c, a)
}

// confirmation is a question that a yes or a no answers.
type confirmation struct {
	show    func() (prompt string, left bool) // prints it; left says that a part was left to the pager
	all     func() string                     // what p shows; nil where there is no more than show prints
	help    func()
	decided func(yes bool)
}

// What is said to an answer that does not count.
const (
	lookedPasted = "that looked pasted, so it was ignored; please type your answer"
	notAllShown  = "not everything was shown. Type p to see the rest; y counts after that"
)

// confirm asks until there is an answer. One that was pasted is none, nor is a
// yes before all was shown.
func confirm(s *screen.Screen, q confirmation, a truster) (yes bool, err error) {
	prompt, unseen := q.show()
	answers := "please answer y, n, p or ? (Enter means n)"
	if q.all == nil {
		answers = "please answer y, n or ? (Enter means n)"
	}
	for {
		text, burst, err := a.line(prompt)
		if err != nil {
			q.decided(false)
			return false, err
		}
		switch word := strings.ToLower(strings.TrimSpace(text)); word {
		case "y", "yes", "n", "no", "":
			yes := strings.HasPrefix(word, "y")
			switch {
			case burst:
				s.Note(lookedPasted)
				continue
			case yes && unseen:
				s.Note(notAllShown)
				continue
			}
			q.decided(yes)
			return yes, nil
		case "p", "page":
			if q.all == nil {
				s.Note(answers)
				continue
			}
			a.page(q.all())
			unseen = false
		case "?", "help":
			q.help()
		default:
			s.Note(answers)
		}
	}
}

// TrustOnTTY asks the question on the controlling terminal, for a command. The
// screen's Err must be that terminal. Where there is none the error is
// agent.ErrNobody.
func TrustOnTTY(ctx context.Context, s *screen.Screen, q screen.TrustQuestion) (yes bool, err error) {
	return onTTY(ctx, s, func(a truster) (bool, error) { return askTrust(s, q, a) })
}

// onTTY asks on the controlling terminal.
func onTTY(ctx context.Context, s *screen.Screen, ask func(truster) (bool, error)) (yes bool, err error) {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return false, agent.ErrNobody
	}
	a := ttyAsker{screen: s, tty: tty}
	yes, err = ask(truster{
		line: func(prompt string) (string, bool, error) { return a.line(ctx, prompt) },
		page: s.Block,
	})
	return yes, errors.Join(err, tty.Close())
}
