//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// completed shows what the candidates make of a text, whose cursor is at the
// bar.
func completed(t *Terminal, text string) []string {
	before, after, _ := strings.Cut(text, "|")
	c := t.completions(before+after, len(before))
	var all []string
	for _, cand := range c.candidates {
		all = append(all, (before + after)[:c.from]+cand.text+"|"+(before + after)[c.to:])
	}
	return all
}

// Names of commands, their arguments, and files behind an @ are proposed where
// they may stand, and nowhere else.
func TestCommandsAndArgumentsAreCompleted(t *testing.T) {
	deps := testDeps(newManual().now)
	deps.Files = func(text string, cursor int) completion {
		w, ok := wordAt(text[:cursor])
		if !ok {
			return completion{}
		}
		return completion{from: w.from, to: cursor, candidates: []candidate{{text: "@src/"}, {text: "@go.mod "}}}
	}
	term := &Terminal{opt: Options{Deps: deps, Clock: Clock{}.orReal()}}
	term.outputs.add(output{verb: "run", object: "ls"})
	for text, want := range map[string][]string{
		"/he|":                {"/help |"},
		"/qu|":                {"/queue |", "/quit|"},
		"/p|":                 {"/permissions |", "/plan |", "/provider |"},
		"/bye|":               {"/bye|"},
		"/und|":               nil, // not there yet
		"/he| keys":           {"/help| keys"},
		"/h|elp":              {"/help |"},
		"/usr/b|":             nil,
		"no /he|":             nil,
		"a\n/he|":             nil,
		"/help |":             {"/help keys|", "/help approvals|"},
		"/help a|":            {"/help approvals|"},
		"/? k|":               {"/? keys|"},
		"/effort m|":          {"/effort medium|", "/effort max|"},
		"/approval |":         {"/approval ask|", "/approval edits|", "/approval auto|", "/approval plan|", "/approval next|"},
		"/plan o|":            {"/plan off|"},
		"/model s|":           {"/model small|", "/model smart|"},
		"/model o|":           {"/model openai/|"},
		"/provider  |":        {"/provider  demo|", "/provider  openai|"},
		"/resume 3|":          {"/resume 3f2a|"},
		"/permissions |":      {"/permissions rm bash(ls)|"},
		"/permissions rm ba|": {"/permissions rm bash(ls)|"},
		"/debug of|":          {"/debug off|"},
		"/queue d|":           {"/queue drop |", "/queue drop all|"},
		"/out |":              {"/out list|", "/out 1|"},
		"/copy o|":            {"/copy osc52|"},
		"/quit n|":            nil,
		"/nothing n|":         nil,
		"look at @|":          {"look at @src/|", "look at @go.mod |"},
		"(@g|":                {"(@src/|", "(@go.mod |"},
		"/edit @|":            {"/edit @src/|", "/edit @go.mod |"},
		"me@host|":            nil,
		"@a b|":               nil,
	} {
		if diff := cmp.Diff(want, completed(term, text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
	for _, text := range []string{"a@b", `@"a b" `, `@"a"x`, `@a\`, "", "@a ", "/", "/ "} {
		for i := range len(text) + 1 { // nothing panics, wherever the cursor stands
			completed(term, text[:i]+"|"+text[i:])
		}
	}
}
