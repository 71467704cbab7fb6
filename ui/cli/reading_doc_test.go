package cli

import (
	"testing"

	"artoo/agent/permission"
)

// TestReadingDoc keeps docs/reading.md what the tables say.
func TestReadingDoc(t *testing.T) {
	madeFromTables(t, "reading.md", readingHead+permission.ReadingDoc()+readingResults+permission.ResultDoc()+
		readingCaches+permission.CacheDoc()+readingGuarded+permission.AutoExecutedDoc())
}

const readingHead = `<!-- Made by TestReadingDoc from the tables of agent/permission; go test ./ui/cli -update rewrites it. -->

# Lists that decide what runs and what asks

[Permissions](permissions.md) describes how these lists are used.

## Read-only commands

These run without a question, read-only, in every mode: inside the project, without the options listed below, and without files outside the
project or denied files. No pattern or variable may turn into an option. Output may be redirected to /dev/null or between descriptors only. git
runs only while the repository's own configuration names no programs. Commands that print what git stores run only while git holds no
denied file, or while pathspecs leave it out (` + "`-- . ':!.env'`" + `). A rule ` + "`bash(@read)`" + ` stands for all of them.

`

const readingResults = `
## Build output

Ignored files in these places stay without a question, if the line consists of read-only commands and the project's own programs:

`

const readingCaches = `
## Caches

What a line writes here never reaches the project. artoo keeps it, and the next line sees it:

`

const readingGuarded = `
## Files that programs run or obey

They count at any depth, in upper or lower case, with everything below them, and under every link and hard link. ` +
	"`*`" + ` stands for any characters. Directories that ` + "`core.hooksPath`" + ` names and bare repositories are among them.

| run or obeyed by | names |
|---|---|
`
