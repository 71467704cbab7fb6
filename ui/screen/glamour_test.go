package screen

import (
	"strings"
	"testing"

	"artoo/tool/diff"

	"github.com/google/go-cmp/cmp"
)

const plan = "# Plan\n\nMake `Cart` take a **clock**.\n\n1. add the field, see [the issue](https://example.org/i/12)\n   - in `cart.go`\n2. pass it\n\n" +
	"| File | Lines |\n|---|--:|\n| `week.go` | 88 |\n\n```go\nx := 1\n```\n\n- [ ] New takes it\n\n> not global\n"

func TestATextThatArrivesWholeIsRendered(t *testing.T) {
	t.Parallel()
	for name, change := range profiles() {
		r := newRig(change)
		opt := r.layout.markdown(r.opt.ErrColor, "")
		opt.Width = wide(32)
		for _, src := range []string{plan, readTour(t)} {
			if d := cmp.Diff(sgr.ReplaceAllString(RenderMarkdown(src, opt), ""),
				sgr.ReplaceAllString(r.layout.whole(src, 32, ""), "")); d != "" {
				t.Errorf("%s: other than an answer: %s", name, d)
			}
		}
	}
	const simple = "# Plan\n\nMake `Cart` take a **clock** and *no* time, see [the issue](https://example.org/i/12).\n\n" +
		"> not global\n"
	for _, name := range []string{"rich", "nocolor", "ascii"} {
		r := newRig(profiles()[name])
		opt := r.layout.markdown(r.opt.ErrColor, "")
		opt.Width = wide(60)
		theirs, err := opt.glamour(simple, 59)
		d := cmp.Diff(sgr.ReplaceAllString(RenderMarkdown(simple, opt), ""), sgr.ReplaceAllString(theirs, ""))
		if err != nil || d != "" || r.layout.whole(simple, 60, "") != theirs {
			t.Errorf("%s: glamour's rows are not taken: %v, %s", name, err, d)
		}
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
	for _, src := range []string{plan, "a <!-- delete it --> b", "<!-- delete it -->\n", "<div>\ntext\n</div>\n", "|a|\n|-|\n|<b>|\n",
		"[ref]: http://example.org\n", "> [ref]: /x\n", "- <br>\n",
		"```sh and more\nx\n```\n", "|a|\n|-|\n|a|hidden|\n"} {
		got := newRig(nil).layout.whole("# Plan\n\n"+src, 60, "")
		if letters(got) != letters("# Plan\n\n"+src) {
			t.Errorf("%q is shown as %q", src, got)
		}
	}
	for src, want := range map[string]string{"`a\u202eb`": "<U+202E>", "```\na\u200bb\n```\n": "<U+200B>", "[the code](ui/cart.go)": "(ui/cart.go)"} {
		if got := newRig(nil).layout.whole("# Plan\n\n"+src, 60, ""); !strings.Contains(got, want) {
			t.Errorf("%q is shown as %q", src, got)
		}
	}
}

// letters are the letters and digits of a text.
func letters(text string) string {
	return strings.Join(strings.FieldsFunc(sgr.ReplaceAllString(text, ""), diff.NoWord), "")
}
