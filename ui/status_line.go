package ui

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"artoo/tool/shell"
	"artoo/ui/prompt"
	"artoo/ui/screen"
)

const (
	// statusLimit is how long a status command may run: the prompt waits for it.
	statusLimit = 2 * time.Second
	// statusBytes is how much of its output is kept: a status is a row, or a few.
	statusBytes = 400
)

// StatusLine is the user's command whose first line is the status. A nil one is none.
type StatusLine struct {
	words   []string
	environ []string
	clock   prompt.Clock
	failed  bool // that was said
}

// NewStatusLine makes one of the setting, nil where that is a word of screen.StatusMode.
// No shell reads the command. The error says what is wrong with it.
func NewStatusLine(setting string, environ []string, clock prompt.Clock) (*StatusLine, error) {
	switch screen.StatusMode(setting) {
	case "", screen.StatusShort, screen.StatusFull, screen.StatusOff:
		return nil, nil
	}
	words, err := splitWords(setting)
	if err == nil {
		_, err = exec.LookPath(words[0])
	}
	if err != nil {
		return nil, err
	}
	return &StatusLine{words: words, environ: environ, clock: clock.OrReal()}, nil
}

// statusInput is what the command reads, as one line of JSON.
type statusInput struct {
	Model   string   `json:"model"`
	Input   int      `json:"input_tokens"`
	Output  int      `json:"output_tokens"`
	CostUSD *float64 `json:"cost_usd"` // null where it is unknown
	Seconds float64  `json:"seconds"`
	Context int      `json:"context_percent"` // -1 where it is unknown
	Outcome string   `json:"outcome"`         // done, stopped, failed
}

// line runs the command, and is the first line of its output, unsanitised.
func (l *StatusLine) line(info screen.StatusInfo) (string, error) {
	input, err := json.Marshal(statusInput{info.Model, info.Usage.Prompt(), info.Usage.Output, info.CostUSD,
		info.Elapsed.Seconds(), info.Context, string(info.Outcome)})
	if err != nil {
		return "", err
	}
	out := head{left: statusBytes}
	command := exec.Command(l.words[0], l.words[1:]...)
	command.Env, command.Stdin, command.Stdout = l.environ, bytes.NewReader(append(input, '\n')), &out
	command.WaitDelay = statusLimit / 10 // what it left behind may hold its output
	shell.OwnGroup(command)
	if err := command.Start(); err != nil {
		return "", err
	}
	over, ended := l.clock.After(statusLimit), make(chan error, 1)
	go func() { ended <- command.Wait() }()
	select {
	case err = <-ended:
	case <-over:
		_ = shell.KillGroup(command) // it may have ended meanwhile
		<-ended
		err = fmt.Errorf("it was stopped after %v", statusLimit)
	}
	text, _, _ := strings.Cut(strings.TrimSpace(out.kept.String()), "\n")
	if err == nil && text == "" {
		err = errors.New("it printed nothing")
	}
	return text, err
}

// head keeps the beginning of what is written.
type head struct {
	kept bytes.Buffer
	left int
}

// Write never fails.
func (h *head) Write(p []byte) (int, error) {
	n := min(len(p), h.left)
	h.left -= n
	h.kept.Write(p[:n])
	return len(p), nil
}

// statusLine is what the user's command says of a turn, "" where there is none, or where
// it failed, which is said once.
func (t *Terminal) statusLine(info screen.StatusInfo) string {
	l := t.opt.StatusLine
	if l == nil {
		return ""
	}
	text, err := l.line(info)
	if err == nil {
		return text
	}
	if !l.failed {
		l.failed = true
		t.Note("status: " + l.words[0] + ": " + err.Error())
	}
	return ""
}
