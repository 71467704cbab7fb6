package instructions_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"artoo/agent/instructions"
	"artoo/tool/files"
)

// tree makes a home with a project p and the user's directory .config/artoo in it. A text that begins with "-> " is a
// link's target.
func tree(t *testing.T, there map[string]string) instructions.Places {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	must(t, os.MkdirAll(filepath.Join(home, "p"), 0o755))
	for name, text := range there {
		path := filepath.Join(home, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if to, isLink := strings.CutPrefix(text, "-> "); isLink {
			must(t, os.Symlink(to, path))
		} else {
			must(t, os.WriteFile(path, []byte(text), 0o644))
		}
	}
	p := instructions.Places{Home: home, Root: filepath.Join(home, "p"), Dir: filepath.Join(home, "p"), Config: filepath.Join(home, ".config", "artoo")}
	p.Files, err = files.Open(files.Config{Root: p.Root, DenyFiles: []string{p.Config}})
	must(t, err)
	t.Cleanup(func() { p.Files.Close() })
	return p
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// lines are what was found: the path, what became of it, and the text that the model is given.
func lines(list []instructions.File) (said []string) {
	for _, f := range list {
		line := f.Name + " " + string(f.Why)
		if f.Used {
			line += ": " + strings.TrimSpace(f.Text)
		}
		said = append(said, line)
	}
	return said
}

func TestEachInstructionFileIsListed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		there map[string]string
		want  []string
	}{
		"the user's, then the project's": {map[string]string{".config/artoo/AGENTS.md": "mine", "p/AGENTS.md": "ours"},
			[]string{"~/.config/artoo/AGENTS.md used: mine", "AGENTS.md used: ours"}},
		"the user's by link": {map[string]string{".config/artoo/AGENTS.md": "-> ../../dot/A", "dot/A": "mine"},
			[]string{"~/.config/artoo/AGENTS.md used: mine"}},
		"the user's directory by link": {map[string]string{".config/artoo": "-> ../dot", "dot/AGENTS.md": "mine @more.md", "dot/more.md": "more"},
			[]string{"~/.config/artoo/AGENTS.md used: mine @more.md", "~/.config/artoo/more.md used: more"}},
		"the user's leads to a key": {map[string]string{".config/artoo/AGENTS.md": "-> ../../.env", ".env": "KEY=1"},
			[]string{"~/.config/artoo/AGENTS.md hidden"}},
		"a link within": {map[string]string{"p/AGENTS.md": "-> docs/rules", "p/docs/rules": "ours"}, []string{"AGENTS.md used: ours"}},
		"a link out":    {map[string]string{"p/AGENTS.md": "-> ../rules.md", "rules.md": "theirs"}, []string{"AGENTS.md outside"}},
		"a link to the user's": {map[string]string{"p/AGENTS.md": "-> ../.config/artoo/AGENTS.md", ".config/artoo/AGENTS.md": "mine"},
			[]string{"~/.config/artoo/AGENTS.md used: mine", "AGENTS.md copy"}},
		"a word that is a sentence": {map[string]string{"p/AGENTS.md": "参见docs/规则.md"}, []string{"AGENTS.md used: 参见docs/规则.md"}},
		"a directory that leads out": {map[string]string{"p/.claude": "-> ../c", "c/CLAUDE.md": "theirs"},
			[]string{".claude/CLAUDE.md outside"}},
		"a link to a secret":  {map[string]string{"p/AGENTS.md": "-> .env", "p/.env": "KEY=1"}, []string{"AGENTS.md hidden"}},
		"a link to nothing":   {map[string]string{"p/AGENTS.md": "-> none.md"}, []string{"AGENTS.md missing"}},
		"a loop":              {map[string]string{"p/AGENTS.md": "-> AGENTS.md"}, []string{"AGENTS.md unreadable"}},
		"a directory":         {map[string]string{"p/AGENTS.md/x": ""}, []string{"AGENTS.md no_file"}},
		"an empty one":        {map[string]string{"p/AGENTS.md": "\n", "p/CLAUDE.md": "c"}, []string{"AGENTS.md empty", "CLAUDE.md used: c"}},
		"the text of a link":  {map[string]string{"p/AGENTS.md": "CLAUDE.md", "p/CLAUDE.md": "c"}, []string{"AGENTS.md pointer", "CLAUDE.md used: c"}},
		"that, the other way": {map[string]string{"p/CLAUDE.md": "AGENTS.md\n", "p/AGENTS.md": "a"}, []string{"AGENTS.md used: a", "CLAUDE.md pointer"}},
		"only an import":      {map[string]string{"p/AGENTS.md": "@CLAUDE.md\n", "p/CLAUDE.md": "c"}, []string{"AGENTS.md pointer", "CLAUDE.md used: c"}},
		"import and notes": {map[string]string{"p/CLAUDE.md": "@AGENTS.md\nmore", "p/AGENTS.md": "a"},
			[]string{"AGENTS.md used: a", "CLAUDE.md used: @AGENTS.md\nmore"}},
		"another text": {map[string]string{"p/CLAUDE.md": "c", "p/AGENTS.md": "a"}, []string{"AGENTS.md used: a", "CLAUDE.md used: c"}},
		"a copy":       {map[string]string{"p/CLAUDE.md": "a\n", "p/AGENTS.md": "a"}, []string{"AGENTS.md used: a", "CLAUDE.md copy"}},
		"the same by link": {map[string]string{"p/CLAUDE.md": "-> AGENTS.md", "p/AGENTS.md": "a"},
			[]string{"AGENTS.md used: a", "CLAUDE.md copy"}},
		"all names": {map[string]string{"p/AGENT.md": "a", "p/.claude/CLAUDE.md": "b", "p/CLAUDE.local.md": "c", "p/GEMINI.md": "d", "p/claude.md": "e"},
			[]string{"AGENT.md used: a", ".claude/CLAUDE.md used: b", "CLAUDE.local.md used: c", "claude.md spelling", "GEMINI.md foreign"}},
		"another agent's by link": {map[string]string{"p/AGENTS.md": "a", "p/GEMINI.md": "-> AGENTS.md"}, []string{"AGENTS.md used: a"}},
		"other agents' at home":   {map[string]string{".claude/CLAUDE.md": "c"}, []string{"~/.claude/CLAUDE.md foreign"}},
		"binary":                  {map[string]string{"p/AGENTS.md": "a\x00b"}, []string{"AGENTS.md binary"}},
		"another encoding":        {map[string]string{"p/AGENTS.md": "caf\xe9"}, []string{"AGENTS.md damaged: caf\uFFFD"}},
		"a mark":                  {map[string]string{"p/AGENTS.md": "\xef\xbb\xbfa"}, []string{"AGENTS.md used: a"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, lines(instructions.Read(tree(t, c.there)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestInstructionsInUTF16AreDecoded(t *testing.T) {
	t.Parallel()
	for name, order := range map[string]binary.AppendByteOrder{"little": binary.LittleEndian, "big": binary.BigEndian} {
		var raw []byte
		for _, unit := range utf16.Encode([]rune("\ufeffKeep it brief.\r\n")) {
			raw = order.AppendUint16(raw, unit)
		}
		for _, raw := range []string{string(raw), string(raw[2:])} {
			got := lines(instructions.Read(tree(t, map[string]string{"p/AGENTS.md": raw})))
			if diff := cmp.Diff([]string{"AGENTS.md used: Keep it brief."}, got); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	}
}

func TestImportsAreFollowed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		there map[string]string
		want  []string
	}{
		"beside the importing file": {map[string]string{"p/AGENTS.md": "See @docs/a.md, and (@x).", "p/docs/a.md": "one @b.md#top", "p/docs/b.md": "two"},
			[]string{"AGENTS.md used: See @docs/a.md, and (@x).", "docs/a.md used: one @b.md#top", "docs/b.md used: two"}},
		"names and addresses": {map[string]string{"p/AGENTS.md": "@octocat and me@example.com, @, @pkg, `@a.md`\n```\n@b.md\n```\n\n    @c.md\n\n<!-- @d.md -->\n", "p/pkg/x": ""},
			[]string{"AGENTS.md used: @octocat and me@example.com, @, @pkg, `@a.md`\n```\n@b.md\n```\n\n    @c.md\n\n<!-- @d.md -->"}},
		"in brackets, quotes and bold, before other signs": {map[string]string{"p/AGENTS.md": "(@a.md), \"@b.md\", **@c.md**, @d.md。 @e.md—and @f.md's", "p/a.md": "1", "p/b.md": "2", "p/c.md": "3", "p/d.md": "4", "p/e.md": "5", "p/f.md": "6"},
			[]string{"AGENTS.md used: (@a.md), \"@b.md\", **@c.md**, @d.md。 @e.md—and @f.md's", "a.md used: 1", "b.md used: 2", "c.md used: 3", "d.md used: 4", "e.md used: 5", "f.md used: 6"}},
		"between tags, and no comment": {map[string]string{"p/AGENTS.md": "<rules>\n@a.md\n<!-- @b.md\n--> @c.md\n</rules>\n<pre>\n@b.md\n</pre>\n", "p/a.md": "1", "p/b.md": "2", "p/c.md": "3"},
			[]string{"AGENTS.md used: <rules>\n@a.md\n<!-- @b.md\n--> @c.md\n</rules>\n<pre>\n@b.md\n</pre>", "a.md used: 1", "c.md used: 3"}},
		"a name without an extension": {map[string]string{"p/CLAUDE.md": "@README", "p/README": "r"}, []string{"CLAUDE.md pointer", "README used: r"}},
		"a space":                     {map[string]string{"p/CLAUDE.md": `@my\ rules.md`, "p/my rules.md": "r"}, []string{"CLAUDE.md pointer", "my rules.md used: r"}},
		"an unfinished last line":     {map[string]string{"p/AGENTS.md": "@a.md\n> \t`", "p/a.md": "1"}, []string{"AGENTS.md used: @a.md\n> \t`", "a.md used: 1"}},
		"missing":                     {map[string]string{"p/CLAUDE.md": "c @docs/no.md."}, []string{"CLAUDE.md used: c @docs/no.md.", "docs/no.md missing"}},
		"hidden":                      {map[string]string{"p/CLAUDE.md": "@.env", "p/.env": "K=1"}, []string{"CLAUDE.md pointer", ".env hidden"}},
		"hidden by link": {map[string]string{"p/CLAUDE.md": "@a.md", "p/a.md": "-> .env", "p/.env": "K=1"},
			[]string{"CLAUDE.md pointer", "a.md hidden"}},
		"hidden by case": {map[string]string{"p/CLAUDE.md": "@.ENV", "p/.ENV": "K=1"}, []string{"CLAUDE.md pointer", ".ENV hidden"}},
		"git's":          {map[string]string{"p/CLAUDE.md": "@.git/config", "p/.git/config": "x"}, []string{"CLAUDE.md pointer", ".git/config hidden"}},
		"out":            {map[string]string{"p/CLAUDE.md": "@../a.md @~/a.md", "a.md": "x"}, []string{"CLAUDE.md pointer", "~/a.md outside", "~/a.md outside"}},
		"the user's text": {map[string]string{"p/CLAUDE.md": "@~/.config/artoo/a.md @~/.config/artoo/config.toml", ".config/artoo/a.md": "x", ".config/artoo/config.toml": "k"},
			[]string{"CLAUDE.md pointer", "~/.config/artoo/a.md used: x", "~/.config/artoo/config.toml hidden"}},
		"a circle": {map[string]string{"p/AGENTS.md": "a @b.md", "p/b.md": "b @AGENTS.md @b.md"},
			[]string{"AGENTS.md used: a @b.md", "b.md used: b @AGENTS.md @b.md", "AGENTS.md cycle", "b.md cycle"}},
		"twice": {map[string]string{"p/AGENTS.md": "@b.md @c.md", "p/b.md": "b", "p/c.md": "c @b.md"},
			[]string{"AGENTS.md pointer", "b.md used: b", "c.md used: c @b.md"}},
		"six deep": {map[string]string{"p/AGENTS.md": "@1.md", "p/1.md": "@2.md", "p/2.md": "@3.md", "p/3.md": "@4.md", "p/4.md": "@5.md", "p/5.md": "5 @6.md", "p/6.md": "6"},
			[]string{"AGENTS.md pointer", "1.md pointer", "2.md pointer", "3.md pointer", "4.md pointer", "5.md used: 5 @6.md", "6.md deep"}},
		"a binary file": {map[string]string{"p/AGENTS.md": "a @b.md @tool", "p/b.md": "\x00", "p/tool": "\x7fELF\x00"}, []string{"AGENTS.md used: a @b.md @tool", "b.md binary"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, lines(instructions.Read(tree(t, c.there)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A name of a package or a person is listed, and is no reason for a warning; a document that is not there is one.
func TestOnlyWhatIsMeantAsAFileIsWrong(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"@types/node": false, "@app.route": false, "@docs/no.md": true, "@docs/no.md。": true, "@d/sub": false, "@d/sub/": true, "@d/*.md": true, "@./no": true, "@no.md": true} {
		list := instructions.Read(tree(t, map[string]string{"p/AGENTS.md": "x " + text, "p/d/sub/keep": ""}))
		if len(list) != 2 || list[1].Used || list[1].Wrong() != want {
			t.Errorf("%s: %+v", text, list)
		}
	}
}

func TestInstructionsAreCutAtTheirLimit(t *testing.T) {
	t.Parallel()
	const limit = instructions.Limit
	for name, c := range map[string]struct {
		first, second string
		sent          []int
		last          instructions.Why
	}{
		"all of it":          {strings.Repeat("a", limit-9), strings.Repeat("b", 9), []int{limit - 9, 9}, instructions.Used},
		"one byte more":      {strings.Repeat("a", limit-9), strings.Repeat("b", 10), []int{limit - 9, 9}, instructions.Cut},
		"nothing is left":    {strings.Repeat("a", limit), "b", []int{limit, 0}, instructions.Full},
		"no half characters": {strings.Repeat("a", limit-10), "12345678é9", []int{limit - 10, 10}, instructions.Cut},
		"an empty one":       {strings.Repeat("a", limit), "", []int{limit, 0}, instructions.Empty},
	} {
		p := tree(t, map[string]string{"p/AGENTS.md": c.first, "p/d/AGENTS.md": c.second})
		p.Dir = filepath.Join(p.Root, "d")
		var sent []int
		list := instructions.Read(p)
		for _, f := range list {
			sent = append(sent, f.Sent)
		}
		if last := list[len(list)-1].Why; !cmp.Equal(sent, c.sent) || last != c.last {
			t.Errorf("%s: %v bytes, the last %s", name, sent, last)
		}
	}
}

func TestNestedInstructionsComeOnce(t *testing.T) {
	t.Parallel()
	p := tree(t, map[string]string{"p/AGENTS.md": "root", "p/a/AGENTS.md": "", "p/a/CLAUDE.md": "a @more.md", "p/a/more.md": "more",
		"p/a/b/AGENTS.md": "-> ../../../out.md", "out.md": "x", "p/a/b/c.go": ""})
	n := instructions.NewNested(p, instructions.Read(p))
	var got [][]string
	for _, path := range []string{"AGENTS.md", "a/b/c.go", "a/b/c.go", "../out.md"} {
		got = append(got, lines(n.Touch(filepath.Join(p.Root, path))))
	}
	want := [][]string{nil, {"a/AGENTS.md empty", "a/CLAUDE.md used: a @more.md", "a/more.md used: more", "a/b/AGENTS.md outside"}, nil, nil}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
