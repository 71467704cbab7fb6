package ui

import (
	"io"
	"time"

	"artoo/ui/screen"
)

// newTestScreen makes the screen of a test: no colours, a terminal only for
// the status.
func newTestScreen(out, err io.Writer, profile screen.Profile, now func() time.Time) *screen.Screen {
	return screen.New(screen.Options{
		Out: out, Err: err, ErrTTY: true, Conversation: true, Profile: profile, UTF8: true, Now: now,
		After: func(time.Duration, func()) (stop func()) { return func() {} },
	})
}
