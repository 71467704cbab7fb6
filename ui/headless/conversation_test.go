package headless

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"artoo/agent"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool/sweep"
	"artoo/ui/result"
	"artoo/ui/screen"
)

// hall is a conversation with a program: lines go in, and events come out.
type hall struct {
	*desk
	*Conversation
	in     *io.PipeWriter
	events chan map[string]any
	done   chan struct{}
	sum    *agent.Response
	failed *agent.Failure
}

// hostOf knows no files and one command.
type hostOf struct{ *hall }

func (hostOf) Attach(_ context.Context, paths []string) ([]provider.Part, error) {
	if len(paths) > 0 {
		return nil, errors.New("no such file")
	}
	return nil, nil
}

func (h hostOf) Command(ctx context.Context, line string, talk Talk) (string, *agent.Response, error) {
	if strings.HasPrefix(line, "/turn") {
		r, err := h.Conversation.Agent.Send(ctx, agent.Message{Text: "as the command says", Steering: talk.Steering}, talk)
		return "", r, err
	}
	if strings.HasPrefix(line, "/no") {
		return "", nil, errors.New("no such command")
	}
	return "done\n", nil, nil
}

func (h hostOf) Info() result.Info { return h.Conversation.Info }

// eventsOf splits written bytes into events.
type eventsOf struct {
	mu   sync.Mutex
	rest []byte
	to   func(map[string]any)
}

func (e *eventsOf) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rest = append(e.rest, p...)
	for {
		line, rest, whole := bytes.Cut(e.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		e.rest = rest
		var event map[string]any
		if err := json.Unmarshal(line, &event); err != nil {
			return 0, err
		}
		e.to(event)
	}
}

// newHall begins a conversation. on hears of each event, and may be nil.
func newHall(ctx context.Context, on func(map[string]any), steps ...fake.Step) *hall {
	h := &hall{desk: newDesk(JSONL, io.Discard, steps...), events: make(chan map[string]any, 1<<18), done: make(chan struct{})}
	sender, _ := h.desk.Runner.Agent.(*agent.Agent)
	out := &eventsOf{to: func(e map[string]any) {
		if on != nil {
			on(e)
		}
		h.events <- e
	}}
	h.Conversation = &Conversation{Agent: sender, Runner: Runner{Format: JSONL, Out: out,
		Screen: screen.New(screen.Options{Out: io.Discard, Err: io.Discard}), Info: result.Info{SessionID: "s1", Provider: "fake", Model: "m"}}}
	h.Conversation.Host = hostOf{h}
	from, to := io.Pipe()
	h.in = to
	go func() {
		defer close(h.done)
		h.sum, h.failed = h.Conversation.Run(ctx, from)
		from.Close()
	}()
	return h
}

// await is the next event of a type.
func (h *hall) await(t *testing.T, kind string) map[string]any {
	t.Helper()
	for {
		select {
		case e := <-h.events:
			if e["type"] == kind {
				return e
			}
		case <-time.After(time.Minute):
			t.Fatalf("no event %s came", kind)
		}
	}
}

func (h *hall) say(t *testing.T, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if _, err := io.WriteString(h.in, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
}

func (h *hall) end(t *testing.T) {
	t.Helper()
	h.say(t, `{"type":"end"}`)
	select {
	case <-h.done:
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
}

func TestAProgramAnswersAQuestion(t *testing.T) {
	t.Parallel()
	for answer, ran := range map[string]int{"yes": 1, "no": 0, "stop": 0} {
		h := newHall(t.Context(), nil, asking(), fake.Say("Done."))
		h.say(t, `{"type":"user","text":"go"}`)
		q := h.await(t, "question")
		h.say(t, fmt.Sprintf(`{"type":"answer","id":%q,"answer":%q}`, q["id"], answer))
		if e := h.await(t, "approval"); e["answer"] != answer || e["question"] != q["id"] {
			t.Errorf("%s: the approval is %v", answer, e)
		}
		end := h.await(t, "turn_end")
		h.end(t)
		if stopped, _ := end["error"].(map[string]any); h.failed != nil || h.ran != ran || (stopped["kind"] == "stopped") != (answer == "stop") {
			t.Errorf("%s: the tool ran %d times, failure %v, end %v", answer, h.ran, h.failed, end)
		}
	}
}

// A message that is sent now joins the turn that runs; later ones wait.
func TestAMessageNowJoinsTheTurn(t *testing.T) {
	t.Parallel()
	h := newHall(t.Context(), nil, asking(), fake.Say("Both."), fake.Say("Later."))
	h.say(t, `{"type":"user","text":"go","id":"a"}`)
	q := h.await(t, "question")
	h.say(t, `{"type":"user","text":"later","id":"b"}`, `{"type":"user","text":"and this","id":"c","when":"now"}`)
	h.await(t, "accepted")
	h.await(t, "accepted")
	h.say(t, fmt.Sprintf(`{"type":"answer","id":%q,"answer":"yes"}`, q["id"]))
	first, second := h.await(t, "turn_end"), h.await(t, "turn_end")
	h.end(t)
	if fmt.Sprintf("%v %v %v %v", first["id"], first["joined"], second["id"], second["joined"]) != "a [c] b <nil>" || len(h.model.Requests()) != 3 {
		t.Errorf("the turns were %v and %v", first, second)
	}
	if last := h.model.Requests()[1].Messages; last[len(last)-1].Text() != "and this" {
		t.Errorf("the second request ends in %q", last[len(last)-1].Text())
	}
}

// An interrupt ends the turn that runs, also one that waits for an answer, and no other.
func TestAProgramInterrupts(t *testing.T) {
	t.Parallel()
	h := newHall(t.Context(), nil, asking(), fake.Say("On."))
	h.say(t, `{"type":"interrupt"}`, `{"type":"user","text":"go","id":"a"}`)
	q := h.await(t, "question")
	h.say(t, `{"type":"user","text":"go on","id":"b"}`, `{"type":"interrupt"}`)
	end := h.await(t, "turn_end")
	if failure, _ := end["error"].(map[string]any); end["id"] != "a" || failure["kind"] != "interrupted" {
		t.Errorf("the first turn ended with %v", end)
	}
	h.say(t, fmt.Sprintf(`{"type":"answer","id":%q,"answer":"yes"}`, q["id"])) // too late, which is no fault
	end = h.await(t, "turn_end")
	h.end(t)
	if end["id"] != "b" || end["error"] != nil || h.ran != 0 || h.failed != nil {
		t.Errorf("the second ended with %v; the tool ran %d times; failure %v", end, h.ran, h.failed)
	}
}

func TestTheEndOfTheInputFinishesTheQueue(t *testing.T) {
	t.Parallel()
	h := newHall(t.Context(), nil, asking(), fake.Say("One."), fake.Say("Two."))
	h.say(t, `{"type":"user","text":"one"}`, `{"type":"user","text":"two"}`)
	h.end(t)
	if h.ran != 0 || h.failed == nil || h.failed.Kind != agent.KindApproval || h.sum.Text != "Two." || len(h.sum.Denied) != 1 {
		t.Errorf("the tool ran %d times; failure %v, result %q, denied %v", h.ran, h.failed, h.sum.Text, h.sum.Denied)
	}
}

// A line that is too long is skipped, and the next one is read.
func TestALongLineIsSkipped(t *testing.T) {
	t.Parallel()
	long := lines{bufio.NewReader(strings.NewReader(strings.Repeat("x", maxInput+10) + "\nnext\r\nlast"))}
	if _, err := long.next(); !errors.Is(err, errTooLong) {
		t.Error(err)
	}
	for _, want := range []string{"next", "last"} {
		if line, err := long.next(); string(line) != want || err != nil {
			t.Errorf("%q, %v", line, err)
		}
	}
	if _, err := long.next(); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

// What is wrong with a line is said without the names of Go's types.
func TestAFaultNamesTheField(t *testing.T) {
	t.Parallel()
	c := &Conversation{}
	for line, want := range map[string]string{
		`[]`:                                     "not a JSON object, but an array",
		`7`:                                      "not a JSON object, but a number",
		`{"type":7}`:                             "type cannot be a number",
		`{"type":"user","text":7}`:               "text cannot be a number",
		`{"type":"user","text":"x","attach":{}}`: "attach cannot be an object",
		`{"type":"answer","id":"q1","answer":[]}`:                  "answer cannot be an array",
		`{"type":"answer","id":"q1","answer":"no","Answer":"yes"}`: `it has the key "Answer" twice`,
		`{"a":`: "not a JSON object: unexpected end of JSON input",
	} {
		if _, err := c.take(t.Context(), []byte(line), 1); err == nil || err.Error() != want {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// randomLine is a line that a program could send, or nearly.
func randomLine(r *rand.Rand) string {
	id := fmt.Sprintf("q%d", 1+r.IntN(4))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	line := pick(
		`{"type":"user","text":"go"}`, `{"type":"user","text":"go","when":"now"}`, `{"type":"user","text":"go","id":"x","when":"next"}`,
		`{"type":"user","text":"go","attach":["none"]}`, `{"type":"interrupt"}`, `{"type":"set","mode":"plan"}`, `{"type":"set","model":"m"}`,
		`{"type":"command","text":"/turn"}`, `{"type":"command","text":"/other"}`, `{"type":"command","text":"/no"}`,
		fmt.Sprintf(`{"type":"answer","id":%q,"answer":%q}`, id, pick("no", "stop", "session", "forever", "maybe", "", "Yes", "y")),
		fmt.Sprintf(`{"type":"answer","id":%q,"answer":"no","reason":"r","rule":"touch"}`, id),
		fmt.Sprintf(`{"type":"answer","id":%q,"answer":"session","rule":"bash"}`, id),
		fmt.Sprintf(`{"type":"answer","id":%q,"answer":"yes","text":"x","input":[]}`, id),
		`{"type":"question","id":"q1","kind":"approval"}`, `[]`, `null`, `{}`, `{"type":7}`, "", "\x00\xff", "{")
	if r.IntN(4) == 0 && len(line) > 0 { // cut or changed somewhere
		at := r.IntN(len(line))
		line = pick(line[:at], line[:at]+string(rune(r.IntN(0x250)))+line[at+1:], line+line, line[at:])
	}
	return strings.ReplaceAll(line, "\n", " ")
}

// unapproved reports whether a line of randomLine would let the tool run: such lines are not sent.
// It reads changed lines as objects, as the program does.
func unapproved(line string) bool {
	var in struct {
		Type, Answer string
		Input        json.RawMessage
	}
	return json.Unmarshal([]byte(line), &in) == nil && in.Type == "answer" &&
		(in.Answer == "yes" && in.Input == nil || in.Answer == "session" || in.Answer == "forever")
}

// TestAnyScript: whatever a program sends, the conversation ends with its input, each message that was accepted has an end, and
// without a yes nothing runs.
func TestAnyScript(t *testing.T) {
	t.Parallel()
	for _, seed := range sweep.Cases(t, 50, 500) {
		r := rand.New(rand.NewPCG(uint64(seed), 26))
		accepted, ended := 0, 0
		h := newHall(t.Context(), func(e map[string]any) {
			switch e["type"] {
			case "accepted":
				accepted++
			case "turn_end":
				joined, _ := e["joined"].([]any)
				ended += 1 + len(joined)
			}
		}, endless(200)...)
		for range r.IntN(40) {
			if line := randomLine(r); !unapproved(line) {
				if _, err := io.WriteString(h.in, line+"\n"); err != nil {
					break // an end was among them
				}
			}
		}
		h.in.Close()
		select {
		case <-h.done:
		case <-time.After(time.Minute):
			t.Fatalf("script %d hangs", seed)
		}
		if h.ran != 0 || accepted != ended {
			t.Fatalf("script %d: the tool ran %d times, %d messages were accepted and %d ended", seed, h.ran, accepted, ended)
		}
	}
}

// endless are replies that ask, and then answer.
func endless(n int) (steps []fake.Step) {
	for range n {
		steps = append(steps, asking(), fake.Say("Done."))
	}
	return steps
}

// TestAnyLines sends 10,000 lines: ten conversations get 1,000 each, since requests grow with each message.
func TestAnyLines(t *testing.T) {
	t.Parallel()
	count := 1000
	for _, seed := range sweep.Cases(t, 2, 10) {
		r := rand.New(rand.NewPCG(uint64(seed), 10))
		h := newHall(t.Context(), nil, endless(count)...)
		for range count {
			if line := randomLine(r); !unapproved(line) && !strings.Contains(line, `"end"`) {
				h.say(t, line)
			}
		}
		h.in.Close()
		select {
		case <-h.done:
		case <-time.After(time.Minute):
			t.Fatal("it hangs")
		}
		if h.ran != 0 || h.failed == nil {
			t.Errorf("the tool ran %d times, failure %v", h.ran, h.failed)
		}
	}
}

// FuzzInput sends arbitrary input: each line out is an event, the end comes, and nothing crashes.
func FuzzInput(f *testing.F) {
	for _, line := range []string{
		`{"type":"user","text":"hi","when":"now"}`, `{"type":"user","text":"a","attach":["x"],"id":"1"}`,
		`{"type":"answer","id":"q1","answer":"yes"}`, `{"type":"set","mode":"plan"}`, `{"type":"set","model":"x/y","effort":"low"}`,
		`{"type":"command","text":"/turn"}`, `{"type":"command","text":"/no"}`, `{"type":"interrupt"}`, `{"type":"end"}`, "{", "[]", "",
	} {
		f.Add([]byte(line + "\n"))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		h := newHall(t.Context(), nil, fake.Call("1", "note", `{"text":"x"}`), fake.Say("Fine."))
		if _, err := h.in.Write(in); err != nil && !errors.Is(err, io.ErrClosedPipe) {
			t.Error(err)
		}
		h.in.Close()
		<-h.done
		if h.failed != nil && h.failed.Kind == agent.KindInternal {
			t.Error(h.failed)
		}
	})
}
