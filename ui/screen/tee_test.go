package screen

import (
	"io"
	"strings"
	"testing"

	"artoo/agent"

	"github.com/google/go-cmp/cmp"
)

// teeRig is a plain screen whose Out is a pipe that ends on the terminal of Err,
// or that terminal itself. both is that terminal's text.
func teeRig(piped, headless bool) (r *rig, both *strings.Builder) {
	both = &strings.Builder{}
	r = newRig(func(o *Options) {
		o.Profile, o.ErrColor, o.OutColor, o.Conversation = Plain, false, false, !headless
		o.OutTTY, o.OutPipe, o.Hold = !piped, piped, piped && headless
	})
	r.transcript.outputs.out, r.transcript.outputs.err = io.MultiWriter(both, r.out), io.MultiWriter(both, r.err)
	return r, both
}

// Output of a reader behind the pipe on the same terminal stands between the same
// blank lines as an answer that is written there.
func TestBlankLinesAroundAnAnswerAreTheSameBehindAPipe(t *testing.T) {
	t.Parallel()
	read := func(r *rig) {
		r.OnToolCall(call("1", "read", "a"))
		r.OnToolResult(call("1", "read", "a"), ok("1 line"))
	}
	failure := &agent.Failure{Kind: agent.KindNetwork, What: "m", Err: io.ErrUnexpectedEOF}
	for name, test := range map[string]struct {
		headless bool
		play     func(*rig)
	}{
		"a conversation": {false, func(r *rig) {
			r.Banner(BannerInfo{Version: "1", Model: "m", Dir: "/d"})
			r.typed(You, "hello")
			r.OnText("Let me look.\n")
			read(r)
			r.OnText("Done.")
			r.Finish()
			r.Status(StatusInfo{})
			r.typed(You, "more")
			r.OnText("No.")
			r.Finish()
			r.typed(You, "")
		}},
		"a resumed one": {false, func(r *rig) {
			r.Banner(BannerInfo{Version: "1", Model: "m", Dir: "/d"})
			r.Note("resumed x")
			r.Said(You, "hello")
			r.Markdown("Done.")
			r.typed(You, "more")
			read(r)
			r.OnText("No.")
			r.Finish()
			r.typed(You, "")
		}},
		"an answer after calls": {true, func(r *rig) { read(r); r.OnText("Done."); r.Finish() }},
		"an answer alone":       {true, func(r *rig) { r.OnText("Done."); r.Finish() }},
		"a failure after it":    {true, func(r *rig) { r.OnText("Half"); r.Finish(); r.Failure(failure) }},
	} {
		r, want := teeRig(false, test.headless)
		test.play(r)
		r, got := teeRig(true, test.headless)
		test.play(r)
		if diff := cmp.Diff(want.String(), got.String()); diff != "" {
			t.Errorf("%s (-terminal +pipe):\n%s", name, diff)
		}
	}
}

// The answers that a pipe carries do not depend on its reader.
func TestAPipeCarriesTheSameBytesAsAFile(t *testing.T) {
	t.Parallel()
	for _, headless := range []bool{false, true} {
		var outs [2]string
		for i := range outs {
			r, _ := teeRig(true, headless)
			r.opt.OutPipe = i == 0
			r.conversation()
			outs[i] = r.out.String()
		}
		if diff := cmp.Diff(outs[1], outs[0]); diff != "" {
			t.Errorf("headless %v: %s", headless, diff)
		}
	}
}

// A file is not seen: no row is left empty for it.
func TestAnAnswerThatGoesIntoAFileLeavesNoBlankLine(t *testing.T) {
	t.Parallel()
	r, _ := teeRig(true, true)
	r.opt.OutPipe = false
	r.OnToolCall(call("1", "read", "a"))
	r.OnToolResult(call("1", "read", "a"), ok("1 line"))
	r.OnText("Done.")
	r.Finish()
	if got := r.err.String(); got != "  read    a  1 line\n" {
		t.Errorf("%q", got)
	}
}
