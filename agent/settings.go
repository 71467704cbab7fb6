package agent

import (
	"artoo/agent/permission"
	"fmt"
	"slices"
	"strings"
)

// settings are what the model is told of what it may do here.
type settings struct {
	Mode      permission.Mode
	Headless  bool     // nobody can be asked
	NoProject bool     // see Policy.NoProject
	Tools     []string // the names of the tools that are offered
	Without   []string // those that most sessions have and this one has not
	// ReadDirs and WriteDirs are open besides the project, absolute.
	ReadDirs, WriteDirs []string
	Allow, Ask, Deny    []permission.Rule
}

// offers reports whether one of the tools is there.
func (s settings) offers(names ...string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(s.Tools, n) })
}

// String is the settings in lines, as the system prompt has them.
func (s settings) String() string {
	var b strings.Builder
	for _, dir := range s.ReadDirs {
		fmt.Fprintf(&b, "Also open, for reading: %s\n", dir)
	}
	for _, dir := range s.WriteDirs {
		fmt.Fprintf(&b, "Also open, for reading and writing: %s\n", dir)
	}
	if len(s.Without) > 0 {
		fmt.Fprintf(&b, "Not offered here: %s\n", strings.Join(s.Without, ", "))
	}
	if approval := s.approval(); approval != "" {
		fmt.Fprintf(&b, "Approval: %s\n", approval)
	}
	rules := func(what string, list []permission.Rule) {
		if len(list) > 0 {
			fmt.Fprintf(&b, "%s: %s\n", what, ruleList(list))
		}
	}
	if s.Mode == permission.ModePlan {
		rules("Denied by rule, also for reading", s.Deny)
		return b.String()
	}
	rules("Allowed by rule", s.Allow)
	if s.Headless {
		rules("Refused by rule, since it would be asked", s.Ask)
	} else {
		rules("Asked by rule", s.Ask)
	}
	rules("Denied by rule", s.Deny)
	return b.String()
}

// mostRules is how many rules of a kind are named.
const mostRules = 30

func ruleList(rules []permission.Rule) string {
	var words []string
	for _, r := range rules[:min(len(rules), mostRules)] {
		words = append(words, r.String())
	}
	if n := len(rules) - len(words); n > 0 {
		words = append(words, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(words, ", ")
}

// approval says what runs unasked with the tools there are; "" without tools.
func (s settings) approval() string {
	var free, other []string
	if s.offers("read", "ls", "glob", "grep") {
		free = append(free, "reading files")
	}
	if s.offers("write", "edit") {
		other = append(other, "every edit")
	}
	if s.offers("bash") {
		free = append(free, "plain reading commands (ls, cat, grep, git status, git diff and the like, inside the project)")
		other = append(other, "every other command")
	}
	if len(free)+len(other) == 0 {
		return ""
	}
	reads := strings.Join(free, " and ")
	if reads != "" {
		reads += " run unasked"
	}
	if s.Mode == permission.ModePlan {
		return "plan mode: " + join(reads, "; ") + "everything else is refused. End with a plan."
	}
	if (s.Mode == permission.ModeEdits || s.Mode == permission.ModeAuto) && s.offers("write", "edit") && !s.NoProject {
		other = slices.DeleteFunc(other, func(o string) bool { return o == "every edit" })
		reads = join(reads, ", and so do ") + "edits inside the project (not of files that others run: hooks, CI, editor settings)"
		if len(free) == 0 {
			reads += " run unasked"
		}
	}
	if len(other) == 0 {
		return reads + "."
	}
	return join(reads, "; ") + strings.Join(other, " and ") + s.asked()
}

// asked is what becomes of the rest.
func (s settings) asked() string {
	unless := ""
	if len(s.Allow) > 0 {
		unless = ", unless a rule below allows it"
	}
	if s.Headless {
		return " is refused, since nobody is there to ask" + unless + "."
	}
	return " is asked of the user first" + unless + "."
}

func join(first, then string) string {
	if first == "" {
		return ""
	}
	return first + then
}
