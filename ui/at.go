package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/provider"
	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/tool/environ"
	"artoo/tool/files"
	"artoo/tool/mcp"
	"artoo/tool/names"
	"artoo/tool/text"
	"artoo/ui/prompt"
)

// fileAccess names the files that the @paths of typed text may reach.
type fileAccess struct {
	env  *tool.Env // its Dir is where they start; without Files they reach nothing
	home string    // the directory ~ names; ""
	own  bool      // the user typed it: an image by its full path may be anywhere
	// policy decides about the resources that the user did not type as about the model's calls; nil attaches none of them.
	policy *permission.Policy
}

func accessOf(a *agent.Agent, own bool) fileAccess {
	return fileAccess{env: a.Env(), home: environ.Vars(a.Env().Environ).Home(), own: own, policy: a.Policy()}
}

// Expand is the prompt of a headless run with the files and resources that it names. A script may have put words
// of others into it, so it attaches only what the agent reaches unasked. It reads files, and starts servers.
func Expand(ctx context.Context, a *agent.Agent, prompt string) Expansion {
	return accessOf(a, false).expand(ctx, prompt, nil)
}

// abs is where a typed path leads, not cleaned: a/.. is not . when a is a link.
func (a fileAccess) abs(path string) string {
	if path = names.InHome(filepath.FromSlash(path), a.home); filepath.IsAbs(path) {
		return path
	}
	return a.env.Dir + string(filepath.Separator) + path
}

// The most that one message brings along.
const (
	maxAttached      = 20
	maxAttachedBytes = 200 << 10
)

// Expansion is a typed message with the files of its @paths.
type Expansion struct {
	Text  string          // the typed text, \@ written as @
	Parts []provider.Part // a Text for each file or directory
	Notes []string        // a line each, unsanitised
}

// expand finds the @paths of a typed message, and the full paths of images, and reads their files
// and directories in the form of the tools read and ls. A word that names none is text, and so is
// one whose @ was pasted. The notes name files that may not be read.
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
	if a.env.Files != nil {
		for _, d := range dropped(text, pasted) {
			e.path(d.path, d.path, d.own)
		}
	}
	if len(e.attached) > 0 { // it stands before the other notes
		e.out.Notes = append([]string{"attached: " + strings.Join(e.attached, "; ")}, e.out.Notes...)
	}
	return e.out
}

type expander struct {
	access   fileAccess
	ctx      context.Context
	out      Expansion
	seen     map[string]bool // absolute paths
	attached []string        // names of attached files
	bytes    int
}

func (e *expander) note(format string, args ...any) {
	e.out.Notes = append(e.out.Notes, fmt.Sprintf(format, args...))
}

func (e *expander) word(w atWord) {
	paths := w.trimmedPaths()
	if e.resource(paths[len(paths)-1]) {
		return
	}
	for _, path := range paths {
		if e.path(path, "@"+path, true) {
			return
		}
	}
	// A decorator, a name or a package is text; a word with a dot was probably
	// meant as a path.
	if last := paths[len(paths)-1]; strings.Contains(strings.Trim(filepath.Base(last), "."), ".") {
		e.note("@%s: no such file; sent as text", last)
	}
}

// resource attaches the resource that SERVER:URI names, and reports whether there is such an MCP server. Where the user did
// not type it, a rule has to let the model read it: else no server is started.
func (e *expander) resource(word string) bool {
	m := e.access.env.MCP
	server, uri, ok := strings.Cut(word, ":")
	if m == nil || !ok || uri == "" ||
		!slices.ContainsFunc(m.Servers(), func(s mcp.Info) bool { return s.Name == server }) {
		return false
	}
	if why := e.refused(server, uri); why != "" {
		e.note("@%s is not attached: %s; it is sent as text", word, why)
		return true
	}
	result, err := builtin.ReadServer(e.ctx, e.access.env, server, uri)
	e.add("@"+word, uri+" of the MCP server "+server, "as the server gives it", result, err)
	return true
}

// refused is why a resource may not be read for text that the user did not type, "" where it may.
func (e *expander) refused(server, uri string) string {
	if e.access.own {
		return ""
	}
	read, err := builtin.ToolNamed(e.access.env.MCP, mcp.FullName(server, mcp.ResourceName))
	if err != nil || e.access.policy == nil {
		return "its resources are not offered here"
	}
	input, err := json.Marshal(map[string]string{"uri": uri})
	if err != nil {
		return err.Error()
	}
	access, err := read.Plan(e.ctx, e.access.env, input)
	if err != nil {
		return err.Error()
	}
	decision := e.access.policy.Decide(read.Name, access)
	switch {
	case decision.Verdict == permission.Run:
		return ""
	case decision.Narrow != "":
		return decision.Reason() + "; --allow " + decision.Narrow + " permits it"
	}
	return decision.Reason()
}

// path reports whether the path names something, and then attaches it or says why not. typed is
// how the user wrote it; own, that it was the user: then an image by its full path may be
// anywhere.
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
		e.note("%s is not attached: one message takes at most %d files", typed, maxAttached)
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

func (e *expander) attach(typed string, place files.Place, info fs.FileInfo) {
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
	head := fmt.Sprintf("[%s: %s, %s, %s]\n", text.Printable(typed), text.Printable(name), result.Summary, how)
	e.out.Parts = append(e.out.Parts, provider.Text{Text: head + result.Text})
	for _, img := range result.Images {
		e.out.Parts = append(e.out.Parts, provider.Image{MediaType: img.MediaType, Data: img.Data, Name: img.Name})
	}
}

// atWord is a word that begins with @ and may name a file: @week.go, @a\ b.txt, @"a b.txt".
type atWord struct {
	from, to int    // bytes of the text, the @ and the quotes included
	path     string // has no @, quotes or backslashes
	quoted   bool
	open     bool // quoted, and the closing quote is missing
	literal  bool // written \@: from is the backslash, to behind the @, path empty
}

// atWords finds the @ words of a text: at its start, and after a space, an opening bracket or
// a quote. Pasted ones do not count.
func atWords(text string, pasted []prompt.Span) []atWord {
	var words []atWord
	for i := 0; i < len(text); {
		switch {
		case text[i] != '@' && text[i] != '\\' || inSpans(pasted, i) || !beginsWord(text[:i]):
		case strings.HasPrefix(text[i:], `\@`):
			words = append(words, atWord{from: i, to: i + 2, literal: true})
			i++
		case text[i] == '@':
			w := scanAt(text, i)
			if w.path != "" || w.open {
				words = append(words, w)
			}
			i = w.to
			continue
		}
		i++
	}
	return words
}

func inSpans(spans []prompt.Span, at int) bool {
	return slices.ContainsFunc(spans, func(s prompt.Span) bool { return s.From <= at && at < s.To })
}

func beginsWord(before string) bool {
	if before == "" {
		return true
	}
	r, _ := utf8.DecodeLastRuneInString(before)
	return unicode.IsSpace(r) || strings.ContainsRune("([{\"'", r)
}

func scanAt(text string, from int) atWord {
	w := atWord{from: from}
	rest := text[from+1:]
	if inner, ok := strings.CutPrefix(rest, `"`); ok {
		path, n, closed := unescape(inner, func(r rune) bool { return r == '"' || r == '\n' })
		w.path, w.quoted, w.to = path, true, from+2+n
		if w.open = !closed || inner[n] != '"'; !w.open {
			w.to++
		}
		return w
	}
	path, n, _ := unescape(rest, unicode.IsSpace)
	w.path, w.to = path, from+1+n
	return w
}

// unescape reads text up to the first rune that ends it, n bytes; stopped is false without one.
// A backslash is taken off only before a rune with a meaning of its own.
func unescape(text string, ends func(rune) bool) (path string, n int, stopped bool) {
	var b strings.Builder
	for n < len(text) {
		r, size := utf8.DecodeRuneInString(text[n:])
		if r == '\\' && n+1 < len(text) {
			next, nextSize := utf8.DecodeRuneInString(text[n+1:])
			if next != '\n' && needsEscape(next) {
				b.WriteString(text[n+1 : n+1+nextSize])
				n += 1 + nextSize
				continue
			}
		}
		if ends(r) {
			return b.String(), n, true
		}
		b.WriteString(text[n : n+size])
		n += size
	}
	return b.String(), n, false
}

func needsEscape(r rune) bool { return r == '\\' || r == '"' || unicode.IsSpace(r) }

func escapeAt(path string, quoted bool) string {
	var b strings.Builder
	for _, r := range path {
		if r == '\\' || r == '"' || !quoted && unicode.IsSpace(r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// trimmedPaths are the possible paths of a word: itself, then without the marks at its end, one after
// the other, unless it was quoted.
func (w atWord) trimmedPaths() []string {
	paths := []string{w.path}
	for at := w.path; !w.quoted; {
		r, size := utf8.DecodeLastRuneInString(at)
		if !strings.ContainsRune(".,;:!?)]}>\"'`…", r) {
			break
		}
		if at = at[:len(at)-size]; strings.Trim(at, ".") == "" {
			break // an ellipsis, not the directory above
		}
		paths = append(paths, at)
	}
	return paths
}

// drop is an image that a message brings along by its full path.
type drop struct {
	path string
	own  bool // typed, or pasted with nothing else, as a terminal does with a dropped file
}

// dropped are the images of a message: all in the typed text, and those that a pasted part
// begins with.
func dropped(text string, pasted []prompt.Span) []drop {
	var all []drop
	typed := func(text string) {
		paths, _ := droppedImages(text, false)
		for _, path := range paths {
			all = append(all, drop{path, true})
		}
	}
	at := 0
	for _, s := range pasted {
		from, to := min(max(s.From, at), len(text)), min(max(s.To, at), len(text)) // the text may have been trimmed since
		typed(text[at:from])
		paths, rest := droppedImages(text[from:to], true)
		for _, path := range paths {
			all = append(all, drop{path, rest == ""})
		}
		at = to
	}
	typed(text[at:])
	return all
}

// droppedImages are the full paths of images in a text, in the forms in which terminals type
// the name of a dropped file: with backslashes, in quotes, as file:// address. With leading
// only those count that the text begins with; rest is the text after them.
func droppedImages(text string, leading bool) (paths []string, rest string) {
	for rest = strings.TrimSpace(text); rest != ""; {
		word, after := shellWord(rest)
		dropped, ok := imageAt(word)
		if !ok && leading {
			return paths, rest
		}
		if ok && !slices.Contains(paths, dropped) {
			paths = append(paths, dropped)
		}
		rest = strings.TrimLeftFunc(after, unicode.IsSpace)
	}
	return paths, ""
}

// beginsWithImage reports whether a text begins with an image's path, and so with no command.
func beginsWithImage(text string) bool {
	paths, _ := droppedImages(text, true)
	return paths != nil
}

// shellWord takes the first word off a text without its quotes. A backslash before a letter
// stays.
func shellWord(text string) (word, rest string) {
	var b strings.Builder
	quote, quoted := rune(0), false
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		i += n
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			b.WriteRune(r)
		case (r == '\'' || r == '"') && (quoted || b.Len() == 0): // elsewhere it is an apostrophe
			quote, quoted = r, true
		case r == '\\' && i < len(text):
			next, n := utf8.DecodeRuneInString(text[i:])
			if unicode.IsLetter(next) || unicode.IsDigit(next) {
				b.WriteRune(r)
				continue
			}
			b.WriteRune(next)
			i += n
		case unicode.IsSpace(r) && r != '\u00a0' && r != '\u202f': // macOS has such a space in the names of its screenshots
			return b.String(), text[i:]
		default:
			b.WriteRune(r)
		}
	}
	return b.String(), ""
}

// imageAt is the path that a word names, if it is full and an image's.
func imageAt(word string) (string, bool) {
	word = strings.TrimRight(word, ".,;:!?)]}")
	if u, err := url.Parse(word); err == nil && u.Scheme == "file" && (u.Host == "" || u.Host == "localhost") {
		word = u.Path
	}
	if !strings.HasPrefix(word, "/") && !strings.HasPrefix(word, "~/") {
		return "", false
	}
	switch strings.ToLower(path.Ext(word)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp":
		return word, true
	}
	return "", false
}
