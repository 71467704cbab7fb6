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

artoo hides files that hold credentials. A hidden file is absent from the sandbox, under any name or link. No tool reads, searches, lists or changes it; results say how many files they left out. ` + "`@file`" + `, skills, sub-agents, language servers, hooks and MCP servers in the sandbox do not see it either.

Names match in upper and lower case. A name means a file, or a directory and everything below it; ` + "`*`" + ` means any characters. A name that
begins with a slash matches the end of a path.

## Built-in names

`

const hiddenTail = `
Copies are hidden too: ` + "`NAME~`, `.NAME.swp` (any letter for `p`), `#NAME#`" + `%s.
Not hidden: environments that end in %s; ` + "`*.pub`; `*priv*.pem` and `*key.pem` with `pub` in their name" + `.
artoo's own directories (settings, keys, sessions, caches) are hidden wherever a project or an added directory holds them.

- Below %s, files that git tracks are not hidden, since they came with the repository. Private keys in them are masked, even if only part of
  the file is read.
- Below %s, a file with the name of a private key is hidden only if git tracks it or it contains one.

## Files hidden by their content

A file of these names is hidden only if it contains one of the texts beside it:

%s
## Adding and showing

` + "```toml" + `
[permissions]
hide = ["secrets/**", "*.sqlite"]
show = [".env.test"]
` + "```" + `

` + "`hide`, `--hide GLOB` and `ARTOO_HIDE` add files; so does the rule `deny = [\"read(secrets/**)\"]`. Patterns are those of [rules](rules.md) for files: a name" + `
alone counts at any depth, a directory covers everything below it. The system's policy and a trusted repository's own file can add files too. A
repository cannot hide files that [programs run or obey](reading.md#files-that-programs-run-or-obey), nor one that a command names to run; artoo says which files it hides.

Only your own file (` + "`show`, or `ARTOO_SHOW`" + `) shows hidden files, including those that a repository hides. Files that the system's policy or ` + "`--hide`" + ` hides
stay hidden.
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
