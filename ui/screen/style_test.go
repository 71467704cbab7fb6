package screen

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const styledSource = "## A `code` head\n\nplain `code of words` and **`both`**, [`label`](http://x.y/z)\n\n> a quote of `code` and **bold** words that goes on for more\n> than a row\n>\n> - item\n\n" +
	"```go\nx := \"`\"\n```\n\n````diff title\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n same\n```\n````\n+ not a diff\n\n" +
	"- item\n  ~~~ Patch\n  +new\n  -old\n  ~~~\n\n> ```diff\n> +quoted\n> ```\n\n| `a` | b |\n|---|---|\n| 1 | `c d` |\n"

// Styles say nothing that the words and marks do not say.
func TestWithoutStylesTheWordsAreTheSame(t *testing.T) {
	t.Parallel()
	for _, src := range []string{styledSource, readTour(t)} {
		for _, width := range []int{10, 33, 80} {
			checkRows(t, pieces(t, MarkdownOptions{Color: true, Width: wide(width)}, src))
		}
		colored := pieces(t, MarkdownOptions{Color: true, Width: wide(1000)}, strings.Split(src, "")...)
		plain := pieces(t, MarkdownOptions{Width: wide(1000)}, src)
		if diff := cmp.Diff(unmarked(plain), unmarked(sgr.ReplaceAllString(colored, ""))); diff != "" {
			t.Error(diff)
		}
	}
}

func TestWhatAReplyHoldsHasAStyleOfItsOwn(t *testing.T) {
	t.Parallel()
	got := pieces(t, MarkdownOptions{Color: true}, styledSource)
	for _, want := range []string{
		"\x1b[35mcode of words\x1b[0m and",
		"\x1b[2m\u2502 \x1b[0ma quote of \x1b[35mcode\x1b[0m",
		"\n\x1b[2m\u2502\x1b[0m\n\x1b[2m\u2502 - \x1b[0mitem\n",
		"\n\n\x1b[2mgo\x1b[0m\nx := \x1b[35m\"`\"\x1b[0m\n\n",
		"\x1b[2mdiff title\x1b[0m\n\x1b[1m--- a/x\x1b[0m\n\x1b[1m+++ b/x\x1b[0m\n@@ -1 +1 @@\n\x1b[31m-old\x1b[0m\n" +
			"\x1b[32m+new\x1b[0m\n same\n```\n\n+ not a diff\n",
		"- item\n\n\x1b[2mPatch\x1b[0m\n\x1b[32m+new\x1b[0m\n\x1b[31m-old\x1b[0m\n\n",
		"\x1b[2m\u2502 diff\x1b[0m\n\x1b[2m\u2502 \x1b[0m\x1b[32m+quoted\x1b[0m\n",
		"\x1b[1;35ma\x1b[0m",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%q", want, got)
		}
	}
	head, _, _ := strings.Cut(got, "\n")
	if !strings.HasPrefix(head, "\x1b[1mA\x1b[0m ") || !strings.Contains(head, "35") {
		t.Errorf("the head is %q", head)
	}
	if spoken := pieces(t, MarkdownOptions{Color: true, Spoken: true},
		"> `a` and\n\n```diff\n+b\n```\n"); strings.Contains(spoken, "\x1b") {
		t.Errorf("what is spoken has styles: %q", spoken)
	}
}
