package agent_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"artoo/agent"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
)

// play sends "go" to an agent with a tool that counts its runs, and returns the
// response, the history as lines, and how often the tool ran.
func play(t *testing.T, steps ...fake.Step) (r *agent.Response, lines []string, runs int, p *fake.Provider, err error) {
	t.Helper()
	p = &fake.Provider{Steps: steps}
	a := newAgent(p, makeTool("look", tool.KindRead, func(_ context.Context, arg string, _ io.Writer) (tool.Result, error) {
		runs++
		return tool.Result{Text: "saw " + arg}, nil
	}))
	r, err = send(t, a, &recorder{}, "go")
	usable(t, a)
	return r, history(a), runs, p, err
}

// TestWhatCameBeforeAFaultIsKept, marked as a part: it is no turn of the
// model that was complete, and its calls are none.
func TestWhatCameBeforeAFaultIsKept(t *testing.T) {
	t.Parallel()
	for _, kind := range []provider.ErrorKind{provider.KindOverloaded, provider.KindNetwork} {
		broken := fake.Step{Text: []string{"so far"}, Err: &provider.Error{Kind: kind, Message: "gone"}}
		r, lines, runs, _, err := play(t, broken)
		if err == nil || r.Text != "so far" || runs != 0 || len(lines) != 2 || lines[1] != "assistant partial so far" {
			t.Errorf("%s: %v, %+v, history %q", kind, err, r, lines)
		}
	}
}

// TestTheModelHearsOfItsBrokenCall has the model read the beginning of its call.
func TestTheModelHearsOfItsBrokenCall(t *testing.T) {
	t.Parallel()
	_, lines, runs, _, err := play(t, fake.Call("a", "look", `{"arg": "x`), fake.Say("ok"))
	if err != nil || runs != 0 || !strings.Contains(lines[2], "error=true") ||
		!strings.Contains(lines[2], `It begins: {"arg": "x`) {
		t.Errorf("%v, %d runs, history %q", err, runs, lines)
	}
}

// TestACutReplyRunsNothing: a call whose arguments are whole by chance is
// asked for again with more room, and so is a reply of nothing but reasoning.
func TestACutReplyRunsNothing(t *testing.T) {
	t.Parallel()
	cut := fake.Calls(fake.ToolCall("a", "look", `{"arg":"x"}`), fake.ToolCall("b", "look", `{"arg":"y"}`))
	cut.Stop = provider.StopMaxTokens
	reasoning := fake.Step{Reasoning: []string{"hm"}, Stop: provider.StopMaxTokens}
	for name, step := range map[string]fake.Step{"calls": cut, "reasoning": reasoning} {
		r, lines, runs, p, err := play(t, step, fake.Say("ok"))
		req, _ := p.Last()
		if err != nil || r.Text != "ok" || runs != 0 || req.MaxTokens != 4000 || len(lines) != 2 {
			t.Errorf("%s: %v, %d runs, %d tokens, history %q", name, err, runs, req.MaxTokens, lines)
		}
	}
}

// TestACallWrittenAsText is text: it looks like an example.
func TestACallWrittenAsText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`<function_calls><invoke name="look"><parameter name="arg">x</parameter></invoke></function_calls>`,
		`{"type":"tool_use","id":"toolu_1","name":"look","input":{"arg":"x"}}`,
		"<tool_call>\n{\"name\": \"look\", \"arguments\": {\"arg\": \"x\"}}\n</tool_call>",
	} {
		r, lines, runs, p, err := play(t, fake.Say(text))
		if err != nil || runs != 0 || r.Text != text || len(lines) != 2 || len(p.Requests()) != 1 {
			t.Errorf("%v, %d runs, %d requests, history %q", err, runs, len(p.Requests()), lines)
		}
	}
}

// TestAnEmptyEnd, as it comes after results: the model is asked once to
// go on, in a message behind the results that is not kept, then the turn ends.
func TestAnEmptyEnd(t *testing.T) {
	t.Parallel()
	call := fake.Call("a", "look", `{"arg":"x"}`)
	_, lines, _, p, err := play(t, call, fake.Step{}, fake.Say("ok"))
	if err != nil || len(lines) != 4 || lines[2] != "tool result:a error=false saw x" {
		t.Errorf("%v, history %q", err, lines)
	}
	last := p.Requests()[2].Messages
	if m := last[len(last)-1]; m.Role != provider.RoleUser || !strings.HasPrefix(m.Text(), "Your last reply was empty") {
		t.Errorf("the request after nothing ends with %+v", m)
	}
	for _, m := range p.Requests()[1].Messages[2:] { // the request that got nothing
		if m.Role != provider.RoleTool {
			t.Errorf("there is a message behind the results: %+v", m)
		}
	}
	_, _, _, p, err = play(t, call, fake.Step{}, fake.Step{})
	if f := agent.Classify(err); f == nil || f.Kind != agent.KindProvider || len(p.Requests()) != 3 {
		t.Errorf("empty twice: %v after %d requests", err, len(p.Requests()))
	}
}

// TestARefusedTurnIsDropped: it is reported, not tried again, and not part of the next request.
func TestARefusedTurnIsDropped(t *testing.T) {
	t.Parallel()
	refused := fake.Calls(fake.ToolCall("a", "look", `{"arg":"x"}`))
	refused.Text, refused.Stop, refused.Detail = []string{"I will"}, provider.StopRefusal, "general_harms"
	_, lines, runs, p, err := play(t, refused)
	if f := agent.Classify(err); f == nil || f.Kind != agent.KindRefused || !strings.Contains(f.Error(), "general_harms") {
		t.Errorf("error %v", err)
	}
	if runs != 0 || len(p.Requests()) != 1 || len(lines) != 1 {
		t.Errorf("%d runs, %d requests, history %q", runs, len(p.Requests()), lines)
	}
}

// TestNoCountIsAnEstimate, and says so.
func TestNoCountIsAnEstimate(t *testing.T) {
	t.Parallel()
	r, _, _, _, err := play(t, fake.Say("four words of answer"))
	if err != nil || len(r.Requests) != 1 || !r.Requests[0].Usage.Estimated || !r.Usage.Estimated ||
		r.Usage.Input == 0 || r.Usage.Output == 0 {
		t.Errorf("%v, %+v", err, r)
	}
}

// TestAKeyTwiceIsTold: the model hears which key it was, and the call is
// not run.
func TestAKeyTwiceIsTold(t *testing.T) {
	t.Parallel()
	step := fake.Calls(provider.ToolCall{ID: "a", Name: "look", Input: []byte(`{"arg":"y"}`), Raw: `{"arg":"x","arg":"y"}`})
	_, lines, runs, _, err := play(t, step, fake.Say("ok"))
	if err != nil || runs != 0 || len(lines) < 3 || !strings.Contains(lines[2], `duplicate key "arg"`) {
		t.Errorf("%v, %d runs, history %q", err, runs, lines)
	}
}

// TestABlankReplyShowsNoBlanks: it is asked again, and the blanks would stand in
// front of the answer.
func TestABlankReplyShowsNoBlanks(t *testing.T) {
	t.Parallel()
	p := &fake.Provider{Steps: []fake.Step{fake.Say("\n", " \n"), fake.Say("\n", "  o", "k\n")}}
	cb := &recorder{}
	a := newAgent(p)
	mustSend(t, a, cb, "go")
	shown := ""
	for _, line := range cb.lines {
		if text, ok := strings.CutPrefix(line, "text "); ok {
			shown += text
		}
	}
	if shown != "\n  ok\n" {
		t.Errorf("shown %q of %q", shown, cb.lines)
	}
}
