package agent_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/tool/sandbox"
)

// Without layers a system program runs read-only first. Only a yes has it run again, on
// the project itself, and then nothing of the first run counts.
func TestWhatTriesToWriteIsAskedAboutAndRunsAgain(t *testing.T) {
	t.Parallel()
	const first, second = permission.PlaceReadOnly, permission.PlaceSandbox
	write := []sandbox.Denial{{Kind: sandbox.DenialWrite, Paths: []string{"a.txt"}}}
	for _, row := range []struct {
		name    string
		denials []sandbox.Denial
		answers []agent.Answer
		mode    permission.Mode
		places  []permission.Place
		asked   int
		text    string
	}{
		{"no attempt", nil, nil, permission.ModeAsk, []permission.Place{first}, 0, "exit status 3"},
		{"an attempt, yes", write, []agent.Answer{{Verdict: agent.Yes}}, permission.ModeAsk, []permission.Place{first, second}, 1,
			"[it ran read-only, and tried to write a.txt; with the user's yes it ran again]"},
		{"an attempt, no", write, []agent.Answer{{Reason: "not that"}}, permission.ModeAuto, []permission.Place{first}, 1,
			"tried to write a.txt; nothing was changed"},
		{"an attempt, no one answers", write, nil, permission.ModeEdits, []permission.Place{first}, 1, "nothing was changed"},
		{"an attempt in plan mode", write, nil, permission.ModePlan, []permission.Place{first}, 0, "nothing was changed"},
		{"a failure that no one saw", []sandbox.Denial{{Kind: sandbox.DenialWrite}}, nil, permission.ModeAsk, []permission.Place{first}, 1,
			"failed or tried to change files"},
		{"the project's programs", []sandbox.Denial{{Kind: sandbox.DenialExec}}, nil, permission.ModeAsk, []permission.Place{first}, 1,
			"tried to run programs of the project"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c, cb := &confinement{denials: row.denials}, &recorder{answers: row.answers}
			a := c.agent(t, "uniq none; exit 3", row.mode)
			a.Policy().Confinement.Layer, a.Policy().Confinement.First = false, true
			r := mustSend(t, a, cb, "go")
			result := strings.Join(history(a), "\n")
			if !slices.Equal(c.places(), row.places) || len(cb.asked) < row.asked || row.asked == 0 && len(cb.asked) > 0 ||
				!strings.Contains(result, row.text) {
				t.Errorf("ran in %v, asked %d times: %s", c.places(), len(cb.asked), result)
			}
			if row.asked > 0 && (cb.asked[0].Kind != agent.QuestionApproval || cb.asked[0].Place != second) {
				t.Errorf("asked %+v", cb.asked[0])
			}
			if denied := len(r.Denied) > 0; denied != (row.denials != nil && len(row.places) == 1) {
				t.Errorf("denied %+v", r.Denied)
			}
		})
	}
}

// A command that is only tried read-only never runs unconfined where that place is unavailable.
func TestWhatCannotBeTriedIsAskedAbout(t *testing.T) {
	t.Parallel()
	c := &confinement{fails: map[permission.Place]error{permission.PlaceReadOnly: errors.New("no mounts")}}
	cb := &recorder{answers: []agent.Answer{{}}}
	a := c.agent(t, "uniq none; echo ran", permission.ModeAsk)
	a.Policy().Confinement.Layer, a.Policy().Confinement.First = false, true
	mustSend(t, a, cb, "go")
	if result := strings.Join(history(a), "\n"); len(cb.asked) != 1 || strings.Contains(result, "\nran") {
		t.Errorf("asked %d times: %s", len(cb.asked), result)
	}
}
