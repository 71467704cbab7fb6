package agent

import (
	"sync"

	"artoo/provider"
)

// spending is what a run has used up so far, its sub-agents included, which count
// here while they run. The zero value is usable.
type spending struct {
	reserving sync.Mutex // one request at a time is measured against what is left

	mu      sync.Mutex
	usage   provider.Usage
	cost    float64 // US dollars
	unknown bool    // some request's price is unknown
	warned  map[string]bool
	// holds is what the requests that are under way may come to at most, by the agent
	// that makes them: several side by side cannot spend the same rest of a cap.
	holds    map[*Agent]hold
	released chan struct{} // closed with the next release; nil while nobody waits for it
}

// hold is what one request may come to.
type hold struct {
	tokens int
	cost   float64
}

func (s *spending) add(usage provider.Usage, cost *float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.usage = s.usage.Add(usage)
	if cost == nil {
		s.unknown = true
		return
	}
	s.cost += *cost
}

// known is what was used and paid, as far as prices are known.
func (s *spending) known() (provider.Usage, float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.usage, s.cost
}

// sum is the same with nil for a cost that is not known.
func (s *spending) sum() (provider.Usage, *float64) {
	usage, cost := s.known()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unknown {
		return usage, nil
	}
	return usage, &cost
}

// tokens and money are what is used up for an agent: also what the requests of
// others may still come to.
func (s *spending) tokens(by *Agent) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.usage.Total()
	for a, h := range s.holds {
		if a != by {
			n += h.tokens
		}
	}
	return n
}

func (s *spending) money(by *Agent) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	cost := s.cost
	for a, h := range s.holds {
		if a != by {
			cost += h.cost
		}
	}
	return cost
}

// hold counts what a request may come to until the returned func is called.
func (s *spending) hold(by *Agent, h hold) (release func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holds == nil {
		s.holds = map[*Agent]hold{}
	}
	s.holds[by] = h
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.holds, by)
		if s.released != nil {
			close(s.released)
			s.released = nil
		}
	}
}

// othersHold is closed when a request of another agent is over; nil where there is
// none under way.
func (s *spending) othersHold(by *Agent) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, own := s.holds[by]; len(s.holds) == 0 || own && len(s.holds) == 1 {
		return nil
	}
	if s.released == nil {
		s.released = make(chan struct{})
	}
	return s.released
}

// warns reports whether a cap was not warned of yet.
func (s *spending) warns(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.warned[name] {
		return false
	}
	if s.warned == nil {
		s.warned = map[string]bool{}
	}
	s.warned[name] = true
	return true
}
