package tool

import (
	"context"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/aymanbagabas/go-udiff"
)

type writeInput struct {
	Path    string `json:"path" jsonschema:"file, relative to the working directory or absolute"`
	Content string `json:"content" jsonschema:"the whole new content"`
}

// Write is the tool that creates a file or replaces all of it.
func Write() Tool {
	return New(Def{
		Name: "write",
		Kind: KindWrite,
		Mend: mendWrite,
		Description: "Create a file, or replace all of an existing one, with the given content. Missing directories are made. " +
			"An existing file must have been read before; its line ends and encoding are kept. Use edit to change a part of a file.",
	}, planWrite, runWrite)
}

func planWrite(_ context.Context, env *Env, in writeInput) (Access, error) {
	return env.Files.planChange("write", in.Path, func(t target) (change, error) { return env.Files.writeChange(t, in) })
}

func runWrite(_ context.Context, env *Env, in writeInput, _ io.Writer) (Result, error) {
	c, err := env.Files.commitChange(in.Path, func(t target) (change, error) { return env.Files.writeChange(t, in) })
	if err != nil {
		return Result{}, err
	}
	return Result{Text: fmt.Sprintf("wrote %s (%s)", c.Display, c.counts()), Summary: c.counts()}, nil
}

func (f *Files) writeChange(t target, in writeInput) (change, error) {
	before, old, state, err := t.loadText()
	if err != nil {
		return change{}, err
	}
	if state.Missing {
		if strings.ContainsFunc(t.rel, unicode.IsControl) {
			return change{},
				fmt.Errorf("path %q: the name of a new file holds no line breaks or other control characters", in.Path)
		}
		return newChange(t, state, nil, before, textFile{body: in.Content})
	}
	sight, seen := f.sightOf(t.Abs)
	if !seen && len(old) > 0 {
		return change{},
			t.errorf(nil, "exists and was not read yet; read it before replacing it, or change a part with edit")
	}
	if err := f.stale(t, state); err != nil {
		return change{}, err
	}
	if unseen := sight.unseen(); unseen != "" && len(old) > 0 {
		return change{}, t.errorf(nil, "%s", unseen)
	}
	content := before.adopt(in.Content)
	if before.charset != utf8Plain {
		content = strings.TrimPrefix(content, "\ufeff") // the mark is kept anyway
	}
	if err := before.takes(content); err != nil {
		return change{}, t.errorf(err, "")
	}
	return newChange(t, state, old, before, before.apply(udiff.Lines(before.body, content)))
}
