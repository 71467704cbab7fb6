package builtin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"artoo/tool"
	"artoo/tool/edit"
	"artoo/tool/files"
	"artoo/tool/names"
)

// patchSteps are the steps of a patch's sections, in their order.
func patchSteps(ctx context.Context, e *tool.Env, files []edit.FilePatch) (steps []change, err error) {
	at := map[string]int{} // the step by the file's path
	for _, f := range files {
		if err = patchFile(ctx, e, f, &steps, at); err != nil {
			break
		}
	}
	if err == nil {
		// A file that stays as it is is left out.
		steps = slices.DeleteFunc(steps, func(c change) bool { return c.op == 'M' && c.from == nil && c.was.Body == c.now.Body })
		if len(steps) == 0 {
			err = errors.New("the patch changes nothing: the files already match it")
		}
	}
	for i := range steps {
		if err == nil {
			err = steps[i].finish()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w\n(nothing of the patch was applied)", err)
	}
	return steps, nil
}

// patchFile adds the step of one section, or adds it to the step of its file.
func patchFile(ctx context.Context, e *tool.Env, f edit.FilePatch, steps *[]change, at map[string]int) error {
	for _, text := range append(f.Paths(), f.Text) {
		if mark := secretMark().FindString(text); mark != "" {
			return fmt.Errorf("%s: %s stands for a hidden key, which cannot be put here; leave it out", f.Path, mark)
		}
	}
	t, err := e.Files.Resolve(f.Path, true)
	if err != nil {
		return err
	}
	if err := t.Refused(); err != nil {
		return err
	}
	i, twice := at[t.Abs]
	if !twice {
		i = len(*steps)
		at[t.Abs], *steps = i, append(*steps, change{Place: t, op: f.Op})
	}
	s := &(*steps)[i]
	switch {
	case f.Op == 'A' && (!twice || s.op == 'D'): // one that is deleted before is written again
		*s, err = writeChange(e.Files, t, writeInput{Path: f.Path, Content: f.Text})
		s.op = 'A'
	case f.Op == 'D' && !twice:
		err = deletePatched(ctx, e, s, f)
	case f.Op == 'M' && !twice:
		err = updatePatched(ctx, e, s, f, at, i)
	case f.Op == 'M' && s.op == 'M' && s.from == nil && f.MoveTo == "":
		err = patchText(e, s, f, false)
	default:
		err = t.Errorf(nil, "the patch names it twice")
	}
	return err
}

// deletePatched deletes a file or a link, never the target of a link.
func deletePatched(ctx context.Context, e *tool.Env, s *change, f edit.FilePatch) error {
	info, err := s.Replaceable()
	if err != nil {
		return err
	}
	if info == nil {
		return missingFile(ctx, e, s.Place, "there is nothing to delete")
	}
	if isLink(e.Files, f.Path, s.Place) {
		return s.Errorf(nil, "%s is a link to it; delete the link with a command", f.Path)
	}
	if s.state, err = s.Place.State(); err != nil {
		return err
	}
	if err := stale(e.Files, s.Place, s.state); err != nil {
		return err
	}
	if text, old, _, err := s.LoadText(); err == nil { // a binary file is deleted without being shown
		s.was, s.old = text, old
	}
	return nil
}

// isLink reports whether the last part of path is a link, which led to t.
func isLink(f *files.Files, path string, t files.Place) bool {
	parent, err := f.Resolve(cmp.Or(filepath.Dir(filepath.FromSlash(path)), "."), true)
	return err == nil && names.Fold(filepath.Join(parent.Abs, filepath.Base(path))) != names.Fold(t.Abs)
}

func updatePatched(ctx context.Context, e *tool.Env, s *change, f edit.FilePatch, at map[string]int, n int) (err error) {
	if s.was, s.old, s.state, err = s.LoadText(); err != nil {
		return err
	}
	if s.now = s.was; s.state.Missing {
		return missingFile(ctx, e, s.Place, edit.PatchAdd+" creates files")
	}
	if err := patchText(e, s, f, true); err != nil || f.MoveTo == "" {
		return err
	}
	from := s.Place
	if isLink(e.Files, f.Path, from) {
		return from.Errorf(nil, "%s is a link to it; move the link with a command", f.Path)
	}
	to, err := e.Files.Resolve(f.MoveTo, true)
	if err != nil {
		return err
	}
	if err := to.Refused(); err != nil {
		return err
	}
	there, err := to.Replaceable()
	switch {
	case err != nil:
		return err
	case there != nil:
		return to.Errorf(nil, "is there already, and %s cannot be moved over it", from.Display)
	case !to.SameGrant(from):
		return to.Errorf(nil, "is not in the same added directory as %s; move it with a command", from.Display)
	case strings.ContainsFunc(to.Display, unicode.IsControl):
		return fmt.Errorf("path %q: the name of a new file holds no line breaks or other control characters", f.MoveTo)
	}
	if _, twice := at[to.Abs]; twice {
		return to.Errorf(nil, "the patch names it twice")
	}
	at[to.Abs] = n
	s.from, s.Place = &from, to
	return nil
}

// patchText applies the chunks of a section. Only the first of a file can be stale.
func patchText(e *tool.Env, s *change, f edit.FilePatch, first bool) error {
	chunks, values, err := unmaskChunks(e, s.now.Body, f.Chunks)
	if err != nil {
		return s.Errorf(err, "")
	}
	if first {
		note, err := staleEdit(e.Files, s.Place, s.state, s.was, nil, func(t files.Text) ([]string, error) {
			edits, _, err := edit.ApplyChunks(t, chunks)
			return edit.Touched(t, edits), err
		})
		if err != nil {
			return err
		}
		s.note += note
	}
	edits, differs, err := edit.ApplyChunks(s.now, chunks)
	if err != nil {
		return s.Errorf(err, "")
	}
	before := s.now.Body
	s.now = s.now.Apply(edits)
	s.moves = cmp.Or(s.moves, movesSecret(before, s.now.Body, values))
	for _, d := range differs {
		s.note += "(" + d + "; the file's own was kept)\n"
	}
	return nil
}

// unmaskChunks is unmask for chunks; no anchor may hold a mark.
func unmaskChunks(e *tool.Env, body string, chunks []edit.Chunk) (out []edit.Chunk, values []string, err error) {
	var edits []edit.Replacement
	for _, c := range chunks {
		for _, a := range c.Anchors {
			if secretMark().MatchString(a) {
				return nil, nil, errors.New("no line with a mark ‹secret:…› may follow @@")
			}
		}
		before, after := strings.Join(c.Old, "\n"), strings.Join(c.New, "\n")
		edits = append(edits, edit.Replacement{OldString: &before, NewString: &after})
	}
	edits, values, err = unmask(e, body, edits)
	if err != nil || values == nil {
		return chunks, nil, err
	}
	for i, c := range chunks {
		if len(c.Old) > 0 {
			c.Old = strings.Split(*edits[i].OldString, "\n")
		}
		if len(c.New) > 0 {
			c.New = strings.Split(*edits[i].NewString, "\n")
		}
		out = append(out, c)
	}
	return out, values, nil
}
