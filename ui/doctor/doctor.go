// Package doctor looks at everything artoo needs from the machine, the settings
// and the provider, and names the settings to make. It changes nothing. Each Check is made from the
// facts that it needs, which others have found, and the programs that it may run.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"artoo/agent/instructions"
)

// Level says how a thing stands.
type Level string

// The levels. Only Fail keeps artoo from working.
const (
	OK   Level = "ok"
	Warn Level = "warn"
	Fail Level = "fail"
)

// Finding is one line of the report. Text and Fix may hold words from outside:
// they must be sanitised before they are shown. No key is ever in them.
type Finding struct {
	Level Level  `json:"level"`
	Topic string `json:"topic"` // one word: terminal, shell, git …
	Text  string `json:"text"`
	Fix   string `json:"fix,omitempty"` // the next step; "" when nothing is wrong
	// Instructions is the instruction file that the finding is about; nil for other findings.
	Instructions *instructions.File `json:"instructions,omitempty"`
}

// Check looks at one thing.
type Check func(ctx context.Context) []Finding

// Exec finds a program on PATH, runs it without input and returns its path and the text of
// both its outputs. The path is "" for a program that is not there. Exec ends when ctx
// does.
type Exec func(ctx context.Context, name string, args ...string) (path, output string, err error)

// Run makes the checks in their order and reports each finding as it comes. The error is
// report's, or ctx's; how many findings fail is failed.
func Run(ctx context.Context, checks []Check, report func(Finding) error) (failed int, err error) {
	for _, check := range checks {
		for _, f := range check(ctx) {
			if f.Level == Fail {
				failed++
			}
			if err := report(f); err != nil {
				return failed, err
			}
		}
		if ctx.Err() != nil {
			return failed, context.Cause(ctx)
		}
	}
	return failed, nil
}

// versionLimit is how long a program may take to say its version.
const versionLimit = 3 * time.Second

// limited runs a program for as long as it may take.
func (run Exec) limited(ctx context.Context, name string, args ...string) (path, output string, err error) {
	ctx, cancel := context.WithTimeout(ctx, versionLimit)
	defer cancel()
	path, output, err = run(ctx, name, args...)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %s", versionLimit)
	}
	return path, output, err
}

// found is a check whose findings are known already.
func found(findings ...Finding) Check {
	return func(context.Context) []Finding { return findings }
}

func ok(topic, format string, args ...any) Finding {
	return Finding{Level: OK, Topic: topic, Text: fmt.Sprintf(format, args...)}
}

func warn(topic, fix, format string, args ...any) Finding {
	return Finding{Level: Warn, Topic: topic, Fix: fix, Text: fmt.Sprintf(format, args...)}
}

func fail(topic, fix, format string, args ...any) Finding {
	return Finding{Level: Fail, Topic: topic, Fix: fix, Text: fmt.Sprintf(format, args...)}
}

// failure is the finding for an error, with the hint it brings along.
func failure(topic string, err error) Finding {
	hint := ""
	if hinter, ok := errors.AsType[interface {
		error
		ErrorHint() string
	}](err); ok {
		hint = hinter.ErrorHint()
	}
	return fail(topic, hint, "%v", err)
}
