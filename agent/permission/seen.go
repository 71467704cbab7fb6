package permission

import (
	"strings"
	"sync"
	"sync/atomic"
)

// Seen notes which rules for outside the user has said yes to since artoo or its lines last changed a file. A
// session and its sub-agents share one; nil counts nothing as changed. Any goroutine may call its methods.
type Seen struct {
	// Earlier means that an earlier session changed files here: a rule that the user wrote before it is stale.
	Earlier bool

	mu      sync.Mutex
	changes int
	// going counts commands in the background that may write the project.
	going atomic.Int32
	yes   map[string]int
}

// Change notes that artoo or a line of its changed files.
func (s *Seen) Change() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes++
}

// Goes notes that a command in the background begins to go on, by 1, or has ended, by -1.
func (s *Seen) Goes(by int32) {
	s.Change()
	s.going.Add(by)
}

// renew notes the user's yes to a call whose rule had become stale.
func (s *Seen) renew(rule string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.yes == nil {
		s.yes = map[string]int{}
	}
	s.yes[rule] = s.changes
}

func (s *Seen) stale(rule, origin string) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	then, said := s.yes[rule]
	// A flag was given after the changes of earlier sessions.
	return !said && s.Earlier && !strings.HasPrefix(origin, "--") || then != s.changes || s.going.Load() > 0
}
