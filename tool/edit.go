package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/google/jsonschema-go/jsonschema"
)

// replacement is one edit; pointers tell an empty string from none.
type replacement struct {
	OldString  *string `json:"old_string"`
	NewString  *string `json:"new_string"`
	ReplaceAll bool    `json:"replace_all"`
}

type editInput struct {
	Path  string        `json:"path"`
	Edits []replacement `json:"edits"`
	replacement
}

// Edit is the tool that replaces parts of a text file.
func Edit() Tool {
	return New(Def{
		Name: "edit",
		Kind: KindWrite, Marks: true,
		Description: "Replace text in a file: give edits, or old_string and new_string for just one. " +
			"They are applied in order, all or none. " +
			"Each old_string must be exactly as in the file, without the line numbers that read shows, and occur only once: " +
			"take in lines around it to make it unique, or set replace_all. Line ends and encoding are kept. " +
			"The result shows the new lines: do not read the file again to check.",
		Mend: mendBlocks, schema: editSchema,
	}, planEdit, runEdit)
}

// editSchema takes one edit flat or several as a list. Which one it is cannot be
// said with anyOf: the Responses API refuses that at the top of a schema.
func editSchema() *jsonschema.Schema {
	text := func(description string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", Description: description}
	}
	one := func() map[string]*jsonschema.Schema {
		return map[string]*jsonschema.Schema{
			"old_string":  text("text to replace, exactly as in the file"),
			"new_string":  text("what takes its place"),
			"replace_all": {Type: "boolean", Description: "replace every occurrence"},
		}
	}
	closed := func() *jsonschema.Schema { return &jsonschema.Schema{Not: &jsonschema.Schema{}} }
	order := []string{"old_string", "new_string", "replace_all"}
	schema := &jsonschema.Schema{
		Type:                 "object",
		Properties:           one(),
		PropertyOrder:        append([]string{"path", "edits"}, order...),
		Required:             []string{"path"},
		AdditionalProperties: closed(),
	}
	schema.Properties["path"] = text("file, relative to the working directory or absolute")
	schema.Properties["edits"] = &jsonschema.Schema{
		Type: "array",
		Items: &jsonschema.Schema{
			Type: "object", Properties: one(), PropertyOrder: order,
			Required: []string{"old_string", "new_string"}, AdditionalProperties: closed(),
		},
	}
	return schema
}

// list is the edits, whichever way they were given.
func (in editInput) list() ([]replacement, error) {
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
	return []replacement{in.replacement}, nil
}

func planEdit(ctx context.Context, env *Env, in editInput) (Access, error) {
	return env.Files.planChange("edit", in.Path, func(t target) (change, error) {
		c, _, err := env.editChange(ctx, t, in)
		return c, err
	})
}

func runEdit(ctx context.Context, env *Env, in editInput, _ io.Writer) (Result, error) {
	var replaced int
	c, err := env.Files.commitChange(in.Path, func(t target) (c change, err error) {
		c, replaced, err = env.editChange(ctx, t, in)
		return c, err
	})
	if err != nil {
		return Result{}, err
	}
	text := fmt.Sprintf("edited %s: %s, %s; it now reads\n%s",
		c.Display, plural(replaced, "replacement"), c.counts(), c.regions())
	return Result{Text: text + c.note, Summary: c.counts()}, nil
}

// editChange finds out what the edits do to the file, and how many places they
// replace.
func (e *Env) editChange(ctx context.Context, t target, in editInput) (c change, replaced int, err error) {
	before, old, state, err := t.loadText()
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
	edits, values, err := e.unmask(before.body, edits)
	if err != nil {
		return c, 0, t.errorf(err, "")
	}
	note, err := e.Files.staleEdit(t, state, before, nil, func(t textFile) ([]string, error) { return applyEdits(t, edits) })
	if err != nil {
		return c, 0, err
	}
	after := before
	for i, e := range edits {
		which := ""
		if len(edits) > 1 {
			which = fmt.Sprintf("edit %d of %d: ", i+1, len(edits))
		}
		next, n, differs, err := after.replace(e)
		if err != nil && len(edits) > 1 {
			return c, 0, fmt.Errorf("%w\n(none of the %d edits was applied)", t.errorf(err, "%s", which), len(edits))
		}
		if err != nil {
			return c, 0, t.errorf(err, "%s", which)
		}
		if after, replaced = next, replaced+n; differs != "" {
			note += fmt.Sprintf("(%sold_string and the file differ in %s; the file's own was kept)\n", which, differs)
		}
	}
	c, err = newChange(t, state, old, before, after)
	c.note, c.moves = note, movesSecret(before.body, after.body, values)
	return c, replaced, err
}

// replace does one edit. It tells at how many places, and what differs there from
// old_string, "" for nothing.
func (t textFile) replace(e replacement) (after textFile, places int, differs string, err error) {
	edits, differs, err := t.locate(e)
	if err != nil {
		return t, 0, "", err
	}
	return t.apply(edits), len(edits), differs, nil
}

// locate finds the places of one edit, in order, and what differs there from
// old_string: they are the only ones that it can mean.
func (t textFile) locate(e replacement) (edits []udiff.Edit, differs string, err error) {
	switch {
	case e.OldString == nil || *e.OldString == "":
		return nil, "", errors.New("old_string is empty: give the text to replace, or use write for the whole file")
	case e.NewString == nil:
		return nil, "", errors.New(`new_string is missing: give "" to delete old_string`)
	}
	old, replacement := t.adopt(*e.OldString), t.adopt(*e.NewString)
	if t.crlf == nil && strings.Contains(old, "\r\n") && !strings.Contains(t.body, old) {
		// The model took the file for one with \r\n.
		old, replacement = strings.ReplaceAll(old, "\r\n", "\n"), strings.ReplaceAll(replacement, "\r\n", "\n")
	}
	if old == replacement {
		return nil, "", errors.New("old_string and new_string are the same")
	}
	for _, start := range occurrences(t.body, old, !e.ReplaceAll) {
		edits = append(edits, udiff.Edit{Start: start, End: start + len(old), New: replacement})
	}
	butFor := ""
	if edits == nil {
		if edits, differs = findLoosely(t.body, old, replacement); edits != nil {
			butFor = " but for " + differs
		}
	}
	switch {
	case edits == nil:
		return nil, "", errors.New(explainMiss(t.body, old, replacement))
	case e.ReplaceAll:
		edits = apart(edits)
	case len(edits) > 1:
		return nil, "", fmt.Errorf("old_string is there %d times%s, %s; take in lines around it to make it unique, or "+
			"set replace_all", len(edits), butFor, linesOf(t.body, edits))
	}
	for _, edit := range edits {
		if err := t.takes(edit.New); err != nil {
			return nil, "", fmt.Errorf("the file %w", err)
		}
	}
	return edits, differs, nil
}

// apart leaves out the edits that overlap with the one before.
func apart(edits []udiff.Edit) (kept []udiff.Edit) {
	end := 0
	for _, e := range edits {
		if e.Start >= end {
			kept, end = append(kept, e), e.End
		}
	}
	return kept
}

// occurrences are the offsets of part in s; overlapping ones count only if
// asked for.
func occurrences(s, part string, overlapping bool) []int {
	var at []int
	for from := 0; ; {
		i := strings.Index(s[from:], part)
		if i < 0 {
			return at
		}
		at = append(at, from+i)
		if from += i + len(part); overlapping {
			from = at[len(at)-1] + 1
		}
	}
}
