package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"artoo/provider"
	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/ui/prompt"
)

// fileAccess is what the @paths of typed text may reach.
type fileAccess struct {
	env  *tool.Env // its Dir is where they start; without Files they reach nothing
	home string    // what ~ means; "" for nothing
	own  bool      // the user typed it: an image by its full path may be anywhere
}

// access is what the present session's file tools reach.
func (t *Terminal) access() fileAccess { return accessOf(t.opt.Agent.Env(), true) }

// accessOf is what file tools with that env reach.
func accessOf(env *tool.Env, own bool) fileAccess {
	home, _ := os.UserHomeDir() // without one ~ means nothing
	return fileAccess{env: env, home: home, own: own}
}

// Expand is the prompt of a headless run with what its @paths name. A script may have
// put words of others into it: only what env, the agent's, reaches comes along. It reads
// files, on the caller's goroutine.
func Expand(ctx context.Context, env *tool.Env, prompt string) Expansion {
	return accessOf(env, false).expand(ctx, prompt, nil)
}

// abs is where a typed path leads, absolute but not cleaned: a/.. is not . when
// a is a link.
func (a fileAccess) abs(path string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && a.home != "" && (rest == "" || rest[0] == '/') {
		return a.home + filepath.FromSlash(rest)
	}
	if path = filepath.FromSlash(path); filepath.IsAbs(path) {
		return path
	}
	return a.env.Dir + string(filepath.Separator) + path
}

// The most that one message brings along.
const (
	maxAttached      = 20
	maxAttachedBytes = 200 << 10
)

// Expansion is a typed message with what its @paths stand for.
type Expansion struct {
	Text  string          // as typed, but \@ is @
	Parts []provider.Part // a Text for each file or directory
	Notes []string        // for the user, a line each, unsanitised
}

// expand finds the @paths of a typed message, and the full paths of images, as
// terminals type them when a file is dropped, and reads what they name, as the
// tools read and ls would show it. A word that names nothing that exists is
// text, and so is one whose @ was pasted. What exists but may not be read is
// told in the notes.
func (a fileAccess) expand(ctx context.Context, text string, pasted []prompt.Span) Expansion {
	e := expander{access: a, ctx: ctx, seen: map[string]bool{}}
	var out strings.Builder
	done := 0
	for _, w := range atWords(text, pasted) {
		switch {
		case w.literal:
			out.WriteString(text[done:w.from])
			done = w.from + 1
		case !w.open && a.env.Files != nil:
			e.word(w)
		}
	}
	out.WriteString(text[done:])
	e.out.Text = out.String()
	for _, d := range dropped(text, pasted) {
		e.drop(d)
	}
	return e.end()
}

// end puts what came along before the other notes.
func (e *expander) end() Expansion {
	if len(e.attached) > 0 {
		e.out.Notes = append([]string{"attached: " + strings.Join(e.attached, "; ")}, e.out.Notes...)
	}
	return e.out
}

// expander is one expand.
type expander struct {
	access   fileAccess
	ctx      context.Context
	out      Expansion
	seen     map[string]bool // absolute paths
	attached []string        // what came along, for the user
	bytes    int
}

func (e *expander) note(format string, args ...any) {
	e.out.Notes = append(e.out.Notes, fmt.Sprintf(format, args...))
}

// word attaches what the word names, if that is anything.
func (e *expander) word(w atWord) {
	paths := w.trimmedPaths()
	for _, path := range paths {
		if e.path(path, "@"+path, true) {
			return
		}
	}
	// A decorator, a name or a package is text; what is written like a path was
	// meant as one.
	if last := paths[len(paths)-1]; strings.Contains(strings.Trim(filepath.Base(last), "."), ".") {
		e.note("@%s: there is no such file; it is sent as text", last)
	}
}

// drop attaches an image by its full path.
func (e *expander) drop(d drop) {
	if e.access.env.Files != nil {
		e.path(d.path, d.path, d.own)
	}
}

// path reports whether the path names something, and then attaches it or says
// why not. typed is how the user wrote it; own, that they did so themselves:
// then an image by its full path may be anywhere.
func (e *expander) path(path, typed string, own bool) bool {
	files := e.access.env.Files
	abs := e.access.abs(path)
	place, err := files.Resolve(abs, false)
	if err != nil {
		return false
	}
	if _, err := os.Lstat(place.Abs); err != nil {
		return false // e-mail-like, a decorator, a package: no file
	}
	_, image := imageAt(path)
	elsewhere := place.Outside && own && e.access.own && image && files.LeadsOut(abs)
	if (place.Outside || place.Denied) && !elsewhere {
		e.note("%s is not attached: %s", typed, place.Why)
		return true
	}
	if e.seen[place.Abs] {
		return true
	}
	e.seen[place.Abs] = true
	if len(e.out.Parts) == maxAttached {
		e.note("%s is not attached: %d files in one message are the most", typed, maxAttached)
		return true
	}
	if elsewhere {
		result, err := builtin.OwnImage(e.ctx, files, place.Abs)
		e.add(typed, place.Abs, "", result, err)
		return true
	}
	info, err := files.Stat(place.Abs)
	if err != nil {
		e.note("%s is not attached: %v", typed, err)
		return true
	}
	e.attach(typed, place, info)
	return true
}

// attach runs the tool that shows the place.
func (e *expander) attach(typed string, place tool.Place, info fs.FileInfo) {
	show, how := builtin.Read(), "as read shows it"
	name := place.Display
	if info.IsDir() {
		show, how = builtin.Ls(), "as ls lists it"
		name = strings.TrimSuffix(name, "/") + "/"
	}
	input, err := json.Marshal(map[string]string{"path": place.Abs})
	if err != nil {
		e.note("%s is not attached: %v", typed, err)
		return
	}
	result, err := show.Run(e.ctx, e.access.env, input, io.Discard)
	e.add(typed, name, how, result, err)
}

// add puts what a tool showed into the message; how says in which form.
func (e *expander) add(typed, name, how string, result tool.Result, err error) {
	switch {
	case err != nil:
		e.note("%s is not attached: %v", typed, err)
		return
	case e.bytes+len(result.Text) > maxAttachedBytes:
		e.note("%s is not attached: more than %d KB in one message; the model can read it", typed, maxAttachedBytes>>10)
		return
	}
	e.bytes += len(result.Text)
	e.attached = append(e.attached, fmt.Sprintf("%s, %s", name, result.Summary))
	if len(result.Images) > 0 {
		how, result.Text = "it follows", ""
	}
	head := fmt.Sprintf("[%s: %s, %s, %s]\n", singleLine(typed), singleLine(name), result.Summary, how)
	e.out.Parts = append(e.out.Parts, provider.Text{Text: head + result.Text})
	for _, img := range result.Images {
		e.out.Parts = append(e.out.Parts, provider.Image{MediaType: img.MediaType, Data: img.Data, Name: img.Name})
	}
}

// singleLine quotes a name that would not stay on its line.
func singleLine(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}

// attach is the message of a typed line with what its @paths name; the user is
// told what came along and what did not. What was pasted is data, but for the
// images that were dropped.
func (t *Terminal) attach(ctx context.Context, l prompt.Line) (text string, parts []provider.Part) {
	e := t.access().expand(ctx, l.Text, l.Pasted)
	for _, note := range e.Notes {
		t.Note(oneLine(note))
	}
	return e.Text, e.Parts
}
