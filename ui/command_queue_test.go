//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/agent"
	"artoo/ui/screen"
)

// waitingTurn is a turn that goes on until the test says so.
func waitingTurn(t *testing.T, change func(*Options)) (k *talk, goOn chan struct{}) {
	goOn = make(chan struct{})
	inTurn := make(chan struct{}, 8)
	k = startPTY(t, &sender{play: func(ctx context.Context, text string, cb agent.Callbacks) (*agent.Response, error) {
		inTurn <- struct{}{}
		select {
		case <-goOn:
		case <-ctx.Done():
			return &agent.Response{}, context.Cause(ctx)
		}
		cb.OnText("answer to " + text + "\n")
		return &agent.Response{}, nil
	}}, change)
	k.expect("you: ")
	k.send("one")
	k.expect("one")
	k.send("\r")
	wanted(k, inTurn)
	return k, goOn
}

// typeBlind types a line that is not shown as it is typed.
func (k *talk) typeBlind(text string) {
	k.Helper()
	k.send(text)
	k.settle()
	k.send("\r")
}

func TestQueueIsShownAndMendedDuringATurn(t *testing.T) {
	t.Parallel()
	k, goOn := waitingTurn(t, nil)
	for _, text := range []string{"two", "three", "four", "five"} {
		k.typeBlind(text)
		k.expect("queued: " + text)
	}
	k.typeBlind("/queue")
	k.expect("1  two")
	k.expect("4  five")
	k.typeBlind("/queue drop 2")
	k.expect("dropped: three")
	k.typeBlind("/queue edit 2")
	k.expect("back in the prompt: four")
	k.typeBlind("\x15/queue drop 7") // the line is empty again
	k.expect(`no queued line "7"`)
	k.typeBlind("/queue drop")
	k.expect(`drop which line?`)
	k.typeBlind("/queue shuffle")
	k.expect(`unknown word "shuffle": use now`)
	k.typeBlind("/queue drop 1")
	k.expect("dropped: two")
	k.typeBlind("/queue edit 1")
	k.expect("back in the prompt: five")
	k.typeBlind("\x01/queue " + "\x05") // typed before the text that came back
	k.expect("use now, drop N")
	k.typeBlind("six")
	k.expect("queued: six")
	k.typeBlind("/queue edit 1")
	k.expect("back in the prompt: six")
	goOn <- struct{}{}
	k.await(k.answer, 0, "answer to one\n")
	k.expect(pasteOn + "you: six")
	k.send("\r")
	goOn <- struct{}{}
	k.await(k.answer, 0, "answer to six\n")
	k.wasSent("one", "six")
}

// A message that is sent now reaches the model before the turn ends and leaves the
// queue; a command does not, nor does a message that comes after the end of the turn.
func TestQueueNowReachesTheModelDuringTheTurn(t *testing.T) {
	t.Parallel()
	step, inTurn := make(chan struct{}), make(chan struct{}, 8)
	var steered []string
	k := startPTY(t, &sender{steered: func(ctx context.Context, m agent.Message, cb agent.Callbacks) {
		inTurn <- struct{}{}
		<-step
		for _, s := range m.Steering() {
			steered = append(steered, s.Text)
		}
		inTurn <- struct{}{}
		<-step
		cb.OnText("answer to " + m.Text + "\n")
	}}, nil)
	k.expect("you: ")
	k.send("one")
	k.expect("one")
	k.send("\r")
	wanted(k, inTurn)
	k.typeBlind("/queue now")
	k.expect("the queue is empty")
	for _, text := range []string{"/cost", "two", "three", "four"} {
		k.typeBlind(text)
		k.expect("queued: " + text)
	}
	k.typeBlind("/queue now 1")
	k.expect("only messages can reach the model during a turn")
	k.typeBlind("/queue now 3")
	k.expect("sent at the next step, or else when the turn ends: three")
	k.typeBlind("/queue")
	k.expect("3  at the next step: three")
	step <- struct{}{}
	wanted(k, inTurn)
	k.expect("you: three")
	k.typeBlind("/queue now all") // too late for this turn
	k.expect("sent at the next step, or else when the turn ends: four")
	k.typeBlind("/queue drop 1")
	k.expect("dropped: /cost")
	step <- struct{}{}
	k.await(k.answer, 0, "answer to one\n")
	wanted(k, inTurn) // two
	step <- struct{}{}
	wanted(k, inTurn)
	step <- struct{}{}
	k.await(k.answer, 0, "answer to two\n")
	if diff := cmp.Diff([]string{"three", "four"}, steered); diff != "" {
		t.Error(diff)
	}
	k.wasSent("one", "two")
}

func TestQueueAtThePrompt(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"/queue": "the queue is empty", "/queue drop all": "dropped 0 lines", "/queue edit 1": `no queued line "1"`,
		"/queue now": "now works only during a turn",
	} {
		if shown, sent := say(t, nil, typed); !strings.Contains(shown, want) || sent != nil {
			t.Errorf("%s: sent %q, shown %q", typed, sent, shown)
		}
	}
}

// Lines of a script keep their order: /queue is one of them there.
func TestQueueOfAScript(t *testing.T) {
	t.Parallel()
	k := startLines(t, &sender{}, nil)
	k.send("/queue\nlater\n\n/queue drop all\n")
	k.eof()
	k.end()
	k.wasSent("later")
}

// A queued line keeps its meaning when its time comes.
func TestQueuedCommandsRunInTheirTurn(t *testing.T) {
	t.Parallel()
	made := filepath.Join(t.TempDir(), "made")
	k, goOn := waitingTurn(t, func(o *Options) { o.Environ = []string{"SHELL=/bin/sh", "PATH=" + os.Getenv("PATH")} })
	for _, text := range []string{"!echo ran >" + made, "/out", "two"} {
		k.typeBlind(text)
		k.expect("queued: ")
	}
	goOn <- struct{}{}
	k.expect("exit status 0")
	k.expect("no tool calls yet")
	goOn <- struct{}{}
	k.await(k.answer, 0, "answer to two\n")
	k.wasSent("one", "two")
	if got, err := os.ReadFile(made); string(got) != "ran\n" || err != nil {
		t.Errorf("the command wrote %q, %v", got, err)
	}
}

// On a simple terminal a line cannot be put into the prompt: it stays.
func TestQueueOnASimpleTerminal(t *testing.T) {
	t.Parallel()
	goOn, inTurn := make(chan struct{}), make(chan struct{}, 8)
	k := startPTY(t, &sender{play: func(_ context.Context, text string, cb agent.Callbacks) (*agent.Response, error) {
		inTurn <- struct{}{}
		<-goOn
		return &agent.Response{}, nil
	}}, func(o *Options) { o.Profile = screen.Plain })
	k.expect("you: ")
	k.send("one\n")
	wanted(k, inTurn)
	k.send("two\n")
	k.expect("queued: two")
	k.send("/queue edit 1\n")
	k.expect("a line cannot be edited here; /queue drop 1")
	goOn <- struct{}{}
	wanted(k, inTurn)
	goOn <- struct{}{}
	k.expect("you: ")
	k.wasSent("one", "two")
}
