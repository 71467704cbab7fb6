package screen

import (
	"strings"
	"testing"

	"artoo/ui/sanitize"
)

// environ makes a lookup of "A=1 B=2"; TERM is xterm unless given.
func environ(s string) func(string) string {
	m := map[string]string{"TERM": "xterm"}
	for _, kv := range strings.Fields(s) {
		k, v, _ := strings.Cut(kv, "=")
		m[k] = v
	}
	return func(k string) string { return m[k] }
}

func TestWhatDecidesTheColour(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flag, env string
		tty, want bool
	}{
		{"auto", "", true, true},
		{"auto", "", false, false},
		{"", "", true, true},
		{"always", "", false, true},
		{"always", "NO_COLOR=1", false, true},
		{"always", "TERM=dumb", true, true},
		{"never", "CLICOLOR_FORCE=1", true, false},
		{"never", "", true, false},
		{"auto", "NO_COLOR=1", true, false},
		{"auto", "NO_COLOR=0", true, false},
		{"auto", "NO_COLOR=", true, true},
		{"auto", "NO_COLOR=1 CLICOLOR_FORCE=1", true, false},
		{"auto", "CLICOLOR_FORCE=1", false, true},
		{"auto", "FORCE_COLOR=1", false, true},
		{"auto", "FORCE_COLOR=3", false, true},
		{"auto", "CLICOLOR_FORCE=0", false, false},
		{"auto", "FORCE_COLOR=0", true, true},
		{"auto", "CLICOLOR_FORCE=1 TERM=dumb", true, true},
		{"auto", "TERM=dumb", true, false},
		{"auto", "TERM=unknown", true, false},
		{"auto", "INSIDE_EMACS=29.4,comint", true, false},
		{"auto", "INSIDE_EMACS=vterm", true, true},
		{"auto", "CLICOLOR=0", true, false},
		{"auto", "CLICOLOR=0 CLICOLOR_FORCE=1", true, true},
		{"auto", "CLICOLOR=1", true, true},
		{"auto", "CLICOLOR=1", false, false},
		{"always", "CLICOLOR=0", false, true},
		{"always", "INSIDE_EMACS=29.4,comint", true, true},
		{"never", "FORCE_COLOR=1", true, false},
		{"never", "NO_COLOR=", true, false},
		{"auto", "NO_COLOR=", false, false},
		{"auto", "NO_COLOR= CLICOLOR_FORCE=1", false, true},
		{"auto", "NO_COLOR=0 FORCE_COLOR=1", true, false},
		{"auto", "NO_COLOR=false", true, false},
		{"auto", "CLICOLOR_FORCE= FORCE_COLOR=", false, false},
		{"auto", "CLICOLOR_FORCE=0 FORCE_COLOR=1", false, true},
		{"auto", "FORCE_COLOR=1 TERM=dumb", false, true},
		{"auto", "FORCE_COLOR=1 CLICOLOR=0", false, true},
		{"auto", "FORCE_COLOR=1 INSIDE_EMACS=29.4,comint", true, true},
		{"auto", "TERM=dumb CLICOLOR=1", true, false},
		{"auto", "INSIDE_EMACS=29.4,eshell", true, false},
		{"auto", "INSIDE_EMACS=29.4,compile", true, false},
		{"auto", "CLICOLOR=", true, true},
	} {
		if got := ColorDecision(c.flag, environ(c.env), c.tty); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

func TestWhatDecidesTheProfile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flag, env string
		tty       bool
		want      Profile
		why       string
	}{
		{"auto", "", true, Rich, ""},
		{"auto", "", false, Plain, "no terminal"},
		{"rich", "TERM=dumb", true, Rich, ""},
		{"plain", "", true, Plain, "asked for"},
		{"spoken", "TERM=dumb", true, Spoken, "asked for"},
		{"auto", "TERM=dumb", true, Plain, "TERM=dumb"},
		{"auto", "TERM=unknown", true, Plain, "TERM=unknown"},
		{"auto", "INSIDE_EMACS=29.4,comint", true, Plain, "INSIDE_EMACS=29.4,comint"},
		{"auto", "INSIDE_EMACS=29.4,eshell", true, Plain, "INSIDE_EMACS=29.4,eshell"},
		{"auto", "INSIDE_EMACS=vterm", true, Rich, ""},
		{"auto", "ACCESSIBLE=1 TERM=dumb", true, Spoken, "ACCESSIBLE=1"},
		{"auto", "ACCESSIBLE=0", true, Rich, ""},
		{"auto", "ACCESSIBLE=no", true, Rich, ""},
	} {
		got, why := ProfileDecision(c.flag, environ(c.env), c.tty)
		if got != c.want || why != c.why {
			t.Errorf("%+v: %v, %q", c, got, why)
		}
	}
	if p, _ := ProfileDecision("auto", environ("TERM="), true); p != Plain {
		t.Errorf("an unset TERM is %v", p)
	}
}

func TestUTF8Decision(t *testing.T) {
	t.Parallel()
	for env, want := range map[string]bool{
		"LANG=en_US.UTF-8":                       true,
		"LANG=C.utf8":                            true,
		"LC_ALL=C LANG=en_US.UTF-8":              false,
		"LC_CTYPE=en_US.UTF-8 LANG=C":            true,
		"LC_ALL= LC_CTYPE= LANG=de_DE.ISO8859-1": false,
		"":                                       false,
	} {
		if got := UTF8Decision(environ(env)); got != want {
			t.Errorf("%q: %v", env, got)
		}
	}
}

func TestChromeIsASCII(t *testing.T) {
	t.Parallel()
	r := newRig(profiles()["ascii"])
	k := call("1", "read", "café.go")
	r.OnThinking()
	r.pass(3e9)
	r.OnToolCall(k)
	r.OnToolResult(k, ok("1 line"))
	r.Line("… é")
	if got := r.err.String(); !sanitize.IsPlainASCII(strings.NewReplacer("\r", "", "\x1b", "", "\b",
		"").Replace(got)) || !strings.Contains(got, "caf<U+00E9>.go") || !strings.Contains(got, "... <U+00E9>\n") {
		t.Errorf("got %q", got)
	}
	r.OnText("né")
	r.Finish()
	if !strings.HasSuffix(r.err.String(), "né\n") {
		t.Error("the answer's bytes were changed")
	}
}

func TestWhatDecidesTheWidth(t *testing.T) {
	t.Parallel()
	size := func(n int) func() int { return func() int { return n } }
	for _, c := range []struct {
		env  string
		size func() int
		want int
	}{
		{"", size(100), 100}, {"COLUMNS=60", size(100), 60}, {"COLUMNS=0", size(100), 100},
		{"COLUMNS=-5", size(0), 80}, {"COLUMNS=x", nil, 80}, {"", size(0), 80}, {"", size(-1), 80},
		{"", size(1), 10}, {"COLUMNS=3", nil, 10}, {"COLUMNS=99999999999999999999", size(70), 70}, {"", size(65535), 1000},
	} {
		if got := WidthDecision(environ(c.env), c.size); got != c.want {
			t.Errorf("%q: %d, want %d", c.env, got, c.want)
		}
	}
}
