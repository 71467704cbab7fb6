package agent

import (
	_ "embed"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/template"
	"time"

	"artoo/tool/environ"
)

// promptInfo holds the values in the system prompt. It never changes: the prompt is the prefix of
// every request.
type promptInfo struct {
	Dir, Root    string    // the working directory and the project root, absolute
	Platform     string    // such as "linux/amd64"
	Date         time.Time // The model learns the day, not the hour.
	Shell        string    // the shell commands run in, "" without a shell
	Programs     string    // Programs names the usual programs that PATH has and lacks; "" where no command can run.
	Superuser    bool      // commands run as root
	Tests        string    // the command that runs the project's tests, "" where no manifest names one
	Git          bool      // the project root is a git work tree
	Branch       string    // the branch that is checked out, "" for none
	Replace      string    // the user's own system prompt instead of artoo's first part; "" for none
	Append       string    // the user's addition; "" for none
	Settings     settings
	Instructions []instruction // the AGENTS.md texts, already read
}

// promptText is the prompt with places for values that differ.
//
//go:embed prompt.md
var promptText string

func systemPrompt(info promptInfo) string {
	if !info.Settings.offers("bash") {
		info.Shell, info.Programs, info.Superuser, info.Tests = "", "", false, ""
	}
	parsed := template.Must(template.New("prompt").Funcs(template.FuncMap{"trim": strings.TrimSpace}).Parse(promptText))
	var b strings.Builder
	if err := parsed.Execute(&b, info); err != nil {
		panic("prompt.md: " + err.Error()) // a mistake in the file, which every test would find
	}
	return b.String()
}

// systemPrompt is the prompt of a session that begins.
func (w *Workspace) systemPrompt(now settings, instructions []instruction, environ []string) string {
	return systemPrompt(promptInfo{
		Dir: w.Project.Dir, Root: w.Project.Root, Git: w.Project.Git, Branch: w.Project.Branch(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH, Programs: usualPrograms(environ),
		Superuser: os.Geteuid() == 0, Tests: testCommand(w.Project.Root),
		Date: w.Began, Shell: w.Shell, Replace: w.Replace, Append: w.Append, Settings: now, Instructions: instructions,
	})
}

// usualPrograms lists which of the usual programs PATH has and which not: a model that knows need not try.
func usualPrograms(variables []string) string {
	var has, lacks []string
	dirs := filepath.SplitList(environ.Vars(variables).Get("PATH"))
	for _, name := range []string{"python3", "node", "go", "cargo", "rg"} {
		if slices.ContainsFunc(dirs, func(dir string) bool { return executable(filepath.Join(dir, name)) }) {
			has = append(has, name)
		} else {
			lacks = append(lacks, name)
		}
	}
	if len(lacks) > 0 {
		has = append(has, "no "+strings.Join(lacks, ", no "))
	}
	return strings.Join(has, ", ")
}
