package permission

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"artoo/agent/permission/line"
	"artoo/tool"
	"artoo/tool/files"
	"artoo/tool/spelling"
	"artoo/tool/web"
)

// ruleArg is the kind of a rule's argument, which stands between the parentheses.
type ruleArg int

const (
	ruleNone    ruleArg = iota // nothing can
	ruleCommand                // a shell line, or words one begins with
	rulePath                   // a glob for files
	ruleHost                   // a host name
	ruleHosts                  // hosts and sets for lines in the sandbox
)

// hostsTool is the name by which rules list hosts for lines in the sandbox. No tool is called so. hostSets are the sets
// of hosts that it can list.
const (
	hostsTool = "hosts"
	hostSets  = "npm pypi go crates rubygems maven"
)

// namedTool is a tool that rules can name, whether or not it is there now.
type namedTool struct {
	name   string
	arg    ruleArg
	others string // the names of such a tool in Claude Code, Gemini CLI and opencode, in lower case
	rule   string // the tool that a rule for one of these means, since it speaks for all of the kind; "" for this one
	writes bool   // it writes files
}

var namedTools = []namedTool{
	{name: "bash", arg: ruleCommand, others: "bash run_shell_command"},
	{name: "read", arg: rulePath, others: "read notebookread read_file read_many_files"},
	{name: "ls", arg: rulePath, others: "ls list list_directory", rule: "read"}, {name: "glob", arg: rulePath,
		others: "glob", rule: "read"},
	{name: "grep", arg: rulePath, others: "grep search_file_content grep_search", rule: "read"},
	{name: "lsp", arg: rulePath, others: "lsp"},
	{name: "map", arg: rulePath},
	{name: "write", arg: rulePath, others: "write write_file", writes: true},
	{name: "edit", arg: rulePath, others: "edit multiedit replace", rule: "write", writes: true},
	{name: "apply_patch", arg: rulePath, others: "patch edit multiedit replace write write_file", rule: "write",
		writes: true},
	{name: "notebook_edit", arg: rulePath, others: "notebookedit", rule: "write", writes: true},
	{name: hostsTool, arg: ruleHosts}, {name: "web_fetch", arg: ruleHost, others: "webfetch"}, {name: "web_search", others: "websearch google_web_search"},
	{name: "task", others: "agent task"}, {name: "shell", others: "bashoutput killshell killbash taskoutput taskstop"},
	{name: "todo", others: "todowrite todoread write_todos taskcreate taskget tasklist taskupdate"},
	{name: "enter_plan_mode", others: "enterplanmode"},
	{name: "exit_plan_mode", others: "exitplanmode"}, {name: "ask_user", others: "askuserquestion question"},
	{name: "random_number"}, {name: "mcp_find"}, {name: "skill", others: "skill activate_skill slashcommand"},
	{name: "remember", others: "save_memory"},
}

var mcpName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^mcp__([A-Za-z0-9_.-]+\*?|\*)$`)
})

// canonical gives the rule artoo's name of the tool, and reports the kind of its argument.
func (r *Rule) canonical(written string) (ruleArg, error) {
	t, ok := toolNamed(r.Tool)
	other, known := find(namedTools, func(t namedTool) bool { return IsCalled(t.name, strings.ToLower(r.Tool)) })
	prefix, wild := strings.CutSuffix(r.Tool, "*")
	begins := func(t namedTool) bool { return strings.HasPrefix(t.name, prefix) }
	mcp := strings.HasPrefix(r.Tool, mcpPrefix)
	switch {
	case ok:
		return t.arg, nil
	case mcp && mcpName().MatchString(r.Tool), !mcp && wild && (strings.HasPrefix(mcpPrefix, prefix) ||
		slices.ContainsFunc(namedTools, begins)):
		return ruleNone, nil
	case mcp:
		return 0, &RuleError{written, "it is not in the form of an MCP tool's name", "mcp__SERVER__TOOL"}
	case known:
		r.Tool = cmp.Or(other.rule, other.name)
		return other.arg, nil
	}
	names := line.Each(namedTools, func(t namedTool) string { return t.name })
	try := spelling.Nearest(strings.ToLower(r.Tool), slices.Sorted(slices.Values(names)))
	switch {
	case try != "" && r.HasArg:
		try += "(" + r.Arg + ")"
	case try == "":
		command := strings.Replace(strings.TrimPrefix(written, "bash "), "(", " ", 1)
		try = "bash(" + strings.TrimSuffix(command, ")") + ")"
	}
	better, err := ParseRule(try)
	if err != nil {
		better = Rule{Tool: "bash", Arg: "go test:*", HasArg: true}
	}
	return 0, &RuleError{written, fmt.Sprintf("there is no tool %.60s", r.Tool), better.String()}
}

// hostLabel is a part of a host name between two dots.
const hostLabel = `[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?`

var hostPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(
		`^((\*\.)?` + hostLabel + `(\.` + hostLabel + `)*|\[[0-9a-f:.]+\])(:[0-9]+)?$`)
})

// impossible explains why no call can match the argument, "" when one can; try is a rule that could be meant. It
// may put the argument into artoo's own form.
func (r *Rule) impossible(kind ruleArg) (why, try string) {
	switch arg := r.Arg; {
	case kind == ruleCommand:
		return r.impossibleCommand()
	case kind == ruleHost:
		return r.impossibleHost()
	case kind == ruleHosts:
		return r.impossibleHosts()
	case kind == ruleNone:
		return "a rule for " + r.Tool + " takes nothing in parentheses", r.Tool
	case strings.HasSuffix(arg, ":*"):
		return "only a bash rule can end in :*", "bash(" + arg + ")"
	case !doublestar.ValidatePattern(arg):
		return "the pattern is not valid", r.Tool + "(" + files.EscapeGlob(arg) + ")"
	case strings.HasSuffix(arg, "/"):
		return "a file name cannot end in a slash", r.Tool + "(" + arg + "**)"
	}
	return "", ""
}

func (r *Rule) impossibleHost() (why, try string) {
	r.Arg = strings.ToLower(strings.TrimPrefix(r.Arg, "domain:"))
	if host, err := web.ParseHost(r.Arg); err == nil {
		r.Arg = host
	}
	if hostPattern().MatchString(r.Arg) {
		return "", ""
	}
	parts := append(strings.Split(r.Arg, "/"), "go.dev")
	first := slices.IndexFunc(parts, hostPattern().MatchString)
	return "it may only name a host", r.Tool + "(" + parts[first] + ")"
}

// impossibleHosts reads HOST… [for LINE].
func (r *Rule) impossibleHosts() (why, try string) {
	list, text, limited := strings.Cut(" "+r.Arg+" ", " for ")
	hosts := strings.Fields(list)
	for i, host := range hosts {
		if set, ok := strings.CutPrefix(host, "@"); ok {
			if !line.In(hostSets, set) {
				return "there is no set " + host, hostsTool + "(@npm)"
			}
			continue
		}
		one := Rule{Tool: hostsTool, Arg: host, HasArg: true}
		if why, try = one.impossibleHost(); why != "" {
			return why, try
		}
		hosts[i] = one.Arg
	}
	if len(hosts) == 0 {
		return "it names no host", hostsTool + "(@npm)"
	}
	r.Arg = strings.Join(hosts, " ")
	if limited {
		r.Arg += " for " + strings.TrimSpace(text)
		return (&Rule{Tool: "bash", Arg: strings.TrimSpace(text), HasArg: true}).impossibleCommand()
	}
	return "", ""
}

func (r *Rule) impossibleCommand() (why, try string) {
	text, wild := r.line()
	words, ok := line.Words(text)
	file, isFile := find(words, func(w string) bool {
		return strings.Contains(w, "/"+wildcard+wildcard) || strings.HasPrefix(w, wildcard+wildcard+"/")
	})
	stars := strings.NewReplacer(wildcard, "*")
	switch {
	case strings.HasPrefix(r.Arg, "@"):
		return "command groups do not exist: name each command", ""
	case strings.Trim(r.Arg, "* :") == "":
		return "it names no command", "bash"
	case !wild: // any line may come
	case words == nil:
		return "its quotes are not closed", ""
	case !ok:
		return "a pattern is for one simple command", "bash(" + stars.Replace(strings.Join(words, " ")) + ":*)"
	case isFile:
		return "** is for files", "write(" + stars.Replace(file) + ")"
	}
	return "", ""
}

// remarks are the dangers that rules for commands leave open, by programs and subcommands.
var remarks = []struct{ programs, subcommands, what string }{
	{"git", "diff log show", "--output=FILE, which writes a file, and --ext-diff, which runs a program"},
	{"go", "test run vet", "-exec, -vettool and -toolexec, which run any program"},
	{"go", "build install generate", "-toolexec and -o, which run any program and write a file"},
	{"find", "", "-delete and -exec, which remove files and run any program"},
	{"sort", "", "-o FILE, which writes a file"},
	{"tar", "", "--to-command and --checkpoint-action, which run any program"},
	{"make just task", "", "whatever the build file says, and variables that change its commands"},
	{"npm pnpm yarn bun", "", "whatever package.json says"},
	{"xargs env timeout nice sudo", "", "any program at all"},
	{"curl wget", "", "-o FILE, which writes a file, and sending files elsewhere"},
	{"rsync ssh scp", "", "options that run any program"},
}

// Remark names options that a rule leaves open and that write files or run programs, "" for none.
func (r Rule) Remark() string {
	if r.Outside {
		return "the network, your keys and your home: it runs outside the sandbox"
	}
	if r.Tool == hostsTool {
		return "anything that these commands send there"
	}
	_, wild := r.line()
	words := append(line.Texts(r.fixedWords()), "")
	if r.Tool != "bash" || !r.HasArg || !wild || words[0] == "" {
		return ""
	}
	name := path.Base(words[0])
	for _, row := range remarks {
		if line.In(row.programs, name) && (row.subcommands == "" || line.In(row.subcommands, words[1])) {
			return row.what
		}
	}
	if line.Interprets(name) {
		return "any program at all"
	}
	return ""
}

// ParseRule reads a rule. Claude Code's names mean artoo's.
// The error is a *RuleError, also for a rule that no call can ever match.
func ParseRule(s string) (Rule, error) {
	s = strings.TrimSpace(s)
	name, rest, hasArg := strings.Cut(s, "(")
	r := Rule{Tool: strings.TrimSpace(name), Arg: strings.TrimSpace(strings.TrimSuffix(rest, ")")), HasArg: hasArg}
	r.Tool, r.Outside = strings.CutSuffix(r.Tool, "!")
	switch {
	case r.Tool == "":
		return Rule{}, &RuleError{s, "it does not begin with a tool's name", "bash(go test:*)"}
	case hasArg && !strings.HasSuffix(rest, ")"):
		return Rule{}, &RuleError{s, "its parenthesis is not closed", strings.TrimRight(s, " ") + ")"}
	}
	kind, err := r.canonical(s)
	switch {
	case err != nil:
		return Rule{}, err
	case r.Outside && kind != ruleCommand:
		return Rule{}, &RuleError{s, "only rules for commands can allow runs outside the sandbox", "bash!(npm ci)"}
	case hasArg && r.Arg == "":
		return Rule{}, &RuleError{s, "there is nothing between its parentheses", r.Tool}
	case kind == ruleHosts && (!hasArg || r.Arg == "*"):
		return Rule{}, &RuleError{s, "it names no host", hostsTool + "(@npm)"}
	case !hasArg, r.Arg == "*":
		return Rule{Tool: r.Tool, Outside: r.Outside}, nil
	}
	if why, try := r.impossible(kind); why != "" {
		return Rule{}, &RuleError{s, why, try}
	}
	return r, nil
}

// FileRule is a rule for the files that a pattern names, ./ from the working directory dir. The error is a *RuleError.
func FileRule(glob, dir string) (Rule, error) {
	r, err := ParseRule("write(" + glob + ")")
	r.base = dir
	r.Arg, r.HasArg = glob, true // "*" too, which stands for everything in a rule of the user's
	return r, err
}

// ToolsNamed are the tools that a name in the list of an agent means, also one of another program's, and whatever
// stands between parentheses behind it: none for a name that is not known.
func ToolsNamed(name string) (names []string) {
	name, _, _ = strings.Cut(strings.TrimSpace(name), "(")
	if strings.HasPrefix(name, mcpPrefix) {
		return []string{"mcp_find", "mcp_call"}
	}
	for _, t := range namedTools {
		if IsCalled(t.name, name) {
			names = append(names, t.name)
		}
	}
	if slices.Contains(names, "bash") { // The output of a line in the background is had by shell.
		names = append(names, "shell")
	}
	return names
}

// IsCalled reports whether a tool of artoo's has a name here or in another program.
func IsCalled(tool, name string) bool {
	t, ok := toolNamed(tool)
	return ok && (t.name == name || line.In(t.others, strings.ToLower(name)))
}

// toolNamed finds a tool by its name.
func toolNamed(name string) (namedTool, bool) {
	return find(namedTools, func(t namedTool) bool { return t.name == name })
}

// writes reports whether the tool of this name writes files.
func writes(name string) bool {
	t, _ := toolNamed(name)
	return t.writes
}

// namesWidely is names for a rule that refuses or asks: one for a tool that
// writes speaks for all of them, since each can write the others' files.
func (r Rule) namesWidely(name string, kind tool.Kind) bool {
	return r.names(name, kind) || kind == tool.KindWrite && writes(r.Tool)
}
