// Artoo is a coding agent that behaves like a Unix process: a conversation in
// any terminal, or one stage of a pipeline. docs/dev/architecture.md is the map.
package main

import (
	"embed"
	"os"

	"artoo/ui/cli"
)

//go:embed docs/*.md
var docs embed.FS // the pages of artoo help

// Set by the Makefile's -ldflags.
var (
	version = ""
	commit  = ""
	date    = ""
)

func main() {
	cli.HideEnvironment()
	dir, _ := os.Getwd() // "" where it was removed, which Main reports
	os.Exit(cli.Main(cli.Process{
		Args: os.Args[1:], In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(), Dir: dir,
		Version: version, Commit: commit, Date: date, Exit: os.Exit, Docs: docs,
	}))
}
