package screen

import (
	"strings"
	"testing"

	"artoo/agent"
	"artoo/provider"
	"artoo/tool"
)

func TestTheQuestionForTypedInputNamesTheCommandItGoesTo(t *testing.T) {
	t.Parallel()
	typed := func(text, to string) agent.Question {
		return agent.Question{Number: 1, Of: 1, Call: agent.Call{ToolCall: provider.ToolCall{ID: "1", Name: "shell"},
			Access: tool.Access{Kind: tool.KindRun, Verb: "type", Command: text, Object: text, To: to, Dir: "/home/me/src/shop"}}}
	}
	for name, change := range profiles() {
		r := newRig(change)
		prompt := r.Question(typed("yes", "npm init"))
		if want := `approve: type "yes" to "npm init"?`; !strings.HasPrefix(strings.TrimPrefix(prompt, "? "), want) {
			t.Errorf("%s: asks %q, want %q", name, prompt, want)
		}
		if got := r.err.String(); !strings.Contains(got, "to npm init") || strings.Contains(got, "in ~/src/shop") {
			t.Errorf("%s: above stands %q", name, got)
		}
	}
	r := newRig(func(o *Options) { o.Width = wide(40) })
	long := "python3 -c '" + strings.Repeat("x", 200) + "\u202e'\nsh"
	q := typed(strings.Repeat("y", 100), long)
	if prompt := r.Question(q); !strings.Contains(prompt, `" to "python`) || !strings.HasSuffix(prompt, "(n) ") {
		t.Errorf("asks %q", prompt)
	}
	rows := strings.ReplaceAll(strings.ReplaceAll(r.err.String(), "\n", ""), " ", "")
	if !strings.Contains(rows, strings.Repeat("x", 200)+"<U+202E>'^Jsh") || !strings.Contains(rows, "1invisibledirectionmark") {
		t.Errorf("above stands %q", r.err.String())
	}
	if all := r.QuestionAll(q); !strings.Contains(all, "to python3 -c 'x") {
		t.Errorf("the pager has %q", all)
	}
}
