package ui

import (
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// drop is a picture that a message brings along by its full path.
type drop struct {
	path string
	own  bool // typed, or pasted with nothing else, as a terminal does with a dropped file
}

// dropped are the pictures that a message brings along: all in what was typed,
// and those that a pasted part begins with, because the rest of it is data.
func dropped(text string, pasted []Span) []drop {
	var all []drop
	typed := func(text string) {
		for _, path := range droppedPictures(text, false) {
			all = append(all, drop{path, true})
		}
	}
	at := 0
	for _, s := range pasted {
		from, to := min(max(s.From, at), len(text)), min(max(s.To, at), len(text)) // the text may have been trimmed since
		typed(text[at:from])
		alone := onlyPictures(text[from:to])
		for _, path := range droppedPictures(text[from:to], true) {
			all = append(all, drop{path, alone})
		}
		at = to
	}
	typed(text[at:])
	return all
}

// onlyPictures says whether a text is nothing but full paths of pictures.
func onlyPictures(text string) bool {
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		word, rest := shellWord(text)
		if _, ok := pictureAt(word); !ok {
			return false
		}
		text = rest
	}
	return true
}

// droppedPictures are the full paths of pictures in a text, in the forms in which
// terminals type the name of a file that is dropped on them: with backslashes,
// in quotes, as file:// address. With leading only those count that the text
// begins with.
func droppedPictures(text string, leading bool) []string {
	var paths []string
	for text != "" {
		trimmed := strings.TrimLeftFunc(text, unicode.IsSpace)
		if trimmed == "" {
			break
		}
		word, rest := shellWord(trimmed)
		dropped, ok := pictureAt(word)
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
// before a letter, as in Windows' paths, stays.
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

// pictureAt is the path that a word names, if it is full and a picture's. What
// ends a sentence is not part of it.
func pictureAt(word string) (string, bool) {
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
