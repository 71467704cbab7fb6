package ui

import "time"

// Clock is where the terminal's timing rules take the time from. Main leaves
// both nil for the real one.
type Clock struct {
	Now   func() time.Time
	After func(time.Duration) <-chan time.Time
}

func (c Clock) orReal() Clock {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.After == nil {
		c.After = time.After
	}
	return c
}
