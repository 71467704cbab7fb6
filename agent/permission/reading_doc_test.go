package permission

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite docs/reading.md")

// TestReadingDoc keeps docs/reading.md in line with the tables.
func TestReadingDoc(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "docs", "reading.md")
	want := readingHead + readingDoc() + readingResults + resultDoc() + readingCaches + cacheDoc() + readingGuarded + autoExecutedDoc()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("go test ./agent/permission -update rewrites it:\n%s", diff)
	}
}

// readingDoc lists the commands of the reading table as Markdown.
func readingDoc() string {
	var b strings.Builder
	list := func(words string) string { return "`" + strings.Join(strings.Fields(words), " ") + "`" }
	for _, r := range readers {
		names := list(r.names)
		if git, is := strings.CutPrefix(names, "`git/"); is {
			names = "`git " + strings.ReplaceAll(strings.ReplaceAll(git, " git/", "|"), "/", " ")
		}
		b.WriteString("- " + names)
		switch {
		case r.not != "":
			b.WriteString(": not " + strings.ReplaceAll(list(r.not), strings.Join(strings.Fields(gitOptions), " "),
				"OPTIONS"))
		case r.only == "-":
			b.WriteString(": without words")
		case r.only != "":
			b.WriteString(": only " + list(r.only))
		}
		b.WriteString("\n")
	}
	return b.String() + "\nOPTIONS of git: " + list(gitOptions) + "\n"
}

// resultDoc lists the places of build output for the documentation.
func resultDoc() string {
	list := func(names string) string { return "`" + strings.Join(strings.Fields(names), " ") + "`" }
	return "- directories: " + list(resultDirs) + "\n- files: " + list(resultNames) +
		"\n- never below: " + list(dependencyDirs) + "\n"
}

// cacheDoc lists the caches for the documentation.
func cacheDoc() string {
	return "`" + strings.Join(strings.Fields(caches), " ") + " target/**/{build,deps,incremental,.fingerprint}`\n"
}

// autoExecutedDoc lists these files for the documentation, as rows of a Markdown table.
func autoExecutedDoc() string {
	var b strings.Builder
	for _, row := range autoExecuted {
		b.WriteString("| " + row.by + " | `" + strings.Join(strings.Fields(row.names), " ") + "` |\n")
	}
	return b.String()
}

const readingHead = `<!-- Made by TestReadingDoc from the tables of agent/permission; go test ./agent/permission -update rewrites it. -->

# Lists of commands and files

[Permissions](permissions.md) says how these lists are used.

## Read-only commands

On a machine with layers this list matters only for [build output](#build-output). Without layers, a line of these commands runs without a question
in every mode, if it has none of the excluded options and names no hidden file and none outside the project. No pattern or variable may turn into an
option. Output may be redirected only to /dev/null or between descriptors. git runs only while the repository's own configuration names no programs.

`

const readingResults = `
## Build output

Files here that git ignores are kept without a question, if the line consists of read-only commands and the project's own programs. Any line
may delete them, if this session made them and nothing has changed them since:

`

const readingCaches = `
## Caches

Files that a line writes here never reach the project. artoo keeps them, and the next line sees them:

`

const readingGuarded = `
## Files that programs run or obey

artoo guards these names at any depth, in upper or lower case, with everything below them, under every link and hard link. ` +
	"`*`" + ` means any characters. It guards bare repositories too.

It also guards every file in the project that a git configuration names: yours, the repository's, and those of repositories within it, with all
included files, whatever the condition. In a command there (filters, drivers, editors, ` + "`core.fsmonitor`, `core.sshCommand`, aliases with `!`" + ` and the like)
it guards each word that is a path from the root, git's directory or a ` + "`cd`" + ` in the command, and that file's directory unless it is the root. The same
holds for files named in git hooks in shell, in ` + "`.pre-commit-config.yaml` and `lefthook.yml`" + `, and for a module after ` + "`python -m`" + `. Paths in an alias
without ` + "`!`" + ` are guarded too.

artoo does not see paths that a program makes up itself, modules that it loads elsewhere, and paths in hooks that
are not in shell. ` + "`artoo doctor`" + ` names the commands that it cannot parse.

| run or obeyed by | names |
|---|---|
`
