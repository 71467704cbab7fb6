package providertest

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"artoo/provider"
)

// TestACallOfNothingIsNoCall: some parsers leave one behind.
func TestACallOfNothingIsNoCall(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w Wire) {
		b := newBench(t, w, Config{}, w.Build(Text("ok"), Call("c9", "", "{}")))
		if _, done := b.done(t, question()); len(done.Message.Calls()) != 0 || done.Stop != provider.StopComplete ||
			done.Message.Text() != "ok" {
			t.Errorf("%s, %+v", done.Stop, done.Message)
		}
		b = newBench(t, w, Config{}, w.Build(Call("c1", "read", "{}"), Call("c9", "", "{}"),
			Call("c2", "", `{"path":"a"}`)))
		if _, done := b.done(t, question()); len(done.Message.Calls()) != 2 || done.Stop != provider.StopToolUse {
			t.Errorf("%s, %+v", done.Stop, done.Message)
		}
	})
}

// TestThousandsOfCallsAreCut, and a name of any length, so that the session
// stays one that can be resumed.
func TestThousandsOfCallsAreCut(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w Wire) {
		var calls []Item
		for i := range 1000 {
			calls = append(calls, Call(fmt.Sprintf("c%d", i), strings.Repeat("n", 1000), `{"path":"a"}`))
		}
		b := newBench(t, w, Config{}, w.Build(calls...))
		r, done := b.done(t, question())
		if got := done.Message.Calls(); len(got) != 128 || len(got[0].Name) != 128 || got[127].ID != "c127" {
			t.Errorf("%d calls", len(got))
		}
		if !told(r, "1000 calls") {
			t.Errorf("not said: %+v", r.Events)
		}
	})
}

func told(r Result, words string) bool {
	for _, e := range r.Events {
		if n, ok := e.(provider.Notice); ok && n.Warning && strings.Contains(n.Text, words) {
			return true
		}
	}
	return false
}

// TestACallThatWasLost: an answer that ends inside a call written as text,
// or of which most was never sent, is asked for once more, and taken as it is if
// it comes again.
func TestACallThatWasLost(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string][]Item{
		"an open call":  {Text("I look.\n<tool_call>\n{\"name\": \"read\"")},
		"a parser's":    {Text("\n<tool_call>")},
		"a closed call": {Text("I look.\n<tool_call>\n{\"name\": \"read\", \"arguments\": {}}\n</tool_call>\n")},
		"a function":    {Text("<function=read>\n<parameter=path>\na\n</parameter>\n</function>")},
		"in both":       {Text("<tool_call>\n<function=read>{\"path\":\"a\"}</function>\n</tool_call>")},
		"invoked":       {Text("<function_calls><invoke name=\"read\"></invoke></function_calls>")},
		"invoked alone": {Text("I look.\n<invoke name=\"read\"><parameter name=\"path\">a</parameter></invoke>")},
		"GLM's":         {Text("<tool_call>read\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n</tool_call>")},
		"Kimi's":        {Text("<|tool_calls_section_begin|>functions.read:0{}<|tool_calls_section_end|>")},
		"DeepSeek's":    {Text("<｜tool▁calls▁begin｜>read{}<｜tool▁calls▁end｜>")},
		"Mistral's":     {Text("I look.\n[TOOL_CALLS][{\"name\": \"read\"}]")},
		"Llama's":       {Text("<|python_tag|>read.call(path=\"a\")")},
		"gpt-oss's":     {Text("<|channel|>commentary to=functions.read <|message|>{}")},
		"nothing shown": {Text("OK."), Usage(provider.Usage{Input: 10, Output: 400})},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w Wire) {
				// The retrier waits between its tries.
				synctest.Test(t, func(t *testing.T) {
					good := w.Build(Text("fine"))
					replies := Script(w.Build(lost...), good, w.Build(lost...), w.Build(lost...), w.Build(lost...))
					b := ServeInMemory(t, replies).bench(w, Config{})
					p := &provider.Retrier{Provider: b.provider, Rand: func() float64 { return 1 }}
					r := Collect(p.Stream(t.Context(), question()))
					if r.Err != nil || r.Done.Message.Text() != "fine" || r.Done.Tries != 2 || r.Done.Usage.Output <= 5 {
						t.Fatalf("%q after %d tries, %v, used %+v", r.Done.Message.Text(), r.Done.Tries, r.Err, r.Done.Usage)
					}
					again := Collect(p.Stream(t.Context(), question()))
					if again.Err != nil || again.Done.Tries != 2 || !told(again, "uses the answer as it is") ||
						again.Done.Message.Text() == "" {
						t.Errorf("twice: %q after %d tries, %v", again.Done.Message.Text(), again.Done.Tries, again.Err)
					}
					third := Collect(p.Stream(t.Context(), question()))
					if third.Err != nil || third.Done.Tries != 1 {
						t.Errorf("what is the server's way is tried again: %d tries, %v", third.Done.Tries, third.Err)
					}
					if name != "nothing shown" && !told(third, "uses the answer as it is") {
						t.Error("a call that nothing ran ends the turn without a word")
					}
				})
			})
		})
	}
}

// TestAnAnswerIsNotDoubtedLightly: these answers look like a lost call and are none.
func TestAnAnswerIsNotDoubtedLightly(t *testing.T) {
	t.Parallel()
	for name, good := range map[string][]Item{
		"a call of none":       {Text("<tool_call>\n{}\n</tool_call>")},
		"an example":           {Text("<tool_call>{\"name\": \"read\"}</tool_call> is how it is written.")},
		"a closed one in code": {Text("```\n<function=read></function>\n```")},
		"in a sentence":        {Text("It begins with <tool_call> and a brace.")},
		"in code":              {Text("```\n<tool_call>\n{\"name\"\n```\nSo it is.")},
		"in an open one":       {Text("```\n<tool_call>\n{\"name\"")},
		"reasoning":            {Reason("hm"), Text("Yes."), Usage(provider.Usage{Input: 10, Output: 400})},
		"counted":              {Text("Yes."), Usage(provider.Usage{Input: 10, Output: 400, Reasoning: 398})},
		"short":                {Text("4"), Usage(provider.Usage{Input: 10, Output: 100})},
		"long":                 {Text(strings.Repeat("word ", 100)), Usage(provider.Usage{Input: 10, Output: 500})},
		"a call":               {Text("<tool_call>"), Call("c1", "read", "{}")},
		"Mistral's mark alone": {Text("[TOOL_CALLS] is how it begins.")},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, w Wire) {
				b := newBench(t, w, Config{}, w.Build(good...))
				if _, done := b.done(t, question()); done.Doubt != "" && (name != "counted" || done.Usage.Reasoning > 0) {
					t.Errorf("doubted: %s", done.Doubt)
				}
			})
		})
	}
}

// TestAKeyTwice: the call is not run, and its kept form has each key once, also where an older session kept it as it
// came.
func TestAKeyTwice(t *testing.T) {
	t.Parallel()
	for _, args := range []string{`{"path":"a","path":"b"}`, `{"edits":[{"x":1},{"y":{"k":1,"k":1}}]}`,
		`{"path":"a","p\u0061th":"b"}`} {
		onEach(t, func(t *testing.T, w Wire) {
			b := newBench(t, w, Config{}, w.Build(Call("c1", "read", args)), w.Build(Text("ok")), w.Build(Text("ok")))
			_, done := b.done(t, question())
			call := done.Message.Calls()[0]
			if _, twice := provider.DuplicateKey(call.Input); twice || call.Raw == "" {
				t.Errorf("input %s, raw %q", call.Input, call.Raw)
			}
			for _, input := range []string{string(call.Input), args} {
				call.Input = []byte(input)
				req := question()
				req.Messages = append(req.Messages, provider.Message{Role: provider.RoleAssistant, Provider: "bench",
					Model: req.Model, Parts: []provider.Part{call}},
					provider.Message{Role: provider.RoleTool,
						Parts: []provider.Part{provider.ToolResult{CallID: call.ID, Name: "read", Text: "x"}}})
				b.done(t, req) // the validator looks at the body
			}
		})
	}
}

// TestHalvesOfACharacterInTwoPieces are one character; an escaped backslash in
// front of the same letters is no half of any.
func TestHalvesOfACharacterInTwoPieces(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w Wire) {
		for _, tc := range []struct{ first, second, want string }{
			{"a HIGH", "LOW b", "a 😀 b"},
			{"HIGH", "LOW", "😀"},
			{"LINEud83d", "x", `\ud83dx`},
		} {
			reply := w.Build(Text(tc.first, tc.second))
			for mark, escape := range map[string]string{"HIGH": `\ud83d`, "LOW": `\ude00`, "LINE": `\\`} {
				reply = reply.replace(mark, escape)
			}
			b := newBench(t, w, Config{}, reply)
			if r, done := b.done(t, question()); r.Text != tc.want || done.Message.Text() != tc.want {
				t.Errorf("%q and %q came as %q, kept as %q", tc.first, tc.second, r.Text, done.Message.Text())
			}
		}
	})
}
