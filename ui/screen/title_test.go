package screen

import (
	"slices"
	"strings"
	"testing"

	"artoo/agent"
)

// Only a terminal that is known to take signs gets them.
func TestSignsAreForKnownTerminals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		setting string
		env     string
		modern  bool
		want    Signs
	}{
		{"auto", "TERM=xterm-256color", false, Signs{}},
		{"auto", "TERM=xterm-256color", true, Signs{Title: true}},
		{"on", "TERM=xterm-256color", false, Signs{Title: true}},
		{"off", "TERM=xterm-ghostty", true, Signs{}},
		{"auto", "TERM=xterm-ghostty", true, Signs{Title: true, Stack: true, Progress: true}},
		{"auto", "TERM=tmux-256color TMUX=x TERM_PROGRAM=tmux", false, Signs{Title: true, Stack: true}},
		{"auto", "TERM=tmux-256color TMUX=x TERM_PROGRAM=ghostty", false, Signs{Title: true, Stack: true}},
		{"on", "TERM=linux", false, Signs{}},
		{"on", "TERM=xterm INSIDE_EMACS=29", false, Signs{}},
	} {
		env := func(name string) string {
			for _, entry := range strings.Fields(c.env) {
				if value, ok := strings.CutPrefix(entry, name+"="); ok {
					return value
				}
			}
			return ""
		}
		if got := SignsDecision(c.setting, env, c.modern); got != c.want {
			t.Errorf("%s with %s: %+v", c.setting, c.env, got)
		}
	}
}

// The title and progress follow the turn, hold nothing that ends the sequence, and are taken away at the end, once.
func TestTheTitleFollowsTheTurn(t *testing.T) {
	t.Parallel()
	r := newRig(func(o *Options) { o.Signs = Signs{Title: true, Stack: true, Progress: true} })
	k := runCall("1", "go test \x1b\\\x07./...")
	if r.Note("before the conversation"); strings.Contains(r.err.String(), "\x1b]") {
		t.Errorf("signs before the banner: %q", r.err)
	}
	r.Banner(BannerInfo{})
	r.OnThinking()
	r.OnToolCall(k)
	r.Question(ask(k, 1, 1))
	r.Decided(ask(k, 1, 1), agent.Answer{Verdict: agent.Yes})
	r.OnToolResult(k, ok("ok"))
	r.Finish()
	r.Leave()
	r.Leave()
	r.Note("later")
	var got []string
	for part := range strings.SplitSeq(r.err.String(), "\x1b") {
		if strings.HasPrefix(part, "]2;") || strings.HasPrefix(part, "]9;4") || strings.HasSuffix(part, "2t") {
			got = append(got, part)
		}
	}
	t.Logf("%q", got)
	for _, want := range []string{"]2;artoo: works", "]9;4;3", "]2;artoo: waits", "]9;4;4;100"} {
		if !slices.Contains(got, want) {
			t.Errorf("no %q", want)
		}
	}
	if got[0] != "[22;2t" || strings.Count(r.err.String(), giveBackTitle) != 1 || !slices.Contains(got, "]9;4;0") {
		t.Errorf("kept or given back wrongly: %q", got)
	}
	if i := slices.IndexFunc(got, func(s string) bool { return strings.HasPrefix(s, "]2;artoo: runs go test") }); i < 0 || strings.Contains(got[i], "\x07") {
		t.Errorf("the call's title is %q", got)
	}
}
