package permission

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"artoo/agent/permission/line"
	"artoo/tool/files"
	"artoo/tool/names"
)

// wildcard stands for a * that means "any" in a pattern that was read: a
// character of the private use area, which no rule is written with.
const wildcard = "\uE000"

// stars matches a * with the backslashes before it.
var stars = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\*\*`) })

// line is the argument of a rule for commands as the shell line it stands for. A * means any
// characters, \* itself; wild means that there is such a *, or that any words may follow ("go test:*").
func (r Rule) line() (text string, wild bool) {
	arg := r.Arg
	if stem, ok := strings.CutSuffix(arg, ":*"); ok {
		arg = stem + " *"
	}
	text = stars().ReplaceAllStringFunc(arg, func(star string) string {
		if star == "*" {
			return wildcard
		}
		return star[1:]
	})
	return text, strings.Contains(text, wildcard)
}

// is reports whether the rule stands for this very line.
func (r Rule) is(line string) bool {
	text, wild := r.line()
	return r.HasArg && !wild && text == line
}

// command reads the argument of a rule for commands: the words a command begins with, and whether more may follow. A
// word holds wildcard for each * that means any characters; alone it is any words.
func (r Rule) command() (words []string, open bool) {
	text, _ := r.line()
	words, whole := line.Words(text)
	n := len(words)
	switch {
	case !whole:
		return nil, false
	case n > 0 && words[n-1] == wildcard:
		return words[:n-1], true
	}
	return words, false
}

// fixed reports whether a word stands for one text only.
func fixed(word string) bool { return !strings.Contains(word, wildcard) }

// matches reports whether a text is what a pattern stands for. gap is what a * stands for.
func matches(pattern, gap, text string) bool {
	pattern = strings.ReplaceAll(regexp.QuoteMeta(pattern), wildcard, gap)
	return regexp.MustCompile("(?s)^" + pattern + "$").MatchString(text)
}

// begins reports whether an allow rule covers a command of these words in dir. An unknown
// word or a glob never matches; a path is compared by where it leads.
func (r Rule) begins(words []line.Word, dir, root string) bool {
	expected, open := r.command()
	m := match{expected: expected, words: words, dir: dir, base: r.seenFrom(root), open: open,
		script: scriptAt(words, dir)}
	return len(expected) > 0 && m.from(0, 0)
}

// match compares the words of an allow rule with those of a command.
type match struct {
	expected []string
	words    []line.Word
	dir      string // "" where it is not known
	base     string
	open     bool // more words may follow
	script   int  // the script of an interpreter is this word, -1 for none
}

// from compares the rest of both. Of programs with subcommands a * at the end takes no option in the place of one.
func (m match) from(at, i int) bool {
	const programs = `git hg svn docker podman kubectl helm gh glab npm pnpm yarn cargo systemctl terraform aws gcloud az`
	if at == len(m.expected) {
		return i == len(m.words) || m.open && (i != 1 || !line.In(programs, m.expected[0]) || m.takes(i))
	}
	if m.expected[at] != wildcard {
		return i < len(m.words) && m.same(at, i) && m.from(at+1, i+1)
	}
	for ; i < len(m.words) && m.takes(i); i++ {
		if m.from(at+1, i) {
			return true
		}
	}
	return m.from(at+1, i)
}

// takes reports whether a * may stand for this word: for no option before the subcommand.
func (m match) takes(i int) bool {
	w := m.words[i]
	return w.Known && !w.Glob && (!line.IsOption(w.Text) ||
		slices.ContainsFunc(m.words[min(1, i):i], func(w line.Word) bool { return w.Known && !line.IsOption(w.Text) }))
}

// same reports whether a word of the rule stands for one of the command: where they name a path, by where each leads
// from its own directory.
func (m match) same(at, i int) bool {
	expected, w := m.expected[at], m.words[i]
	slash := strings.Contains(w.Text, "/")
	switch {
	case !w.Known, w.Glob:
		return false
	case i != m.script && (i == 0 && !slash || !namesPath(expected, w.Text, m.base, m.dir)):
		return matches(expected, "[^/]*", w.Text)
	case i == 0 && fixed(expected) && strings.Contains(expected, "/") != slash: // A name alone is looked up elsewhere.
		return false
	}
	beginning, rest := expected, ""
	if before, _, wild := strings.Cut(expected, wildcard); wild {
		beginning = before[:strings.LastIndex(before, "/")+1]
		rest = "/" + expected[len(beginning):]
	}
	pattern := strings.TrimSuffix(names.Real(seenFrom(m.base, beginning)), "/") + rest
	return (m.dir != "" || filepath.IsAbs(w.Text)) && matches(pattern, "[^/]*", names.Real(seenFrom(m.dir, w.Text)))
}

// speaker reports for deny and ask rules whether the rule speaks of a command: by name or path, in any letter case,
// with options anywhere, also by its wrappers. maybe means that a word which decides is not known beforehand.
func (r Rule) speaker() func(line.Command) (yes, maybe bool) {
	expected, open := r.command()
	plain, options := bare(line.Each(expected, func(w string) line.Word { return line.Word{Text: w, Known: true} }))
	whole, short := texts(expected, open), texts(plain, open)
	begun := []func([]string) bool{short, texts(plain, false)}
	for i := range plain {
		begun = append(begun, texts(plain[:i], false))
	}
	return func(c line.Command) (yes, maybe bool) {
		if len(expected) == 0 {
			return !r.HasArg, false
		}
		for i, words := range append([][]line.Word{c.Words}, c.Wrappers...) {
			known := slices.IndexFunc(append(slices.Clip(words), line.Word{}),
				func(w line.Word) bool { return !w.Known || w.Glob })
			given, has := bare(words)
			lacks := slices.ContainsFunc(options, func(o string) bool { return fixed(o) && !line.HaveOption(has, o) })
			if open || known == len(words) {
				yes = yes || whole(line.Texts(words[:known])) || !lacks && short(given)
			}
			maybe = maybe || (known < len(words) || c.TakesArgs && i == 0) &&
				slices.ContainsFunc(begun, func(begins func([]string) bool) bool { return begins(given) })
		}
		return yes, maybe || c.RunsUnknown
	}
}

// bare are the words of a command up to one that is not known, without options and git's own, and all options, one by
// one.
func bare(words []line.Word) (plain, options []string) {
	for _, w := range words {
		if w.Known && line.IsOption(w.Text) {
			options = append(options, line.Letters(w.Text)...)
		}
	}
	if len(words) > 0 && strings.EqualFold(path.Base(words[0].Text), "git") {
		words = append(words[:1:1], line.GitWords(words[1:])...)
	}
	for _, w := range words {
		if !w.Known || w.Glob {
			break
		}
		if !line.IsOption(w.Text) {
			plain = append(plain, w.Text)
		}
	}
	return plain, options
}

// texts reports whether the words of a command, joined by spaces, are what the words of a rule stand for, in which a *
// stands for any characters. The program counts with and without its directory, in any letter case.
func texts(expected []string, open bool) func(words []string) bool {
	pattern := ""
	for i, w := range expected {
		text := " " + strings.ReplaceAll(regexp.QuoteMeta(w), wildcard, ".*")
		switch {
		case w == wildcard:
			text = "( .*)?"
		case i == 0:
			text = "(?i:" + text + ")"
		}
		pattern += text
	}
	if open {
		pattern += "( .*)?"
	}
	matcher := regexp.MustCompile("(?s)^" + pattern + "$")
	return func(words []string) bool {
		if len(words) == 0 {
			return matcher.MatchString("")
		}
		rest := strings.Join(append([]string{""}, words[1:]...), " ")
		return matcher.MatchString(" "+words[0]+rest) || matcher.MatchString(" "+path.Base(words[0])+rest)
	}
}

// exact reports whether the rule stands for one call only.
func (r Rule) exact() bool {
	_, wild := r.line()
	return r.HasArg && (r.Tool == "bash" && !wild || r.Tool != "bash" && !files.HasMeta(r.Arg))
}

// namesPath reports whether a rule's word, or a command's, names a path: by its form, or as it is
// there.
func namesPath(expected, text, base, dir string) bool {
	if line.IsOption(text) || strings.Contains(text, "://") || !strings.Contains(expected+text, "/") {
		return false
	}
	written := func(w string) bool {
		first, _, _ := strings.Cut(w, "/")
		return w != "" && (first == "" || first == "." || first == "..")
	}
	return written(expected) || written(text) || names.Exists(seenFrom(base, text)) || names.Exists(seenFrom(dir, text))
}

// seenFrom is where a path leads, seen from dir.
func seenFrom(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return dir + string(filepath.Separator) + path
}

// scriptAt is which word of a command is its interpreter's script, -1 for none: the first that is
// a file, else the first that is named like one.
func scriptAt(words []line.Word, dir string) int {
	if len(words) < 2 || !words[0].Known || words[0].Text != "." && !line.Interprets(words[0].Text) {
		return -1
	}
	like := -1
	for i, w := range words {
		info, err := os.Stat(seenFrom(dir, w.Text))
		switch {
		case i == 0, !w.Known, w.Glob, line.IsOption(w.Text):
		case err == nil && info.Mode().IsRegular():
			return i
		case like < 0 && strings.ContainsAny(w.Text, "./"):
			like = i
		}
	}
	return like
}
