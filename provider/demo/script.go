package demo

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"artoo/provider"
)

type move struct {
	reasoning string
	text      string
	calls     []provider.ToolCall
}

// next chooses the next step by the tools' results.
func (s scene) next(tools offered) move {
	switch {
	case s.init:
		return move{text: noInit}
	case s.ended:
		return move{text: further}
	}
	m := s.act(tools)
	if s.spoken {
		m.text = "I am a script and cannot take that in, so I continue where I was.\n\n" + m.text
	}
	return m
}

func (s scene) act(tools offered) move {
	for _, name := range []string{"ls", "read", "bash"} {
		if !tools[name] {
			return s.end("Not fixed", "I have no `"+name+"` tool in this run, so I stop here.")
		}
	}
	switch {
	case s.look == nil:
		return s.hello()
	case s.edit != nil:
		return s.afterEdit()
	case s.look.result.IsError:
		return s.end("Not fixed", "I could not read `"+source+"`: "+quote(s.look.result.Text),
			"I do not change a file I have not seen, so I stop here.")
	}
	x, v := last(s.checks)
	fixed := strings.Contains(s.look.result.Text, right)
	switch {
	case len(s.checks) == 0 && fixed:
		return s.run(goCheck, "I see nothing wrong in `Total`. **Rather than guess**, I'll run the test.")
	case len(s.checks) == 0:
		return s.run(goCheck, "One line in `Total` looks wrong. **Rather than guess**, I'll run the test.")
	case v == passed:
		return s.end("Nothing to fix", "`"+x.command()+"` passes as it is.", "I changed nothing.")
	case v == useless && x.command() == goCheck:
		return s.run(shellCheck, "The test cannot run here. The shell said:\n\n"+block(tail(x.result.Text, 3))+
			"\n\nIt needs a working [Go](https://go.dev). I'll use a simpler check: is the price multiplied by the count anywhere?")
	case fixed:
		return s.end("Not fixed", "`"+source+"` already has the line I would write, yet no check has passed.",
			"I am a script and have no other plan, so I stop here.")
	case !tools["edit"]:
		return s.end("Not fixed", "The line `"+wrong+"` ignores the quantity of each item.",
			"I have no `edit` tool in this run, so **the file stays broken**.")
	}
	return s.change(x, v)
}

// hello looks at the directory.
func (s scene) hello() move {
	m := move{text: s.greet("Let me look around first."),
		calls: []provider.ToolCall{s.call(0, "ls", lsInput), s.call(1, "read", readInput)}}
	if s.fresh {
		m.reasoning = "A failing test in a small directory. I should look before I change anything: list the files and read the source."
	}
	return m
}

func (s scene) greet(text string) string {
	if !s.fresh {
		return text
	}
	return "Hello! I am the **scripted demo** of artoo. There is no model behind me, and I need no network. The tools and the files are real.\n\n" + text
}

func (s scene) change(x exchange, v verdict) move {
	var b strings.Builder
	switch {
	case v == failed && x.command() == goCheck:
		b.WriteString("The test fails, and it says where:\n\n" + block(failures(x.result.Text)) + "\n\n")
	case v == failed:
		b.WriteString("The check found nothing, so the count is never used.\n\n")
	default:
		b.WriteString("The check was not run: " + quote(x.result.Text) + "\n\n")
	}
	b.WriteString("`Total` adds each item's price *once*, however many were bought. I'll change that line.")
	return move{text: b.String(), calls: []provider.ToolCall{s.call(0, "edit", editInput)}}
}

// The inputs of the script's calls.
const (
	lsInput   = `{"path":"."}`
	readInput = `{"path":"` + source + `"}`
	editInput = `{"edits":[{"new_string":"` + right + `","old_string":"` + wrong + `"}],"path":"` + source + `"}`
)

func bashInput(command string) string { return `{"command":` + strconv.Quote(command) + `}` }

// Scripted reports whether the script makes this very call.
func Scripted(c provider.ToolCall) bool {
	inputs := map[string][]string{"ls": {lsInput}, "read": {readInput}, "edit": {editInput},
		"bash": {bashInput(goCheck), bashInput(shellCheck)}}
	return slices.Contains(inputs[c.Name], string(c.Input))
}

func (s scene) afterEdit() move {
	if s.edit.result.IsError {
		return s.end("Not fixed", "The edit was not made: "+quote(s.edit.result.Text),
			"I stop here; `"+source+"` is as it was.")
	}
	x, v := last(s.checks)
	if len(s.recheck) == 0 && v == failed {
		return s.run(x.command(), "Running the same check again.")
	}
	x, v = last(s.recheck)
	changed := fmt.Sprintf("I changed one line of `%s`:\n\n```go\n%s\n```", source, right)
	switch v {
	case passed:
		how := "The same check failed before the change and passes now."
		if x.command() == shellCheck {
			how = "The same check failed before the change and passes now. It only looks at the text: **the test itself was not run**."
		}
		return s.end("Fixed", "`Total` ignored the quantity of each item.", how, changed)
	case failed:
		return s.end("Not fixed", "The check still fails after the change:\n\n"+block(failures(x.result.Text)), changed)
	}
	why := "No check could be run."
	if len(s.recheck) > 0 {
		why = "The check afterwards gave no answer: " + quote(x.result.Text)
	}
	return s.end("Edited, not tested", why, changed)
}

// end is the last answer: a heading, a list (texts with
// a code block stand on their own), and the checks that were run as a table.
func (s scene) end(heading string, say ...string) move {
	var list, blocks, b strings.Builder
	b.WriteString(s.greet("## " + heading + "\n\n"))
	for _, text := range say {
		if strings.Contains(text, "\n") {
			blocks.WriteString(text + "\n\n")
			continue
		}
		list.WriteString("- " + text + "\n")
	}
	if list.Len() > 0 {
		b.WriteString(list.String() + "\n")
	}
	b.WriteString(blocks.String())
	if len(s.checks)+len(s.recheck) > 0 {
		b.WriteString("| when | check | result |\n|---|---|---|\n")
		for _, x := range s.checks {
			b.WriteString(x.row("before"))
		}
		for _, x := range s.recheck {
			b.WriteString(x.row("after"))
		}
		b.WriteString("\n")
	}
	b.WriteString("To talk to a real model, set `ANTHROPIC_API_KEY` or another provider's key and run `artoo`.")
	return move{text: b.String()}
}

func (x exchange) row(when string) string {
	word := map[verdict]string{unknown: "not run", useless: "could not run", failed: "failed",
		passed: "passed"}[x.verdict()]
	return fmt.Sprintf("| %s | `%s` | %s |\n", when, x.command(), word)
}

const noInit = "I am a script, not a model: I cannot look at a project and write its AGENTS.md. " +
	"A model would read it now, and ask before it writes the file."

const further = "I am a script, not a model, and my part is over: I cannot answer that.\n\n" +
	"To talk to a model, leave with `/quit`, set a key and start artoo:\n\n" +
	"```sh\nexport ANTHROPIC_API_KEY=...   # or OPENAI_API_KEY, GEMINI_API_KEY, DEEPSEEK_API_KEY, OPENROUTER_API_KEY\nartoo\n```\n\n" +
	"`/help` lists what you can type here."

func (s scene) run(command, text string) move {
	return move{text: text, calls: []provider.ToolCall{s.call(0, "bash", bashInput(command))}}
}

// call makes the nth call of a reply, from 0.
func (s scene) call(n int, name, input string) provider.ToolCall {
	return provider.ToolCall{ID: fmt.Sprintf("demo_%d", s.calls+n+1), Name: name, Input: json.RawMessage(input)}
}

// failures picks the lines of a test's output that name the expected values.
func failures(output string) string {
	var lines []string
	for line := range strings.Lines(output) {
		if strings.Contains(line, "want") && len(lines) < 3 {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	if len(lines) == 0 {
		return tail(output, 3)
	}
	return strings.Join(lines, "\n")
}

// tail is the last n lines that are not empty.
func tail(output string, n int) string {
	var lines []string
	for line := range strings.Lines(output) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// block makes a code block that its content cannot end.
func block(content string) string {
	return "```\n" + strings.ReplaceAll(content, "```", "'''") + "\n```"
}
