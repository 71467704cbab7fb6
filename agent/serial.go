package agent

import (
	"context"
	"sync"
)

// serial passes callbacks on one at a time and none after the turn: tools that
// run side by side, or were given up, cannot break the front end's contract.
type serial struct {
	mu     sync.Mutex
	cb     Callbacks
	clock  *runClock
	closed bool
	thinks bool // between OnThinking and OnThinkingDone
}

func (s *serial) tell(f func(Callbacks)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		f(s.cb)
	}
}

func (s *serial) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

func (s *serial) OnReasoning(text string) { s.tell(func(cb Callbacks) { cb.OnReasoning(text) }) }
func (s *serial) OnText(text string)      { s.tell(func(cb Callbacks) { cb.OnText(text) }) }
func (s *serial) OnToolCall(c Call)       { s.tell(func(cb Callbacks) { cb.OnToolCall(c) }) }
func (s *serial) OnNotice(n Notice)       { s.tell(func(cb Callbacks) { cb.OnNotice(n) }) }
func (s *serial) OnToolOutput(c Call, chunk string) {
	s.tell(func(cb Callbacks) { cb.OnToolOutput(c, chunk) })
}
func (s *serial) OnToolResult(c Call, r CallResult) {
	s.tell(func(cb Callbacks) { cb.OnToolResult(c, r) })
}

// OnThinking and OnThinkingDone come in pairs, however often the second is called.
func (s *serial) OnThinking() { s.tell(func(cb Callbacks) { s.thinks = true; cb.OnThinking() }) }

func (s *serial) OnThinkingDone() {
	s.tell(func(cb Callbacks) {
		if s.thinks {
			s.thinks = false
			cb.OnThinkingDone()
		}
	})
}

// Ask stops the run's clock while the user thinks.
func (s *serial) Ask(ctx context.Context, q Question) (Answer, error) {
	s.clock.pause()
	defer s.clock.resume()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cb.Ask(ctx, q)
}
