package agent

import (
	"slices"
	"sync"

	"artoo/agent/permission"
	"artoo/tool/journal"
)

// backgroundCalls are calls whose command goes on in the background, or has ended there unseen.
type backgroundCalls struct {
	mu    sync.Mutex
	calls []*backgroundCall
	seen  *permission.Seen

	watches   sync.WaitGroup // Watches end with the background commands that they look after.
	abandoned sync.WaitGroup // calls that run, or were given up and are still being killed
}

// backgroundCall is a call whose command goes on.
type backgroundCall struct {
	ran
	refused bool // The user does not let it write the whole project.
	told    bool // Model and user know the paths that it may not write.
}

func (l *backgroundCalls) add(r ran) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, &backgroundCall{ran: r})
	l.note(r, 1)
}

// note notes that a command begins, or has ended. What one on a layer does comes when it lands.
func (l *backgroundCalls) note(r ran, by int32) {
	if r.decision.Place != permission.PlaceLayer {
		l.seen.Goes(by)
	}
}

// drop removes a command that goes on as another call.
func (l *backgroundCalls) drop(b *backgroundCall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = slices.DeleteFunc(l.calls, func(other *backgroundCall) bool { return other == b })
	l.note(b.ran, -1)
}

func (l *backgroundCalls) confines(line string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return line != "" && slices.ContainsFunc(l.calls, func(b *backgroundCall) bool { return b.Job.Line == line && b.confined != nil })
}

// ended removes those that have ended.
func (l *backgroundCalls) ended() (calls []*backgroundCall) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = slices.DeleteFunc(l.calls, func(b *backgroundCall) bool {
		if !b.Job.Runs() {
			calls = append(calls, b)
			l.note(b.ran, -1)
			return true
		}
		return false
	})
	return calls
}

func (l *backgroundCalls) hasEnded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.ContainsFunc(l.calls, func(b *backgroundCall) bool { return !b.Job.Runs() })
}

func (l *backgroundCalls) running() []*backgroundCall {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.calls), func(b *backgroundCall) bool { return !b.Job.Runs() })
}

// keepIn has the files that these commands make moved into another journal; see madeGuarded.
func (l *backgroundCalls) keepIn(j *journal.Journal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range l.calls {
		if b.made != nil {
			b.made.keepIn(j)
		}
	}
}

// protectRunning protects the files that a landing replaced from background commands.
func (l *backgroundCalls) protectRunning(cb *serial) {
	for _, b := range l.running() {
		if b.confined == nil {
			continue
		}
		if err := b.confined.Protect(); err != nil {
			cb.notice(NoticeWarning, "background command "+b.Job.ID+" may write files that programs run automatically: "+err.Error())
		}
	}
}
