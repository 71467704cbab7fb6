package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// mostNames is how many files are looked at for one that an @ could mean.
const mostNames = 20_000

// around is what the text of a message may be taken for.
type around struct {
	dirs []string // the working directory first, then others that may be read
	home string
}

// noAt keeps an @ from being taken for a file to include: gemini looks for them
// in its standard input too, also inside an address. Where nothing is of that
// name it sends the text on as it is, and so most of them stay untouched; the
// others get a backslash, which stays there, so that the model is told.
func noAt(prompt string, a around) string {
	var b strings.Builder
	var names *fileNames
	marked := false
	done := 0 // bytes of prompt
	for {
		i := strings.IndexByte(prompt[done:], '@')
		if i < 0 {
			break
		}
		i += done
		b.WriteString(prompt[done:i])
		path := atPath(prompt[i+1:])
		if i > 0 && prompt[i-1] == '\\' {
			path = ""
		}
		if path != "" && names == nil {
			names = newFileNames(a)
		}
		if path != "" && names.mayMean(unescaped(path)) {
			marked, path = true, ""
			b.WriteByte('\\')
		}
		b.WriteString("@" + path)
		done = i + 1 + len(path)
	}
	b.WriteString(prompt[done:])
	if marked {
		return "(In what follows, a backslash before an at sign is not part of the text.)\n\n" + b.String()
	}
	return prompt
}

// atPath is what behind an @ gemini takes for a path: quoted pieces, escaped
// characters, and all but blanks and punctuation; a dot only where no blank follows.
func atPath(text string) string {
	end := 0
	for end < len(text) {
		r, size := utf8.DecodeRuneInString(text[end:])
		after := text[end+size:]
		switch {
		case r == '"':
			if close := strings.IndexByte(after, '"'); close >= 0 {
				size += close + 1
			}
		case r == '\\':
			if next, n := utf8.DecodeRuneInString(after); n > 0 && next != '\n' && next != '\r' {
				size += n
			}
		case r == '.':
			if after == "" || strings.ContainsRune(" \t\n\r", rune(after[0])) {
				return text[:end]
			}
		case strings.ContainsRune(" \t\n\r,;!?()[]{}", r):
			return text[:end]
		}
		end += size
	}
	return text[:end]
}

// unescaped is a path without its backslashes.
func unescaped(path string) string {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] == '\\' && i+1 < len(path) {
			i++
		}
		b.WriteByte(path[i])
	}
	return b.String()
}

// fileNames are the names, in lower case, that are there to be meant.
type fileNames struct {
	around
	names   []string
	unknown bool // there are more than are known
	agents  bool // the user has agents of their own, of whatever name
}

var errEnough = errors.New("enough")

func newFileNames(a around) *fileNames {
	n := &fileNames{around: a}
	for _, dir := range a.dirs {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil: // nothing in it can be read by gemini either
				return nil
			case len(n.names) >= mostNames:
				return errEnough
			case d.IsDir() && d.Name() == ".git":
				return fs.SkipDir
			}
			if rel, err := filepath.Rel(dir, path); err == nil {
				n.names = append(n.names, strings.ToLower(filepath.ToSlash(rel)))
			}
			return nil
		})
		n.unknown = n.unknown || err != nil
	}
	if a.home != "" {
		entries, err := os.ReadDir(filepath.Join(a.home, ".gemini", "agents"))
		n.agents = err == nil && len(entries) > 0
	}
	return n
}

// mayMean reports whether gemini could find something of that name: a file or
// directory, anywhere, of whose path it is a part, an agent, or a server's resource.
func (n *fileNames) mayMean(name string) bool {
	if n.unknown || n.agents || strings.ContainsAny(name, `:*?[]{}()|\"`) || strings.HasPrefix(name, "..") ||
		filepath.IsAbs(name) {
		return true
	}
	name = strings.ToLower(strings.TrimPrefix(name, "./"))
	if name == "" || name == "." {
		return true
	}
	if slices.Contains([]string{"codebase_investigator", "cli_help", "generalist", "browser_agent"}, name) {
		return true
	}
	name = strings.TrimSuffix(name, "/")
	return slices.ContainsFunc(n.names, func(there string) bool { return strings.Contains(there, name) })
}
