package builtin

import (
	"context"
	"errors"
	"fmt"
	"io"

	"artoo/tool"
	"artoo/tool/edit"
	"artoo/tool/files"
	"artoo/tool/text"
)

// editInput takes one edit flat or several as a list.
type editInput struct {
	Path       string             `json:"path"`
	Edits      []edit.Replacement `json:"edits,omitempty"`
	OldString  *string            `json:"old_string,omitempty" jsonschema:"text to replace, exactly as in the file"`
	NewString  *string            `json:"new_string,omitempty"`
	ReplaceAll bool               `json:"replace_all,omitempty" jsonschema:"replace every occurrence"`
}

// Edit is the tool that replaces parts of a text file.
func Edit() tool.Tool {
	return tool.New(tool.Def{
		Name: "edit",
		Kind: tool.KindWrite, Marks: true,
		Description: "Replace text in a file, several places in one call: give edits, or old_string and new_string for just one. " +
			"They are applied in order, all or none. " +
			"Each old_string must be exactly as in the file, without line numbers, and occur only once: " +
			"add lines around it to make it unique, or set replace_all. Line ends and encoding are kept. " +
			"The result shows the new lines: do not read the file again.",
	}, planEdit, runEdit)
}

// list is the edits, whichever way they were given.
func (in editInput) list() ([]edit.Replacement, error) {
	filled := func(s *string) bool { return s != nil && *s != "" }
	flat := filled(in.OldString) || filled(in.NewString)
	switch {
	case len(in.Edits) > 0 && flat:
		return nil, errors.New("give either edits or one old_string and new_string, not both")
	case len(in.Edits) > 0:
		return in.Edits, nil
	case in.OldString == nil && in.NewString == nil:
		return nil, errors.New("nothing to do: give edits, or old_string and new_string")
	}
	return []edit.Replacement{{OldString: in.OldString, NewString: in.NewString, ReplaceAll: in.ReplaceAll}}, nil
}

func planEdit(ctx context.Context, env *tool.Env, in editInput) (tool.Access, error) {
	return planChange(env.Files, "edit", in.Path, func(t files.Place) (change, error) {
		c, _, err := editChange(ctx, env, t, in)
		return c, err
	})
}

func runEdit(ctx context.Context, env *tool.Env, in editInput, _ io.Writer) (tool.Result, error) {
	var replaced int
	c, err := commitChange(env, in.Path, func(t files.Place) (c change, err error) {
		c, replaced, err = editChange(ctx, env, t, in)
		return c, err
	})
	if err != nil {
		return tool.Result{}, err
	}
	text := fmt.Sprintf("edited %s: %s, %s; it now reads\n%s",
		c.Display, text.Count(replaced, "replacement"), c.counts(), c.regions())
	return tool.Result{Text: text + c.note, Summary: c.counts()}, nil
}

// editChange makes the change of the edits, and counts the places they replace.
func editChange(ctx context.Context, e *tool.Env, t files.Place, in editInput) (c change, replaced int, err error) {
	before, old, state, err := t.LoadText()
	if err != nil {
		return c, 0, err
	}
	if state.Missing {
		return c, 0, missingFile(ctx, e, t, "write creates files")
	}
	edits, err := in.list()
	if err != nil {
		return c, 0, err
	}
	if mark := secretMark().FindString(in.Path); mark != "" {
		return c, 0, fmt.Errorf("%s stands for a key, and cannot be in the name of a file", mark)
	}
	edits, values, err := unmask(e, before.Body, edits)
	if err != nil {
		return c, 0, t.Errorf(err, "")
	}
	note, err := staleEdit(e.Files, t, state, before, nil, func(t files.Text) ([]string, error) { return edit.ApplyEdits(t, edits) })
	if err != nil {
		return c, 0, err
	}
	after := before
	for i, e := range edits {
		which := ""
		if len(edits) > 1 {
			which = fmt.Sprintf("edit %d of %d: ", i+1, len(edits))
		}
		next, n, differs, err := edit.Replace(after, e)
		if err != nil && len(edits) > 1 {
			return c, 0, fmt.Errorf("%w\n(none of the %d edits was applied)", t.Errorf(err, "%s", which), len(edits))
		}
		if err != nil {
			return c, 0, t.Errorf(err, "%s", which)
		}
		if after, replaced = next, replaced+n; differs != "" {
			note += fmt.Sprintf("(%sold_string and the file differ in %s; the file's own was kept)\n", which, differs)
		}
	}
	c, err = newChange(t, state, old, before, after)
	c.note, c.moves = note, movesSecret(before.Body, after.Body, values)
	return c, replaced, err
}
