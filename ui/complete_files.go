package ui

import (
	"context"
	"strings"
	"time"

	"artoo/tool"
)

// How long completing a file name may take, and how many names are proposed of
// one directory and of all below it.
const (
	completeWait = 40 * time.Millisecond
	maxNames     = 1000
	maxFound     = 50
)

// complete is a completer: it proposes the files that the @ word before the
// cursor may be meant to name, as many as it finds while wait lasts, and nothing
// where there is no such word. A word without a slash that no name here begins
// with is looked for in all directories below.
func (a fileAccess) complete(text string, cursor int, wait time.Duration) completion {
	w, ok := wordAt(text[:cursor])
	if !ok || a.env.Files == nil {
		return completion{}
	}
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	c := completion{from: w.from, to: cursor}
	after := text[cursor:]
	if w.quoted && strings.HasPrefix(after, `"`) {
		c.to, after = c.to+1, after[1:]
	}
	dir, entries := a.entries(ctx, w.path)
	for _, e := range entries {
		c.candidates = append(c.candidates, w.candidate(dir, e, strings.HasPrefix(after, " ")))
	}
	return c
}

// wordAt is the @ word that the text ends with, still open.
func wordAt(text string) (atWord, bool) {
	if strings.HasSuffix(text, "@") && beginsWord(text[:len(text)-1]) {
		return atWord{from: len(text) - 1, to: len(text)}, true
	}
	words := atWords(text, nil)
	if len(words) == 0 {
		return atWord{}, false
	}
	w := words[len(words)-1]
	return w, w.to == len(text) && !w.literal && w.quoted == w.open
}

// entries finds what the path may go on as: dir is the part of it that stays,
// with its slash. What cannot be read has no entries.
func (a fileAccess) entries(ctx context.Context, path string) (dir string, entries []tool.NameEntry) {
	cut := strings.LastIndexByte(path, '/') + 1
	dir, prefix := path[:cut], path[cut:]
	if prefix == ".." {
		return dir, []tool.NameEntry{{Path: prefix, Dir: true}}
	}
	from := a.env.Dir
	if dir != "" {
		from = a.abs(dir)
	}
	// A directory that is missing, denied or outside proposes nothing, and there
	// is no place to say so while someone types.
	entries, err := a.env.Files.Names(ctx, from, prefix, maxNames)
	if err == nil && len(entries) == 0 && dir == "" {
		entries, err = a.env.Files.Find(ctx, from, prefix, maxFound)
	}
	if err != nil {
		return dir, nil
	}
	return dir, entries
}

// candidate is the entry as the word would be written; a directory is left open
// for what is below it.
func (w atWord) candidate(dir string, e tool.NameEntry, blank bool) candidate {
	path := dir + e.Path
	if e.Dir {
		path += "/"
	}
	c := candidate{text: "@" + escapeAt(path, w.quoted)}
	if w.quoted {
		c.text = `@"` + escapeAt(path, true)
	}
	if !e.Dir {
		if w.quoted {
			c.text += `"`
		}
		if !blank {
			c.text += " "
		}
	}
	if e.Ignored {
		c.help = "ignored"
	}
	return c
}
