// Package cli is the command line and the wiring: flags and subcommands, help,
// shell completion, and all that artoo is made of put together. parse says what
// was asked for and does nothing; app.run does it.
package cli

import (
	"artoo/agent"
	"errors"
	"strings"
)

// Invocation is what was asked for: a command with its words, and flags as they
// were written. Whether a value is right is not the command line's business.
type Invocation struct {
	Command string // "" is the conversation; "--version" stands for that flag
	Verb    string // list, show, explain and the like; "" where there is none
	// Words are the other arguments that are no flags, in order.
	Words []string
	// Flags are the values of the settings that were given, by the key of their
	// option, in the order in which they stood; a switch without value has "true".
	Flags map[string][]string
	// Own are the same of the flags that only this command has, by their names.
	Own map[string][]string
	// Page is a text that was asked for, such as help: to print it is all there is
	// to do. "" for anything else.
	Page string
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
	return strings.Join(words, " "), stdin
}

// word is the first word, "" for none.
func (i Invocation) word() string { return strings.Join(i.Words[:min(1, len(i.Words))], "") }

// has reports whether a flag of the command's own was given.
func (i Invocation) has(flag string) bool { return len(i.Own[flag]) > 0 }

// usage says what is wrong with the command line: where, why (lower case, no full
// stop), and what to write instead.
func usage(where, why, hint string) *agent.Failure {
	return fail(agent.KindUsage, where, errors.New(why), hint)
}
