package agent_test

import (
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"
	"testing"

	"artoo/agent"
	"artoo/provider"
	"artoo/provider/fake"
)

// tradesman is a provider that changes files by tools of its own.
type tradesman struct {
	work   func(ctx context.Context) // before it says a word
	failed error
}

func (w tradesman) Stream(ctx context.Context, _ provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		w.work(ctx)
		switch {
		case ctx.Err() != nil:
			yield(nil, &provider.Error{Kind: provider.KindCanceled, Message: "stopped", Err: ctx.Err(), Retry: new(false)})
		case w.failed != nil:
			yield(nil, w.failed)
		default:
			yield(provider.Done{Stop: provider.StopComplete, Several: true, Message: provider.Message{
				Role: provider.RoleAssistant, Provider: fake.Name, Model: "m", Parts: []provider.Part{provider.Text{Text: "Done."}}}}, nil)
		}
	}
}

func put(t *testing.T, root, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
		t.Error(err)
	}
}

// undone undoes the last turn, and returns the content of the project's file then.
func undone(t *testing.T, a *agent.Agent, path string) string {
	t.Helper()
	plan, err := a.Journal().Plan(t.Context(), 1, false)
	must(t, err)
	if _, err := a.Journal().Apply(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	must(t, err)
	return string(data)
}

// The changes of a provider with tools of its own are undone as those of artoo's
// tools are, also where its run failed.
func TestTheJournalSpansTheRunOfAProviderWithTools(t *testing.T) {
	t.Parallel()
	for _, failed := range []error{nil, &provider.Error{Kind: provider.KindProvider, Retry: new(false), Message: "broken"}} {
		a, root := inJournal(t)
		path := filepath.Join(root, "a.txt")
		put(t, root, "a.txt", "the user's")
		a.Asked().Provider = tradesman{failed: failed, work: func(context.Context) {
			put(t, root, "a.txt", "changed")
			put(t, root, "new.txt", "made")
		}}
		a.Asked().Wait = func() {}
		if _, err := send(t, a, &recorder{}, "go"); (err != nil) != (failed != nil) {
			t.Fatal(err)
		}
		if changes := a.Journal().Diff(); len(changes) != 2 {
			t.Errorf("the diff shows %+v", changes)
		}
		put(t, root, "mine.txt", "made after it")
		if text := undone(t, a, path); text != "the user's" {
			t.Errorf("a.txt holds %q", text)
		}
		if _, err := os.Stat(filepath.Join(root, "new.txt")); !os.IsNotExist(err) {
			t.Errorf("new.txt stays: %v", err)
		}
		if _, err := os.Stat(filepath.Join(root, "mine.txt")); err != nil {
			t.Error(err)
		}
	}
}

// A run that was stopped may go on for a moment after the prompt is back.
func TestWhatAStoppedRunStillChangesIsTakenBack(t *testing.T) {
	t.Parallel()
	a, root := inJournal(t)
	path := filepath.Join(root, "a.txt")
	put(t, root, "a.txt", "the user's")
	ctx, cancel := context.WithCancel(t.Context())
	a.Asked().Provider = tradesman{work: func(context.Context) { put(t, root, "a.txt", "begun"); cancel() }}
	end, over := make(chan struct{}), make(chan struct{})
	a.Asked().Wait = func() { <-end; put(t, root, "a.txt", "changed late"); close(over) }
	if _, err := a.SendMessage(ctx, "go", &recorder{}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	select {
	case <-over:
		t.Fatal("the turn waited for it")
	default:
	}
	close(end)
	if text := undone(t, a, path); text != "the user's" {
		t.Errorf("a.txt holds %q", text)
	}
}

// Where nothing can be kept, no provider with tools is run.
func TestNoRunBeginsWithoutTheJournal(t *testing.T) {
	t.Parallel()
	state := filepath.Join(t.TempDir(), "state")
	a, root := inJournalAt(t, state)
	put(t, filepath.Dir(state), "state", "in the way of a directory")
	a.Asked().Provider = tradesman{work: func(context.Context) { put(t, root, "new.txt", "made") }}
	a.Asked().Wait = func() {}
	_, err := send(t, a, &recorder{}, "go")
	if f := agent.Classify(err); f == nil || f.Kind != agent.KindInternal {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(root, "new.txt")); !os.IsNotExist(err) {
		t.Errorf("it ran: %v", err)
	}
}
