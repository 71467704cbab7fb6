package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/aymanbagabas/go-udiff"
)

// patchSteps finds out what the sections of a patch do, in their order. The error
// says that nothing was done.
func (e *Env) patchSteps(ctx context.Context, files []filePatch) (steps []fileStep, err error) {
	at := map[string]int{} // the step by the file's path
	for _, f := range files {
		if err = e.patchFile(ctx, f, &steps, at); err != nil {
			break
		}
	}
	for i := range steps {
		if err != nil {
			break
		}
		err = steps[i].compare()
	}
	if changing := slices.DeleteFunc(slices.Clone(steps), fileStep.changesNothing); len(changing) > 0 {
		steps = changing
	} else if err == nil {
		err = errors.New("the patch changes nothing: all of it is there already")
	}
	if err != nil {
		return nil, fmt.Errorf("%w\n(nothing of the patch was applied)", err)
	}
	return steps, nil
}

// patchFile adds the step of one section, or adds it to the step of its file.
func (e *Env) patchFile(ctx context.Context, f filePatch, steps *[]fileStep, at map[string]int) error {
	for _, text := range append(f.paths(), f.text) {
		if mark := secretMark().FindString(text); mark != "" {
			return fmt.Errorf("%s: %s stands for a key that you are not shown, and nothing else may hold it", f.path, mark)
		}
	}
	t, err := e.Files.resolve(f.path, true)
	if err != nil {
		return err
	}
	if err := t.refused(); err != nil {
		return err
	}
	if i, twice := at[t.Abs]; twice {
		if s := &(*steps)[i]; s.op == 'D' && f.op == 'A' { // deleted to be written anew
			*s = fileStep{op: 'A'}
			s.change, err = e.Files.writeChange(t, writeInput{Path: f.path, Content: f.text})
			return err
		}
		if s := (*steps)[i]; s.op != 'M' || f.op != 'M' || s.from != nil || f.moveTo != "" {
			return t.errorf(nil, "the patch names it twice")
		}
		return e.patchText(&(*steps)[i], f)
	}
	s := fileStep{op: f.op, change: change{target: t}}
	at[t.Abs] = len(*steps)
	switch f.op {
	case 'A':
		s.change, err = e.Files.writeChange(t, writeInput{Path: f.path, Content: f.text})
	case 'D':
		err = e.Files.patchDelete(ctx, e, &s, f)
	case 'M':
		err = e.patchUpdate(ctx, &s, f, at, len(*steps))
	}
	*steps = append(*steps, s)
	return err
}

// patchDelete is for a file itself, never for what a link leads to.
func (f *Files) patchDelete(ctx context.Context, e *Env, s *fileStep, p filePatch) error {
	info, err := s.replaceable()
	if err != nil {
		return err
	}
	if info == nil {
		return missingFile(ctx, e, s.target, "there is nothing to delete")
	}
	if f.isLink(p.path, s.target) {
		return s.errorf(nil, "%s is a link to it; delete the link with a command", p.path)
	}
	if s.state, err = s.target.state(); err != nil {
		return err
	}
	if err := f.stale(s.target, s.state); err != nil {
		return err
	}
	if text, old, _, err := s.loadText(); err == nil { // a binary file is deleted without being shown
		s.was, s.old = text, old
	}
	return nil
}

// isLink reports whether the last part of path is a link, which led to t.
func (f *Files) isLink(path string, t target) bool {
	parent, err := f.resolve(cmp.Or(filepath.Dir(filepath.FromSlash(path)), "."), true)
	return err == nil && FoldName(filepath.Join(parent.Abs, filepath.Base(path))) != FoldName(t.Abs)
}

func (e *Env) patchUpdate(ctx context.Context, s *fileStep, f filePatch, at map[string]int, n int) (err error) {
	var state State
	if s.was, s.old, state, err = s.loadText(); err != nil {
		return err
	}
	if s.state, s.now = state, s.was; state.Missing {
		return missingFile(ctx, e, s.target, patchAdd+" creates files")
	}
	if err := e.patchText(s, f); err != nil || f.moveTo == "" {
		return err
	}
	from := s.target
	if e.Files.isLink(f.path, from) {
		return from.errorf(nil, "%s is a link to it; move the link with a command", f.path)
	}
	to, err := e.Files.resolve(f.moveTo, true)
	if err != nil {
		return err
	}
	if err := to.refused(); err != nil {
		return err
	}
	there, err := to.replaceable()
	switch {
	case err != nil:
		return err
	case there != nil:
		return to.errorf(nil, "is there already, and %s cannot be moved over it", from.Display)
	case to.grant != from.grant:
		return to.errorf(nil, "lies in another directory that was opened than %s; move it with a command", from.Display)
	case strings.ContainsFunc(to.rel, unicode.IsControl):
		return fmt.Errorf("path %q: the name of a new file holds no line breaks or other control characters", f.moveTo)
	}
	if _, twice := at[to.Abs]; twice {
		return to.errorf(nil, "the patch names it twice")
	}
	at[to.Abs] = n
	s.from, s.target = &from, to
	return nil
}

// patchText applies the chunks of a section to what the step leaves so far.
func (e *Env) patchText(s *fileStep, f filePatch) error {
	chunks, values, err := e.unmaskChunks(s.now.body, f.chunks)
	if err != nil {
		return s.errorf(err, "")
	}
	if s.chunks == nil { // else the model knows it: it has just changed it
		note, err := e.Files.staleEdit(s.target, s.state, s.was, nil, func(t textFile) ([]string, error) {
			edits, _, err := t.applyChunks(chunks)
			return t.touched(edits), err
		})
		if err != nil {
			return err
		}
		s.note += note
	}
	edits, differs, err := s.now.applyChunks(chunks)
	if err != nil {
		return s.errorf(err, "")
	}
	before := s.now.body
	s.now, s.chunks = s.now.apply(edits), append(s.chunks, chunks...)
	if s.moves == "" {
		s.moves = movesSecret(before, s.now.body, values)
	}
	for _, d := range differs {
		s.note += "(" + d + "; the file's own was kept)\n"
	}
	return nil
}

// unmaskChunks is unmask for chunks; no anchor may hold a mark.
func (e *Env) unmaskChunks(body string, chunks []patchChunk) (out []patchChunk, values []string, err error) {
	var edits []replacement
	for _, c := range chunks {
		for _, a := range c.anchors {
			if secretMark().MatchString(a) {
				return nil, nil, errors.New("no line with a mark ‹secret:…› may stand behind @@")
			}
		}
		before, after := strings.Join(c.old, "\n"), strings.Join(c.new, "\n")
		edits = append(edits, replacement{OldString: &before, NewString: &after})
	}
	edits, values, err = e.unmask(body, edits)
	if err != nil || values == nil {
		return chunks, nil, err
	}
	for i, c := range chunks {
		if len(c.old) > 0 {
			c.old = strings.Split(*edits[i].OldString, "\n")
		}
		if len(c.new) > 0 {
			c.new = strings.Split(*edits[i].NewString, "\n")
		}
		out = append(out, c)
	}
	return out, values, nil
}

// compare makes the diff of a step.
func (s *fileStep) compare() (err error) {
	switch {
	case s.op == 'A':
		return nil
	case s.op == 'D':
		s.unified, err = udiff.ToUnifiedDiff(label("a/"+s.Display), "/dev/null", s.was.body,
			udiff.Lines(s.was.body, ""), udiff.DefaultContextLines)
		s.removed = countLines(s.was.body)
		return err
	case s.from != nil && s.was.body == s.now.body:
		s.new, s.before, s.text = s.old, s.was.body, s.was.body
		s.unified.From, s.unified.To = label("a/"+s.from.Display), label("b/"+s.Display)
		return nil
	}
	was := s.change
	if s.was.body == s.now.body {
		return nil
	}
	if s.change, err = newChange(s.target, s.state, s.old, s.was, s.now); err != nil {
		return err
	}
	if s.note, s.moves = was.note, was.moves; s.from != nil {
		s.unified.From = label("a/" + s.from.Display)
	}
	return nil
}

// changesNothing reports whether the file is to become what it is.
func (s fileStep) changesNothing() bool {
	return s.op == 'M' && s.from == nil && s.was.body == s.now.body
}

// diff is the step as the user is shown it.
func (s *fileStep) diff() string {
	switch {
	case s.unified.Hunks != nil:
		return strings.ToValidUTF8(s.unified.String(), "�")
	case s.op == 'D':
		return fmt.Sprintf("--- %s\n+++ /dev/null\n(%s are deleted)\n", label("a/"+s.Display), byteSize(s.state.Size))
	}
	return fmt.Sprintf("--- %s\n+++ %s\n", s.unified.From, s.unified.To)
}
