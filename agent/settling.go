package agent

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// spanned has the journal span a request to a provider that runs tools of its own, as it
// spans a command that nothing confines. The func follows the request's end. A run that
// was stopped may work on for a moment: its step ends with it, the turn does not wait.
// The error says that the request must not be made.
func (t *turn) spanned(ctx context.Context) (after func(), err error) {
	settle, j := t.model.Settle, t.journal
	if settle == nil || j == nil {
		return func() {}, nil
	}
	t.giveYours()
	step := j.BeginRun(t.turnNumber(), t.model.Name)
	if _, err := step.Snapshot(ctx); err != nil {
		_, endErr := step.End()
		return nil, &Failure{Kind: KindInternal, What: t.model.Name,
			Err: fmt.Errorf("not run, since what it changes could not be undone: %w", errors.Join(err, endErr))}
	}
	return func() {
		say := func(text string, to func(string)) {
			if text != "" {
				to(text)
			}
		}
		lost, late := make(chan string), make(chan struct{})
		t.settling.Go(func() {
			settle()
			text := lostBy(t.closeStep(step))
			select {
			case lost <- text:
			case <-late:
				say(text, t.notify)
			}
		})
		grace := time.NewTimer(interruptGrace)
		defer grace.Stop()
		select {
		case text := <-lost:
			say(text, func(text string) { t.notice(NoticeWarning, text) })
		case <-grace.C:
			close(late)
		}
	}, nil
}
