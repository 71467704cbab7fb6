package ui

import (
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// dropped are the paths of the pictures that a message brings along: all in what
// was typed, and those that a pasted part begins with, because the rest of it is
// data.
func dropped(text string, pasted []Span) []string {
	if len(pasted) == 0 {
		return droppedPictures(text, false)
	}
	var paths []string
	at := 0
	for _, s := range pasted {
		from, to := min(max(s.From, at), len(text)), min(max(s.To, at), len(text)) // the text may have been trimmed since
		paths = append(paths, droppedPictures(text[at:from], false)...)
		paths = append(paths, droppedPictures(text[from:to], true)...)
		at = to
	}
	return append(paths, droppedPictures(text[at:], false)...)
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
	quote := rune(0)
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		i += n
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			b.WriteRune(r)
		case r == '\'' && b.Len() == 0, r == '"' && b.Len() == 0: // elsewhere it is an apostrophe
			quote = r
		case r == '\\' && i < len(text):
			next, n := utf8.DecodeRuneInString(text[i:])
			if unicode.IsLetter(next) || unicode.IsDigit(next) {
				b.WriteRune(r)
				continue
			}
			b.WriteRune(next)
			i += n
		case unicode.IsSpace(r):
			return b.String(), text[i:]
		default:
			b.WriteRune(r)
		}
	}
	return b.String(), ""
}

// pictureAt is the path that a word names, if it is full and a picture's.
func pictureAt(word string) (string, bool) {
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
