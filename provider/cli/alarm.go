package cli

import "time"

// orDefault is d, the default for 0, and 0 for less.
func orDefault(d, def time.Duration) time.Duration {
	switch {
	case d == 0:
		return def
	case d < 0:
		return 0
	}
	return d
}

// alarm is a timer that need not be set.
type alarm struct{ timer *time.Timer }

// newAlarm sets an alarm; 0 sets none.
func newAlarm(d time.Duration) *alarm {
	a := &alarm{}
	if d > 0 {
		a.start(d)
	}
	return a
}

func (a *alarm) set() bool { return a.timer != nil }

// start sets the alarm anew; 0 leaves it as it is.
func (a *alarm) start(d time.Duration) {
	switch {
	case d <= 0:
	case a.timer == nil:
		a.timer = time.NewTimer(d)
	default:
		a.timer.Reset(d)
	}
}

func (a *alarm) stop() {
	if a.timer != nil {
		a.timer.Stop()
	}
}

// C fires when the time has come; never without a timer.
func (a *alarm) C() <-chan time.Time {
	if a.timer == nil {
		return nil
	}
	return a.timer.C
}
