//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/ui/prompt/prompttest"
	"artoo/ui/screen"
)

// shownRows are the rows of output, without the prompts, the lines typed there, and blank rows.
func shownRows(shown string) []string {
	var all []string
	for l := range strings.SplitSeq(shown, "\n") {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "you:") && !strings.HasPrefix(l, "you [") {
			all = append(all, l)
		}
	}
	return all
}

func TestModesAreChangedAndPrinted(t *testing.T) {
	t.Parallel()
	const ask, edits, plan = "mode ask: asks before edits; asks before other commands",
		"mode edits: edits without asking; asks before other commands",
		"mode plan: read-only; everything else is refused"
	for typed, wants := range map[string][]string{
		"/approval edits":  {edits},
		"/approval prompt": {ask},
		"/approval next|/approval next|/approval next": {edits, plan, ask},
		"/plan|/plan":                     {plan, ask},
		"/approval edits|/plan|/plan off": {edits, plan, edits},
		"/plan off":                       {ask},
		"/approval plan|/plan off":        {plan, ask},
		"/approval edits|/approval next|/approval next|/plan":  {edits, plan, ask, plan},
		"/approval edits|/approval plan|/approval plan|/plan ": {edits, plan, plan, edits},
		"/approval all":  {`/approval: unknown mode "all": use ask, edits, auto or plan`},
		"/plan the move": {`/plan: unknown word "the move": /plan alone begins and ends the mode`},
		"/approval": {ask,
			"/approval ask, edits, auto or plan changes it; next goes through ask, edits", "and plan"},
	} {
		shown, sent := say(t, busy(t), strings.Split(typed, "|")...)
		if got := strings.Join(shownRows(shown), "\n"); got != strings.Join(wants, "\n") || sent != nil {
			t.Errorf("%s: sent %q, shown\n%s", typed, sent, got)
		}
	}
}

func TestAModeThatCannotHoldHereIsRefused(t *testing.T) {
	t.Parallel()
	shown, _ := say(t, func(o *Options) { o.Agent.Policy().NoProject = "this is the home directory" }, "/approval edits", "/approval next")
	want := []string{"/approval: this is the home directory, so artoo asks before every write and", "command",
		"mode plan: read-only; everything else is refused"}
	if diff := cmp.Diff(want, shownRows(shown)); diff != "" {
		t.Error(diff)
	}
}

// The prompt names every mode except the default, in every profile, as soon as it changes,
// and further lines stand below the first.
func TestThePromptNamesTheMode(t *testing.T) {
	t.Parallel()
	for _, profile := range []screen.Profile{screen.Rich, screen.Plain, screen.Spoken} {
		k := startPTY(t, &sender{}, func(o *Options) { o.Profile = profile })
		for _, step := range [][2]string{
			{"", "you: "}, {"/approval edits\r", "you [edits]: "}, {"one\\\r", "\n             "}, {"two\r", "you [edits]: "},
			{"/plan\r", "you [plan]: "}, {"/approval ask\r", "you: "}, {"\x04", ""},
		} {
			if step[0] != "" {
				k.send(step[0])
			}
			k.expect(step[1])
		}
		k.ends(0)
	}
}

func TestShiftTabGoesThroughTheModes(t *testing.T) {
	t.Parallel()
	k := startPTY(t, &sender{}, busy(t))
	k.expect("you: ")
	k.send("half")
	for _, want := range []string{"you [edits]: half", "you [plan]: half", "you: half"} {
		k.send("\x1b[Z")
		k.expect(pasteOn + want)
	}
	vt := prompttest.New(80, 24)
	if _, err := io.WriteString(vt, k.status.String()); err != nil {
		t.Fatal(err)
	}
	if shown := vt.All(); strings.Contains(shown, "[edits]") || strings.Contains(shown, "approval:") {
		t.Errorf("a mode that was passed by left a row:\n%s", shown)
	}
	k.send("\x15\x04")
	k.end()
}

func TestShiftTabIsHeard(t *testing.T) {
	t.Parallel()
	k := startPTY(t, &sender{}, func(o *Options) { o.Profile = screen.Spoken })
	k.expect("you: ")
	k.send("\x1b[Z")
	k.expect("mode edits")
	k.expect("you [edits]: ")
	k.send("\x04")
	k.end()
}

func TestRulesOfTheSessionAreDropped(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"/permissions rm 2":            "dropped: allow bash(ls)",
		"/permissions rm bash(ls)":     "dropped: allow bash(ls)",
		"/approvals drop 2":            "dropped: allow bash(ls)",
		"/permissions rm 1":            "deny bash(rm:*) comes from settings; change it there",
		"/permissions rm bash(rm:*)":   "deny bash(rm:*) comes from settings; change it there",
		"/permissions rm 3":            "no rule 3; /permissions lists them",
		"/permissions rm 0":            "no rule 0",
		"/permissions rm bash(cat)":    "no rule bash(cat); /permissions lists them",
		"/permissions rm":              `"rm": use rm NUMBER, or rm RULE`,
		"/permissions allow bash(cat)": `"allow bash(cat)": use rm NUMBER, or rm RULE`,
	} {
		shown, _ := say(t, busy(t), typed, "/permissions")
		if !strings.Contains(strings.Join(strings.Fields(shown), " "), want) {
			t.Errorf("%s: shown\n%s", typed, shown)
		}
		dropped := strings.HasPrefix(want, "dropped")
		if left := strings.Contains(shown, "2  allow  bash(ls)"); left == dropped {
			t.Errorf("%s: shown\n%s", typed, shown)
		}
	}
}
