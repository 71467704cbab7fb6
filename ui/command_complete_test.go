//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/ui/prompt"
)

// completed returns the texts that the candidates make of a text with the cursor at
// the bar.
func completed(t *Terminal, text string) []string {
	before, after, _ := strings.Cut(text, "|")
	c := t.completions(before+after, len(before))
	var all []string
	for _, cand := range c.Candidates {
		all = append(all, (before + after)[:c.From]+cand.Text+"|"+(before + after)[c.To:])
	}
	return all
}

// Names of commands, their arguments, and files behind an @ are proposed where
// they may stand, and nowhere else.
func TestCommandsAndArgumentsAreCompleted(t *testing.T) {
	t.Parallel()
	now := newManual().now
	a, earlier := busyAgent(t, now)
	dir := a.Env().Dir
	if err := errors.Join(os.Remove(dir+"/a.go"), os.Mkdir(dir+"/src", 0o700),
		os.WriteFile(dir+"/go.mod", nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	id := slices.MinFunc(earlier, strings.Compare)
	bin := t.TempDir()
	if err := os.WriteFile(bin+"/grow", nil, 0o700); err != nil {
		t.Fatal(err)
	}
	env := func(string) string { return bin }
	term := &Terminal{opt: Options{Agent: a, Program: &testProgram{agent: a}, Models: &testProgram{agent: a}, Options: prompt.Options{Clock: prompt.Clock{}.OrReal(), Env: env}}}
	term.outputs.add(output{verb: "run", object: "ls"})
	for text, want := range map[string][]string{
		"/he|":       {"/help |"},
		"/qu|":       {"/queue |", "/quit|"},
		"/p|":        {"/permissions |", "/plan |", "/provider |"},
		"/bye|":      {"/bye|"},
		"/memo|":     {"/memory |"},
		"/vi|":       nil, // done elsewhere
		"/he| keys":  {"/help| keys"},
		"/h|elp":     {"/help |", "/hooks|"},
		"/usr/b|":    nil,
		"no /he|":    nil,
		"a\n/he|":    nil,
		"/help ap|":  {"/help approvals|"},
		"/? k|":      {"/? keys|"},
		"/effort m|": {"/effort medium|", "/effort max|"},
		"/approval |": {"/approval ask|", "/approval edits|", "/approval auto|", "/approval plan|",
			"/approval next|"},
		"/plan o|":            {"/plan off|"},
		"/model s|":           {"/model small|", "/model smart\x1b[2J|"},
		"/model o|":           {"/model openai/|"},
		"/provider  |":        {"/provider  demo|", "/provider  openai|"},
		"/resume " + id + "|": {"/resume " + id + "|"},
		"/permissions |":      {"/permissions rm bash(ls)|"},
		"/permissions rm ba|": {"/permissions rm bash(ls)|"},
		"/debug of|":          {"/debug off|"},
		"/queue d|":           {"/queue drop |", "/queue drop all|"},
		"/out |":              {"/out list|", "/out 1|"},
		"/copy o|":            {"/copy osc52|"},
		"/quit n|":            nil,
		"/nothing n|":         nil,
		"!cat g|":             {"!cat go.mod |"},
		"!cat g| x":           {"!cat go.mod| x"},
		"!!ls s|":             {"!!ls src/|"},
		"!cat <g|":            {"!cat <go.mod |"},
		"!g|":                 {"!grow |"},
		"!ls && g|":           {"!ls && grow |"},
		"!cat 'g|":            nil,
		"look at @|":          {"look at @go.mod |", "look at @src/|"},
		"(@g|":                {"(@go.mod |"},
		"/edit @|":            {"/edit @go.mod |", "/edit @src/|"},
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
