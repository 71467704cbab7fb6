package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"artoo/provider"
	"artoo/tool/environ"
)

// dialect is what a tool does in its own way.
type dialect struct {
	// program is the executable, install the command that installs or renews it, login how to log in. From version
	// least on it is known to have all options that are used.
	program, least, install, login string
	// own are variables it logs in by, which nothing else reads; keys those with keys of the vendor's API, which would
	// be charged.
	own, keys []string
	// edits and reads are its rights where it may edit and elsewhere, for the user.
	edits, reads string
	// effort is its word for the most effort; "" if it takes no effort.
	effort string
	// keepsCaps says that it keeps caps of money and steps itself.
	keepsCaps bool
	// prices is whose prices in the catalogue hold for a run that was cut off; "" if it reports no cost.
	prices string
	// policy is the file of rules that it is given where it only reads, or "".
	policy string
	// settings are the names of its settings, hooks and servers in a project.
	settings []string
	// obeys is a directory that it obeys in any project, except for names that it ignores: without trust it is not run
	// where the repository has others. "" for none.
	obeys   string
	ignores []string
	// trusts are variables by which it takes the project for trusted.
	trusts []string
	// dotenv says that it takes variables from .env files of the project.
	dotenv bool
	// ats says that it includes files in a message for an @.
	ats    bool
	args   func(call) []string
	events func() func(r *reply, event []byte)
	// https are exit statuses that are HTTP's, cut to a byte; exits are those that show the kind.
	https map[int]int
	exits map[int]provider.ErrorKind
}

// call is what the arguments of a run depend on. model, effort and resume are "" for the tool's own and a new session.
type call struct {
	model, effort, resume string
	terms                 Terms
	edits                 bool
	// dir is the working directory, root the project's root.
	dir, root string
	// opens are the directories beside dir that it may use.
	opens []string
	// policy is the path of the dialect's policy.
	policy string
}

var dialects = map[string]*dialect{
	// claude is Claude Code: `claude -p` with its events as JSON lines. Settings, hooks and servers come from the user
	// alone unless the project is trusted.
	ClaudeName: {
		program: "claude", least: "2.0.28",
		install: "npm install -g @anthropic-ai/claude-code", login: "claude, and /login there",
		own:       []string{"CLAUDE_CODE_OAUTH_TOKEN"},
		keys:      []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"},
		edits:     "it may change files, and run commands that its own settings allow",
		reads:     "it only reads and runs no command",
		effort:    "max",
		keepsCaps: true,
		prices:    "anthropic",
		settings:  []string{".claude", ".mcp.json"},
		args: func(c call) []string {
			return slices.Concat(
				[]string{"-p", "--output-format=stream-json", "--verbose", "--include-partial-messages"},
				when(!c.terms.Trusted, "--setting-sources=user"),
				when(c.terms.Trusted, "--setting-sources=user,project,local"),
				when(!c.terms.Trusted || !c.edits, "--strict-mcp-config"),
				when(c.edits, "--permission-mode=acceptEdits"),
				when(!c.edits, "--permission-mode=plan", `--settings={"useAutoModeDuringPlan":false}`,
					"--tools="+claudeReads),
				each("--add-dir=", c.opens...),
				each("--model=", c.model), each("--effort=", c.effort),
				when(c.terms.Money > 0, fmt.Sprintf("--max-budget-usd=%.6f", c.terms.Money)),
				when(c.terms.Steps > 0, fmt.Sprintf("--max-turns=%d", c.terms.Steps)),
				each("--resume=", c.resume))
		},
		events: func() func(r *reply, event []byte) {
			return decoded((&claudeEvents{calls: map[string]string{}, why: map[string]string{},
				streams: map[string]string{}, used: map[string]provider.Usage{}}).event)
		},
	},
	// codex is OpenAI's `codex exec --json`. Its sandbox confines its commands; it asks no one.
	CodexName: {
		program: "codex", least: "0.50.0",
		install: "npm install -g @openai/codex", login: "codex login",
		own:  []string{"CODEX_API_KEY"},
		keys: []string{"OPENAI_API_KEY"},
		edits: "it may change files; its sandbox confines its commands, except those that its own rules let out, " +
			"and not its own MCP servers",
		reads:    "it only reads; its sandbox confines its commands, not its own MCP servers",
		effort:   "xhigh",
		settings: []string{".codex", ".agents"},
		args: func(c call) []string {
			return slices.Concat(
				// codex needs the third of these for a project without git.
				[]string{"exec", "--json", "--skip-git-repo-check",
					"--config=" + trustLevel(c.dir, c.root, c.terms.Trusted)},
				when(c.edits, "--sandbox=workspace-write"),
				// Reading needs no permission.
				when(c.edits && c.root != c.dir, "--add-dir="+c.root),
				// The user's own rules may let commands out of the sandbox.
				when(!c.edits, "--sandbox=read-only", "--ignore-rules"),
				each("--model=", c.model), each("--config=model_reasoning_effort=", c.effort),
				when(c.resume != "", "resume", c.resume),
				[]string{"-"})
		},
		events: func() func(r *reply, event []byte) { return decoded(codexEvents{}.event) },
	},
	// gemini is Google's Gemini CLI. An empty prompt makes it read the real one from stdin.
	GeminiName: {
		program: "gemini", least: "0.34.0",
		install: "npm install -g @google/gemini-cli", login: "gemini, and choose how to log in there",
		keys:  []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"},
		edits: "it may change files, and run commands that its own settings allow",
		reads: "it only reads and runs no command",
		// The user's settings may allow tools that change something.
		policy: `[[rule]]
toolName = ["run_shell_command", "write_file", "replace", "save_memory", "exit_plan_mode"]
decision = "deny"
priority = 999
`,
		settings: []string{".gemini", ".agents"},
		obeys:    ".gemini",
		ignores:  []string{"config.yaml", "styleguide.md", "GEMINI.md"},
		trusts:   []string{"GEMINI_CLI_TRUST_WORKSPACE=true"},
		dotenv:   true,
		ats:      true,
		args: func(c call) []string {
			// A comma would split the option.
			opens := slices.DeleteFunc(c.opens, func(dir string) bool { return strings.Contains(dir, ",") })
			return slices.Concat(
				[]string{"--prompt=", "--output-format=stream-json"},
				when(c.edits, "--approval-mode=auto_edit"),
				// A user's settings may allow more than plan mode does.
				when(!c.edits, "--approval-mode=plan", "--admin-policy="+c.policy, "--allowed-mcp-server-names=none"),
				each("--include-directories=", opens...),
				each("--model=", c.model), each("--resume=", c.resume))
		},
		events: func() func(r *reply, event []byte) { return decoded(geminiEvents{}.event) },
		https:  map[int]int{173: 429, 244: 500, 246: 502, 247: 503, 248: 504},
		exits: map[int]provider.ErrorKind{
			41: provider.KindAuth, 42: provider.KindInvalid, 44: provider.KindConfig, 52: provider.KindConfig,
			53: provider.KindCap, 55: provider.KindConfig,
		},
	},
}

// claudeReads are claude's tools in plan mode, which runs no command. Those that edit are included so
// that claude reports refused calls.
const claudeReads = "Read,Glob,Grep,LS,NotebookRead,WebFetch,WebSearch,Task,Agent,TodoWrite," +
	"Edit,Write,NotebookEdit,ExitPlanMode"

// decoded has the events of a tool's own form taken. A field of another type than the tool had so far stays unset.
func decoded[E any](take func(*reply, E)) func(r *reply, event []byte) {
	return func(r *reply, event []byte) {
		var e E
		_ = json.Unmarshal(event, &e)
		take(r, e)
	}
}

// when are the arguments if the condition holds.
func when(holds bool, args ...string) []string {
	if !holds {
		return nil
	}
	return args
}

// each is an argument option+value for each value that is not "".
func each(option string, values ...string) (args []string) {
	for _, value := range values {
		args = append(args, when(value != "", option+value)...)
	}
	return args
}

// Settings are the names of the tools' settings in a project, for the named providers or all.
func Settings(providers ...string) (names []string) {
	for name, d := range dialects {
		if len(providers) == 0 || slices.Contains(providers, name) {
			names = append(names, d.settings...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// SettingsOf names the tools that find settings under a name, or "".
func SettingsOf(name string) string {
	var programs []string
	for _, d := range dialects {
		if slices.Contains(d.settings, name) {
			programs = append(programs, d.program)
		}
	}
	slices.Sort(programs)
	return strings.Join(programs, ", ")
}

var version = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\d+\.\d+\.\d+`) })

// TooOld returns the least version and how to get it if a version output is older, else "".
func TooOld(program, said string) (least, install string) {
	for _, d := range dialects {
		found := version().FindString(said)
		if d.program == program && found != "" && slices.Compare(numbers(found), numbers(d.least)) < 0 {
			return d.least, d.install
		}
	}
	return "", ""
}

// numbers are those of a version such as 1.2.3.
func numbers(version string) []int {
	n := make([]int, 3)
	// Numbers too large for any version stay 0.
	_, _ = fmt.Sscanf(version, "%d.%d.%d", &n[0], &n[1], &n[2])
	return n
}

// about is the command, path or address in a call's input, else the input itself.
func about(input json.RawMessage) string {
	return cmp.Or(field(input, "command", "cmd", "file_path", "path", "absolute_path", "notebook_path", "dir_path",
		"pattern", "url", "query", "prompt", "description", "skill", "subject"),
		strings.TrimPrefix(string(input), "{}"))
}

// field is the first text under one of the names in a call's input, or "".
func field(input json.RawMessage, names ...string) string {
	var fields map[string]any
	if json.Unmarshal(input, &fields) != nil {
		return ""
	}
	for _, name := range names {
		if text, _ := fields[name].(string); text != "" {
			return text
		}
	}
	return ""
}

// effortOf maps artoo's effort to the tool's, or "". most is its word for the most.
func effortOf(effort provider.Effort, most string) string {
	if most == "" || effort == provider.EffortMax {
		return most
	}
	return strings.TrimPrefix(string(effort), string(provider.EffortOff))
}

// nested are variables by which the tools know that they run inside each other.
var nested = []string{
	"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SESSION_ID",
	"CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID", "CODEX_CI",
	"GEMINI_CLI", "GEMINI_CLI_NO_RELAUNCH", "GEMINI_CLI_IDE_SERVER_PORT", "GEMINI_CLI_IDE_WORKSPACE_PATH",
}

// Environ is the environment of a provider's tool. Its vendor's API keys, which would be charged,
// are in it only if pass names them; withheld are the others. mask is given each key that the tool gets.
func Environ(name string, scrubbed []string, all environ.Vars, pass []string, mask func(key string)) (
	own environ.Vars, withheld []string,
) {
	d := dialects[name]
	own = environ.WithoutKeys(scrubbed, slices.Concat(nested, d.own, d.keys)...)
	for _, key := range slices.Concat(d.own, d.keys) {
		switch value := all.Get(key); {
		case value == "":
		case slices.Contains(d.own, key), slices.Contains(pass, key):
			own = own.With(key, value)
			mask(value)
		default:
			withheld = append(withheld, key)
		}
	}
	return own, withheld
}
