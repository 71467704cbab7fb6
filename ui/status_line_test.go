//go:build unix

package ui

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"artoo/agent"
	"artoo/provider"
	"artoo/ui/prompt"
	"artoo/ui/screen"
)

func TestTheStatusMayBeACommand(t *testing.T) {
	t.Parallel()
	usd := 0.25
	info := screen.StatusInfo{Model: "m", Usage: provider.Usage{Input: 1200, Output: 5}, CostUSD: &usd, Context: 7,
		Outcome: screen.OutcomeDone, Reach: agent.Reach{Modified: 2, Outside: []string{"git push"}}}
	for command, want := range map[string]string{
		`sh -c 'read l; echo "$l"; echo more'`: `{"model":"m","input_tokens":1200,"output_tokens":5,"cost_usd":0.25,"seconds":0,"context_percent":7,"outcome":"done","effects":{"created":0,"modified":2,"deleted":0,"outside":["git push"],"network":[],"networked":[]}}`,
		`sh -c 'echo 3 >&2; exit 3'`:           "! exit status 3",
		`true`:                                 "! it printed nothing",
		`head -c 100000 /dev/zero`:             strings.Repeat("\x00", statusBytes),
	} {
		l, err := NewStatusLine(command, nil, os.Environ(), prompt.Clock{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := l.line(info)
		if err != nil {
			got = "! " + err.Error()
		}
		if got != want {
			t.Errorf("%s: %.200q, want %.200q", command, got, want)
		}
	}
	for setting, wrong := range map[string]bool{"short": false, "full": false, "off": false, "": false, "shrot": true, "sh 'x": true} {
		if l, err := NewStatusLine(setting, nil, nil, prompt.Clock{}); (err != nil) != wrong || l != nil {
			t.Errorf("%q: %v, %v", setting, l, err)
		}
	}
}

// A command that hangs, or a child of it, delays the prompt for two seconds at most.
func TestAStatusCommandHasTwoSeconds(t *testing.T) {
	t.Parallel()
	clock := newManual()
	l, err := NewStatusLine(`sh -c 'sleep 1000 & sleep 1000'`, nil, os.Environ(), prompt.Clock{Now: clock.Now, After: clock.After})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { _, err := l.line(screen.StatusInfo{}); ended <- err }()
	<-clock.set
	clock.advance(statusLimit)
	if err := <-ended; err == nil || err.Error() != "it was stopped after 2s" {
		t.Error(err)
	}
}

// The end of the answer is not held back until the user's command has run.
func TestTheAnswerIsWholeBeforeAStatusCommandRuns(t *testing.T) {
	t.Parallel()
	play := func(_ context.Context, _ string, cb agent.Callbacks) (*agent.Response, error) {
		cb.OnText("all of the answer")
		return &agent.Response{Text: "all of the answer"}, nil
	}
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	k := startPTY(t, &sender{play: play}, func(o *Options) {
		l, err := NewStatusLine("cat "+fifo, nil, os.Environ(), o.Clock)
		if err != nil {
			t.Fatal(err)
		}
		o.StatusLine = l
	})
	k.expect("you: ")
	k.enter("go on")
	k.await(k.answer, 0, "all of the answer\n")
	if err := os.WriteFile(fifo, []byte("it is done\n"), 0); err != nil {
		t.Fatal(err)
	}
	k.expect("it is done")
	k.expect("you: ")
}
