package agent

import (
	"context"
	"fmt"
	"strings"

	"artoo/tool"
	"artoo/tool/lsp"
)

const (
	maxProblems = 10 // of one file, that the model is told of
	maxLooked   = 5  // files of one call that language servers look at
)

// showServers tells the language servers what the files that a call is about to write
// hold: what is wrong with them already is no news afterwards.
func (t *turn) showServers(p *pending) {
	if t.opt.Env.LSP == nil || p.tool.Kind != tool.KindWrite {
		return
	}
	for _, path := range p.call.Access.Paths[:min(len(p.call.Access.Paths), maxLooked)] {
		if text, err := t.opt.Env.Files.Source(path); err == nil { // a new file holds nothing
			t.opt.Env.LSP.Before(path, text)
		}
	}
}

// askServers adds to a call's result what language servers find wrong with what it
// wrote, and what they found out since about what other calls wrote.
func (t *turn) askServers(ctx context.Context, p *pending, result *tool.Result) {
	if t.opt.Env.LSP == nil {
		return
	}
	found := t.opt.Env.LSP.Late()
	if p.tool.Kind == tool.KindWrite && !result.IsError {
		for _, path := range p.call.Access.Paths[:min(len(p.call.Access.Paths), maxLooked)] {
			text, err := t.opt.Env.Files.Source(path)
			if err != nil { // deleted
				continue
			}
			if f := t.opt.Env.LSP.After(ctx, path, text); f != nil {
				found = append(found, *f)
			}
		}
	}
	for _, f := range found {
		result.Text += t.problemText(f)
	}
}

func (t *turn) problemText(f lsp.Found) string {
	name := f.Path
	if place, err := t.opt.Env.Files.Resolve(f.Path, false); err == nil {
		name = place.Display
	}
	what := "new problems in"
	if f.Old {
		what = "errors, perhaps old ones, in"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n[%s: %s %s:\n", f.Server, what, name)
	for _, p := range f.Problems[:min(len(f.Problems), maxProblems)] {
		fmt.Fprintf(&b, "%s\n", preview(p.String(), 400))
	}
	if more := len(f.Problems) - maxProblems; more > 0 {
		fmt.Fprintf(&b, "and %d more\n", more)
	}
	return strings.TrimSuffix(b.String(), "\n") + "]"
}
