package providertest

import (
	"fmt"
	"iter"
	"strings"

	"artoo/provider"
)

// Result is all that came of one stream.
type Result struct {
	Events    []provider.Event
	Text      string // all text deltas
	Reasoning string // all reasoning deltas
	Done      *provider.Done
	Err       error
}

// Collect reads a stream to its end.
func Collect(seq iter.Seq2[provider.Event, error]) Result {
	var r Result
	var text, reasoning strings.Builder
	for ev, err := range seq {
		if err != nil {
			r.Err = err
			continue
		}
		r.Events = append(r.Events, ev)
		switch ev := ev.(type) {
		case provider.TextDelta:
			text.WriteString(ev.Text)
		case provider.ReasoningDelta:
			reasoning.WriteString(ev.Text)
		case provider.Done:
			r.Done = &ev
		}
	}
	r.Text, r.Reasoning = text.String(), reasoning.String()
	return r
}

// Check reports what in the order and shape of the events breaks the contract
// of provider.Provider.
func (r Result) Check() error {
	first := 0 // notices may precede the reply
	for i, ev := range r.Events {
		switch ev := ev.(type) {
		case provider.Notice:
			if i == first {
				first++
			}
		case provider.Started:
			if i != first {
				return fmt.Errorf("event %d is Started, which must come first and once", i)
			}
		case provider.TextDelta:
			if err := checkDelta(i, ev.Text); err != nil {
				return err
			}
		case provider.ReasoningDelta:
			if err := checkDelta(i, ev.Text); err != nil {
				return err
			}
		case provider.Done:
			if i != len(r.Events)-1 {
				return fmt.Errorf("event %d is Done, but %d more follow", i, len(r.Events)-1-i)
			}
		}
	}
	switch {
	case r.Err == nil && r.Done == nil:
		return fmt.Errorf("neither Done nor an error")
	case r.Err != nil && r.Done != nil:
		return fmt.Errorf("both Done and the error %w", r.Err)
	case r.Err != nil && provider.AsError(r.Err) == nil:
		return fmt.Errorf("an error of type %T: %w", r.Err, r.Err)
	}
	return nil
}

func checkDelta(i int, s string) error {
	if s == "" || strings.ToValidUTF8(s, "") != s {
		return fmt.Errorf("event %d is an empty or invalid delta %q", i, s)
	}
	return nil
}
