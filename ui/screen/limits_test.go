package screen

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"artoo/tool/sweep"
)

// A terminal may say that it has no cells, one, or a billion. Nothing divides by
// that, loops or loses a word.
func TestAbsurdWidthsAreSurvived(t *testing.T) {
	t.Parallel()
	words := func(name string, width int) []string {
		r := newRig(profiles()[name])
		r.opt.Width = wide(width)
		r.calm = true
		r.conversation()
		return strings.Fields(sgr.ReplaceAllString(r.err.String(), ""))
	}
	for _, name := range []string{"plain", "spoken"} {
		want := words(name, 80)
		for _, width := range []int{-1 << 40, -1, 0, 1, 2, 9, 10, 40, 1 << 20, 1 << 40} {
			got := words(name, width)
			// A line of a call that is cut, and a table in records, have other words.
			if width > 0 && width < 80 {
				got, want := strings.Join(got, " "), []string{"why does TestCheckout fail on Mondays?",
					"stopped after 61 words; the text so far is kept.", "80 % of the money is spent", "after 5 tries"}
				for _, w := range want {
					if !strings.Contains(got, w) {
						t.Errorf("%s in %d columns: no %q", name, width, w)
					}
				}
				continue
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s in %d columns: %s", name, width, diff)
			}
		}
	}
	for _, width := range []int{0, 1, 2, 10, 1 << 40} {
		r := newRig(nil)
		r.opt.Width = wide(width)
		r.conversation()
		var v vt
		v.write(r.err.String())
		if v.bad != "" || v.col < 0 {
			t.Errorf("rich in %d columns: the terminal got %s, the cursor is at %d", width, v.bad, v.col)
		}
	}
}

// bareWords is a text without the signs of Markdown that a rendering may add, leave
// out or move, and without spaces.
func bareWords(text string) string {
	return strings.Join(strings.Fields(marks.Replace(sgr.ReplaceAllString(text, ""))), "")
}

var marks = strings.NewReplacer("`", "", "*", "", "#", "", ">", "", "|", "", "-", "", "\u2502", "")

// Much of one kind is neither lost nor slow nor held back for long.
func TestMarkdownOfAnyKind(t *testing.T) {
	t.Parallel()
	var nested, quotes strings.Builder
	for i := range sweep.Less(200) {
		fmt.Fprintf(&nested, "%s- item %d\n", strings.Repeat("  ", i), i)
		fmt.Fprintf(&quotes, "%sword %d\n", strings.Repeat("> ", i), i)
	}
	kinds := map[string]string{
		"one line":                    strings.Repeat("x", sweep.Less(1<<20)),
		"one line of wide characters": strings.Repeat("中", sweep.Less(1<<18)),
		"words":                       strings.Repeat("word ", sweep.Less(1<<16)),
		"code line":                   "```\n" + strings.Repeat("y", sweep.Less(1<<20)) + "\n```\n",
		"items":                       strings.Repeat("- item\n", sweep.Less(100_000)),
		"ordered":                     strings.Repeat("1. item\n", sweep.Less(20_000)),
		"nested":                      nested.String(),
		"quotes":                      quotes.String(),
		"tabs":                        strings.Repeat("a\tb\t\tc ", 2000) + "\n",
		"headings":                    strings.Repeat("# a\n", sweep.Less(5000)),
		"blank lines":                 "a\n" + strings.Repeat("\n", sweep.Less(100_000)) + "b\n",
		"rules":                       strings.Repeat("---\n\n", sweep.Less(5000)),
		"open fence":                  "```go\n" + strings.Repeat("line\n", sweep.Less(50_000)),
	}
	names := slices.Sorted(maps.Keys(kinds))
	for _, i := range sweep.Cases(t, 3, len(names)) {
		name, src := names[i], kinds[names[i]]
		want := bareWords(src)
		for _, opt := range []MarkdownOptions{{Color: true, Links: true}, {Width: wide(1)}, {Width: wide(10)},
			{Spoken: true}} {
			var b strings.Builder
			opt.Out = to(&b)
			m := nearlyColored(opt, 32<<10)
			late := 0
			for i := 0; i < len(src); i += 4096 {
				part := src[i:min(i+4096, len(src))]
				m.Add(part)
				late = max(late, i+len(part)-b.Len())
			}
			m.Close()
			got := b.String()
			if !utf8.ValidString(got) {
				t.Errorf("%s: broken UTF-8", name)
			}
			if opt.Spoken {
				continue // it says numbers and sentences instead of marks
			}
			if bareWords(got) != want {
				t.Errorf("%s: other words: %q", name, tailOf(got))
			}
			if limit := len(src)/4 + 3*maxBlock; name != "blank lines" && name != "nested" && late > limit {
				t.Errorf("%s: %d bytes of %d are held back", name, late, len(src))
			}
		}
	}
}

// A reply may end within a word that is longer than a row.
func TestNoCutLosesACharacter(t *testing.T) {
	t.Parallel()
	for _, src := range []string{strings.Repeat("x", 300), "`" + strings.Repeat("x", 2000), strings.Repeat("中", 100),
		"```\n" + strings.Repeat("x", 1500), "**a " + strings.Repeat("b", 200), "| " + strings.Repeat("c", 200)} {
		for cut := range src {
			if got := pieces(t, MarkdownOptions{Width: wide(20)}, src[:cut]); bareWords(got) != bareWords(src[:cut]) {
				t.Errorf("%.20q cut at %d: %q", src, cut, tailOf(got))
				break
			}
		}
	}
}

func TestMarkdownLineEnds(t *testing.T) {
	t.Parallel()
	src := readTour(t)
	crlf := strings.ReplaceAll(src, "\n", "\r\n")
	for _, opt := range []MarkdownOptions{{Color: true}, {Spoken: true}} {
		if diff := cmp.Diff(pieces(t, opt, src), pieces(t, opt, strings.SplitAfter(crlf, "\r")...)); diff != "" {
			t.Errorf("CRLF: %s", diff)
		}
	}
}

// Columns are cells, not runes.
func TestTablesOfWideCharacters(t *testing.T) {
	t.Parallel()
	src := "| 名前 | N |\n|---|--:|\n| 中文字 | 1 |\n| é👨‍👩‍👧 | 22 |\n| a\tb | 3 |\n"
	got := pieces(t, MarkdownOptions{Width: wide(40)}, src)
	want := "名前     N\n----------\n中文字   1\né👨‍👩‍👧     22\na b      3\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := pieces(t, MarkdownOptions{Width: wide(10)}, src); !strings.HasPrefix(got, "名前:\n  中文字\nN: 1\n\n") {
		t.Errorf("as records: %q", got)
	}
}

// A code block is spoken with the number of its lines, in whichever pieces it comes.
func TestCodeIsSpoken(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("0123456789\n", maxBlock/10)
	for src, want := range map[string]string{
		"```go\nx := 1\n```\n":             "code go, 1 line:\nx := 1\nend code.\n",
		"```\n```\n":                       "code, 0 lines:\nend code.\n",
		"```\na\n\n\tb":                    "code, 3 lines:\na\n\n\tb\nend code.\n",
		"~~~ sh -x\na\n~~~\nafter\n":       "code sh, 1 line:\na\nend code.\nafter\n",
		"- ```\n  a\n  ```\n- b\n":         "- code, 1 line:\n  a\nend code.\n- b\n",
		"> ```\n> a\n> ```\n":              "quote: code, 1 line:\na\nend code.\n",
		"> ```\n> a\nafter\n":              "quote: code, 1 line:\na\nend code.\nafter\n",
		"```x\u202e\x1b\na\u202e\n```\n":   "code x<U+202E>^[, 1 line:\na<U+202E>\nend code.\n",
		"```go\n" + big + "```\n":          "code go, 819 lines:\n" + big + "end code.\n",
		"```go\n" + long(9000) + "\n```\n": "code go, 1 line:\n" + long(9000) + "\nend code.\n",
	} {
		if got := pieces(t, MarkdownOptions{Spoken: true}, src); got != want {
			t.Errorf("%.40q: %s", src, cmp.Diff(want, got))
		}
		if got := pieces(t, MarkdownOptions{Spoken: true}, strings.SplitAfter(src, "")...); got != want {
			t.Errorf("%.40q in pieces: %s", src, cmp.Diff(want, got))
		}
	}
}

func long(n int) string { return strings.Repeat("x", n) }

// A list is heard as it was written: one without numbers gets none.
func TestListsAreSpoken(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"- a\n- b\n\n- c\n":                    "- a\n- b\n\n- c\n",
		"* a\n  * b\n  * c\n* d\n":             "- a\n  - b\n  - c\n- d\n",
		"3. a\n7) b\n":                         "3. a\n7) b\n",
		"1. a\n   - b\n   - c\n2. d\n   - e\n": "1. a\n   - b\n   - c\n2. d\n   - e\n",
		"- a\n\ntext\n\n- b\n":                 "- a\n\ntext\n\n- b\n",
		"- a\n# h\n- b\n":                      "- a\nheading: h\n- b\n",
		"- a\n1. b\n- c\n":                     "- a\n1. b\n- c\n",
		"- [ ] a\n- [x] b\n- [X] c\n- [y] d\n": "- not done: a\n- done: b\n- done: c\n- [y] d\n",
		"- a\n  more\n- b\n":                   "- a\nmore\n- b\n",
		"> - a\n> - b\n\n- c\n":                "quote: - a\n- b\n\n- c\n",
		"> a\n> b\n>\n> c\n\nd\n\n> e\n":       "quote: a\nb\n\nc\n\nd\n\nquote: e\n",
		"- - a\n- b\n":                         "- - a\n- b\n",
		"# A\n\n## B ##\n\n---\n\nc\n":         "heading: A\n\nheading: B ##\n\nc\n",
		"`a` ``b`c`` `` `x `` **`d`** ~~e~~\n": "a b`c `x d struck out: e\n",
		"-\n- a\n":                             "-\n- a\n",
	} {
		if got := pieces(t, MarkdownOptions{Spoken: true}, src); got != want {
			t.Errorf("%q: got %q, want %q", src, got, want)
		}
		if got := pieces(t, MarkdownOptions{Spoken: true}, strings.SplitAfter(src, "")...); got != want {
			t.Errorf("%q in pieces: got %q, want %q", src, got, want)
		}
	}
}

func TestTablesAreSpoken(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"| A | B |\n|---|---|\n| 1 | 2. |\n| 3 | |\n| | 4 |\n": "A: 1, B: 2.\nA: 3.\nB: 4.\n",
		"| A | |\n|---|---|\n| 1 | 2 |\n| | |\n":               "A: 1, 2.\n",
		"> | A |\n> |---|\n> | `x` |\n":                        "quote: A: x.\n",
		"- a\n\n  | A | B |\n  |---|---|\n  | 1 | 2 |\n":       "- a\n\nA: 1, B: 2.\n",
	} {
		if got := pieces(t, MarkdownOptions{Spoken: true}, src); got != want {
			t.Errorf("%q: got %q, want %q", src, got, want)
		}
	}
	if got, want := pieces(t, MarkdownOptions{Spoken: true, Label: "artoo: "}, "| A |\n|---|\n| 1 |\n"),
		"artoo:\nA: 1.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
