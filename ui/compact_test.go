package ui

import (
	"strings"
	"testing"

	"artoo/agent"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/ui/screen"
)

func TestTheQuestionWhetherToGoOnIsAnswerable(t *testing.T) {
	t.Parallel()
	q := agent.Question{Kind: agent.QuestionSteps, Reason: "50 steps are used; continue for 50 more?"}
	s := screen.New(screen.Options{})
	if got, want := s.GoOn(q), "approve: 50 steps are used; continue for 50 more? [y,n] (n) "; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestCompactIsNeverRefused(t *testing.T) {
	t.Parallel()
	shown, _ := say(t, func(o *Options) { o.Agent = testAgent(t) }, "/compact", "/compact all of it", "/uncompact")
	if strings.Count(shown, "nothing to compact yet: recent steps") != 2 ||
		!strings.Contains(shown, "no compaction to undo") {
		t.Errorf("shown %q", shown)
	}
}

func TestCompactShowsWhatItDidAndIsTakenBack(t *testing.T) {
	t.Parallel()
	a := testAgent(t)
	model := a.Model()
	model.Provider = &fake.Provider{Steps: []fake.Step{
		fake.Say("## Goal\ng\n## Decisions\nd\n## Files\nf\n## State\ns\n## Next\nn")}}
	a.SwitchModel(model)
	for range 8 {
		appendAll(t, a.Conversation(), provider.UserText("why?"), said(strings.Repeat("because of that ", 100)))
	}
	before := len(a.Conversation().Messages())
	shown, _ := say(t, func(o *Options) { o.Agent = a }, "/compact the reasons", "/uncompact")
	words := strings.Join(strings.Fields(shown), " ")
	for _, want := range []string{"the context was compacted from about ", "a summary replaces 5 messages (1 request, ",
		"; /compact show shows it, /uncompact takes it back", "the last compaction is undone: 5 messages are sent again"} {
		if !strings.Contains(words, want) {
			t.Errorf("%q is not shown: %s", want, words)
		}
	}
	if strings.Contains(words, "Goal") {
		t.Errorf("the summary is shown: %s", words)
	}
	if now := len(a.Conversation().Messages()); now != before {
		t.Errorf("%d messages, there were %d", now, before)
	}
}
