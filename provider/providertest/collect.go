package providertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"artoo/provider"

	"github.com/google/go-cmp/cmp"
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

// Check reports a breach of the contract of provider.Provider in the order and shape of the events.
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

// Golden compares JSON with testdata/<name>.json of the test's package, one key or value a
// line; update writes the file first.
func Golden(t *testing.T, name string, body []byte, update bool) {
	t.Helper()
	var b bytes.Buffer
	if err := json.Indent(&b, body, "", " "); err != nil {
		t.Fatal(err)
	}
	b.WriteByte('\n')
	path := filepath.Join("testdata", name+".json")
	if update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), b.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// Builder writes items in the form of one wire: Anthropic, Chat, Responses,
// Gemini or Ollama.
type Builder func(items ...Item) Reply

// ToolLoop plays steps replies that each call the tool with args, then one with the answer,
// and so on. Each call has its own ID.
func ToolLoop(build Builder, steps int, name, args, answer string) *Handler {
	return &Handler{Next: func(n int, _ Request) Reply {
		if at := n % (steps + 1); at < steps {
			return build(Text(fmt.Sprintf("Step %d.", at+1)), Call(fmt.Sprintf("call_step_%d", n+1), name, args))
		}
		return build(Text(answer))
	}}
}

// Flood is a reply whose answer has the given size in bytes and comes in pieces
// of the given size: lines of plain words.
func Flood(build Builder, size, piece int) Reply {
	const line = "All work and no play makes a dull test of a reader. \n"
	all := strings.Repeat(line, size/len(line)+1)[:size]
	pieces := make([]string, 0, size/piece+1)
	for len(all) > 0 {
		n := min(piece, len(all))
		pieces = append(pieces, all[:n])
		all = all[n:]
	}
	return build(Text(pieces...))
}
