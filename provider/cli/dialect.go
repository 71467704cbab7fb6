package cli

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"artoo/provider"
)

type dialect struct {
	program string            // the executable
	least   string            // a version known to have all the options that are used
	since   map[string]string // the version that brought an option, where it is newer than least
	install string            // the command that installs or renews it
	login   string            // how to log in, a command
	own     []string          // variables it logs in by, which nothing else reads
	keys    []string          // variables with keys of the vendor's API, which would be charged
	edits   string            // its rights where it may edit, for the user
	reads   string            // its rights elsewhere
	most    int               // bytes of a message that are read, 0 for any number
	effort  string            // its word for the most effort; "" if it takes no effort
	// keepsCaps says that it keeps caps of money and steps itself.
	keepsCaps bool
	// price is a model's price, or nil if unknown; a nil func if the tool reports its cost.
	price  func(c *provider.Catalog, model string) *provider.Price
	policy string // a file of rules that it is given where it only reads, or ""
	// settings are the names of its settings, hooks and servers in a project.
	settings []string
	// projectSettings names the files of a repository it would obey; the run is refused then. Or nil.
	projectSettings func(p place, home string) (string, error)
	// trusts are variables by which it takes the project for trusted, or nil.
	trusts []string
	// environ takes out variables that the repository would set; nil where it sets none.
	environ func(p place, home string, environ []string) ([]string, error)
	args    func(call) []string
	events  func() decoder
	guard   func(prompt string) string // keeps the text from being taken for commands
	https   map[int]int                // exit statuses that are HTTP's, cut to a byte
	exits   map[int]provider.ErrorKind // exit statuses that show the kind
	remark  string                     // words of a line of a good run's stderr to show the user; may be ""
}

type call struct {
	model  string // "" for the tool's own
	effort string // "" for the tool's own
	edits  bool   // else it only reads
	trust  bool   // the user trusts the project's settings: it gets them
	place  place
	opens  []string // directories beside the working directory that it may use
	policy string   // the path of the dialect's policy
	resume string   // the tool's session, "" for a new one
	caps   Caps
}

// decoder takes a run's events apart and passes over unknown ones.
type decoder interface {
	event(r *reply, data []byte)
}

var dialects = map[string]*dialect{ClaudeName: &claude, CodexName: &codex, GeminiName: &gemini}

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

// noSlash keeps a message from being taken for a slash command of the tool.
func noSlash(prompt string) string {
	if strings.HasPrefix(strings.TrimSpace(prompt), "/") {
		return "The user's message:\n\n" + prompt
	}
	return prompt
}

// versionIn finds a version such as 1.2.3 in text, or "".
func versionIn(text string) string {
	for _, word := range strings.Fields(text) {
		word = strings.TrimLeft(word, "v(")
		if _, ok := numbers(word); ok {
			return word
		}
	}
	return ""
}

// TooOld returns the least version and how to get it if a version output is older, else "".
func TooOld(program, said string) (least, install string) {
	for _, d := range dialects {
		if version := versionIn(said); d.program == program && version != "" && less(version, d.least) {
			return d.least, d.install
		}
	}
	return "", ""
}

// less compares two versions by their numbers.
func less(a, b string) bool {
	as, _ := numbers(a)
	bs, _ := numbers(b)
	return slices.Compare(as[:], bs[:]) < 0
}

// numbers are those of a version such as 1.2.3-x.
func numbers(version string) (n [3]int, ok bool) {
	count, err := fmt.Sscanf(version, "%d.%d.%d", &n[0], &n[1], &n[2])
	return n, err == nil && count == len(n)
}

func object(raw json.RawMessage) map[string]json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	return fields
}

// about is the command, path or address in a call's input, else the input itself.
func about(input json.RawMessage) string {
	fields := object(input)
	for _, name := range []string{"command", "cmd", "file_path", "path", "absolute_path", "notebook_path", "dir_path",
		"pattern", "url", "query", "prompt", "description", "skill", "subject"} {
		var text string
		if json.Unmarshal(fields[name], &text) == nil && text != "" {
			return text
		}
	}
	if len(fields) == 0 {
		return ""
	}
	return string(input)
}

// effortOf maps artoo's effort to the tool's, or "". most is its word for the most.
func effortOf(effort provider.Effort, most string) string {
	switch effort {
	case provider.EffortLow, provider.EffortMedium, provider.EffortHigh:
		if most != "" {
			return string(effort)
		}
	case provider.EffortMax:
		return most
	}
	return ""
}

// option adds the argument name+value unless value is "".
func option(args []string, name, value string) []string {
	if value == "" {
		return args
	}
	return append(args, name+value)
}

// nested are variables by which the tools know that they run inside each other.
var nested = []string{
	"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SSE_PORT", "CLAUDE_CODE_SESSION_ID",
	"CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_THREAD_ID", "CODEX_CI",
	"GEMINI_CLI", "GEMINI_CLI_NO_RELAUNCH", "GEMINI_CLI_IDE_SERVER_PORT", "GEMINI_CLI_IDE_WORKSPACE_PATH",
}

// Environ is the environment of a provider's tool. Its vendor's API keys, which would be charged,
// are in it only if pass names them; withheld are the others.
func Environ(name string, scrubbed, all, pass []string) (environ, withheld []string) {
	d := dialects[name]
	if d == nil {
		return scrubbed, nil
	}
	for _, kv := range scrubbed {
		key, _, _ := strings.Cut(kv, "=")
		if !slices.Contains(slices.Concat(nested, d.own, d.keys), key) {
			environ = append(environ, kv)
		}
	}
	for _, kv := range all {
		key, value, _ := strings.Cut(kv, "=")
		switch isKey := slices.Contains(d.keys, key); {
		case value == "":
		case slices.Contains(d.own, key), isKey && slices.Contains(pass, key):
			environ = append(environ, kv)
		case isKey:
			withheld = append(withheld, key)
		}
	}
	return environ, withheld
}
