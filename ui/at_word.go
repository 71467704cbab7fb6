package ui

import (
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"artoo/ui/prompt"
)

// atWord is a word of a text that begins with @ and may name a file: @week.go,
// @a\ b.txt, @"a b.txt".
type atWord struct {
	from, to int    // bytes of the text, the @ and the quotes included
	path     string // without @, quotes and backslashes
	quoted   bool
	open     bool // quoted, and the closing quote is missing
	literal  bool // written \@: from is the backslash, to behind the @, path empty
}

// atWords finds the @ words of a text. An @ begins one at the start of the text
// and after a blank, an opening bracket or a quote: so an address like
// me@example.org is none. Nor does one that was pasted.
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

// inSpans says whether a byte of a text lies in one of the spans.
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

// scanAt reads the word whose @ is at byte from.
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

// unescape reads text up to the first rune that ends it, n bytes; stopped is
// false when there was none. A backslash is taken off only before what would
// otherwise mean something.
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

// escapeAt writes a path as the rest of an @ word, the inverse of unescape.
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

// trimmedPaths are what a word may mean: itself, then without the marks of the
// sentence at its end, one after the other. Nothing is taken off what was
// quoted.
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

// dropped are the images that a message brings along: all in what was typed,
// and those that a pasted part begins with, because the rest of it is data.
func dropped(text string, pasted []prompt.Span) []drop {
	var all []drop
	typed := func(text string) {
		for _, path := range droppedImages(text, false) {
			all = append(all, drop{path, true})
		}
	}
	at := 0
	for _, s := range pasted {
		from, to := min(max(s.From, at), len(text)), min(max(s.To, at), len(text)) // the text may have been trimmed since
		typed(text[at:from])
		alone := onlyImages(text[from:to])
		for _, path := range droppedImages(text[from:to], true) {
			all = append(all, drop{path, alone})
		}
		at = to
	}
	typed(text[at:])
	return all
}

// onlyImages says whether a text is nothing but full paths of images.
func onlyImages(text string) bool {
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		word, rest := shellWord(text)
		if _, ok := imageAt(word); !ok {
			return false
		}
		text = rest
	}
	return true
}

// droppedImages are the full paths of images in a text, in the forms in which
// terminals type the name of a file that is dropped on them: with backslashes,
// in quotes, as file:// address. With leading only those count that the text
// begins with.
func droppedImages(text string, leading bool) []string {
	var paths []string
	for text != "" {
		trimmed := strings.TrimLeftFunc(text, unicode.IsSpace)
		if trimmed == "" {
			break
		}
		word, rest := shellWord(trimmed)
		dropped, ok := imageAt(word)
		switch {
		case ok && !slices.Contains(paths, dropped):
			paths = append(paths, dropped)
		case !ok && leading:
			return paths
		}
		text = rest
	}
	return paths
}

// shellWord takes the first word off a text and undoes its quotes. A backslash
// before a letter stays.
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
		case unicode.IsSpace(r) && r != '\u00a0' && r != '\u202f': // macOS has such a blank in the names of its screenshots
			return b.String(), text[i:]
		default:
			b.WriteRune(r)
		}
	}
	return b.String(), ""
}

// imageAt is the path that a word names, if it is full and an image's. What
// ends a sentence is not part of it.
func imageAt(word string) (string, bool) {
	word = strings.TrimRight(word, ".,;:!?)]}")
	if u, err := url.Parse(word); err == nil && u.Scheme == "file" && (u.Host == "" || u.Host == "localhost") {
		word = u.Path
	}
	drive := len(word) > 3 && word[1] == ':' && word[2] == '\\'
	if !strings.HasPrefix(word, "/") && !strings.HasPrefix(word, "~/") && !drive {
		return "", false
	}
	switch strings.ToLower(path.Ext(word)) {
	case ".png", ".jpg", ".jpeg", ".gif", ".webp":
		return word, true
	}
	return "", false
}
