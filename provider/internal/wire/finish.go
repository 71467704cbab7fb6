package wire

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"artoo/provider"
)

// finish removes calls that are empty or beyond MaxCalls, and looks for signs of a lost call.
func finish(done provider.Done) (_ provider.Done, notice string) {
	calls := 0
	parts := slices.DeleteFunc(slices.Clone(done.Message.Parts), func(p provider.Part) bool {
		call, ok := p.(provider.ToolCall)
		if !ok {
			return false
		}
		if call.Name == "" && call.Raw == "" && string(call.Input) == "{}" {
			return true
		}
		calls++
		return calls > MaxCalls
	})
	if len(parts) < len(done.Message.Parts) {
		done.Message.Parts = parts
	}
	if calls > MaxCalls {
		notice = fmt.Sprintf("the reply makes %d calls: the first %d count, the others are left out", calls, MaxCalls)
	}
	if calls == 0 && done.Stop == provider.StopToolUse {
		done.Stop = provider.StopComplete
	}
	if calls == 0 && done.Stop == provider.StopComplete {
		done.Doubt, done.Unread = doubt(done)
	}
	return done, notice
}

// The reasons to doubt that an answer is the model's own text.
const (
	doubtOpenCall = "the answer ends inside a call that is written as text"
	doubtTextCall = "the answer ends with a call that is written as text"
	doubtUnseen   = "the server counts far more text than it sent"
)

// doubt says why an answer may be the rest of a lost call, or "", and whether the call stands in
// the text.
func doubt(done provider.Done) (why string, unread bool) {
	text := strings.TrimSpace(done.Message.Text())
	if text == "" {
		return "", false // an empty reply is asked again anyway
	}
	if why := writesCall(text); why != "" {
		return why, true
	}
	const many, least = 200, 8 // tokens; no answer has as many to the visible character
	thought := slices.ContainsFunc(done.Message.Parts,
		func(p provider.Part) bool { _, ok := p.(provider.Reasoning); return ok })
	if u := done.Usage; !thought && u.Reasoning == 0 && u.Output >= many && utf8.RuneCountInString(text)*least < u.Output {
		return doubtUnseen, false
	}
	return "", false
}

// textCalls are the forms of calls that models write as text. A closed one counts if it has one of the words in
// holds; every closed one of a form without such words does.
var textCalls = []struct {
	opens, closes string
	holds         []string
}{

	{"<tool_call>", "</tool_call>", []string{`name"`, "<function=", "<arg_key>"}},
	{"<function=", "</function>", nil},
	{"<function_calls>", "</function_calls>", []string{"name="}},
	{"<invoke name=", "</invoke>", nil},
	{"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", nil},
	{"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", nil},
	{"[TOOL_CALLS]", "", []string{"{"}},
	{"<|python_tag|>", "", []string{"{", "("}},
	{"<|channel|>commentary to=", "", []string{"{"}},
}

// writesCall says why a text ends with an unread call outside a code block, or "".
func writesCall(text string) string {
	for _, form := range textCalls {
		at := strings.LastIndex(text, form.opens)
		if at < 0 || strings.Count(text[:at], "```")%2 == 1 {
			continue
		}
		if line := text[strings.LastIndexByte(text[:at], '\n')+1 : at]; strings.TrimSpace(line) != "" {
			continue
		}
		call, rest, closed := text[at:], "", true
		if form.closes != "" {
			call, rest, closed = strings.Cut(call, form.closes)
		}
		switch {
		case !closed:
			return doubtOpenCall
		case strings.TrimSpace(rest) == "" && (form.holds == nil || slices.ContainsFunc(form.holds,
			func(word string) bool { return strings.Contains(call[len(form.opens):], word) })):
			return doubtTextCall
		}
	}
	return ""
}
