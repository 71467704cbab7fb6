package screen

import (
	"strings"
	"testing"
)

func TestTheUsersMessageIsBrokenBetweenWords(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ said, want string }{
		"words": {"The test in this directory fails. Find out why.",
			"you: The test in this directory fails.\n     Find out why.\n"},
		"lines":     {"one\n\n  two of them", "you: one\n     \n       two of them\n"},
		"long word": {strings.Repeat("x", 50), "you: " + strings.Repeat("x", 50) + "\n"},
		"tabs":      {"a\tb", "you: a\tb\n"},
	} {
		r := newRig(func(o *Options) { o.Width, o.ErrColor = func() int { return 40 }, false })
		r.Said(You, test.said)
		if got := r.err.String(); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// Where no line editor draws the prompt, its rows are ours to break.
func TestAPromptIsBrokenBetweenWords(t *testing.T) {
	t.Parallel()
	r := newRig(func(o *Options) { o.Width, o.Profile, o.ErrColor = func() int { return 40 }, Plain, false })
	r.Prompt(approve + "edit till.go? [y,n,a,A,e,p,q,?] (n) ")
	if got, want := r.err.String(), "approve: edit till.go?\n[y,n,a,A,e,p,q,?] (n) "; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestABlankLineSetsApartWhatWasSaidBeforeACall(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*Options)
		err    string
	}{
		"terminal": {func(o *Options) { o.OutTTY, o.ErrColor, o.Hold = false, false, true },
			"  Let me look.\n\n✓ read  a                                                               1 line\n"},
		"neither": {func(
			o *Options) {
			o.OutTTY, o.ErrTTY, o.ErrColor, o.Hold, o.Profile = false, false, false, true, Plain
		},
			"  Let me look.\n  read    a  1 line\n"},
	} {
		r := newRig(test.change)
		r.OnText("Let me look.\n")
		r.OnToolCall(call("1", "read", "a"))
		r.OnToolResult(call("1", "read", "a"), ok("1 line"))
		r.OnText("answer")
		r.Finish()
		if got := r.err.String(); got != test.err || r.out.String() != "answer\n" {
			t.Errorf("%s: %q, %q", name, got, r.out.String())
		}
	}
}

func TestTheNotesOfAResumedSessionBelongToTheBanner(t *testing.T) {
	t.Parallel()
	r := newRig(func(o *Options) { o.ErrColor = false })
	r.Banner(BannerInfo{Version: "1", Model: "m", Dir: "/d"})
	r.Note("resumed x")
	r.Said(You, "hello")
	r.Note("more")
	r.Asks("which one?")
	r.Said(You, "again")
	const want = "\n• resumed x\n\nyou: hello\n\n• more\n? which one?\nyou: again\n"
	if got := r.err.String(); !strings.HasSuffix(got, want) {
		t.Errorf("%q", got)
	}
}
