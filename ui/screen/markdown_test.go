package screen

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/tool/sweep"
)

func readTour(t testing.TB) string {
	t.Helper()
	b, err := os.ReadFile("testdata/tour.md")
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(b), "\r\n", "\n")
}

func to(w io.Writer) func([]byte) { return func(p []byte) { _, _ = w.Write(p) } }

// pieces renders text that arrives in pieces.
func pieces(t testing.TB, opt MarkdownOptions, parts ...string) string {
	t.Helper()
	var b strings.Builder
	opt.Out = to(&b)
	write(NewMarkdown(opt), parts...)
	return b.String()
}

func write(m *Markdown, parts ...string) {
	for _, p := range parts {
		m.Add(p)
	}
	m.Close()
}

// nearlyColored is a Markdown that has colored code already and has so many bytes
// of its budget left: to spend all of it takes seconds.
func nearlyColored(opt MarkdownOptions, left int) *Markdown {
	m := NewMarkdown(opt)
	m.colored = highlightReply - left
	return m
}

// some is the number of tries, of n: all of them, or a part with -short, as under the
// race detector, which finds nothing in code of one goroutine.
func wide(n int) func() int { return func() int { return n } }

func TestMarkdownGoldens(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		opt  MarkdownOptions
	}{
		{"tour-80.golden", MarkdownOptions{Color: true}},
		{"tour-30.golden", MarkdownOptions{Width: wide(30)}},
		{"tour-spoken.golden", MarkdownOptions{Spoken: true, Label: "artoo: "}},
	} {
		golden(t, c.name, strings.ReplaceAll(pieces(t, c.opt, readTour(t)), "\x1b", "␛"))
	}
}

// checkRows checks the rules for every output: it ends a line, no style crosses a
// line, and SGR is its only kind of sequence.
func checkRows(t *testing.T, out string) {
	t.Helper()
	if out != "" && !strings.HasSuffix(out, "\n") {
		t.Errorf("does not end a line: %q", tailOf(out))
	}
	for _, row := range strings.Split(out, "\n") {
		open := false
		for _, code := range sgr.FindAllString(row, -1) {
			open = code != "\x1b[0m" && code != "\x1b[22m"
			if unreadable.MatchString(code) {
				t.Errorf("colour %q", code)
			}
		}
		if open {
			t.Errorf("style left open: %q", row)
		}
		if bare := sgr.ReplaceAllString(row, ""); strings.ContainsAny(bare, "\x1b\r\b\x07") {
			t.Errorf("control byte in %q", row)
		}
	}
}

// unreadable are the colours that do not read on black or on white, and those that
// are not among the sixteen.
var unreadable = regexp.MustCompile(`[\[;](3[078]|4[0-9]|9[07]|10[0-7])[;m]`)

func tailOf(s string) string { return s[max(0, len(s)-60):] }

func TestAnyChunkingGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	src := readTour(t)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, opt := range []MarkdownOptions{{Color: true}, {Width: wide(24), Color: true},
		{Spoken: true, Width: wide(200)}} {
		want := pieces(t, opt, src)
		for range sweep.Less(120) {
			var parts []string
			rest := src
			for rest != "" {
				n := 1 + rng.IntN(40) // may part a rune
				n = min(n, len(rest))
				parts, rest = append(parts, rest[:n]), rest[n:]
			}
			if got := pieces(t, opt, parts...); got != want {
				t.Fatalf("chunks %q:\n%s", parts, cmp.Diff(want, got))
			}
		}
	}
	bytewise := strings.Split(src, "")
	if got, want := pieces(t, MarkdownOptions{}, bytewise...), pieces(t, MarkdownOptions{}, src); got != want {
		t.Errorf("rune by rune:\n%s", cmp.Diff(want, got))
	}
}

func TestAnyCutLeavesTheNextLineClean(t *testing.T) {
	t.Parallel()
	opt, blocks := MarkdownOptions{Color: true, Width: wide(40)}, strings.SplitAfter(readTour(t), "\n\n")
	step := 4 / sweep.Less(4)
	for i, block := range blocks {
		before := strings.Join(blocks[max(i-2, 0):i], "") // that all from the start were shown again costs a minute
		for cut := i % step; cut < len(block); cut += step {
			checkRows(t, pieces(t, opt, before+block[:cut]))
		}
	}
}

func TestABreakOnlyAddsRowEnds(t *testing.T) {
	t.Parallel()
	src := readTour(t)
	want := strings.Fields(sgr.ReplaceAllString(pieces(t, MarkdownOptions{}, src), ""))
	for _, every := range []int{3, 17, 101} {
		var b strings.Builder
		m := NewMarkdown(MarkdownOptions{Out: to(&b)})
		for i := 0; i < len(src); i += every {
			m.Add(src[i:min(i+every, len(src))])
			m.Break()
			if m.row.col != 0 {
				t.Fatal("the row is still open")
			}
		}
		m.Close()
		// A break may part a quote's row, which repeats its mark.
		got := strings.ReplaceAll(strings.Join(strings.Fields(b.String()), ""), ">", "")
		if diff := cmp.Diff(strings.ReplaceAll(strings.Join(want, ""), ">", ""), got); diff != "" {
			t.Errorf("every %d: %s", every, diff)
		}
	}
}

func TestAFinishedWordIsShownAtOnce(t *testing.T) {
	t.Parallel()
	for src, shown := range map[string]string{
		"The discount wee":                    "The discount",
		"# Head li":                           "# Head",
		"- item o":                            "- item",
		"see `a b` and **bo":                  "see `a b` and",
		"plain snake_case and 2 * 3 star":     "plain snake_case and 2 * 3",
		"a [link](http://x) af":               "a link (http://x)",
		"> quoted wo":                         "> quoted",
		"```go\nx := 1\ny :=":                 "```go\nx := 1\n",
		"open **" + strings.Repeat("ab ", 40): "open **" + strings.TrimSpace(strings.Repeat("ab ", 24)),
		"这是中文":                                "这是中",
	} {
		var b strings.Builder
		m := NewMarkdown(MarkdownOptions{Out: to(&b)})
		m.Add(src)
		if got := b.String(); !strings.HasPrefix(got, shown) {
			t.Errorf("after %q: shown %q, want %q", src, got, shown)
		}
	}
}

// A code span longer than a row is marked by its colour alone, as a short one is;
// without colour it has its marks, and one that is never closed keeps them.
func TestACodeSpanOfSeveralRowsHasItsColorAndNoMarks(t *testing.T) {
	t.Parallel()
	span := "git log --oneline --graph --decorate --all"
	src := "Run `" + span + "` and see.\n"
	for _, test := range []struct {
		color     bool
		src, want string
	}{
		{true, src, "Run \x1b[35mgit log --oneline\x1b[0m\n\x1b[35m--graph --decorate --all\x1b[0m\nand see.\n"},
		{false, src, "Run `git log --oneline\n--graph --decorate --all`\nand see.\n"},
		{true, "Run `git log --oneline --graph --all\n", "Run `git log --oneline\n--graph --all\n"},
		{true, "a `" + strings.Repeat("word ", 60) + "`\n", "a `word word word word"},
	} {
		opt := MarkdownOptions{Color: test.color, Width: func() int { return 26 }}
		for _, pieces := range [][]string{{test.src}, strings.Split(test.src, "")} {
			var b strings.Builder
			opt.Out = to(&b)
			write(NewMarkdown(opt), pieces...)
			if got := b.String(); !strings.HasPrefix(got, test.want) {
				t.Errorf("%q, colour %v: got %q, want %q", test.src, test.color, got, test.want)
			}
		}
	}
}

func TestCodeStreamsAsItIs(t *testing.T) {
	t.Parallel()
	code := "```go\n\tif x {\n\n\t\ty := \"**z**\" // 80 " + strings.Repeat("x", 200) + "\n\t}\n```\n"
	dim := strings.NewReplacer("```go", "\x1b[2mgo\x1b[0m", "```\n", "", "if", "\x1b[1mif\x1b[0m",
		`"**z**"`, "\x1b[35m\"**z**\"\x1b[0m", "// 80 "+strings.Repeat("x", 200),
		"\x1b[2m// 80 "+strings.Repeat("x", 200)+"\x1b[0m").Replace(code)
	if got := pieces(t, MarkdownOptions{Color: true}, strings.Split(code, "")...); got != dim {
		t.Error(cmp.Diff(dim, got))
	}
	if got := pieces(t, MarkdownOptions{Color: true}, strings.TrimSuffix(code, "\n")); got != dim {
		t.Error(cmp.Diff(dim, got))
	}
	long := "```\n" + strings.Repeat("0123456789", 1000) + "\n```\n"
	if got := pieces(t, MarkdownOptions{}, long); got != long {
		t.Error("a long code line changed")
	}
	deep := "```\n      ```\n**inner**\n   ```\n"
	if got := pieces(t, MarkdownOptions{}, deep); got != deep {
		t.Errorf("got %q", got)
	}
	nested := "````\n```\ninner\n```\n````\nafter **b**\n"
	if got, want := pieces(t, MarkdownOptions{}, nested), "````\n```\ninner\n```\n````\nafter b\n"; got != want {
		t.Errorf("got %q", got)
	}
}

func TestTablesFitTheWidth(t *testing.T) {
	t.Parallel()
	cell := func(n int) string { return strings.Repeat("x", n) }
	src := func(n int) string {
		return "| A | B |\n|---|---|\n| " + cell(n/2) + " | " + cell(n/2-4) + " |\n"
	}
	for n, aligned := range map[int]bool{40: true, 80: true, 82: false, 200: false} {
		got := pieces(t, MarkdownOptions{}, src(n))
		if strings.Contains(got, "A: ") == aligned {
			t.Errorf("%d cells:\n%s", n, got)
		}
	}
	var b strings.Builder
	m := NewMarkdown(MarkdownOptions{Out: to(&b)})
	m.Add(src(40))
	if b.Len() > 0 {
		t.Errorf("shown before its end: %q", b.String())
	}
	big, want := "| A | B |\n|---|---|\n", "A    B\n------\n"
	for i := range 1000 {
		big += fmt.Sprintf("| %03d | **x** |\n", i)
		want += fmt.Sprintf("%03d  x\n", i)
	}
	if got := pieces(t, MarkdownOptions{}, strings.SplitAfter(big, "x")...); got != want {
		t.Errorf("a table of a thousand rows: %s", cmp.Diff(want[:200], got[:200]))
	}
}

func TestWidthIsReadAtEachBlock(t *testing.T) {
	t.Parallel()
	width := 80
	var b strings.Builder
	m := NewMarkdown(MarkdownOptions{Out: to(&b), Width: func() int { return width }})
	text := strings.TrimSpace(strings.Repeat("word ", 30))
	m.Add(text[:60])
	width = 40
	m.Add(text[60:] + "\n\n" + text)
	m.Close()
	first, second, _ := strings.Cut(b.String(), "\n\n")
	if !strings.HasPrefix(first, text[:79]+"\n") || !strings.HasPrefix(second, text[:39]+"\n") {
		t.Errorf("got %q", b.String())
	}
}

func TestLinksAreWrittenOnce(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"[label](http://a.b/c_d*e)":         "label (http://a.b/c_d*e)",
		"**[la *b*](internal/x.go)**":       "la b (internal/x.go)",
		"[x](javascript:alert)":             "x (javascript:alert)",
		"[http://a.b](http://a.b)":          "http://a.b",
		"<mailto:me@x.org>, <me@x.org>":     "mailto:me@x.org, me@x.org",
		"![alt](pic.png)":                   "alt (pic.png)",
		"[a](%zz) [b](#frag) [c]() [d][e]":  "a (%zz) b (#frag) c [d][e]",
		"**me@x.org www.x.org http://a.b**": "me@x.org www.x.org http://a.b",
		"[evil](http://a\u202eb)":           "evil (http://a<U+202E>b)",
		"a[0](x) f(y)[1]":                   "a0 (x) f(y)[1]",
		"[t](/url \"title\")":               "t (/url)",
	} {
		if got := strings.TrimSuffix(pieces(t, MarkdownOptions{}, src), "\n"); got != want {
			t.Errorf("%s: got %q, want %q", src, got, want)
		}
	}
}

func TestMarkdownInline(t *testing.T) {
	t.Parallel()
	bold, ital, off := "\x1b[1m", "\x1b[3m", "\x1b[0m"
	for src, want := range map[string]string{
		"**b** *i* __b__ _i_": bold + "b" + off + " " + ital + "i" + off + " " + bold + "b" + off + " " +
			ital + "i" + off,
		"a**b**c":                    "a**b**c",
		"`&amp; &lt; **x**` &amp;":   "\x1b[35m&amp; &lt; **x**\x1b[0m &",
		"**`&lt;`**":                 "\x1b[1;35m&lt;\x1b[0m",
		"``a`b``":                    "\x1b[35ma`b\x1b[0m",
		`\*no\* C:\new \`:            `*no* C:\new \`,
		"**x\\_y &#27;[2J &copy=1**": bold + "x_y" + " &#27;[2J &copy=1" + off,
		"2**3 **open":                "2**3 **open",
		"*.go and *.c":               "*.go and *.c",
		"~/a and ~/b ~c~":            "~/a and ~/b ~c~",
		"这是**粗体**文字":                 "这是" + bold + "粗体" + off + "文字",
		"# **x** &lt; y #":           "\x1b[1mx < y #" + off,
		"#hash -dash 1.5 1.x":        "#hash -dash 1.5 1.x",
		"**1. > - # |x|**":           bold + "1. > - # |x|" + off,
		"<div>**x**</div>":           "<div>" + bold + "x" + off + "</div>",
	} {
		got := strings.TrimSuffix(pieces(t, MarkdownOptions{Color: true}, src), "\n")
		if got != want {
			t.Errorf("%s:\n got %q\nwant %q", src, got, want)
		}
	}
}

func TestMarkdownBlankLinesAndEnds(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"":                       "",
		"\n\n":                   "",
		"\n\na\n\n\n\nb\n\n\n":   "a\n\nb\n",
		"a\r\nb\rc":              "a\nb\nc\n",
		"-":                      "-\n",
		">":                      ">\n",
		"- \n- x":                "-\n- x\n",
		"```":                    "```\n",
		"``":                     "``\n",
		"a  \nb   c":             "a\nb   c\n",
		"| a |":                  "| a |\n",
		"x\n|a|\n|-|\n|b|\ntext": "x\na\n-\nb\ntext\n",
		"1":                      "1\n",
		"--- --- x":              "--- --- x\n",
	} {
		if got := pieces(t, MarkdownOptions{}, src); got != want {
			t.Errorf("%q: got %q, want %q", src, got, want)
		}
	}
}

func TestMarkdownRowsFit(t *testing.T) {
	t.Parallel()
	for _, w := range []int{10, 20, 37, 80, 200} {
		for _, row := range strings.Split(pieces(t, MarkdownOptions{Width: wide(w)}, proseOf(readTour(t))), "\n") {
			if cells(row) >= w && strings.Contains(strings.TrimSpace(strings.TrimLeft(row, "->0123456789. ")), " ") {
				t.Errorf("%d cells in %d: %q", cells(row), w, row)
			}
		}
	}
}

// proseOf leaves out the parts that are shown as they are.
func proseOf(src string) string {
	src = regexp.MustCompile("(?ms)^(> |- )?(```|~~~).*?^(> |  )?(```|~~~)$").ReplaceAllString(src, "")
	return regexp.MustCompile(`(?m)^(    .*|\|.*)$`).ReplaceAllString(src, "")
}

func TestMarkdownLongBlocksAreSource(t *testing.T) {
	t.Parallel()
	src := strings.Repeat("some **bold** text ", 1000) + "\n\n**next**\n"
	got := pieces(t, MarkdownOptions{Color: true}, src)
	if n := strings.Count(got, "\x1b[1m"); n < 400 || n > 500 {
		t.Errorf("%d styled spans", n)
	}
	if !strings.Contains(got, "**bold**") || !strings.HasSuffix(got, "\x1b[1mnext\x1b[0m\n") {
		t.Errorf("ends %q", tailOf(got))
	}
}

func FuzzMarkdown(f *testing.F) {
	for _, seed := range []string{"# a\n**b** `c`\n- d\n```\ne\n", "> - [x] a\n  1. b\n> ```go\nc\n---\n",
		"[a](https://b.c/d) ~~e~~ <http://f>\n|a|[b](http://c)|\n|-|-|\n|d|\n", "|a|\n|-|\n", "&#27;**&#x1b;**",
		"\x1b]0;x\x07", "[a](b\u202e) *\u200d*"} {
		for look := range uint8(4) {
			f.Add(seed, uint8(7), look)
		}
	}
	f.Add(readHostile(f), uint8(3), uint8(1))
	f.Fuzz(func(t *testing.T, src string, n, look uint8) {
		size := int(n%32) + 1
		var parts []string
		for i := 0; i < len(src); i += size {
			parts = append(parts, src[i:min(i+size, len(src))])
		}
		opt := MarkdownOptions{Color: look&4 == 0, Links: look&1 != 0, Spoken: look&2 != 0, Width: wide(int(n) + 5)}
		got := pieces(t, opt, parts...)
		if want := pieces(t, opt, src); got != want {
			t.Errorf("chunks of %d: %q, whole %q", size, got, want)
		}
		checkRendered(t, got)
	})
}

func TestAStyleEndsWithItsRow(t *testing.T) {
	t.Parallel()
	got := pieces(t, MarkdownOptions{Color: true, Width: wide(20)},
		"- some **bold words in** rows\n- some **bold words in several rows** and\n\n# a heading of several rows\n")
	checkRows(t, got)
	want := "- some \x1b[1mbold words\x1b[0m\n  \x1b[1min\x1b[0m rows\n- some **bold words\n  in several rows**\n" +
		"  and\n\n\x1b[1ma heading of\x1b[0m\n\x1b[1mseveral rows\x1b[0m\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestMarksWithinWordsStay: asterisks that are far more often a product than emphasis
// stay, also inside emphasis; scripts without spaces keep their emphasis.
func TestMarksWithinWordsStay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ source, want string }{
		{"use 2*3*4 and a*b*c", "use 2*3*4 and a*b*c\n"},
		{"x**y**z", "x**y**z\n"},
		{"**so 2*3*4 is** it", "so 2*3*4 is it\n"},
		{"# 2*3*4 *is*", "# 2*3*4 is\n"},
		{"**Class**es and *one*s", "Classes and ones\n"},
		{"これは**重要**です", "これは重要です\n"},
		{"2*3", "2*3\n"},
	} {
		if got := pieces(t, MarkdownOptions{}, c.source+"\n"); got != c.want {
			t.Errorf("%q shows %q, want %q", c.source, got, c.want)
		}
	}
}

// TestSpokenLosesNoWords: a table without rows is its headers, and a rule is not
// heard.
func TestSpokenLosesNoWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ source, want string }{
		{"| h | i |\n|---|---|\n\nx\n", "h, i.\n\nx\n"},
		{"Head\n====\n\na = b\n====\n", "Head\n\na = b\n"},
		{"> ```sh\n> ls > x\n> ```\n", "quote: code sh, 1 line:\nls > x\nend code.\n"},
		{"[`x`](y.md)\n", "x (y.md)\n"},
		{"- a\n- b\n\n***\n\n- c\n", "- a\n- b\n\n- c\n"},
	} {
		if got := pieces(t, MarkdownOptions{Spoken: true}, c.source); got != c.want {
			t.Errorf("%q is spoken as %q, want %q", c.source, got, c.want)
		}
	}
}

// TestEntitiesAreDecoded: entities become visible characters, never markup or a
// control character.
func TestEntitiesAreDecoded(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ source, want string }{
		{"&rarr; &mdash; &#8594; &#x1F600; &copy;", "→ — → 😀 ©\n"},
		{"&#42;a&#42; **b &#42;&#96;c** &lt;d&gt; &bsol;n", "*a* b *`c <d> \\n\n"},
		{"&#27;[2J &#x85; &#x202e; &#0; &#10; &#x2028; &nope; R&D; &#9999999;",
			"&#27;[2J … &#x202e; &#0; &#10; &#x2028; &nope; R&D; &#9999999;\n"},
		{"`&rarr;`", "`&rarr;`\n"},
	} {
		if got := pieces(t, MarkdownOptions{}, c.source+"\n"); got != c.want {
			t.Errorf("%q shows %q, want %q", c.source, got, c.want)
		}
	}
}
