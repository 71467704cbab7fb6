package screen

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCodeHasColorsLineByLine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ src, want string }{
		"go": {"```go\nfunc f() string { // why\n\treturn `a\nb` + \"c\"\n}\n```\n",
			"\x1b[1mfunc\x1b[0m f() \x1b[1mstring\x1b[0m { \x1b[2m// why\x1b[0m\n\t\x1b[1mreturn\x1b[0m `a\n\x1b[35mb`\x1b[0m + \x1b[35m\"c\"\x1b[0m\n}\n"},
		"python, in an item": {"- item\n  ```python\n  def f():\n      return 'x'  # y\n  ```\n",
			"\n\x1b[1mdef\x1b[0m f():\n    \x1b[1mreturn\x1b[0m \x1b[35m'x'\x1b[0m  \x1b[2m# y\x1b[0m\n"},
		"a comment that goes on": {"```c\n/* one\n   two */\nint x;\n```\n", "\x1b[1mint\x1b[0m x;\n"},
		"an attribute":           {"```{.sh title=\"x\"}\necho 'a'\n```\n", "echo \x1b[35m'a'\x1b[0m\n"},
		"an unknown language":    {"```klingon\nif 'x'\n```\n", "\nif 'x'\n"},
		"none":                   {"a\n```\nif 'x'\n```\nb\n", "a\n\nif 'x'\n\nb\n"},
		"a quote":                {"> ```go\n> if x\n> ```\n", "\x1b[2m\u2502 \x1b[0m\x1b[1mif\x1b[0m x\n"},
		"an escape in it":        {"```go\nx := \"\x1b[31m\"\n```\n", "x := \x1b[35m\"^[[31m\"\x1b[0m\n"},
	} {
		whole := pieces(t, MarkdownOptions{Color: true}, c.src)
		if !strings.Contains(whole, c.want) {
			t.Errorf("%s: no %q in %q", name, c.want, whole)
		}
		if single := pieces(t, MarkdownOptions{Color: true}, strings.Split(c.src, "")...); single != whole {
			t.Errorf("%s: byte by byte %q, whole %q", name, single, whole)
		}
		bare := pieces(t, MarkdownOptions{}, c.src)
		if d := cmp.Diff(unmarked(bare), unmarked(sgr.ReplaceAllString(whole, ""))); d != "" {
			t.Errorf("%s: other words: %s", name, d)
		}
		checkRows(t, whole)
	}
}

func TestColoredCodeCostsFewBytes(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"md_highlight.go", "question.go"} {
		code, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		src := "```go\n" + string(code) + "```\n"
		out := pieces(t, MarkdownOptions{Color: true}, src)
		if ratio := float64(len(out)) / float64(len(src)); ratio > 1.6 {
			t.Errorf("%s: %.2f bytes for each of its source", file, ratio)
		}
		if n := strings.Count(out, "\x1b[1m"); n < strings.Count(string(code), "func ") {
			t.Errorf("%s: %d keywords", file, n)
		}
	}
}

func TestCodeBeyondTheBoundsHasNoColors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		line  string
		lines int
	}{"many lines": {"if x == 'y' { return }", 200}, "a long line": {strings.Repeat("if x; ", 1000), 2}} {
		src := "```go\n" + strings.Repeat(c.line+"\n", c.lines) + "```\n"
		var b strings.Builder
		write(nearlyColored(MarkdownOptions{Color: true, Out: to(&b)}, 32<<10), src)
		out := b.String()
		if bare := sgr.ReplaceAllString(out, ""); bare != strings.NewReplacer("```\n", "", "```", "").Replace(src) {
			t.Errorf("%s: the text is another", name)
		}
		rows := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
		if last := rows[len(rows)-1]; last != c.line {
			t.Errorf("%s: the last line is %q", name, last)
		}
		if first := rows[1]; c.lines > 2 && first == c.line {
			t.Errorf("%s: the first line has no colors", name)
		}
	}
}

// FuzzHighlight: colours change no text, whatever the language says.
func FuzzHighlight(f *testing.F) {
	for _, info := range []string{"go", "python", "sh", "html", "yaml", "json", "c++", "php", "markdown", "make", "sql"} {
		f.Add(info, "if x {\n  'a' /* b\n\n} // c\n<a href=\"x\">`y`</a>\n\\\n")
	}
	f.Fuzz(func(t *testing.T, info, code string) {
		if strings.ContainsAny(info, "`\n\r") || strings.Contains(code, "```") {
			return
		}
		src := "x\n\n```" + info + "\n" + code + "\n```\n"
		out := pieces(t, MarkdownOptions{Color: true}, src)
		bare := pieces(t, MarkdownOptions{}, src)
		_, want, _ := strings.Cut(strings.TrimSuffix(bare, "```\n"), "\n```")
		if got := sgr.ReplaceAllString(out, ""); strings.Fields(info) == nil && got != "x\n"+want ||
			!strings.HasSuffix(got, want[strings.IndexByte(want, '\n'):]) {
			t.Errorf("%q, without colour %q", got, bare)
		}
	})
}
