package agent

import (
	_ "embed"
	"strings"
	"text/template"
	"time"
)

// PromptInfo is what the system prompt tells the model of where it is. Made at
// the session's start and never changed: the prompt is the prefix of every
// request.
type PromptInfo struct {
	Dir, Root string    // the working directory and the project root, absolute
	Platform  string    // such as "linux/amd64"
	Date      time.Time // the day is told, not the hour
	Shell     string    // the shell commands run in, "" when there is none
	Git       bool      // the project root is a git work tree
	Branch    string    // the branch that is checked out, "" for none
	Replace   string    // the user's own system prompt instead of artoo's first part; "" for none
	Append    string    // the user's addition; "" for none
	Settings  Settings
	// Instructions are the AGENTS.md texts, already read.
	Instructions []Instruction
}

// Instruction is one instructions file.
type Instruction struct {
	Path string
	Text string
}

// promptText is the prompt with places for what differs.
//
//go:embed prompt.md
var promptText string

// SystemPrompt writes the system prompt.
func SystemPrompt(info PromptInfo) string {
	git := yesNo(info.Git)
	if info.Branch != "" {
		git += ", on branch " + info.Branch
	}
	shell := info.Shell
	if !info.Settings.offers("bash") {
		shell = ""
	}
	var instructions []Instruction
	for _, i := range info.Instructions {
		instructions = append(instructions, Instruction{Path: i.Path, Text: strings.TrimSpace(i.Text)})
	}
	var b strings.Builder
	text := strings.ReplaceAll(promptText, "\r\n", "\n") // as a checkout on Windows may have it
	err := template.Must(template.New("prompt").Parse(text)).Execute(&b, map[string]any{
		"Replace": strings.TrimSpace(info.Replace), "Append": strings.TrimSpace(info.Append), "Headless": info.Settings.Headless,
		"Dir": info.Dir, "Root": info.Root, "Git": git, "Platform": info.Platform, "Today": info.Date.Format(time.DateOnly),
		"Shell": shell, "Settings": info.Settings.String(), "Instructions": instructions,
	})
	if err != nil {
		panic("prompt.md: " + err.Error()) // a mistake in the file, which every test would find
	}
	return b.String()
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
