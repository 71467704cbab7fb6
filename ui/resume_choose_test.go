//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"os"
	"strings"
	"testing"
	"time"

	"artoo/agent"
	"artoo/conversation"
	"artoo/provider"
)

// someSessions is an agent in a directory with sessions, the first of which is the
// newest, and their ids. A text that begins with - is that of a headless run.
func someSessions(t *testing.T, texts ...string) (*agent.Agent, []string) {
	t.Helper()
	now := newManual().now
	store, ids := conversation.Store{Dir: t.TempDir()}, []string(nil)
	for i, text := range texts {
		store.Now = func() time.Time { return now.Add(-time.Duration(i+1) * time.Hour) }
		text, headless := strings.CutPrefix(text, "-")
		s := store.Create(conversation.Header{Provider: "demo", Model: "demo", Headless: headless})
		name, text, named := strings.Cut(text, "=")
		if !named {
			name, text = "", name
		}
		appendAll(t, conversation.New(conversation.Config{}, s), provider.UserText(text), said("answer to "+text))
		if named {
			if err := s.Rename(name); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		at := now.Add(-time.Duration(i+1) * time.Hour)
		if err := os.Chtimes(s.Path(), at, at); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, s.ID())
	}
	a, err := agent.New(agent.Options{Model: testModel("demo", "demo"), Sessions: agent.Sessions{Store: store}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a, ids
}

// Without an argument, or with words, /resume lists sessions and goes on with the one
// that is chosen.
func TestASessionIsChosen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command string
		typed   []string
		want    int // the session that goes on; -1 for none
	}{
		{"/resume", []string{"1"}, 1}, // the newest, a headless run, is not listed
		{"/resume", []string{"BREAD"}, 3},
		{"/resume", []string{"run the"}, 2},   // a headless run with a name
		{"/resume", []string{"bake", "3"}, 3}, // two match
		{"/resume", []string{"nightly"}, 2},   // its whole name, which stands elsewhere too
		{"/resume", []string{"nothing of this kind", ""}, -1},
		{"/resume all", []string{"1"}, 0},
		{"/resume all", []string{"headless thing"}, 0},
		{"/resume answer bake", []string{"2"}, 3},
		{"/resume", []string{""}, -1},
	} {
		a, ids := someSessions(t, "-a headless thing", "bake a cake", "-nightly=run the tests", "bake bread", "see nightly builds")
		k := startLines(t, &sender{}, func(o *Options) { o.Agent = a })
		k.send(c.command + "\n")
		for _, text := range c.typed {
			k.expect("(Enter: stay here): ")
			k.send(text + "\n")
		}
		if c.want >= 0 {
			k.expect("resumed " + ids[c.want])
		}
		k.eof()
		k.end()
		shown := k.status.String()
		if strings.Contains(shown, "headless thing") != strings.Contains(c.command, "all") {
			t.Errorf("%s: shown %s", c.command, shown)
		}
		if c.want < 0 && strings.Contains(shown, "resumed ") {
			t.Errorf("%s, then %q: shown %s", c.command, c.typed, shown)
		}
	}
}

// A list without headless runs says that there are some.
func TestHeadlessRunsAreListedOnRequest(t *testing.T) {
	t.Parallel()
	a, ids := someSessions(t, "-a headless thing", "bake a cake")
	shown, _ := say(t, func(o *Options) { o.Agent = a }, "/sessions")
	if strings.Contains(shown, ids[0]) || !strings.Contains(shown, ids[1]) ||
		!strings.Contains(shown, "1 headless run not listed: /sessions all, /resume all") {
		t.Errorf("shown %s", shown)
	}
	a, ids = someSessions(t, "-a headless thing", "bake a cake")
	shown, _ = say(t, func(o *Options) { o.Agent = a }, "/sessions all", "/sessions some")
	if !strings.Contains(shown, ids[0]) || !strings.Contains(shown, "(headless) a headless thing") ||
		strings.Contains(shown, "not listed") || !strings.Contains(shown, `unknown word "some"; all also lists headless runs`) {
		t.Errorf("shown %s", shown)
	}
}
