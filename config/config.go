// Package config is the user's settings as plain data: defaults, config file, ARTOO_*
// variables and flags, merged in that order, with the place that each value came from. It
// also knows where artoo's files live, where keys come from, and which provider and model
// the settings mean. It opens no network and prints nothing; warnings are returned.
//
// envconfig decodes the variables into Settings, in spite of these defects, which a test asserts: its tag envconfig
// also reads the name without prefix; its tag default overwrites values of the file; an empty variable counts as set;
// its error shows the value; it replaces plain lists and cuts them at every comma; plain booleans do not know yes and
// on, plain durations need a unit; a nested struct adds its name to the variable, and a nil pointer to one is
// allocated. It reads the variables of the process, too, where those of a run are given. So Settings is flat, its types
// decode themselves, those tags are not used, each variable that is set and not empty is decoded alone, as the default
// of a field that no variable names, and only the cause of an error is shown.
package config

import (
	"strings"

	"artoo/tool/environ"
	"artoo/tool/extension"
	"artoo/tool/spelling"
)

// Config is every setting after the merge, and the file's other content. Load builds it; then any
// goroutine may read it.
type Config struct {
	Settings

	// Providers are the [provider.NAME] tables by name, known and new ones.
	Providers map[string]ProviderTable
	// Agents are the [agents.NAME] tables, in the order of the file.
	Agents []AgentTable
	// Servers are the lines of [lsp]; nil where there is no such table.
	Servers []LanguageServer
	// MCPServers are the tables [mcp.NAME], then those of the files of --mcp and ARTOO_MCP.
	MCPServers []extension.Server
	// Checks are the lines of [check].
	Checks []Check
	// Policy is the system's.
	Policy Policy
	// Hooks are the [[hooks]] tables, in the order of the file, then those of the trusted project.
	Hooks []extension.Hook
	// Paths says where artoo's files live.
	Paths Paths
	// Environ are artoo's own variables, by which programs that give keys are looked up. Keys are taken from them.
	Environ environ.Vars
	// File is the config file that was read, "" when there was none, and Profiles are the names of its tables
	// [profile.NAME], sorted.
	File     string
	Profiles []string
	// Warnings are lines for stderr, each said once.
	Warnings []string

	dir          string   // the working directory, where relative paths start
	written      []string // see Written
	origins      map[string]origin
	projectRules map[string][]RuleText // the keys are roots
	foreignRules []RuleText            // of files for other programs; they ask and deny
	ruleTexts    []RuleText
	project      projectSettings
	switched     string // the Choice.Note of a model that named another provider than a weaker source
	keyring      Keyring
	keySays      func(line string)
	mask         func(string) string
	keys         *keyCache // shared by the copies With makes
	seen         *seenKeys // so is this
}

// origin is where a value came from, and how much that place weighs.
type origin struct {
	rank rank
	text string
}

type rank int

const (
	fromDefault rank = iota
	fromSystem
	fromFile
	fromProfile
	fromEnvironment
	fromFlag
	fromPolicy
)

// IsSet reports whether the user set the option with this key anywhere.
func (c *Config) IsSet(key string) bool { return c.origins[key].rank != fromDefault }

// FromFlag reports whether the option was given on the command line.
func (c *Config) FromFlag(key string) bool { return c.origins[key].rank == fromFlag }

// Origin is where the option's value came from: "default", "config.toml line 4", "ARTOO_MODEL",
// "--model"; several places of a list are joined by commas.
func (c *Config) Origin(key string) string {
	if o := c.origins[key]; o.rank != fromDefault {
		return o.text
	}
	return "default"
}

// The kinds of failure this package reports, words of the exit table.
const (
	kindUsage  = "usage"
	kindConfig = "config"
	kindAuth   = "auth"
)

// Error names a fault in the settings, and its place. It never holds the value of a secret.
type Error struct {
	Kind  string // "usage", "config" or "auth"
	Where string // "ARTOO_COLOR", "--color", "…/config.toml line 4", "anthropic"
	Why   string // lower case, no full stop
	Hint  string // the next step; "" when Why says it
	Err   error  // the cause; may be nil
}

// plain embeds an Error under a name that does not hide its method.
type plain = Error

// wrong is an error that nothing else caused.
func wrong(kind, where, why, hint string) *Error { return because(kind, where, why, nil, hint) }

// because is an error with its cause.
func because(kind, where, why string, err error, hint string) *Error {
	return &Error{Kind: kind, Where: where, Why: why, Err: err, Hint: hint}
}

// Error is "where: why".
func (e *Error) Error() string { return e.Where + ": " + e.Why }

// Unwrap returns the cause, which may be nil.
func (e *Error) Unwrap() error { return e.Err }

// ErrorKind names the kind for the exit table.
func (e *Error) ErrorKind() string { return e.Kind }

// ErrorHint is the text after "try:".
func (e *Error) ErrorHint() string { return e.Hint }

// didYouMean is the tail of a warning, "" when nothing is near.
func didYouMean(word string, candidates []string) string {
	if near := spelling.Nearest(word, candidates); near != "" {
		return ", did you mean " + near + "?"
	}
	return ""
}

// orList joins words as in "a, b or c".
func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}
