package screen

import (
	"strings"
	"testing"

	"github.com/charmbracelet/glamour"
	"github.com/google/go-cmp/cmp"
)

const plan = "# Plan\n\nMake `Cart` take a **clock**.\n\n1. add the field, see [the issue](https://example.org/i/12)\n   - in `cart.go`\n2. pass it\n\n" +
	"| File | Lines |\n|---|--:|\n| `week.go` | 88 |\n\n```go\nx := 1\n```\n\n- [ ] New takes it\n\n> not global\n"

func TestATextThatArrivesWholeIsRendered(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"rich": "\x1b[1;4mPlan\x1b[0m\n\nMake \x1b[35mCart\x1b[0m take a \x1b[1mclock\x1b[0m.\n\n1. add the field, see the issue\n(https://example.org/i/12)\n" +
			"  - in \x1b[35mcart.go\x1b[0m\n2. pass it\n\n File                 Lines\n----------------------------\n \x1b[35mweek.go\x1b[0m                 88\n\n" +
			"  x := 1\n\n- [ ] New takes it\n\n> not global\n",
		"nocolor": "# Plan\n\nMake `Cart` take a clock.\n\n1. add the field, see the issue\n(https://example.org/i/12)\n" +
			"  - in `cart.go`\n2. pass it\n\n File                 Lines\n----------------------------\n `week.go`               88\n\n" +
			"  x := 1\n\n- [ ] New takes it\n\n> not global\n",
	} {
		if diff := cmp.Diff(want, newRig(profiles()[name]).layout.whole(plan, 32, "")); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if got := newRig(profiles()["plain"]).layout.whole(plan, 32, ""); !strings.Contains(got, "# Plan\n\nMake `Cart` take a clock.") {
		t.Errorf("plain: %q", got)
	}
}

// Whatever a text holds, no sequence but those of the palette comes out, and no style crosses
// a row.
func FuzzWhole(f *testing.F) {
	for _, seed := range []string{plan, readTour(f), readHostile(f), "a &#27;[8mb &#27;]0;x&#7; **&#155;2J**", "&#27;[35m\n\n&#27;[38;5;1mx",
		"|a|b|\n|-|\n|c|d|e|\n", "- [x] \x1b[31mred\n\n  second\n", "[a](b \"&#27;[2J\") ![](x)\n", "&#0;&#13;&#8;\x08"} {
		f.Add(seed, uint8(30))
	}
	f.Fuzz(func(t *testing.T, src string, width uint8) {
		r := newRig(nil)
		checkRows(t, r.layout.whole(src, int(width)+10, ""))
	})
}

// A user that approves a plan sees all of it.
func TestNothingInAPlanIsHidden(t *testing.T) {
	t.Parallel()
	if complete("a <b> c", "a c") || !complete("1. a\n```go x\nb\n```", "1. \x1b[35ma\x1b[0m x\n  b\n") {
		t.Error("complete")
	}
	for _, src := range []string{plan, "a <!-- delete it --> b", "<!-- delete it -->\n", "<div>\ntext\n</div>\n", "|a|\n|-|\n|<b>|\n",
		"[ref]: http://example.org\n", "> [ref]: /x\n", "- <br>\n",
		"```sh and more\nx\n```\n", "|a|\n|-|\n|a|hidden|\n"} {
		got := newRig(nil).layout.whole("# Plan\n\n"+src, 60, "")
		if !complete(src, got) {
			t.Errorf("%q is shown as %q", src, got)
		}
	}
	for src, want := range map[string]string{"`a\u202eb`": "<U+202E>", "```\na\u200bb\n```\n": "<U+200B>", "[the code](ui/cart.go)": "(ui/cart.go)"} {
		if got := newRig(nil).layout.whole("# Plan\n\n"+src, 60, ""); !strings.Contains(got, want) {
			t.Errorf("%q is shown as %q", src, got)
		}
	}
}

// These are why glamourKeeps is there: where glamour has fixed them, it may go.
func TestWhatGlamourDoesNotKeep(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ src, kept string }{
		"rows of Chinese":        {strings.Repeat("中文段落没有空格，", 10), "\n"},
		"paragraphs of an item":  {"1. one\n\n   two\n", "one\n"},
		"an entity of a control": {"a &#27;[2J", "&#27;"},
		"HTML":                   {"a <!-- b --> c", "<!-- b -->"},
		"a definition":           {"[b]: http://example.org", "example"},
		"a relative link":        {"[b](c/d)", " c/d"},
	} {
		got, err := glamour.Render(c.src, "notty")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.TrimSpace(got), c.kept) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
