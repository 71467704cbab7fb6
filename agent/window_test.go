package agent_test

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/conversation"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
)

// narrow is a server with a window of so many tokens of so many bytes, which its refusals name.
func narrow(t *testing.T, window, per int) *fake.Provider {
	return &fake.Provider{Then: func(req provider.Request) fake.Step {
		tokens := len(req.System)
		for _, m := range req.Messages {
			tokens += len(m.Text())
		}
		if tokens = tokens/per + 10; tokens >= window {
			return fake.Step{Err: &provider.Error{Kind: provider.KindContext, Provider: "fake", Message: "too long",
				Window: window, Requested: tokens}}
		}
		step := fake.Say("noted")
		step.Usage = provider.Usage{Input: tokens, Output: 1}
		return step
	}}
}

func TestTheRoomForAMessageIsNamedInCharacters(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		char string
		per  int
	}{"one byte": {"x", 4}, "three bytes": {"\u754c", 4}, "three bytes, small tokens": {"\u754c", 2}} {
		t.Run(name, func(t *testing.T) {
			const window = 8000
			a := newAgent(narrow(t, window, c.per))
			a.Asked().Info.Context = window
			a.Hold(conversation.New(conversation.Config{MaxContextTokens: 7000}, nil))
			fits, most := window*c.per/len(c.char), 60_000
			for range 3 {
				_, err := send(t, a, &recorder{}, strings.Repeat(c.char, most))
				if err == nil {
					break
				}
				m := regexp.MustCompile(`^at most (\d+) characters`).FindStringSubmatch(agent.Classify(err).Hint)
				if m == nil {
					t.Fatalf("error %v, hint %q", err, agent.Classify(err).Hint)
				}
				if most, err = strconv.Atoi(m[1]); err != nil {
					t.Fatal(err)
				}
			}
			if most > fits || most < fits/3 {
				t.Errorf("at most %d characters, where %d fit", most, fits)
			}
		})
	}
}

func TestAMessageThatIsTooLongCostsNothing(t *testing.T) {
	t.Parallel()
	p := narrow(t, 1<<30, 1)
	a := newAgent(p)
	a.Asked().Info.Context = 20_000
	a.Hold(conversation.New(conversation.Config{MaxContextTokens: 15_000, OutputDir: t.TempDir()}, nil))
	for i := range 12 {
		mustSend(t, a, &recorder{}, fmt.Sprint("message ", i, strings.Repeat(" more", 200)))
	}
	was := strings.Join(history(a), "\n")
	then := p.Then
	p.Then = func(provider.Request) fake.Step { return fake.Fail(provider.KindContext) }
	cb := &recorder{}
	_, err := send(t, a, cb, strings.Repeat("much ", 1000))
	if f := agent.Classify(err); f == nil || f.Kind != agent.KindContext {
		t.Fatalf("error %v", err)
	}
	if now := strings.Join(history(a), "\n"); now != was {
		t.Errorf("the history is %d bytes, it was %d", len(now), len(was))
	}
	if told := fmt.Sprintf("%+v", cb.notices); !strings.Contains(told, "the context was trimmed") ||
		!strings.Contains(told, "messages trimmed for it are back") {
		t.Errorf("told %s", told)
	}
	p.Then = then
	if r, err := send(t, a, &recorder{}, "and now"); err != nil || r.Text != "noted" {
		t.Errorf("%+v, %v", r, err)
	}
}

// Where the prompt leaves room for hardly a message, the remedy says so: a new session would soon be full again.
func TestAPromptThatLeavesLittleRoomIsNamed(t *testing.T) {
	t.Parallel()
	for words, want := range map[int]string{8800: "^at most [0-9]+ characters", 9200: "^--tools",
		9130: "for more room than the [0-9]+ tokens beside the prompt"} {
		a := newAgent(&fake.Provider{Steps: []fake.Step{fake.Say("done")}})
		a.Asked().Info.Context = 10_000
		c := conversation.New(conversation.Config{MaxContextTokens: 9_000}, nil)
		c.SetOverhead(strings.Repeat("word ", words), nil)
		a.Hold(c)
		_, err := send(t, a, &recorder{}, strings.Repeat("go ", 400))
		if f := agent.Classify(err); f == nil || !regexp.MustCompile(want).MatchString(f.Hint) {
			t.Errorf("%d words: %v, hint %q", words, err, f.Hint)
		}
	}
}

func TestARefusalForBytesTeachesNothingOfTheWindow(t *testing.T) {
	t.Parallel()
	p := &fake.Provider{Steps: []fake.Step{fake.Say("ok")}, Then: func(provider.Request) fake.Step {
		return fake.Step{Err: &provider.Error{Kind: provider.KindContext, Provider: "fake", Message: "too large",
			Status: 413, InBytes: true, Hint: "fewer images"}}
	}}
	a := newAgent(p)
	mustSend(t, a, &recorder{}, strings.Repeat("a few words ", 50))
	before := a.Conversation().EstimatedTokens()
	_, err := send(t, a, &recorder{}, "more")
	if f := agent.Classify(err); f == nil || f.Kind != agent.KindContext || f.Hint != "fewer images; "+conversation.HintFull ||
		!strings.Contains(f.Error(), "too large") {
		t.Errorf("error %v, hint %q", err, f.Hint)
	}
	if now := a.Conversation().EstimatedTokens(); now != before || a.Asked().Info.Context != 100_000 {
		t.Errorf("%d tokens, they were %d; the window is %d", now, before, a.Asked().Info.Context)
	}
}

// The model gets a list of changes and commands when the steps are no longer sent.
func TestTheModelHearsWhatItDidInStepsThatAreLeftOut(t *testing.T) {
	t.Parallel()
	run := makeTool("bash", tool.KindRun, func(_ context.Context, arg string, _ io.Writer) (tool.Result, error) {
		return tool.Result{Text: strings.Repeat("output ", 300), Summary: "exit 1 in 2.5s", IsError: true}, nil
	})
	p := &fake.Provider{}
	for i, call := range []provider.ToolCall{
		fake.ToolCall("c0", "write", `{"arg":"week.go"}`), fake.ToolCall("c1", "bash", `{"arg":"make test"}`),
		fake.ToolCall("c2", "bash", `{"arg":"make refused"}`), fake.ToolCall("c3", "write", `{"arg":"../elsewhere.go"}`),
	} {
		step := fake.Calls(call)
		step.Text = []string{fmt.Sprint("step ", i, strings.Repeat(" words", 100))}
		p.Steps = append(p.Steps, step)
	}
	for range 4 {
		p.Steps = append(p.Steps, fake.Say(strings.Repeat("an answer ", 150)))
	}
	a := newAgent(p, makeTool("write", tool.KindWrite, nil), run)
	a.Hold(conversation.New(conversation.Config{MaxContextTokens: 1250}, nil))
	yes, no := agent.Answer{Verdict: agent.Yes}, agent.Answer{}
	cb := &recorder{answers: []agent.Answer{yes, yes, no, yes}}
	for _, text := range []string{"do it", "and then", "and then", "and now"} {
		mustSend(t, a, cb, text)
	}
	req, _ := p.Last()
	want := "do it[What you did and answered next was left out to save room. In all that was left out so far you changed week.go, /p/../elsewhere.go, and you ran make test (exit 1), and the user decided: make refused was refused, and you said: 3 other texts / step 3 words words words words words words words words words words words words words words words words words words word….]"
	if got := req.Messages[0].Text(); got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// A note is sent once. It goes along with the next message if its own was too long.
func TestANoteOutlivesAMessageThatIsTooLong(t *testing.T) {
	t.Parallel()
	a := newAgent(narrow(t, 2000, 1))
	a.Asked().Info.Context = 2000
	a.Hold(conversation.New(conversation.Config{MaxContextTokens: 1500}, nil))
	must(t, a.SetMode(permission.ModePlan))
	if _, err := send(t, a, &recorder{}, strings.Repeat("much ", 2000)); err == nil {
		t.Fatal("it was sent")
	}
	for range 2 {
		mustSend(t, a, &recorder{}, "short")
	}
	wantLines(t, history(a), "user short "+a.ModeNote(permission.ModePlan), "assistant noted", "user short",
		"assistant noted")
}

// A server that takes a small message for a long one is quoted: by artoo's own count there is room.
func TestAMessageThatHasRoomIsNotCalledTooLong(t *testing.T) {
	t.Parallel()
	refusal := &provider.Error{Kind: provider.KindContext, Provider: "fake", Window: 200_000, Requested: 212_230,
		Message: "prompt is too long: 212230 tokens > 200000 maximum"}
	a := newAgent(&fake.Provider{Steps: []fake.Step{{Err: refusal}, {Err: refusal}}})
	a.Hold(conversation.New(conversation.Config{MaxContextTokens: 180_000}, nil))
	a.Asked().Info.Context = 200_000
	_, err := send(t, a, &recorder{}, "one")
	if f := agent.Classify(err); f == nil || f.Kind != agent.KindContext || !strings.Contains(f.Error(), refusal.Message) {
		t.Errorf("error %v", err)
	}
}

// TestACountThatCannotBeTeachesNothing: of a refusal of far more than was sent only the server's maximum is a fact.
func TestACountThatCannotBeTeachesNothing(t *testing.T) {
	t.Parallel()
	refusal := &provider.Error{Kind: provider.KindContext, Provider: "fake", Window: 200_000, Requested: 212_230,
		Message: "prompt is too long: 212230 tokens > 200000 maximum"}
	steps := []fake.Step{fake.Say(strings.Repeat("words ", 500)), fake.Say(strings.Repeat("words ", 500)), {Err: refusal}, {Err: refusal}}
	a := newAgent(&fake.Provider{Steps: append(steps, fake.Say("noted"))})
	a.Hold(conversation.New(conversation.Config{MaxContextTokens: 180_000}, nil))
	a.Asked().Info.Context = 200_000
	mustSend(t, a, &recorder{}, "one")
	mustSend(t, a, &recorder{}, "two")
	_, err := send(t, a, &recorder{}, "three")
	if f := agent.Classify(err); f == nil || f.Kind != agent.KindContext || !strings.Contains(f.Error(), "212230 tokens > 200000 maximum") {
		t.Errorf("error %v", err)
	}
	if refused, _ := a.Conversation().Window(); refused > 0 || a.Conversation().Budget() != 180_000 || a.Asked().Info.Context != 200_000 {
		t.Errorf("refused %d, budget %d, window %d", refused, a.Conversation().Budget(), a.Asked().Info.Context)
	}
	mustSend(t, a, &recorder{}, "four")
}
