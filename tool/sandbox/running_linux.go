//go:build amd64 || arm64

package sandbox

import (
	"slices"
	"sync"

	"artoo/tool/sandbox/launcher"
)

// running counts the commands that run, by what they need of each other. A layer
// lies over files that nobody may change meanwhile, and names that are gone from one
// are gone by their paths: while they run no command may that writes.
type running struct {
	mu      sync.Mutex
	writers int
	still   int  // on a layer, or reading where something is hidden and no writer was
	nothing bool // is hidden of what could be written, as far as was last seen
}

// hides notes what a command that reads has hidden. false says that it was expected
// to be something, and is nothing, or the other way round.
func (r *running) hides(line launcher.Line) (asExpected bool) {
	nothing := !slices.ContainsFunc(line.Denied, func(path string) bool { return within(path, line.Writable) })
	r.mu.Lock()
	defer r.mu.Unlock()
	asExpected = r.nothing == nothing
	r.nothing = nothing
	return asExpected
}

// enter has a command count until leave is called, once or more. beside says that it
// reads and others may write meanwhile. The error is ErrBusy.
func (r *running) enter(options Options) (beside bool, leave func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	count := &r.still
	switch {
	case options.Layer && r.writers > 0:
		return false, nil, ErrBusy
	case options.ReadOnly && (options.Beside || r.writers > 0 || r.nothing):
		return true, func() {}, nil
	case !options.Layer && !options.ReadOnly:
		if r.still > 0 {
			return false, nil, ErrBusy
		}
		count = &r.writers
	}
	*count++
	var once sync.Once
	return false, func() {
		once.Do(func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			*count--
		})
	}, nil
}

// movedError says that what was to be hidden or protected was moved meanwhile by a
// command that runs.
type movedError struct{ path string }

func (m *movedError) Error() string { return ErrBusy.Error() + ", and " + m.path + " is moved about" }
func (m *movedError) Unwrap() error { return ErrBusy }
