package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool/needs"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files")

// world runs calls the way the loop does, on real files.
type world struct {
	dir   string
	tools []string
	// instead answers a call in place of the real tool; ok is false for "the
	// real one". n counts the calls of that name, from 1.
	instead func(name string, n int) (text string, isError, ok bool)
	count   map[string]int
}

func newWorld(t *testing.T) *world {
	w := &world{dir: t.TempDir(), tools: []string{"ls", "read", "edit", "bash"}, count: map[string]int{}}
	for name, content := range Files() {
		w.write(t, name, content)
	}
	return w
}

func (w *world) write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

func (w *world) specs() []provider.ToolSpec {
	var specs []provider.ToolSpec
	for _, name := range w.tools {
		specs = append(specs, provider.ToolSpec{Name: name, Schema: json.RawMessage(`{"type":"object"}`)})
	}
	return specs
}

func (w *world) run(c provider.ToolCall) provider.ToolResult {
	w.count[c.Name]++
	r := provider.ToolResult{CallID: c.ID, Name: c.Name}
	if w.instead != nil {
		if text, isError, ok := w.instead(c.Name, w.count[c.Name]); ok {
			r.Text, r.IsError = text, isError
			return r
		}
	}
	text, err := w.real(c)
	r.Text = text
	if err != nil {
		r.Text, r.IsError = strings.TrimSpace(text+"\n["+err.Error()+"]"), true
	}
	return r
}

func (w *world) real(c provider.ToolCall) (string, error) {
	var in struct {
		Path, Command string
		Edits         []struct {
			Old string `json:"old_string"`
			New string `json:"new_string"`
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(c.Input))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&in); err != nil {
		return "", err
	}
	path := filepath.Join(w.dir, in.Path)
	switch c.Name {
	case "ls":
		entries, err := os.ReadDir(path)
		return fmt.Sprint(entries), err
	case "read":
		raw, err := os.ReadFile(path)
		return string(raw), err
	case "edit":
		raw, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		text := string(raw)
		for _, e := range in.Edits {
			if strings.Count(text, e.Old) != 1 {
				return "", fmt.Errorf("old_string is there %d times", strings.Count(text, e.Old))
			}
			text = strings.Replace(text, e.Old, e.New, 1)
		}
		return "edited", os.WriteFile(path, []byte(text), 0o666)
	case "bash":
		cmd := exec.Command("sh", "-c", in.Command)
		cmd.Dir = w.dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	return "", fmt.Errorf("no tool %q", c.Name)
}

// turn sends the user's message and plays until a reply has no calls. It
// returns the history and the texts and calls, as a golden wants them.
func (w *world) turn(t *testing.T, h []provider.Message, say string) ([]provider.Message, string) {
	t.Helper()
	h = append(h, provider.UserText(say))
	var log strings.Builder
	fmt.Fprintf(&log, "> %s\n\n", say)
	for range 9 {
		if err := fake.Check(h); err != nil {
			t.Fatal(err)
		}
		done := stream(t, provider.Request{Messages: h, Tools: w.specs()})
		h = append(h, done.Message)
		fmt.Fprintf(&log, "%s\n", done.Message.Text())
		calls := done.Message.Calls()
		if (done.Stop == provider.StopToolUse) != (len(calls) > 0) {
			t.Errorf("stop %s with %d calls", done.Stop, len(calls))
		}
		if len(calls) == 0 {
			return h, log.String()
		}
		log.WriteString("\n")
		for _, c := range calls {
			if !strings.Contains(strings.Join(w.tools, " "), c.Name) {
				t.Fatalf("it called %s, which was not offered", c.Name)
			}
			if !Scripted(c) {
				t.Errorf("it does not know its own call %s %s", c.Name, c.Input)
			}
			r := w.run(c)
			fmt.Fprintf(&log, "    %s %s -> %s%s\n", c.Name, c.Input, map[bool]string{true: "error: "}[r.IsError],
				quote(r.Text))
			h = append(h, provider.Message{Role: provider.RoleTool, Parts: []provider.Part{r}})
		}
		log.WriteString("\n")
	}
	t.Fatalf("no end:\n%s", log.String())
	return nil, ""
}

func stream(t *testing.T, req provider.Request) provider.Done {
	t.Helper()
	var text strings.Builder
	for e, err := range (&Provider{}).Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case provider.TextDelta:
			text.WriteString(e.Text)
		case provider.Done:
			if e.Message.Text() != text.String() {
				t.Errorf("streamed %q, said %q", text.String(), e.Message.Text())
			}
			if !e.Usage.Estimated || e.Usage.Input == 0 || e.Usage.Output == 0 {
				t.Errorf("usage %+v", e.Usage)
			}
			return e
		}
	}
	t.Fatal("no Done")
	return provider.Done{}
}

// playGo answers go test from the source, as go would.
func (w *world) playGo(t *testing.T) {
	w.instead = func(name string, n int) (string, bool, bool) {
		if name != "bash" {
			return "", false, false
		}
		raw, err := os.ReadFile(filepath.Join(w.dir, source))
		if err != nil {
			t.Error(err)
		}
		if strings.Contains(string(raw), right) {
			return "ok  \texample.org/till\t0.002s", false, true
		}
		return "--- FAIL: TestTotal (0.00s)\n    till_test.go:18: three teas: Total is 200, want 600\n    till_test.go:18: four cakes: Total is 3000, want 10800\nFAIL\nexit status 1", true, true
	}
}

func (w *world) refuse(tool, text string) {
	before := w.instead
	w.instead = func(name string, n int) (string, bool, bool) {
		if name == tool {
			return text, true, true
		}
		if before == nil {
			return "", false, false
		}
		return before(name, n)
	}
}

const denied = "Not run: this call was denied.\nThe user's reason: not now"

// scriptTest is a world the demo can meet, and its report on it at the end.
type scriptTest struct {
	name    string
	prepare func(t *testing.T, w *world)
	mended  bool
	why     string
}

// scriptTests are those worlds; each has a golden file of its name.
func scriptTests() []scriptTest {
	without := func(w *world, gone string) {
		var left []string
		for _, name := range w.tools {
			if name != gone {
				left = append(left, name)
			}
		}
		w.tools = left
	}
	mend := func(t *testing.T, w *world) {
		w.write(t, source, strings.Replace(Files()[source], wrong, right, 1))
	}
	noGo := func(name string, n int) (string, bool, bool) {
		if name == "bash" && n == 1 {
			return "bash: line 1: go: command not found\nexit status 127", true, true
		}
		return "", false, false
	}
	return []scriptTest{
		{"all-goes-well", func(t *testing.T, w *world) {}, true, "go test ./... passes after the edit of till.go"},
		{"no-edit-tool", func(t *testing.T, w *world) { without(w, "edit") }, false,
			"go test ./... fails, and till.go was not edited"},
		{"no-bash-tool", func(t *testing.T, w *world) { without(w, "bash") }, false, "till.go was not edited"},
		{"edit-denied", func(t *testing.T, w *world) { w.refuse("edit", denied) }, false,
			"the edit of till.go failed: Not run: this call was denied."},
		{"bash-denied", func(t *testing.T, w *world) { w.refuse("bash", denied) }, false,
			"till.go was edited, but no check could be run after it"},
		{"bash-denied-at-last", func(t *testing.T, w *world) {
			before := w.instead
			w.instead = func(name string, n int) (string, bool, bool) {
				if name == "bash" && n == 2 {
					return denied, true, true
				}
				return before(name, n)
			}
		}, false, "till.go was edited, but no check could be run after it"},
		{"read-denied", func(t *testing.T, w *world) { w.refuse("read", denied) }, false,
			"till.go could not be read: Not run: this call was denied."},
		{"no-go", func(t *testing.T, w *world) { w.instead = noGo }, true,
			shellCheck + " passes after the edit of till.go"},
		{"no-go-no-edit", func(t *testing.T, w *world) { w.instead = noGo; without(w, "edit") },
			false, shellCheck + " fails, and till.go was not edited"},
		{"already-mended", mend, true, "go test ./... passed already, nothing was changed"},
		{"already-mended-no-go", func(t *testing.T, w *world) { mend(t, w); w.instead = noGo }, true,
			shellCheck + " passed already, nothing was changed"},
		{"already-mended-yet-failing", func(t *testing.T, w *world) {
			mend(t, w)
			w.refuse("bash", "--- FAIL: TestOther (0.00s)\nFAIL\nexit status 1")
		}, false, "go test ./... fails, and till.go was not edited"},
		{"still-failing", func(t *testing.T, w *world) {
			w.refuse("bash",
				"--- FAIL: TestTotal (0.00s)\n    till_test.go:18: a ``` b: Total is 1, want 2\nFAIL\nexit status 1")
		}, false, "go test ./... still fails after the edit of till.go"},
	}
}

func TestScript(t *testing.T) {
	t.Parallel()
	for _, tt := range scriptTests() {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.playGo(t)
			tt.prepare(t, w)
			h, log := w.turn(t, nil, Prompt)
			mended, why := Outcome(h)
			if mended != tt.mended || why != tt.why {
				t.Errorf("outcome %v, %q; want %v, %q", mended, why, tt.mended, tt.why)
			}
			raw, err := os.ReadFile(filepath.Join(w.dir, source))
			if err != nil {
				t.Fatal(err)
			}
			if mended && !strings.Contains(string(raw), right) {
				t.Errorf("it says mended, but the file is\n%s", raw)
			}
			golden(t, tt.name, log)
		})
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got)\n%s", path, diff)
	}
}

// The program must really be broken, and really be mended by the script.
func TestScriptWithTheRealGo(t *testing.T) {
	needs.Program(t, "go")
	t.Setenv("GOFLAGS", "-trimpath") // The cache holds the standard library as make builds it.
	t.Setenv("GOWORK", "off")
	w := newWorld(t)
	h, log := w.turn(t, nil, Prompt)
	if mended, why := Outcome(h); !mended || !strings.HasPrefix(why, goCheck) {
		t.Errorf("%s\n%s", why, log)
	}
	if !strings.Contains(log, "three teas: Total is 200, want 600") {
		t.Errorf("the test's words are missing:\n%s", log)
	}
}

func TestTheUserTalksToTheScript(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.playGo(t)
	h, _ := w.turn(t, nil, Prompt)
	h, log := w.turn(t, h, "Thanks! What next?")
	if !strings.Contains(log, "I am a script") || !strings.Contains(log, "/help") ||
		!strings.Contains(log, "ANTHROPIC_API_KEY") {
		t.Error(log)
	}
	if mended, _ := Outcome(h); !mended {
		t.Error("talking changed the outcome")
	}
}

// The terminal's /init asks any model for an AGENTS.md: the script says that it is one,
// and plays on afterwards as if nothing had been said.
func TestTheScriptSaysThatItCannotWriteInstructions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.playGo(t)
	h, log := w.turn(t, nil, "Write AGENTS.md in the root of this project.")
	if !strings.Contains(log, "I am a script") || strings.Contains(log, "Total") {
		t.Error(log)
	}
	h, _ = w.turn(t, h, Prompt)
	if mended, why := Outcome(h); !mended {
		t.Error(why)
	}
}

func TestTheScriptGoesOnAfterAnInterrupt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.playGo(t)
	before := w.instead
	w.instead = func(name string, n int) (string, bool, bool) {
		if name == "bash" && n == 1 {
			return "interrupted: the turn was stopped while this ran", true, true
		}
		return before(name, n)
	}
	// The loop stops after the interrupted call, with two steps done.
	h := []provider.Message{provider.UserText(Prompt)}
	for range 2 {
		done := stream(t, provider.Request{Messages: h, Tools: w.specs()})
		h = append(h, done.Message)
		for _, c := range done.Message.Calls() {
			h = append(h, provider.Message{Role: provider.RoleTool, Parts: []provider.Part{w.run(c)}})
		}
	}
	h = append(h, provider.Message{Role: provider.RoleAssistant, Partial: true,
		Parts: []provider.Part{provider.Text{Text: "so"}}})
	h, log := w.turn(t, h, "go on")
	if n := strings.Count(log, "I am a script and cannot take that in"); n != 1 {
		t.Errorf("it said so %d times:\n%s", n, log)
	}
	if mended, why := Outcome(h); !mended {
		t.Errorf("%s\n%s", why, log)
	}
}

func TestItSpeaksInPiecesAndStopsAtOnce(t *testing.T) {
	t.Parallel()
	var waits []time.Duration
	pace := func(_ context.Context, d time.Duration) { waits = append(waits, d) }
	p := &Provider{Pace: pace}
	req := provider.Request{Messages: []provider.Message{provider.UserText(Prompt)}, Tools: newWorld(t).specs()}
	deltas, reasoning := 0, 0
	for e, err := range p.Stream(t.Context(), req) {
		switch e := e.(type) {
		case provider.TextDelta:
			deltas++
			if len(e.Text) > 40 {
				t.Errorf("a long piece: %q", e.Text)
			}
		case provider.ReasoningDelta:
			reasoning++
		case nil:
			t.Fatal(err)
		}
	}
	if deltas < 10 || reasoning < 3 || len(waits) != deltas+reasoning+1 || waits[0] != thinking || waits[1] != between {
		t.Errorf("%d text pieces, %d reasoning pieces, waits %v", deltas, reasoning, waits)
	}

	ctx, cancel := context.WithCancel(t.Context())
	p.Pace = func(context.Context, time.Duration) { cancel() }
	n := 0
	for e, err := range p.Stream(ctx, req) {
		n++
		if failed := provider.AsError(err); failed == nil || failed.Kind != provider.KindCanceled ||
			!errors.Is(err, context.Canceled) {
			t.Errorf("got %v, %v", e, err)
		}
	}
	if n != 1 {
		t.Errorf("%d events after the cancel", n)
	}
	Wait(ctx, time.Hour) // returns at once: ctx is done
	for range (&Provider{}).Stream(t.Context(), req) {
		break // the consumer may leave at any time
	}
}

func TestOnlyItsOwnCallsAreScripted(t *testing.T) {
	t.Parallel()
	for _, c := range []provider.ToolCall{
		fake.ToolCall("1", "bash", `{"command":"go test ./...; rm -rf /"}`),
		fake.ToolCall("1", "bash", `{"command":"go test ./...","cwd":"/"}`),
		fake.ToolCall("1", "edit", `{"path":"till.go","edits":[]}`),
		fake.ToolCall("1", "read", `{"path":"/etc/passwd"}`),
		fake.ToolCall("1", "write", `{"path":"till.go"}`),
	} {
		if Scripted(c) {
			t.Errorf("%s %s is taken for its own", c.Name, c.Input)
		}
	}
}
