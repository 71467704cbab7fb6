//go:build unix

package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"artoo/provider/providertest"
)

// talkOfCalls is a conversation in a terminal whose model makes one call after the
// other, and then says "well done".
func talkOfCalls(t *testing.T, env, args []string, calls ...[2]string) *atTerminal {
	t.Helper()
	k := &atTerminal{dir: t.TempDir()}
	m := newModel(t, func(n int, r providertest.Request) providertest.Reply {
		k.mu.Lock()
		k.heard = append(k.heard, string(r.Body))
		k.mu.Unlock()
		if len(calls) == 0 {
			return providertest.Chat(providertest.Text("well done"))
		}
		call := calls[0]
		calls = calls[1:]
		return providertest.Chat(providertest.Call(fmt.Sprint("c", n), call[0], call[1]))
	})
	k.env = m.env(t, append([]string{"TERM=xterm", "NO_COLOR=1", "container=test", "ARTOO_SANDBOX=off", "ARTOO_PAGER=cat"}, env...)...)
	k.terminal = startTerminal(t, k.dir, k.env, buildProgram(t, moduleDir), args...)
	k.shows("/help for commands.", "you")
	return k
}

func TestAPlanIsAnsweredInATerminal(t *testing.T) {
	t.Parallel()
	long, err := json.Marshal(map[string]string{"plan": "# Long\n\n" + strings.Repeat("- a step\n", 500)})
	if err != nil {
		t.Fatal(err)
	}
	for _, env := range [][]string{nil, {"TERM=dumb"}} {
		plan := func(text string) [2]string { return [2]string{"exit_plan_mode", `{"plan":"` + text + `"}`} }
		k := talkOfCalls(t, env, []string{"--approval", "plan"}, plan(`# The plan\n\n1. use **Postgres**`), plan("ask first"),
			[2]string{"exit_plan_mode", string(long)}, plan("smaller"), [2]string{"write", `{"path":"made","content":"x"}`})
		const asks, ends = "approve: carry out this plan, in mode ask?", "?] (n) "
		k.types("go\r")
		heard := ""
		for _, c := range []struct{ shown, answer, then, hears string }{
			{"The plan", "n callers first", "not approved: callers first", "did not approve the plan: callers first"},
			{"ask first", "", "not approved", "did not approve the plan. Plan mode stays on"},
			{"a step", "y", "", ""}, // not all of it was shown
			{"", "p", "a step", ""},
			{"", "n", "not approved", "did not approve the plan. Plan mode stays on"},
			{"smaller", "a", "please answer y, e, f, n, p, q or ?", ""},
			{"", "e", "approved, mode edits", "The user approved the plan: carry it out"},
		} {
			k.shows(c.shown, asks, ends)
			k.hears(heard)
			k.holds("made", "")
			k.answers(c.answer)
			k.shows(c.then)
			heard = c.hears
		}
		k.shows("well done", "you [edits]: ")
		k.holds("made", "x")
		k.leave()
	}
}

// hears checks the last message to the model; "" is anything.
func (k *atTerminal) hears(want string) {
	k.Helper()
	if told := k.told(); !strings.Contains(told, want) {
		k.Errorf("the model hears %q, not %q", told, want)
	}
}

func TestAQuestionOfTheModelIsAnsweredInATerminal(t *testing.T) {
	t.Parallel()
	for _, env := range [][]string{nil, {"TERM=dumb"}} {
		which := [2]string{"ask_user", `{"question":"Which store?","choices":["SQLite: one file","Postgres"]}`}
		k := talkOfCalls(t, env, nil, which, which, which, [2]string{"ask_user", `{"question":"Its name?"}`})
		k.types("go\r")
		const asks = "answer: [1-2, or your words] (none) "
		heard := ""
		for _, c := range []struct{ asks, answer, then, hears string }{
			{asks, "3", "no choice 3", ""},
			{asks, "2", "Postgres", "The user answers: Postgres"},
			{asks, "sqlite", "SQLite: one file", "The user answers: SQLite: one file"},
			{asks, "neither, use files", "neither, use files", "The user answers: neither, use files"},
			{"answer: [your words] (none) ", "", "no answer", "The user gave no answer."},
		} {
			k.shows(c.asks)
			k.hears(heard)
			k.answers(c.answer)
			k.shows(c.then)
			heard = c.hears
		}
		k.shows("well done", "you: ")
		k.hears(heard)
		k.leave()
	}
}
