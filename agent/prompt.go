package agent

import (
	_ "embed"
	"strings"
	"text/template"
	"time"
)

// promptInfo is what the system prompt tells the model of where it is. Made at
// the session's start and never changed: the prompt is the prefix of every
// request.
type promptInfo struct {
	Dir, Root    string    // the working directory and the project root, absolute
	Platform     string    // such as "linux/amd64"
	Date         time.Time // the day is told, not the hour
	Shell        string    // the shell commands run in, "" when there is none
	Git          bool      // the project root is a git work tree
	Branch       string    // the branch that is checked out, "" for none
	Replace      string    // the user's own system prompt instead of artoo's first part; "" for none
	Append       string    // the user's addition; "" for none
	Settings     settings
	Instructions []Instruction // the AGENTS.md texts, already read
}

// Instruction is one instructions file.
type Instruction struct{ Path, Text string }

// promptText is the prompt with places for what differs.
//
//go:embed prompt.md
var promptText string

func systemPrompt(info promptInfo) string {
	if !info.Settings.offers("bash") {
		info.Shell = ""
	}
	text := strings.ReplaceAll(promptText, "\r\n", "\n") // as a checkout on Windows may have it
	parsed := template.Must(template.New("prompt").Funcs(template.FuncMap{"trim": strings.TrimSpace}).Parse(text))
	var b strings.Builder
	if err := parsed.Execute(&b, info); err != nil {
		panic("prompt.md: " + err.Error()) // a mistake in the file, which every test would find
	}
	return b.String()
}
