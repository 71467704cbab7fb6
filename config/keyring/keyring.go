// Package keyring is the system's store of passwords: the Secret Service of a Linux desktop, or
// the macOS keychain. It may start a process or ask the user to unlock it, so it is opened only
// for a key, and no question waits longer than Wait.
package keyring

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	system "github.com/zalando/go-keyring"
)

// Wait is the longest one question may take.
const Wait = 3 * time.Second

// service is the name under which artoo's entries are filed.
const service = "artoo"

// ErrNone says that this session can reach no keyring.
var ErrNone = errors.New("there is no keyring here")

// ErrNotFound says that the keyring has no entry of that name.
var ErrNotFound = errors.New("the keyring has no such entry")

// ErrNoAnswer says that the keyring did not answer in time: it may wait to be unlocked.
var ErrNoAnswer = fmt.Errorf("the keyring did not answer within %s, it may be locked", Wait)

// System is the keyring of this machine, for any goroutine. A question that is given up goes on in the
// background.
type System struct {
	// Environ are the variables of the process, which the library reads by itself.
	Environ []string
	wait    time.Duration // 0 means Wait; for tests
}

// Get is the entry of that name.
func (s System) Get(ctx context.Context, name string) (string, error) {
	return s.ask(ctx, func() (string, error) { return system.Get(service, name) })
}

// Set makes or replaces the entry of that name.
func (s System) Set(ctx context.Context, name, key string) error {
	_, err := s.ask(ctx, func() (string, error) { return "", system.Set(service, name, key) })
	return err
}

// Delete removes the entry of that name; one that is not there is gone.
func (s System) Delete(ctx context.Context, name string) error {
	_, err := s.ask(ctx, func() (string, error) { return "", system.Delete(service, name) })
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}

// ask runs one question, none of which takes a context.
func (s System) ask(ctx context.Context, question func() (string, error)) (string, error) {
	if !reachable(s.Environ) {
		return "", ErrNone
	}
	wait := cmp.Or(s.wait, Wait)
	type answer struct {
		text string
		err  error
	}
	came := make(chan answer, 1)
	go func() {
		// The library falls over a bus that goes away while the user is asked,
		// which may be long after the last caller gave up.
		defer func() {
			if why := recover(); why != nil {
				came <- answer{err: fmt.Errorf("%v", why)}
			}
		}()
		text, err := question()
		came <- answer{text, err}
	}()
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case a := <-came:
		switch {
		case errors.Is(a.err, system.ErrNotFound):
			return "", ErrNotFound
		case errors.Is(a.err, system.ErrUnsupportedPlatform):
			return "", ErrNone
		case a.err != nil:
			return "", fmt.Errorf("keyring: %w", a.err)
		}
		return a.text, nil
	case <-timer.C:
		return "", ErrNoAnswer
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
