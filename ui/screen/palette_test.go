package screen

import (
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/fatih/color"

	"artoo/agent"
)

// xterm are the sixteen colours of xterm as it comes.
var xterm = [16][3]float64{
	{0, 0, 0}, {205, 0, 0}, {0, 205, 0}, {205, 205, 0}, {0, 0, 238}, {205, 0, 205}, {0, 205, 205}, {229, 229, 229},
	{127, 127, 127}, {255, 0, 0}, {0, 255, 0}, {255, 255, 0}, {92, 92, 255}, {255, 0, 255}, {0, 255, 255}, {255, 255, 255},
}

// contrast is that of a colour with black and with white, by WCAG.
func contrast(c [3]float64) (black, white float64) {
	light := 0.0
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		v := c[i] / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		light += weight * v
	}
	return (light + 0.05) / 0.05, 1.05 / (light + 0.05)
}

// TestStylesHaveOneListOfNames: the page that is made from the settings names the styles of the screen.
func TestStylesHaveOneListOfNames(t *testing.T) {
	t.Parallel()
	var names []string
	for _, p := range palette {
		if p.name != "" {
			names = append(names, p.name)
		}
	}
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	if list := "the names are " + strings.Join(names, ", ") + ";"; !strings.Contains(string(page), list) {
		t.Errorf("ARTOO_COLORS of docs/configuration.md lacks %q", list)
	}
}

// The colours that are there without settings are few, and read on black and on white.
func TestThePaletteHoldsOnBlackAndOnWhite(t *testing.T) {
	t.Parallel()
	for _, p := range palette {
		for _, n := range p.look {
			if p.name == "" {
				break
			}
			at := n - 30
			if n >= 90 {
				at = n - 90 + 8
			}
			switch black, white := 21.0, 21.0; {
			case n <= color.Faint:
			case n == color.FgYellow || n == color.FgCyan:
				// Words say the same without it.
			case at < 0 || at > 15:
				t.Errorf("%s is %d: none of the sixteen", p.name, n)
			default:
				if black, white = contrast(xterm[at]); math.Min(black, white) < 2.1 {
					t.Errorf("%s has a contrast of %.1f on black and %.1f on white", p.name, black, white)
				}
			}
		}
	}
}

// Failures and denials are red, added lines are green and removed lines are red, unless
// the user says otherwise; git is asked for diffs only, once.
func TestFailuresAndDiffsHaveTheirColours(t *testing.T) {
	t.Parallel()
	asked := 0
	git := func() map[string]string {
		asked++
		return map[string]string{"add": "94", "frag": "36", "error": "93"}
	}
	for _, c := range []struct {
		palette *Palette
		diff    bool
		want    []string
		asked   int
	}{
		{nil, true, []string{"\x1b[32m+new\x1b[0m", "\x1b[31m-old\x1b[0m", "\x1b[1m--- a/x\x1b[22m", "\n@@ -1 +1 @@\n"}, 0},
		{NewPalette(nil, git, false), false, []string{"\x1b[31mexit 1 in 1.2 s\x1b[0m", "\x1b[31mdenied: no one can answer\x1b[0m",
			"\x1b[31martoo:\x1b[0m broken", "\x1b[31mdenied: not now\x1b[0m",
			"\x1b[32m✓\x1b[0m \x1b[1mrun", "\x1b[2mok\x1b[22m\n"}, 0},
		{NewPalette(map[string]string{"remove": "1;38;5;208", "meta": ""}, git, true), true,
			[]string{"\x1b[94m+new", "\x1b[1;38;5;208m-old", "\n--- a/x\n", "\x1b[36m@@ -1 +1 @@\x1b[0m"}, 1},
	} {
		asked = 0
		r := newRig(func(o *Options) { o.Palette = c.palette })
		if c.diff {
			e := editCall("1")
			e.Access.Diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n"
			r.Question(ask(e, 1, 1))
			r.Changes(e.Access.Diff, 10)
			for _, l := range c.want[:2] {
				c.want = append(c.want, strings.NewReplacer("+new", "+ new", "-old", "- old").Replace(l))
			}
		} else {
			k := runCall("1", "make")
			r.OnToolResult(k, agent.CallResult{Status: agent.CallFailed, Summary: "exit 1 in 1.2s"})
			r.OnToolResult(k, agent.CallResult{Status: agent.CallUnanswered})
			r.OnToolResult(k, ok("ok"))
			r.Decided(ask(k, 1, 1), agent.Answer{Reason: "not now"})
			r.Failure(&agent.Failure{Err: errors.New("broken")})
		}
		got := strings.ReplaceAll(r.err.String(), "\x1b[0;22;25;0m", "\x1b[0m")
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("no %q in %q", want, got)
			}
		}
		if asked != c.asked {
			t.Errorf("git was asked %d times", asked)
		}
		if c.diff {
			r.out.Reset()
			r.OnText("```diff\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n```\n")
			r.Finish()
			for _, want := range c.want[:4] {
				want = strings.TrimSuffix(strings.TrimSuffix(want, "\x1b[22m"), "\x1b[0m")
				if !strings.Contains(r.out.String(), want) {
					t.Errorf("no %q in %q", want, r.out)
				}
			}
		}
	}
}
