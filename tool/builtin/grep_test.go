package builtin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"artoo/tool"
	"artoo/tool/files"
	"artoo/tool/git/gittest"
	"artoo/tool/search"
)

func grepEnv(t *testing.T) *tool.Env {
	return treeEnv(t, map[string]string{
		".gitignore":  "*.min.js\n",
		"a.go":        "package a\n\nfunc Alpha() {}\n\n// TODO: beta\nfunc Beta() {\n\treturn\n}\n",
		"b/c.go":      "package c\r\n\r\nfunc Alpha(x int) {}\r\n",
		"b/c.ts":      "const alpha = 1;\nlet k = \"\u212aelvin\";\n",
		"b/old.txt":   "\u017ftop\n",
		"doc/read.md": "alpha\none\ntwo\nthree\nfour\nfive\nalpha again\n",
		"x.min.js":    "alpha()",
		"bin.dat":     "alpha\x00\x01",
		".env":        "alpha=1\n",
		"end.txt":     "no line break at the end: omega",
		"ctl.txt":     "esc \x1b[31mred\x1b[0m \xff gamma\n",
	})
}

func TestGrep(t *testing.T) {
	t.Parallel()
	env := grepEnv(t)
	for _, test := range []struct{ name, input, want, summary string }{
		{"plain", `{"pattern":"Alpha"}`, "a.go:3: func Alpha() {}\nb/c.go:3: func Alpha(x int) {}\n", "2 hits"},
		{"any case", `{"pattern":"alpha","ignore_case":true,"glob":"*.{go,ts}"}`,
			"a.go:3: func Alpha() {}\nb/c.go:3: func Alpha(x int) {}\nb/c.ts:1: const alpha = 1;\n", "3 hits"},
		{"Kelvin is a k", `{"pattern":"kelvin","ignore_case":true}`, "b/c.ts:2: let k = \"\u212aelvin\";\n", "1 hit"},
		{"the long s is an s", `{"pattern":"stop","ignore_case":true}`, "b/old.txt:1: \u017ftop\n", "1 hit"},
		{"expression", `{"pattern":"^func \\w+\\(\\)"}`, "a.go:3: func Alpha() {}\na.go:6: func Beta() {\n", "2 hits"},
		{"alternatives", `{"pattern":"todo|return","ignore_case":true}`,
			"a.go:5: // TODO: beta\na.go:7: \treturn\n", "2 hits"},
		{"end of line in CRLF", `{"pattern":"\\{\\}$"}`,
			"a.go:3: func Alpha() {}\nb/c.go:3: func Alpha(x int) {}\n", "2 hits"},
		{"no break at the end", `{"pattern":"omega$"}`, "end.txt:1: no line break at the end: omega\n", "1 hit"},
		{"blanks do not cross lines", `{"pattern":"^\\s*func Beta"}`, "a.go:6: func Beta() {\n", "1 hit"},
		{"type", `{"pattern":"alpha|Alpha","type":"ts"}`, "b/c.ts:1: const alpha = 1;\n", "1 hit"},
		{"glob with a path", `{"pattern":"Alpha","glob":"b/**"}`, "b/c.go:3: func Alpha(x int) {}\n", "1 hit"},
		{"glob left out", `{"pattern":"Alpha","glob":"!b/**"}`, "a.go:3: func Alpha() {}\n", "1 hit"},
		{"two globs", `{"pattern":"(?i)alpha","glob":"*.md, *.ts","files_only":true}`, "b/c.ts\ndoc/read.md\n", "2 files"},
		{"directory", `{"pattern":"Alpha","path":"b"}`, "b/c.go:3: func Alpha(x int) {}\n", "1 hit"},
		{"file", `{"pattern":"alpha","path":"doc/read.md"}`,
			"doc/read.md:1: alpha\ndoc/read.md:7: alpha again\n", "2 hits"},
		{"ignored file by name", `{"pattern":"alpha","path":"x.min.js"}`, "x.min.js:1: alpha()\n", "1 hit"},
		{"files only", `{"pattern":"(?i)alpha","files_only":true}`, "a.go\nb/c.go\nb/c.ts\ndoc/read.md\n", "4 files"},
		{"context", `{"pattern":"alpha","path":"doc","context":2}`,
			"doc/read.md:1: alpha\ndoc/read.md-2- one\ndoc/read.md-3- two\n--\ndoc/read.md-5- four\ndoc/read.md-6- five\ndoc/read.md:7: alpha again\n", "2 hits"},
		{"context that meets", `{"pattern":"alpha|three","path":"doc","context":1}`,
			"doc/read.md:1: alpha\ndoc/read.md-2- one\ndoc/read.md-3- two\ndoc/read.md:4: three\ndoc/read.md-5- four\ndoc/read.md-6- five\ndoc/read.md:7: alpha again\n", "3 hits"},
		{"multiline", `{"pattern":"func Beta.*?return","multiline":true}`,
			"a.go:6: func Beta() {\na.go:7: \treturn\n", "1 hit"},
		{"multiline, CRLF, anchors", `{"pattern":"^package c$\n\n^func","multiline":true}`,
			"b/c.go:1: package c\nb/c.go:2: \nb/c.go:3: func Alpha(x int) {}\n", "1 hit"},
		{"limit", `{"pattern":"(?i)alpha","limit":2}`,
			"a.go:3: func Alpha() {}\nb/c.go:3: func Alpha(x int) {}\n(stopped at the limit of 2 matches, there may be more; narrow the pattern, path or glob, or raise limit)\n", "the first 2 hits"},
		{"files limit", `{"pattern":"(?i)alpha","limit":1,"files_only":true}`,
			"a.go\n(stopped at the limit of 1 file, there may be more; narrow the pattern, path or glob, or raise limit)\n", "the first 1 file"},
		{"nothing", `{"pattern":"zeta"}`, "nothing matches \"zeta\" in .\n", "0 hits"},
		{"no escapes", `{"pattern":"gamma"}`, "ctl.txt:1: esc ^[[31mred^[[0m \ufffd gamma\n", "1 hit"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := mustCall(t, Grep(), env, test.input)
			got.Text = strings.TrimSuffix(got.Text, "(1 hidden file is left out)\n")
			if diff := cmp.Diff(tool.Result{Text: test.want, Summary: test.summary, Paged: true}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestGrepErrors(t *testing.T) {
	t.Parallel()
	env := grepEnv(t)
	for _, test := range []struct{ input, want string }{
		{`{"pattern":""}`, "pattern is empty"},
		{`{"pattern":"foo(?=bar)"}`, "lookahead"},
		{`{"pattern":"(?<!a)b"}`, "lookahead"},
		{`{"pattern":"(a)\\1"}`, "backreferences"},
		{`{"pattern":"func main("}`, `write \( and \)`},
		{`{"pattern":"a[b"}`, `write \[`},
		{`{"pattern":"*.go"}`, `write \*`},
		{`{"pattern":"a++"}`, "possessive"},
		{`{"pattern":"a\nb"}`, "set multiline"},
		{`{"pattern":"a\\nb"}`, "set multiline"},
		{`{"pattern":"a","type":"klingon"}`, "use glob"},
		{`{"pattern":"a","glob":"[x"}`, "not a pattern"},
		{`{"pattern":"a","path":"nowhere"}`, "there is no nowhere"},
		{`{"pattern":"a","path":"bin.dat"}`, "binary"},
		{`{"pattern":"a","path":"/etc"}`, "outside the project"},
		{`{"pattern":"a","path":".env"}`, "hidden"},
		{`{"pattern":"a","limit":-1}`, "negative"},
	} {
		_, _, err := call(t, Grep(), env, test.input)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.input, err, test.want)
		}
	}
}

func TestGrepAccess(t *testing.T) {
	t.Parallel()
	env := grepEnv(t)
	access, _, err := call(t, Grep(), env, `{"pattern":"time.Now","path":"b"}`)
	if err != nil {
		t.Fatal(err)
	}
	want := tool.Access{Kind: tool.KindRead, Paths: []string{filepath.Join(env.Dir, "b")}, Verb: "search", Object: `"time.Now" in b`}
	if diff := cmp.Diff(want, access); diff != "" {
		t.Error(diff)
	}
	if access, _, _ = call(t, Grep(), env, `{"pattern":"a","path":".env"}`); !access.Denied || access.Why == "" {
		t.Errorf("a denied file: %+v", access)
	}
}

func TestGrepLongLine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 3000) + "needle" + strings.Repeat("b", 3000)
	got := mustCall(t, Grep(), treeEnv(t, map[string]string{"min.js": long}), `{"pattern":"needle"}`)
	if len(got.Text) > 560 || !strings.Contains(got.Text, "äneedleb") ||
		!strings.HasPrefix(got.Text, "min.js:1: … ä") || strings.Contains(got.Text, "\ufffd") {
		t.Errorf("%d bytes: %q", len(got.Text), got.Text)
	}
}

func TestGrepUTF16AndBOM(t *testing.T) {
	t.Parallel()
	encode := func(s string, big bool) string {
		var b []byte
		for _, u := range utf16.Encode([]rune("\ufeff" + s)) {
			if big {
				b = append(b, byte(u>>8), byte(u))
			} else {
				b = append(b, byte(u), byte(u>>8))
			}
		}
		return string(b)
	}
	env := treeEnv(t, map[string]string{
		"be.txt": encode("one\r\ntwo 🎉 büro\r\n", true), "le.txt": encode("two 🎉 büro", false),
		"u8.txt": "\ufefftwo 🎉 büro\n",
	})
	want := "be.txt:2: two 🎉 büro\nle.txt:1: two 🎉 büro\nu8.txt:1: two 🎉 büro\n"
	if got := mustCall(t, Grep(), env, `{"pattern":"^two . büro$"}`).Text; got != want {
		t.Errorf("%q", got)
	}
}

// As in ripgrep, the text before the first NUL byte counts.
func TestGrepStopsWhereAFileBecomesBinary(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("some line of text\n", 1000)
	env := treeEnv(t, map[string]string{"late.dat": "needle\n" + text + "needle \x00\nneedle\n",
		"far.dat": text + strings.Repeat(text, 40) + "needle\n\x00needle\n", "no.dat": text + "\x00needle\n",
		"z.txt": "needle\n"})
	for _, multiline := range []bool{false, true} {
		got := mustCall(t, Grep(), env, fmt.Sprintf(`{"pattern":"needle","multiline":%t}`, multiline)).Text
		want := "far.dat:41001: needle\nlate.dat:1: needle\nlate.dat:1002: needle \nz.txt:1: needle\n" +
			"(2 files are searched only up to the binary part, such as far.dat, late.dat)\n"
		if got != want {
			t.Errorf("multiline %t: %q", multiline, got)
		}
	}
	got := mustCall(t, Grep(), env, `{"pattern":"needle$","path":"no.dat"}`).Text
	if !strings.HasPrefix(got, "no.dat:1001:") {
		t.Errorf("named: %q", got)
	}
}

// Nothing of a denied file is reported, not even its existence.
func TestGrepTellsNothingOfDeniedFiles(t *testing.T) {
	t.Parallel()
	env := treeEnv(t, map[string]string{".env": "needle=1\n", "a.env/x": "needle\n", "b.txt": "hay\n",
		"c/prod.env": "needle\n", "k.pem": "needle\n-----BEGIN PRIVATE " + "KEY-----\n",
		"late.env": "needle\n" + strings.Repeat("x\n", 9000) + "\x00"})
	if err := os.Link(filepath.Join(env.Dir, ".env"), filepath.Join(env.Dir, "other.txt")); err != nil {
		t.Log(err)
	}
	if err := os.Truncate(filepath.Join(env.Dir, "c", "prod.env"), search.MaxFile+1); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(env.Dir, "a.env"), 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Join(env.Dir, "a.env"), 0o700)
	for _, pattern := range []string{"needle", "needles"} { // the count says nothing of what stands in them
		for _, multiline := range []bool{false, true} {
			got := mustCall(t, Grep(), env, fmt.Sprintf(`{"pattern":%q,"multiline":%t}`, pattern, multiline)).Text
			if got != fmt.Sprintf("nothing matches %q in .\n(5 hidden files are left out)\n", pattern) {
				t.Errorf("%q", got)
			}
		}
	}
}

func TestGrepBigFiles(t *testing.T) {
	t.Parallel()
	env := treeEnv(t, map[string]string{"small.txt": "needle\n"})
	f, err := os.Create(filepath.Join(env.Dir, "big.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	line := strings.Repeat("x", 99) + "\n"
	block := strings.Repeat(line, 10_000)
	for f, n := f, 0; n < 17; n++ {
		if _, err := f.WriteString(block); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.WriteString("before\nneedle\nafter\n"); err != nil {
		t.Fatal(err)
	}
	got := mustCall(t, Grep(), env, `{"pattern":"needle"}`).Text
	if want := "small.txt:1: needle\n(1 file over 16 MB left out, such as big.log; name one as path to search it)\n"; got != want {
		t.Errorf("tree: %q", got)
	}
	got = mustCall(t, Grep(), env, `{"pattern":"needle","path":"big.log","context":1}`).Text
	if want := "big.log-170001- before\nbig.log:170002: needle\nbig.log-170003- after\n"; got != want {
		t.Errorf("by name: %q", got)
	}
	if _, _, err := call(t, Grep(), env, `{"pattern":"needle","path":"big.log","multiline":true}`); err == nil ||
		!strings.Contains(err.Error(), "without multiline") {
		t.Errorf("multiline: %v", err)
	}
}

// The session's output directory lies outside the project.
func TestGrepReadDir(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	gittest.WriteTree(t, out, map[string]string{"call-1.txt": "one\nneedle\n"})
	files, err := files.Open(files.Config{Root: t.TempDir(), ReadDirs: []string{out}})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	path := filepath.Join(out, "call-1.txt")
	got := mustCall(t, Grep(), &tool.Env{Files: files}, fmt.Sprintf(`{"pattern":"needle","path":%q}`, path))
	if !strings.HasSuffix(got.Text, "call-1.txt:2: needle\n") {
		t.Errorf("%q", got.Text)
	}
}

func TestGrepFifoDoesNotBlock(t *testing.T) {
	t.Parallel()
	env := treeEnv(t, map[string]string{"a": "x\n", "fifo": ""})
	gittest.Repo(t, env.Dir)
	gittest.Git(t, env.Dir, "add", ".")
	makeFifo(t, filepath.Join(env.Dir, "fifo"))
	if got := mustCall(t, Grep(), env, `{"pattern":"x"}`).Text; got != "a:1: x\n" {
		t.Errorf("%q", got)
	}
}

// A limit that is reached within a batch of files gives the same lines whatever
// the workers did first.
func TestGrepIsStable(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	var want strings.Builder
	for i := range 600 {
		files[fmt.Sprintf("f%03d", i)] = "hit one\nmiss\nhit two\n"
		if i < 50 {
			fmt.Fprintf(&want, "f%03d:1: hit one\nf%03d:3: hit two\n", i, i)
		}
	}
	want.WriteString(
		"(stopped at the limit of 100 matches, there may be more; narrow the pattern, path or glob, or raise limit)\n")
	env := treeEnv(t, files)
	odd := "f000:1: hit one\nf000:3: hit two\nf001:1: hit one\n(stopped at the limit of 3 matches, there may be more; narrow the pattern, path or glob, or raise limit)\n"
	if diff := cmp.Diff(odd, mustCall(t, Grep(), env, `{"pattern":"hit","limit":3}`).Text); diff != "" {
		t.Error(diff)
	}
	for range 3 {
		if diff := cmp.Diff(want.String(), mustCall(t, Grep(), env, `{"pattern":"hit"}`).Text); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestGrepStopsAtItsLimit(t *testing.T) {
	t.Parallel()
	env := treeEnv(t, map[string]string{"a": strings.Repeat("x\n", 100), "b": "x\n"})
	got := mustCall(t, Grep(), env, `{"pattern":"x"}`)
	if got.Summary != "the first 100 hits" ||
		!strings.Contains(got.Text, "(stopped at the limit of 100 matches, there may be more;") {
		t.Errorf("%s: %s", got.Summary, got.Text[len(got.Text)-150:])
	}
	if got = mustCall(t, Grep(), env, `{"pattern":"x","limit":101}`); strings.Contains(got.Text, "there may be more") &&
		strings.Count(got.Text, "\n") != 102 {
		t.Errorf("%s", got.Text)
	}
}

func TestGrepSaysThatNoFileFits(t *testing.T) {
	t.Parallel()
	env := treeEnv(t, map[string]string{"a.go": "needle", "b/c.go": "needle"})
	for input, want := range map[string]string{
		`{"pattern":"needle","glob":"*.rs"}`:              "no file was searched: the glob *.rs fits none of the 2 files in .\n",
		`{"pattern":"needle","type":"py","path":"b"}`:     "no file was searched: the type py fits none of the 1 file in b\n",
		`{"pattern":"needle","type":"go","glob":"!*.go"}`: "no file was searched: the glob !*.go with the type go fits none of the 2 files in .\n",
		`{"pattern":"nothing like it","glob":"*.go"}`:     "nothing matches \"nothing like it\" in .\n",
	} {
		if got := mustCall(t, Grep(), env, input).Text; got != want {
			t.Errorf("%s: %q", input, got)
		}
	}
}

func TestGrepAnswersFitIntoAPage(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, "needle number %d in a line of some length\n", i)
	}
	env := treeEnv(t, map[string]string{"a": b.String()})
	for _, max := range []int{2000, 20_000, 100_000} {
		env.PageMax = func() int { return max }
		got := mustCall(t, Grep(), env, `{"pattern":"needle","limit":1000}`)
		shown := strings.Count(got.Text, "needle number")
		whole := max == 100_000 && shown == 1000
		if len(got.Text) > max || !whole &&
			!strings.Contains(got.Text, fmt.Sprintf("(the first %d matches: more do not fit", shown)) {
			t.Errorf("%d: %d matches, %d bytes: %s", max, shown, len(got.Text), got.Text[len(got.Text)-200:])
		}
	}
}

func TestGrepRefusesPatternsThatWouldTakeMinutes(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("(a|b)", 20_000)
	env := treeEnv(t, map[string]string{"min.js": strings.Repeat("ab", 1<<20)})
	if _, _, err := call(t, Grep(), env, fmt.Sprintf(`{"pattern":%q}`, long)); err == nil ||
		!strings.Contains(err.Error(), "the pattern is too large") {
		t.Errorf("%v", err)
	}
	heavy := fmt.Sprintf(`{"pattern":%q,"path":"min.js","multiline":true}`, strings.Repeat("(a|b)", 1500)+"c")
	if _, _, err := call(t, Grep(), env, heavy); err == nil || !strings.Contains(err.Error(), "without multiline") {
		t.Errorf("%v", err)
	}
}

func TestGrepTakesTooLong(t *testing.T) {
	t.Parallel()
	var c grepCall
	if got := c.result(search.Hits{TimedOut: true}, maxGrepText).Text; !strings.Contains(got,
		"(stopped after 30s: not every file was searched;") {
		t.Errorf("%q", got)
	}
}

func TestGrepCancelled(t *testing.T) {
	t.Parallel()
	env := treeEnv(t, map[string]string{"a": "x\n"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, input := range []string{`{"pattern":"x"}`, `{"pattern":"x","path":"a"}`,
		`{"pattern":"x","path":"a","multiline":true}`} {
		if _, _, _, err := callLive(ctx, t, Grep(), env, input); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", input, err)
		}
	}
}

// One line can be longer than the part searched at a time.
func TestGrepEnormousLine(t *testing.T) {
	t.Parallel()
	env := treeEnv(t, map[string]string{"a": strings.Repeat("ab ", 1<<20) + "needle\nnext\n" +
		strings.Repeat("c", 1<<19) + "\nneedle\n"})
	got := mustCall(t, Grep(), env, `{"pattern":"needle","context":3}`).Text
	if !strings.Contains(got, "needle\na-2- next\na-3- ccc") || !strings.HasSuffix(got, "\na:4: needle\n") ||
		len(got) > 5000 {
		t.Errorf("%d bytes: %.2000q", len(got), got)
	}
}

func TestSearchToolsAreSmall(t *testing.T) {
	t.Parallel()
	total := 0
	for _, tool := range []tool.Tool{Glob(), Grep(), Bash(BashOptions{Path: "/bin/bash"})} {
		total += len(tool.Name) + len(tool.Description) + len(tool.Schema())
	}
	if total > 4<<10 {
		t.Errorf("the tools take %d bytes of every prompt", total)
	}
}
