// Package cli is the command line: flags and subcommands, help, shell
// completion, and the documentation made from the same tables. It decides
// what was asked for and calls the func that does it; it reads no
// configuration and checks no value, but hands on what was written.
package cli

import (
	"context"
	"io"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/config"
	"artoo/ui/doctor"
)

// Deps is everything the command line needs of the program. Fields without a
// remark must be set. The funcs are called on Execute's goroutine, at most one
// of them per call, and what they return Execute returns.
type Deps struct {
	Out io.Writer // help, versions, completions: what was asked for

	Build     Build
	Options   []config.Option  // in the order of the help; grouped by Group
	Exits     []agent.Exit     // by code
	Variables []config.Foreign // honoured variables that are not the program's own
	Files     []config.Foreign // the files it reads and writes, by the path that the user would write

	// Nearest is the candidate a misspelt word was most likely meant to be,
	// "" when none is near.
	Nearest func(word string, candidates []string) string

	// Complete is what the option of that key can be, as far as it is known
	// without asking anybody: providers, models, sessions. The invocation holds
	// the flags written so far. nil knows nothing.
	Complete func(inv Invocation, key string) []Candidate

	// Run talks: the prompt, if any, and everything else are in the invocation.
	Run func(ctx context.Context, inv Invocation) error

	// Demo runs the scripted demonstration; yes approves its calls. nil: comes
	// later, like the others below.
	Demo func(ctx context.Context, inv Invocation, yes bool) error
	// Sessions lists the sessions, newest first.
	Sessions func(ctx context.Context, inv Invocation) ([]Session, error)
	// Export writes one session.
	Export func(ctx context.Context, inv Invocation, e Export) error
	// Models lists the models of a provider; of those that are at hand when it
	// is "".
	Models func(ctx context.Context, inv Invocation, provider string) ([]Model, error)
	// Explain says what is decided over a call, and why: a shell line, or a call
	// written as a rule for it is.
	Explain func(ctx context.Context, inv Invocation, call string) (permission.Explanation, error)
	// Rules lists the rules in force, in the order in which they count.
	Rules func(ctx context.Context, inv Invocation) ([]permission.RuleInForce, error)
	// Login stores a provider's key, check tries it first; Logout forgets it. ""
	// is the provider that is chosen or asked for.
	Login  func(ctx context.Context, inv Invocation, provider string, check bool) error
	Logout func(ctx context.Context, inv Invocation, provider string) error
	// Doctor tells what it finds as it finds it; tell's error ends it. Paths are
	// the places that artoo wrote to.
	Doctor func(ctx context.Context, inv Invocation, offline bool, tell func(doctor.Finding) error) error
	Paths  func(ctx context.Context, inv Invocation) ([]doctor.Place, error)
}

// Build says which program this is. Empty fields show as unknown.
type Build struct {
	Version  string // 1.2.3, without a v
	Commit   string
	Date     string
	Go       string
	Platform string // linux/amd64
}

// Invocation is what was asked for: words, and flags as they were written.
type Invocation struct {
	// Words are the arguments that are no flags, in order.
	Words []string
	// Flags are the values of the flags that were given, by the key of their option, in the
	// order in which they stood; a switch without value has "true".
	Flags map[string][]string
}

// Prompt is the words as one text. A single dash that stands first or last
// asks for stdin and is left out; anywhere else it is a word.
func (i Invocation) Prompt() (text string, stdin bool) {
	words := i.Words
	if len(words) > 0 && words[0] == "-" {
		words, stdin = words[1:], true
	}
	if n := len(words); n > 0 && words[n-1] == "-" {
		words, stdin = words[:n-1], true
	}
	return joinWords(words), stdin
}
