package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/tool/files"
)

const hiddenHead = `# Hidden files

artoo hides files that hold credentials. A hidden file is absent from the sandbox, under any name or link, and no tool reads, searches, lists or changes
it: answers say how many they left out. ` + "`@file`" + `, skills, sub-agents, language servers, hooks and MCP servers in the sandbox do not see it either. Names
count in upper and lower case. A name stands for a file, or for a directory and everything below it; ` + "`*`" + ` stands for any characters. A name that
begins with a slash counts with the directories before it.

## Built-in names

`

const hiddenTail = `
Copies are hidden too: ` + "`NAME~`, `.NAME.swp` (any letter for `p`), `#NAME#`" + `%s.
Shown: environments that end in %s; ` + "`*.pub`; `*priv*.pem` and `*key.pem` with `pub` in their name" + `.
artoo's own directories (settings, keys, sessions, caches) are hidden wherever a project or an added directory holds them.

- Below %s, files that git tracks are shown: they came with the repository. Private keys in them are masked, whatever part of
  the file is read.
- Below %s, unless git tracks the file, a private key is known by its content alone.

## Files that hold something

These are hidden by their content alone:

%s
## Adding and showing

` + "```toml" + `
[permissions]
hide = ["secrets/**", "*.sqlite"]
show = [".env.test"]
` + "```" + `

` + "`hide`, `--hide GLOB` and `ARTOO_HIDE` add files; the rule `deny = [\"read(secrets/**)\"]` is another spelling. Patterns are those of [rules](rules.md) for" + `
files: a name alone counts at any depth, a directory covers everything below it. The policy of the system and a trusted repository's own file can
add files too. A repository never hides files that [programs run or obey](reading.md#files-that-programs-run-or-obey), nor one that a command names to run;
artoo says which files it hides.

Only your own file (` + "`show`, or `ARTOO_SHOW`" + `) takes from the list, also what a repository hides. What the system's policy or ` + "`--hide`" + ` hides
stays hidden.
`

// hiddenDoc is docs/hidden.md, made of the list itself.
func hiddenDoc() string {
	quoted := func(words []string, join string) string {
		return "`" + strings.Join(words, "`"+join+"`") + "`"
	}
	var b strings.Builder
	b.WriteString(hiddenHead + "| a file of this name | names |\n|---|---|\n")
	for _, row := range files.HiddenRows() {
		fmt.Fprintf(&b, "| %s | %s |\n", row.Why, quoted(strings.Fields(row.Names), " "))
	}
	contents := "| names | hidden with |\n|---|---|\n"
	for _, row := range files.HiddenContents() {
		marks := strings.NewReplacer("PRIVATE_KEY", "PRIVATE KEY", "DER", "a key in DER").Replace(strings.Join(strings.Fields(row.Marks), ", "))
		contents += fmt.Sprintf("| %s | %s |\n", quoted(strings.Fields(row.Names), " "), marks)
	}
	copies := ""
	for _, ending := range files.CopyEndings() {
		copies += ", `NAME" + ending + "`"
	}
	fmt.Fprintf(&b, hiddenTail, copies, quoted(files.OpenEndings(), ", "), quoted(files.TestDirs(), ", "), quoted(files.PackageDirs(), ", "), contents)
	return b.String()
}

// docs/hidden.md is made of the built-in list, so that it names all of it and nothing else.
func TestHiddenDoc(t *testing.T) {
	t.Parallel()
	path := filepath.Join(moduleDir, "docs", "hidden.md")
	if *update {
		if err := os.WriteFile(path, []byte(hiddenDoc()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(hiddenDoc(), string(got)); diff != "" {
		t.Errorf("go test ./ui/cli -update rewrites it:\n%s", diff)
	}
}
