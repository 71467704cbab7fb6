package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"mvdan.cc/sh/v3/syntax"

	"artoo/agent/permission"
	"artoo/config"
)

// block is a fenced or indented block of a page, or a span of code in its text.
type block struct {
	page, text string
	language   string // of a fenced block
	span       bool
}

// TestCommandsOnThePagesAreRight gives each artoo command line of README.md and docs to the
// program's own parser, those of blocks with the values of their flags. A span of the text
// may name a command without the words that follow it.
func TestCommandsOnThePagesAreRight(t *testing.T) {
	aHome(t)
	lines := 0
	for _, b := range blocksOfPages(t) {
		if b.language == "text" || b.language == "toml" {
			continue
		}
		for _, args := range commandLines(b.text) {
			lines++
			inv, err := parse(args)
			if err != nil && b.span {
				inv, err = parse(append(args, "X"))
			}
			if err == nil && !b.span {
				err = flagsAreRight(inv)
			}
			if err != nil {
				t.Errorf("%s: artoo %s: %v", b.page, strings.Join(args, " "), err)
			}
		}
	}
	if lines < 60 {
		t.Errorf("found %d command lines only: the search is wrong", lines)
	}
}

// flagsAreRight looks at the values of a command line's flags, rules included.
func flagsAreRight(inv invocation) error {
	c, err := config.Load(config.LoadOptions{Environ: os.Environ(), Flags: inv.Flags})
	if err != nil {
		return err
	}
	for _, rule := range c.AllRules("/") {
		if _, err := permission.ParseRule(rule.Rule()); err != nil {
			return err
		}
	}
	return nil
}

// TestSettingsOnThePagesAreRight loads each TOML block of README.md and docs as the user's
// own file, or as a project's where the text before it says so: nothing may be unknown.
func TestSettingsOnThePagesAreRight(t *testing.T) {
	home := aHome(t)
	files := 0
	for _, b := range blocksOfPages(t) {
		if b.language != "toml" || strings.HasPrefix(b.text, policyBlock) {
			continue
		}
		files++
		file := filepath.Join(home, "page.toml")
		if err := os.WriteFile(file, []byte(b.text), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := config.Load(config.LoadOptions{Environ: os.Environ(), Flags: map[string][]string{"config": {file}}})
		if err == nil && b.page == "docs/sandbox.md" {
			err = c.ApplyProject(home, []byte(b.text))
		}
		if err == nil && len(c.Warnings) > 0 {
			err = errors.New(strings.Join(c.Warnings, "; "))
		}
		if err != nil {
			t.Errorf("%s: %v in\n%s", b.page, err, b.text)
		}
	}
	if files < 6 {
		t.Errorf("found %d blocks only: the search is wrong", files)
	}
}

// policyBlock begins the example of a system's policy, which TestThePolicyIsRootsAndNamed uses.
const policyBlock = "# /etc/artoo/policy.toml\n"

// TestWhatAPageShowsOfACommandIsPrinted plays each block that shows a command behind a
// dollar sign and its output, where nothing confines commands.
func TestWhatAPageShowsOfACommandIsPrinted(t *testing.T) {
	played := 0
	for _, b := range blocksOfPages(t) {
		line, want, _ := strings.Cut(b.text, "\n")
		command, found := strings.CutPrefix(line, "$ ")
		if !found || b.span {
			continue
		}
		played++
		cmd := exec.Command("sh", "-c", command)
		cmd.Dir = t.TempDir()
		cmd.Env = []string{"HOME=" + t.TempDir(), "ARTOO_SANDBOX=off",
			"PATH=" + filepath.Dir(buildProgram(t, moduleDir)) + string(filepath.ListSeparator) + os.Getenv("PATH")}
		got, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %s: %v", b.page, command, err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s shows something else than %s prints:\n%s", b.page, command, diff)
		}
	}
	if played == 0 {
		t.Error("found no such block: the search is wrong")
	}
}

// aHome is a home without settings, for the whole test.
func aHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	for _, variable := range os.Environ() {
		if name, value, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "ARTOO_") || strings.HasPrefix(name, "XDG_") {
			t.Setenv(name, value) // puts it back afterwards
			os.Unsetenv(name)
		}
	}
	t.Setenv("HOME", home)
	return home
}

// blocksOfPages are the blocks and spans of README.md and of all pages of docs.
func blocksOfPages(t *testing.T) []block {
	t.Helper()
	var all []block
	for _, path := range pages(t) {
		name, err := filepath.Rel(moduleDir, path)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, blocksOf(filepath.ToSlash(name), pageText(t, path))...)
	}
	return all
}

// pages are the paths of README.md and of all pages of docs.
func pages(t *testing.T) []string {
	t.Helper()
	all := []string{filepath.Join(moduleDir, "README.md")}
	for _, dir := range []string{"docs", filepath.Join("docs", "dev")} {
		found, err := filepath.Glob(filepath.Join(moduleDir, dir, "*.md"))
		if err != nil || len(found) < 5 {
			t.Fatalf("%d pages in %s, %v", len(found), dir, err)
		}
		all = append(all, found...)
	}
	return all
}

func pageText(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var codeSpan = regexp.MustCompile("(?s)`([^`]+)`")

// blocksOf takes a page apart. Lines that are indented by four spaces behind an empty one
// are a block too.
func blocksOf(page, text string) (all []block) {
	fence, prose, before := "", "", ""
	for line := range strings.Lines(text) {
		last := len(all) - 1
		rest := strings.TrimLeft(line, "`")
		switch ticks := line[:len(line)-len(rest)]; {
		case fence == "" && len(ticks) >= 3:
			fence = ticks
			all = append(all, block{page: page, language: strings.TrimSpace(rest)})
		case fence != "" && ticks == fence:
			fence = ""
		case fence != "":
			all[last].text += line
		case strings.HasPrefix(line, "    ") && (strings.TrimSpace(before) == "" || strings.HasPrefix(before, "    ")):
			if strings.TrimSpace(before) == "" {
				all, last = append(all, block{page: page}), last+1
			}
			all[last].text += line
		default:
			prose += line
		}
		before = line
	}
	for _, span := range codeSpan.FindAllStringSubmatch(prose, -1) {
		all = append(all, block{page: page, text: strings.ReplaceAll(span[1], "\n", " "), span: true})
	}
	return all
}

var (
	callsArtoo  = regexp.MustCompile(`(^|[ $(|])artoo( |$)`)
	described   = regexp.MustCompile(`\S {2,}\S.*`) // the description of a command, after two spaces or more
	placeholder = strings.NewReplacer("[", "", "]", "", " ...", "", "…", "X", "$ ", "")
)

// commandLines are the arguments of each call of artoo in a text of command lines. Words in
// brackets may be left out, and are taken; of words with a bar between them the first is.
func commandLines(text string) (all [][]string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !callsArtoo.MatchString(line) {
			continue
		}
		if at := described.FindStringIndex(line); at != nil {
			line = line[:at[0]+1]
		}
		file, err := syntax.NewParser().Parse(strings.NewReader(placeholder.Replace(line)), "")
		if err != nil {
			continue // it is no command line
		}
		syntax.Walk(file, func(n syntax.Node) bool {
			call, ok := n.(*syntax.CallExpr)
			if !ok || len(call.Args) == 0 || call.Args[0].Lit() != "artoo" {
				return true
			}
			var args []string
			for _, word := range call.Args[1:] {
				args = append(args, plain(word))
			}
			all = append(all, args)
			return true
		})
	}
	return all
}

// plain is a word of a command line without its quotes.
func plain(word *syntax.Word) string {
	var b strings.Builder
	syntax.Walk(word, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lit:
			b.WriteString(n.Value)
		case *syntax.SglQuoted:
			b.WriteString(n.Value)
		}
		return true
	})
	return b.String()
}

var pageLink = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

// TestLinksOfThePagesLead looks for the file and the heading that each link of README.md and
// docs names.
func TestLinksOfThePagesLead(t *testing.T) {
	links := 0
	for _, path := range pages(t) {
		for _, m := range pageLink.FindAllStringSubmatch(pageText(t, path), -1) {
			links++
			target := filepath.Join(filepath.Dir(path), filepath.FromSlash(m[1]))
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %v", path, err)
				continue
			}
			if m[2] != "" && !slices.Contains(anchors(pageText(t, target)), m[2]) {
				t.Errorf("%s: %s has no heading %s", path, m[1], m[2])
			}
		}
	}
	if links < 40 {
		t.Errorf("found %d links only: the search is wrong", links)
	}
}

// anchors are the fragments by which a page's headings are linked to.
func anchors(page string) (all []string) {
	for line := range strings.Lines(page) {
		if title, found := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); found && strings.HasPrefix(line, "#") {
			kept := strings.Map(func(c rune) rune {
				if c == ' ' {
					return '-'
				}
				if c == '-' || c == '_' || unicode.IsLetter(c) || unicode.IsDigit(c) {
					return unicode.ToLower(c)
				}
				return -1
			}, strings.TrimSpace(title))
			all = append(all, "#"+kept)
		}
	}
	return all
}

// TestThereAreFewPages keeps the pages for users few: pages for developers are in docs/dev.
func TestThereAreFewPages(t *testing.T) {
	users, err := filepath.Glob(filepath.Join(moduleDir, "docs", "*.md"))
	if err != nil || len(users) > 25 {
		t.Errorf("%d pages, more than 25: %v", len(users), err)
	}
}

// TestThePagesAreShort bounds the words of all pages for users, as wc -w counts them.
func TestThePagesAreShort(t *testing.T) {
	words := 0
	for _, path := range pages(t) {
		if filepath.Base(filepath.Dir(path)) == "docs" {
			words += len(strings.Fields(pageText(t, path)))
		}
	}
	if words > 30000 || words < 10000 {
		t.Errorf("the pages in docs have %d words; say each thing once, and link: 30000 is the limit", words)
	}
}
