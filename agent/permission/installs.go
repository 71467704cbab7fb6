package permission

import (
	"slices"
	"strings"

	"artoo/agent/permission/line"
)

// installer is a row of the table of commands that fetch packages: from which set, and into which directories below
// the project they install; "" for none.
type installer struct{ set, programs, subcommands, dirs string }

// installers are the commands that a set of hosts serves. docs/installs.md is made of the table. Those of which no
// word shows that they need the network run without it first.
var installers = []installer{
	{"npm", "npm pnpm yarn bun", "install ci i in add update up upgrade dedupe rebuild remove rm un uninstall",
		"node_modules"},
	{"npm", "npm pnpm yarn bun", "exec x dlx create init audit outdated view info show search", ""},
	{"npm", "npx bunx pnpx", "", ""},
	{"pypi", "pip pip3", "install download", ".venv venv"},
	{"pypi", "poetry pdm pipenv", "install add update sync lock remove", ".venv"},
	{"pypi", "uv", "sync add remove lock pip tool", ".venv"},
	{"pypi", "uvx", "", ""},
	{"go", "go", "get install mod/download mod/tidy mod/vendor", "vendor"},
	{"go", "go", "build test vet run list generate", ""},
	{"crates", "cargo", "fetch add update install search build test check run bench clippy doc", ""},
	{"rubygems", "bundle bundler", "install add update lock", "vendor/bundle"},
	{"rubygems", "gem", "install", ""},
	{"maven", "mvn mvnw gradle gradlew sbt", "", ""},
}

// installerOf finds the row of a command that fetches packages.
func installerOf(c line.Command) (row installer, ok bool) {
	name, words := c.Program()
	sub, next := line.Subcommand(words)
	if name == "yarn" && sub == "" {
		sub = "install"
	}
	return find(installers, func(row installer) bool {
		return line.In(row.programs, name) && (row.subcommands == "" || line.In(row.subcommands, sub) ||
			line.In(row.subcommands, sub+"/"+next))
	})
}

// setsOf are the sets that serve the commands of a line, each once.
func setsOf(l parsed) (sets []string) {
	for _, s := range l.parts {
		if row, ok := installerOf(s.Command); ok && l.problem == "" && !s.Elevated && !slices.Contains(sets, row.set) {
			sets = append(sets, row.set)
		}
	}
	return sets
}

// installs are the directories into which a line installs packages, where it does nothing else; "" for none.
func installs(l parsed) (dirs string) {
	for _, s := range l.parts {
		row, ok := installerOf(s.Command)
		if s.reads {
			continue
		}
		if !ok || row.dirs == "" || len(s.Outputs) > 0 || s.Compound || s.RunsUnknown {
			return ""
		}
		dirs += " " + row.dirs
	}
	return strings.TrimSpace(dirs)
}
