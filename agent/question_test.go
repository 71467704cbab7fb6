package agent_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"artoo/agent"
	"artoo/tool/mcp"
)

// A program's answer counts only where it is one of the question's own; an unclear one decides nothing.
func TestAnswersOfPrograms(t *testing.T) {
	t.Parallel()
	approval := agent.Question{ID: "q1", Kind: agent.QuestionApproval, Rule: "bash(make)",
		Covers: func(rule string) error {
			if rule != "bash(make)" {
				return errors.New("does not cover it")
			}
			return nil
		}}
	once := approval
	once.Rule = ""
	form := agent.Question{Kind: agent.QuestionForm, Form: &mcp.Request{Server: "s",
		Fields: []mcp.Field{{Name: "n", Type: mcp.IntegerField, Required: true}}}}
	choice := agent.Question{Kind: agent.QuestionChoice, Choices: []string{"a", "b"}}
	compact := agent.Question{Kind: agent.QuestionCompact, Choices: []string{"a", "b"}}
	changes := agent.Question{Kind: agent.QuestionChanges}
	plan := agent.Question{Kind: agent.QuestionPlan}
	for _, row := range []struct {
		name   string
		q      agent.Question
		answer string
		want   agent.Verdict
		wrong  string // a part of the error; "" for an answer that counts
	}{
		{"yes", approval, `{"answer":"yes"}`, agent.Yes, ""},
		{"no", approval, `{"answer":"no","reason":"not now"}`, agent.No, ""},
		{"session", approval, `{"answer":"session"}`, agent.YesForSession, ""},
		{"a rule", approval, `{"answer":"forever","rule":"bash(make)"}`, agent.YesForever, ""},
		{"a rule that covers something else", approval, `{"answer":"session","rule":"read"}`, "", "does not cover"},
		{"a rule with yes", approval, `{"answer":"yes","rule":"bash(make)"}`, "", "a rule goes with"},
		{"input", approval, `{"answer":"yes","input":{"command":"make test"}}`, agent.Yes, ""},
		{"input that is a list", approval, `{"answer":"yes","input":[1]}`, "", "must be an object"},
		{"input with no", approval, `{"answer":"no","input":{}}`, "", "input goes with yes"},
		{"nothing", approval, `{}`, "", "is not an answer"},
		{"the letter", approval, `{"answer":"y"}`, "", "is not an answer"},
		{"other case", approval, `{"answer":"YES"}`, "", "is not an answer"},
		{"session where no rule covers", once, `{"answer":"session"}`, "", "is not an answer"},
		{"session of changes", changes, `{"answer":"session"}`, "", "is not an answer"},
		{"edits of a plan", plan, `{"answer":"session"}`, agent.YesForSession, ""},
		{"forever of a plan", plan, `{"answer":"forever"}`, "", "is not an answer"},
		{"own words", choice, `{"answer":"yes","text":"c"}`, agent.Yes, ""},
		{"no words", choice, `{"answer":"yes"}`, "", "text is missing"},
		{"another choice", compact, `{"answer":"yes","text":"c"}`, "", "one of the choices"},
		{"values", form, `{"answer":"yes","input":{"n":3}}`, agent.Yes, ""},
		{"values that are missing", form, `{"answer":"yes"}`, "", "n is missing"},
		{"values that are wrong", form, `{"answer":"yes","input":{"n":"3"}}`, "", "must be a number"},
		{"values that are null", form, `{"answer":"yes","input":null}`, "", "an object"},
		{"a form declined", form, `{"answer":"no"}`, agent.No, ""},
		{"a form cancelled", form, `{"answer":"cancel"}`, agent.Cancel, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			var e agent.AnswerEvent
			if err := json.Unmarshal([]byte(row.answer), &e); err != nil {
				t.Fatal(err)
			}
			a, err := row.q.Read(e)
			switch {
			case row.wrong == "" && (err != nil || a.Verdict != row.want):
				t.Errorf("%s: verdict %q, error %v", row.answer, a.Verdict, err)
			case row.wrong != "" && (err == nil || !strings.Contains(err.Error(), row.wrong)):
				t.Errorf("%s: error %v, want %q", row.answer, err, row.wrong)
			}
		})
	}
}
