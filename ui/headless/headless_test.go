package headless

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"artoo/agent"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
	"artoo/ui/result"
	"artoo/ui/screen"
)

// desk is a run with a scripted model and a tool that is always asked about.
type desk struct {
	*Runner
	model    *fake.Provider
	out, err bytes.Buffer
	ran      int
}

// newDesk makes a run that writes to out, or to its own buffer when out is nil.
func newDesk(format Format, out io.Writer, steps ...fake.Step) *desk {
	d := &desk{model: &fake.Provider{Steps: steps}}
	if out == nil {
		out = &d.out
	}
	shown := out
	if format != Text {
		shown = io.Discard
	}
	a, err := agent.New(agent.Options{
		Model: agent.Model{
			Provider: &provider.Retrier{Provider: d.model, Rand: func() float64 { return 0 }}, Name: "fake",
			Defaults: provider.Options{Model: "m", MaxTokens: 100},
		},
		Tools: []tool.Tool{d.touch()}, Env: &tool.Env{Dir: "/w"}, MaxContextTokens: 10000,
		Sessions: agent.Sessions{Ephemeral: true},
	})
	if err != nil {
		panic(err)
	}
	d.Runner = &Runner{
		Agent: a, Format: format, Out: out, Screen: screen.New(screen.Options{Out: shown, Err: &d.err, Hold: true}),
		Info: result.Info{SessionID: "s1", Provider: "fake", Model: "m"},
	}
	return d
}

type touchInput struct {
	Path string `json:"path"`
}

func (d *desk) touch() tool.Tool {
	return tool.New(tool.Def{Name: "touch", Description: "touches", Kind: tool.KindWrite},
		func(_ context.Context, _ *tool.Env, in touchInput) (tool.Access, error) {
			return tool.Access{Kind: tool.KindWrite, Verb: "touch", Object: in.Path, Paths: []string{"/w/" + in.Path}}, nil
		},
		func(_ context.Context, _ *tool.Env, _ touchInput, out io.Writer) (tool.Result, error) {
			d.ran++
			_, err := io.WriteString(out, "touching")
			return tool.Result{Text: "touched"}, err
		})
}

// asking is a reply that says something and then calls the tool.
func asking() fake.Step {
	return fake.Step{Text: []string{"I shall touch it."},
		Calls: []provider.ToolCall{fake.ToolCall("c1", "touch", `{"path":"it's"}`)}}
}

func yes(context.Context, agent.Question) (agent.Answer, error) {
	return agent.Answer{Verdict: agent.Yes}, nil
}

func TestTextIsTheAnswerAlone(t *testing.T) {
	t.Parallel()
	d := newDesk(Text, nil, asking(), fake.Say("It is ", "done.\n\n"))
	d.Ask = yes
	response, failure := d.Run(t.Context(), "go")
	if failure != nil || d.ran != 1 || response.Text == "" {
		t.Fatalf("failure %v, the tool ran %d times", failure, d.ran)
	}
	if got := d.out.String(); got != "It is done.\n" {
		t.Errorf("stdout is %q", got)
	}
	if !strings.Contains(d.err.String(), "I shall touch it.") {
		t.Errorf("stderr lacks what was said before the call: %q", d.err.String())
	}
}

func TestAFaultPrintsWhatThereIs(t *testing.T) {
	t.Parallel()
	d := newDesk(Text, nil, fake.Step{Text: []string{"half an ans"},
		Err: &provider.Error{Kind: provider.KindInvalid, Provider: "fake", Message: "no"}})
	response, failure := d.Run(t.Context(), "go")
	if failure == nil || failure.Kind != agent.KindInvalid || response.Text != "half an ans" {
		t.Errorf("failure %v, response %q", failure, response.Text)
	}
	if got := d.out.String(); got != "half an ans\n" {
		t.Errorf("stdout is %q", got)
	}
}

func TestAnInterruptPrintsWhatThereIs(t *testing.T) {
	t.Parallel()
	gate := fake.NewGate()
	d := newDesk(Text, nil, fake.Step{Text: []string{"half", "more"}, Gate: gate, GateAfter: 2})
	ctx, stop := context.WithCancelCause(t.Context())
	go func() {
		<-gate.Reached()
		stop(&SignalError{syscall.SIGINT})
	}()
	_, failure := d.Run(ctx, "go")
	if failure == nil || failure.Kind != "signal" {
		t.Errorf("failure %v of kind %s", failure, failure.Kind)
	}
	if got := d.out.String(); got != "half\n" {
		t.Errorf("stdout is %q", got)
	}
}

func TestNoOneCanAnswer(t *testing.T) {
	t.Parallel()
	d := newDesk(Text, nil, asking(), fake.Say("I could not."))
	response, failure := d.Run(t.Context(), "go")
	if failure == nil || failure.Kind != agent.KindApproval || d.ran != 0 || len(response.Denied) != 1 {
		t.Fatalf("failure %v, the tool ran %d times, denied %v", failure, d.ran, response.Denied)
	}
	if want := `artoo --allow 'touch(it'\''s)'`; failure.Hint != want {
		t.Errorf("the hint is %s, want %s", failure.Hint, want)
	}
	if want := "artoo: denied: touch it's: no one can answer (headless run)\n  try: artoo --allow 'touch(it'\\''s)'\n"; !strings.Contains(d.err.String(), want) {
		t.Errorf("stderr is %q, want %q in it", d.err.String(), want)
	}
	if got := d.out.String(); got != "I could not.\n" {
		t.Errorf("stdout is %q", got)
	}
}

// A refusal by the user is no failure, one without a user is, and an error counts over both.
func TestWhatDecidesTheExit(t *testing.T) {
	t.Parallel()
	no := func(context.Context, agent.Question) (agent.Answer, error) { return agent.Answer{Reason: "later"}, nil }
	fails := fake.Step{Err: &provider.Error{Kind: provider.KindAuth, Provider: "fake"}}
	for name, test := range map[string]struct {
		ask  Asker
		last fake.Step
		want agent.Kind
	}{
		"no":     {no, fake.Say("well"), ""},
		"nobody": {nil, fake.Say("well"), agent.KindApproval},
		"error":  {nil, fails, agent.KindAuth},
	} {
		d := newDesk(Text, nil, asking(), test.last)
		d.Ask = test.ask
		_, failure := d.Run(t.Context(), "go")
		var got agent.Kind
		if failure != nil {
			got = failure.Kind
		}
		if got != test.want {
			t.Errorf("%s: the kind is %q, want %q", name, got, test.want)
		}
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		broken := fake.Step{Reasoning: []string{"hm"}, Text: []string{"I", " was"},
			Err: &provider.Error{Kind: provider.KindProvider, Provider: "fake", Status: 500, Message: "out of order"}}
		d := newDesk(JSONL, nil, broken, asking(), fake.Say("<done> & gone"))
		d.Ask = yes
		if _, failure := d.Run(t.Context(), "go"); failure != nil {
			t.Fatal(failure)
		}
		want := strings.Join([]string{
			`{"type":"session","v":1,"session_id":"s1","provider":"fake","model":"m","sandbox":"none","mode":""}`,
			`{"type":"reasoning","text":"hm"}`,
			`{"type":"text","text":"I"}`,
			`{"type":"text","text":" was"}`,
			`{"type":"retry","try":2,"tries":5,"wait_ms":500,"discard":3,"reason":"fake: out of order (500)"}`,
			`{"type":"text","text":"I shall touch it."}`,
			`{"type":"tool_input","tool":"touch","index":0,"bytes":15}`,
			`{"type":"usage","request":USAGE}`,
			`{"type":"tool_call","id":"c1","tool":"touch","input":{"path":"it's"},"object":"it's","index":0,"of":1}`,
			`{"type":"approval","question":"q1","id":"c1","tool":"touch","object":"it's","answer":"yes","nobody":false,"reason":"","rule":"touch(it's)",` +
				`"decided_by":"typed","shown":"b388aa12656a4b3d"}`,
			`{"type":"tool_output","id":"c1","text":"touching"}`,
			`{"type":"tool_result","id":"c1","tool":"touch","status":"ok","text":"touched","file":"","ms":0}`,
			`{"type":"text","text":"<done> & gone"}`,
			`{"type":"usage","request":USAGE}`,
			``,
		}, "\n")
		got := regexp.MustCompile(`"request":\{.*\}\}`).ReplaceAllString(d.out.String(), `"request":USAGE}`)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// Arguments come in many small pieces: the reports on them are few, and the last one is exact.
func TestACallThatIsWrittenIsToldNowAndThen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(JSONL, nil)
		cb := &callbacks{Screen: d.Screen, runner: d.Runner}
		for n := range 11 {
			cb.OnNotice(agent.Notice{Kind: agent.NoticeInput, Input: &agent.ToolInput{Tool: "touch", Bytes: 100 * n}})
			cb.OnNotice(agent.Notice{Kind: agent.NoticeInput, Input: &agent.ToolInput{Tool: "read", Index: 1, Bytes: n, Agent: "task 1", Parent: "t1"}})
			<-time.After(100 * time.Millisecond) // by the clock of the test
		}
		cb.OnText("more")
		want := ""
		for _, n := range []int{0, 3, 6, 9, 10} {
			want += fmt.Sprintf(`{"type":"tool_input","tool":"touch","index":0,"bytes":%d}`+"\n"+
				`{"type":"tool_input","tool":"read","index":1,"bytes":%d,"agent":"task 1","parent":"t1"}`+"\n", 100*n, n)
		}
		if diff := cmp.Diff(want+`{"type":"text","text":"more"}`+"\n", d.out.String()); diff != "" {
			t.Error(diff)
		}
	})
}

// Of several tries that failed all is void once one says something, and none when
// none does.
func TestDiscardCountsAllTriesThatFailed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		down := func(text ...string) fake.Step {
			return fake.Step{Text: text, Err: &provider.Error{Kind: provider.KindOverloaded, Provider: "fake"}}
		}
		d := newDesk(JSONL, nil, down("a", "b"), down(), down("c"), down(), down())
		response, _ := d.Run(t.Context(), "go")
		var counts []string
		for _, found := range regexp.MustCompile(`"discard":(\d+)`).FindAllStringSubmatch(d.out.String(), -1) {
			counts = append(counts, found[1])
		}
		if got := strings.Join(counts, " "); got != "2 2 1 1" || response.Text != "c" {
			t.Errorf("discard %s, the answer is %q\n%s", got, response.Text, d.out.String())
		}
	})
}

// The text of an earlier request is not void.
func TestDiscardCountsOneRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		down := fake.Step{Text: []string{"not "}, Err: &provider.Error{Kind: provider.KindOverloaded, Provider: "fake"}}
		d := newDesk(JSONL, nil, asking(), down, fake.Say("done"))
		d.Ask = yes
		if _, failure := d.Run(t.Context(), "go"); failure != nil {
			t.Fatal(failure)
		}
		if !strings.Contains(d.out.String(), `"type":"retry","try":2,"tries":5,"wait_ms":500,"discard":1,`) {
			t.Errorf("stdout is\n%s", d.out.String())
		}
	})
}

// full takes so many writes, and then no more.
type full struct {
	bytes.Buffer
	left int
}

func (f *full) Write(p []byte) (int, error) {
	if f.left--; f.left < 0 {
		return 0, syscall.ENOSPC
	}
	return f.Buffer.Write(p)
}

func TestStdoutThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		format   Format
		writes   int
		requests int // to the model, at most
	}{
		"text":                   {Text, 0, 1},
		"events, from the start": {JSONL, 0, 0},
		"events, later":          {JSONL, 2, 1},
	} {
		out := &full{left: test.writes}
		d := newDesk(test.format, out, fake.Say("one", "two", "three"))
		var stopped []error
		d.Stopped = func(err error) { stopped = append(stopped, err) }
		_, failure := d.Run(t.Context(), "go")
		if failure == nil || failure.Kind != agent.KindInternal || failure.What != "stdout" ||
			!errors.Is(failure, syscall.ENOSPC) {
			t.Errorf("%s: failure %v", name, failure)
		}
		if len(stopped) != 1 || !errors.Is(stopped[0], syscall.ENOSPC) {
			t.Errorf("%s: told %v", name, stopped)
		}
		if got := len(d.model.Requests()); got > test.requests {
			t.Errorf("%s: the model was asked %d times", name, got)
		}
	}
}

func TestTheLiveOutputInEventsIsBounded(t *testing.T) {
	t.Parallel()
	var out, err bytes.Buffer
	c := &callbacks{Screen: screen.New(screen.Options{Out: &out, Err: &err}),
		runner: &Runner{Format: JSONL, Out: &out}, output: map[string]int{}}
	call := agent.Call{ToolCall: provider.ToolCall{ID: "1", Name: "bash"}}
	for range 100 {
		c.OnToolOutput(call, strings.Repeat("é", 500))
	}
	if n := out.Len(); n < maxOutput || n > maxOutput+5000 || !strings.HasSuffix(out.String(), `is not shown]\n"}`+"\n") {
		t.Errorf("%d bytes, the last %q", n, out.String()[max(n-60, 0):])
	}
	c.OnToolResult(call, agent.CallResult{Status: agent.CallOK})
	out.Reset()
	if c.OnToolOutput(call, "again"); !strings.Contains(out.String(), "again") {
		t.Error("the next call with this id is not told")
	}
}
