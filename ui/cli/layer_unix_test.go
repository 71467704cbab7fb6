//go:build unix

package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"artoo/provider/providertest"
)

// atTerminal is a conversation in a terminal.
type atTerminal struct {
	*terminal
	dir   string
	env   []string
	at    int // behind the text that was waited for last
	mu    sync.Mutex
	heard []string // the requests
}

// talkOnLayer starts one whose model answers each message by a call of bash, with one
// line after the other, and then by "well done". It is nil where nothing makes layers. asked is called when
// a request has come, before its reply goes out; it may be nil.
func talkOnLayer(t *testing.T, asked func(), args []string, lines ...string) *atTerminal {
	t.Helper()
	k := &atTerminal{dir: t.TempDir()}
	m := newModel(t, func(n int, r providertest.Request) providertest.Reply {
		k.mu.Lock()
		k.heard = append(k.heard, string(r.Body))
		k.mu.Unlock()
		if asked != nil {
			asked()
		}
		if last := lastMessage(t, r.Body); last.Role != "user" || len(lines) == 0 {
			return providertest.Chat(providertest.Text("well done"))
		}
		input, err := json.Marshal(map[string]string{"command": lines[0]})
		if err != nil {
			t.Error(err)
		}
		lines = lines[1:]
		return providertest.Chat(providertest.Call(fmt.Sprint("c", n), "bash", string(input)))
	})
	k.env = m.env(t, "TERM=xterm", "NO_COLOR=1", "container=test", "ARTOO_SANDBOX=auto", "ARTOO_PAGER=cat")
	artoo := buildProgram(t, moduleDir)
	needsLayers(t, artoo, k.env)
	k.write("greeting", "hello\n")
	k.terminal = startTerminal(t, k.dir, k.env, artoo, args...)
	k.shows("you: ")
	return k
}

// lastMessage is the last message of a request to a Chat Completions server.
func lastMessage(t testing.TB, body []byte) (last struct{ Role, Content string }) {
	var request struct{ Messages []json.RawMessage }
	err := json.Unmarshal(body, &request)
	if err == nil {
		err = json.Unmarshal(request.Messages[len(request.Messages)-1], &last)
	}
	if err != nil {
		t.Error(err)
	}
	return last
}

// shows waits for a text behind the one that was waited for last.
func (k *atTerminal) shows(texts ...string) {
	k.Helper()
	for _, text := range texts {
		k.at = k.expect(text, k.at)
	}
}

func (k *atTerminal) write(name, text string) {
	if err := os.WriteFile(filepath.Join(k.dir, name), []byte(text), 0o644); err != nil {
		k.Fatal(err)
	}
}

// answers types a line as a user does: a question takes none before nothing was typed
// for a while, and none that comes at once, as pasted text does.
func (k *atTerminal) answers(line string) {
	k.Helper()
	for read := time.After(2 * takesAnswers); read != nil; {
		select {
		case piece, ok := <-k.lines:
			if !ok {
				k.Fatalf("the program ended:\n%s", k.shown)
			}
			k.shown = append(k.shown, piece...)
		case <-read:
			read = nil
		}
	}
	k.at = len(k.shown)
	for _, keys := range []string{line, "\r"} {
		k.types(keys)
		if keys == line {
			k.shows(line)
		}
	}
}

func (k *atTerminal) types(keys string) {
	k.Helper()
	if _, err := k.tty.WriteString(keys); err != nil {
		k.Fatal(err)
	}
}

func (k *atTerminal) holds(name, want string) {
	k.Helper()
	got, err := os.ReadFile(filepath.Join(k.dir, name))
	if want == "" && os.IsNotExist(err) {
		return
	}
	if string(got) != want {
		k.Errorf("%s holds %q, not %q; the terminal shows\n%s", name, got, want, k.shown)
	}
}

// waitsUntil waits for the content that a command writes.
func (k *atTerminal) waitsUntil(name, want string) {
	k.Helper()
	late := time.Now().Add(time.Minute)
	for again := time.Tick(20 * time.Millisecond); time.Now().Before(late); <-again {
		if got, err := os.ReadFile(filepath.Join(k.dir, name)); err == nil && string(got) == want {
			return
		}
	}
	k.holds(name, want)
}

// told is the last message to the model.
func (k *atTerminal) told() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return lastMessage(k, []byte(k.heard[len(k.heard)-1])).Content
}

// takesAnswers is how long nothing must have been typed before a question takes an
// answer.
const takesAnswers = 300 * time.Millisecond

// changing is a line that reads one file and changes two.
const changing = "cat greeting; echo bye > greeting; echo new > farewell"

// keepIt is the end of the question about a line's changes.
const keepIt = "[y]es [n]o [p]age [q]uit [?] (n) "

func TestWhatALineDidIsAskedAboutBeforeItCounts(t *testing.T) {
	t.Parallel()
	rows := []struct {
		name, answer string
		then         string // that the terminal shows
		applied      bool
		hears        []string // parts of the result for the model; nil where the question repeats, and n follows
	}{
		{"n throws it away, with the reason", "n not in this house", "changes discarded", false,
			[]string{"hello", "changes discarded: not in this house (modified: greeting, created: farewell)"}},
		{"Enter is no", "", "changes discarded", false, []string{"changes discarded"}},
		{"what is no answer", "yes please", "please answer y, n, p, q or ?", false, nil},
		{"e is none, since it has run", "e", "please answer y, n, p, q or ?", false, nil},
		{"a is none, since no rule stands for it", "a", "please answer y, n, p, q or ?", false, nil},
		{"? tells what the answers mean", "?", "no, discard them; the model gets the output", false, nil},
		{"p shows all of it", "p", "+bye", false, nil},
		{"y applies it", "y", "kept: 1 created, 1 modified", true,
			[]string{"hello", "its changes were applied: files: 1 created, 1 modified"}},
	}
	k := talkOnLayer(t, nil, nil, slices.Repeat([]string{changing}, len(rows))...)
	for _, c := range rows {
		k.types("go\r")
		k.shows("ran in a throwaway copy; it would change:", "approve: keep the changes of", keepIt)
		k.holds("greeting", "hello\n")
		k.answers(c.answer)
		k.shows(c.then)
		if c.hears == nil {
			k.shows(keepIt)
			k.answers("n")
		}
		k.shows("well done", "you: ")
		if !c.applied {
			k.holds("greeting", "hello\n")
			k.holds("farewell", "")
		}
		told := k.told()
		for _, text := range c.hears {
			if !strings.Contains(told, text) {
				t.Errorf("%s: the model is not told %q: %s", c.name, text, told)
			}
		}
	}
	k.holds("greeting", "bye\n")
	k.holds("farewell", "new\n")
	k.types("/undo\r")
	k.shows("delete farewell", "restore greeting", "(n) ")
	k.answers("y")
	k.shows("undone: 2 paths", "you: ")
	k.holds("greeting", "hello\n")
	k.holds("farewell", "")
	k.leave()
}

func TestAStopAtALayersQuestionAppliesNothing(t *testing.T) {
	t.Parallel()
	k := talkOnLayer(t, nil, nil, changing, changing)
	k.types("go\r")
	k.shows(keepIt)
	k.answers("q")
	k.shows("changes discarded", "turn stopped", "you: ")
	k.types("go\r")
	k.shows(keepIt)
	k.types("\x03")
	k.shows("changes discarded", "stopped", "you: ")
	k.leave()
	k.holds("greeting", "hello\n")
	k.holds("farewell", "")
	if n := len(k.heard); n != 2 {
		t.Errorf("the model was asked %d times", n)
	}
}

func TestWhatWasTypedAheadDoesNotAnswerALayersQuestion(t *testing.T) {
	t.Parallel()
	asked, typed := make(chan struct{}), make(chan struct{})
	k := talkOnLayer(t, sync.OnceFunc(func() { close(asked); <-typed }), nil, changing)
	k.types("go\r")
	<-asked
	k.types("y\r")
	k.shows("queued")
	close(typed)
	k.shows(keepIt)
	k.holds("greeting", "hello\n")
	k.answers("n")
	k.shows("changes discarded", "well done", "well done", "you: ") // y was the next message
	k.leave()
	k.holds("greeting", "hello\n")
}

// The half-done changes of a killed artoo, from a line outside the sandbox, are undone
// by the next artoo, which says so.
func TestTheNextStartSaysWhatAKilledArtooLeft(t *testing.T) {
	t.Parallel()
	k := talkOnLayer(t, nil, []string{"--allow", "bash!"}, "echo half > greeting; echo begun > other; echo written; sleep 600")
	k.types("go\r")
	k.waitsUntil("other", "begun\n")
	k.holds("greeting", "half\n")
	k.end()
	next := &atTerminal{terminal: startTerminal(t, k.dir, k.env, k.cmd.Path, "-c"), dir: k.dir}
	next.shows("the answer was cut off here", "you: ") // the first one is in the replay of the session
	next.leave()
	next.holds("greeting", "hello\n")
	next.holds("other", "")
	want := "an artoo was killed here in the middle of a change; reverted: greeting, other"
	if said := strings.Join(strings.Fields(string(next.shown)), " "); !strings.Contains(said, want) {
		t.Errorf("it says %q", said)
	}
}
