package ui

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"artoo/agent"
	"artoo/tool/environ"
	"artoo/tool/shell"
	"artoo/ui/prompt"
	"artoo/ui/sanitize"
	"artoo/ui/screen"
)

const (
	// notifyAfter is how long a turn must take for its end to be worth a call.
	notifyAfter = 10 * time.Second
	// notifyLimit is how long a notification's command may run.
	notifyLimit = 5 * time.Second
	// notifyRunes bounds a notification's text.
	notifyRunes = 180
)

// NotifyOptions are the options of a Notifier.
type NotifyOptions struct {
	// How is the setting: off, bell, osc9, osc777, osc99, or a command line.
	How    string
	Screen *screen.Screen
	// TTY says that the screen's Err is a terminal; without one there are no notifications.
	TTY bool
	// Profile Plain gets a bell in place of an escape sequence.
	Profile screen.Profile
	Dir     string // the working directory; the text ends with its name
	// Own are artoo's own variables, by which the command is looked up.
	Own environ.Vars
	// Environ is the environment of the command, as os.Environ gives it.
	Environ []string
	// Env looks up variables about the terminal; nil knows none.
	Env   func(name string) string
	Clock prompt.Clock
}

// Notifier notifies the user when a question waits and when a long turn has ended. A nil one
// never does. Any goroutine may call its methods, and they do not wait.
type Notifier struct {
	screen   *screen.Screen
	sequence func(text string) string // nil for a command
	command  []string
	own      environ.Vars
	environ  []string
	dir      string
	ascii    bool
	clock    prompt.Clock
	quit     chan struct{}
	running  sync.WaitGroup

	mu      sync.Mutex
	trouble error // the first failure of the command, until it was told
	failed  bool
}

// NewNotifier makes a Notifier, nil if notifications are off. The error is about a
// broken command line.
func NewNotifier(o NotifyOptions) (*Notifier, error) {
	if o.Env == nil {
		o.Env = func(string) string { return "" }
	}
	n := &Notifier{screen: o.Screen, own: o.Own, environ: o.Environ, clock: o.Clock.OrReal(), ascii: !screen.UTF8Decision(o.Env),
		quit: make(chan struct{})}
	n.dir = filepath.Base(o.Dir)
	bell := func(string) string { return "\a" }
	sequences := map[string]func(text string) string{
		"bell": bell,
		"osc9": func(text string) string { return "\x1b]9;" + text + "\x1b\\" },
		"osc777": func(text string) string {
			return "\x1b]777;notify;artoo;" + strings.ReplaceAll(text, ";", ",") + "\x1b\\"
		},
		"osc99": func(text string) string { return "\x1b]99;;" + text + "\x1b\\" },
	}
	if o.How == "" || o.How == "off" {
		return nil, nil
	}
	if n.sequence = sequences[o.How]; n.sequence == nil {
		words, err := splitWords(o.How)
		if err != nil {
			return nil, err
		}
		n.command = words
	}
	if n.command == nil && (o.Profile == screen.Plain || OnlyRings(o.Env)) {
		n.sequence = bell
	}
	if !o.TTY {
		return nil, nil
	}
	return n, nil
}

// OnlyRings reports whether the terminal takes no notification but a bell, as tmux, screen and
// the console.
func OnlyRings(env func(string) string) bool {
	term := env("TERM")
	return term == "linux" || env("TMUX") != "" || env("STY") != "" || strings.HasPrefix(term, "tmux") || strings.HasPrefix(term, "screen")
}

// Question calls for an answer.
func (n *Notifier) Question() { n.call("artoo: a question waits in ") }

// Done tells of the end of a turn that took so long; a short one is not told.
func (n *Notifier) Done(took time.Duration) {
	if took > notifyAfter {
		n.call("artoo: the turn has ended in ")
	}
}

func (n *Notifier) call(what string) {
	switch {
	case n == nil:
	case n.command != nil:
		n.start(n.text(what))
	default:
		n.screen.Alert(n.sequence(n.text(what)))
	}
}

// text is fixed words and the directory's name, safe and short. Where the locale is not UTF-8 a
// terminal may take a byte of a character for the end of the sequence.
func (n *Notifier) text(what string) string {
	name := strings.ReplaceAll(sanitize.Text(n.dir, sanitize.Line), "\n", " ")
	runes := []rune(what + name)
	for i, r := range runes {
		if n.ascii && r > '~' {
			runes[i] = '?'
		}
	}
	return string(runes[:min(len(runes), notifyRunes)])
}

// start runs the command with the text as its last argument, without a shell.
func (n *Notifier) start(text string) {
	command := n.own.Command(context.Background(), n.command[0], append(n.command[1:len(n.command):len(n.command)], text)...)
	command.Env = n.environ
	shell.OwnGroup(command)
	if err := command.Start(); err != nil {
		n.fail(err)
		return
	}
	over := n.clock.After(notifyLimit)
	n.running.Go(func() {
		if err := await(command, over, notifyLimit, n.quit); err != nil {
			n.fail(fmt.Errorf("%s: %w", n.command[0], err))
		}
	})
}

// await waits for a command, and kills its group when over fires, which is an error, or quit.
func await(command *exec.Cmd, over <-chan time.Time, limit time.Duration, quit <-chan struct{}) (err error) {
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-over:
		err = fmt.Errorf("it was stopped after %v", limit)
	case <-quit:
	}
	_ = shell.KillGroup(command) // it may have ended meanwhile
	<-ended
	return err
}

func (n *Notifier) fail(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.failed {
		n.failed, n.trouble = true, err
	}
}

// Trouble is the first failure of the command, once: nil before it and ever
// after.
func (n *Notifier) Trouble() error {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	err := n.trouble
	n.trouble = nil
	return err
}

// Close ends the commands that still run. Nothing may be called afterwards.
func (n *Notifier) Close() {
	if n != nil {
		close(n.quit)
		n.running.Wait()
	}
}

// splitWords takes a command line apart at spaces; quotes and backslashes keep words together.
func splitWords(line string) ([]string, error) {
	rest := wordOfLine().ReplaceAllString(line, "")
	if i := strings.IndexAny(rest, `'"`); i >= 0 {
		return nil, fmt.Errorf("a quote (%c) is not closed", rest[i])
	}
	words := wordOfLine().FindAllString(line, -1)
	for i, word := range words {
		words[i] = quotedPart().ReplaceAllStringFunc(word, func(part string) string {
			switch part[0] {
			case '\'':
				return part[1 : len(part)-1]
			case '"':
				return escaped().ReplaceAllString(part[1:len(part)-1], "$1")
			}
			return strings.TrimPrefix(part, `\`)
		})
	}
	if len(words) == 0 || words[0] == "" {
		return nil, errors.New("there is no command in it")
	}
	return words, nil
}

// The syntax of a command line: its words, their quoted parts, and the escapes between
// double quotes.
var (
	wordOfLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?s)(?:[^\s'"\\]|\\.|\\$|'[^']*'|"(?:[^"\\]|\\.)*")+`)
	})
	quotedPart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)'[^']*'|"(?:[^"\\]|\\.)*"|\\.`) })
	escaped    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("\\\\([\\\\\"$`])") })
)

// NotifyOffer is the offer of notifications, which comes once, after a long turn.
type NotifyOffer struct {
	// Bell says that the terminal can only ring: a multiplexer between takes no more.
	Bell bool
	// Take makes the notifier of an answer, a word of NotifyOptions.How or a command line, and
	// keeps the answer; kept says where. The goroutine of Terminal.Run calls it.
	Take func(how string) (n *Notifier, kept string, err error)
}

const (
	// statusLimit is how long a status command may run: the prompt waits for it.
	statusLimit = 2 * time.Second
	// statusBytes is how much of its output is kept: a status is a row, or a few.
	statusBytes = 400
)

// StatusLine is the user's command whose first line is the status. A nil one is none.
type StatusLine struct {
	words   []string
	own     environ.Vars
	environ []string
	clock   prompt.Clock
	failed  bool // the user knows
}

// NewStatusLine makes one of the setting, nil where that is a word of screen.StatusMode. The
// error describes the fault of the command, which no shell reads. It is
// looked up by artoo's own variables, and gets vars.
func NewStatusLine(setting string, own environ.Vars, vars []string, clock prompt.Clock) (*StatusLine, error) {
	switch screen.StatusMode(setting) {
	case "", screen.StatusShort, screen.StatusFull, screen.StatusOff:
		return nil, nil
	}
	words, err := splitWords(setting)
	if err == nil {
		_, err = own.LookPath(words[0])
	}
	if err != nil {
		return nil, err
	}
	return &StatusLine{words: words, own: own, environ: vars, clock: clock.OrReal()}, nil
}

// statusInput is the input of the command, as one line of JSON.
type statusInput struct {
	Model   string   `json:"model"`
	Input   int      `json:"input_tokens"`
	Output  int      `json:"output_tokens"`
	CostUSD *float64 `json:"cost_usd"` // null where it is unknown
	Seconds float64  `json:"seconds"`
	Context int      `json:"context_percent"` // -1 where it is unknown
	Outcome string   `json:"outcome"`         // done, stopped, failed
	// Effects are those of -o json.
	Effects agent.Reach `json:"effects"`
}

// line runs the command, and is the first line of its output, unsanitised.
func (l *StatusLine) line(info screen.StatusInfo) (string, error) {
	input, err := json.Marshal(statusInput{info.Model, info.Usage.Prompt(), info.Usage.Output, info.CostUSD,
		info.Elapsed.Seconds(), info.Context, string(info.Outcome), info.Reach.And(agent.Reach{})})
	if err != nil {
		return "", err
	}
	out := head{left: statusBytes}
	command := l.own.Command(context.Background(), l.words[0], l.words[1:]...)
	command.Env, command.Stdin, command.Stdout = l.environ, bytes.NewReader(append(input, '\n')), &out
	command.WaitDelay = statusLimit / 10 // a process it left behind may hold its output
	shell.OwnGroup(command)
	if err := command.Start(); err != nil {
		return "", err
	}
	err = await(command, l.clock.After(statusLimit), statusLimit, nil)
	text, _, _ := strings.Cut(strings.TrimSpace(out.kept.String()), "\n")
	if err == nil && text == "" {
		err = errors.New("it printed nothing")
	}
	return text, err
}

// head keeps the beginning of the output.
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
