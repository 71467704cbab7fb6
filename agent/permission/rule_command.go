package permission

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"artoo/agent/permission/line"
	"artoo/tool/files"
	"artoo/tool/names"
)

// wildcard stands for a * that means "any" in a pattern that was read: a
// character of the private use area, which no rule is written with.
const wildcard = "\uE000"

// line is the argument of a rule for commands as the shell line it stands for. A * means any
// characters, \* itself; wild means that there is such a *, or that any words may follow ("go test:*").
func (r Rule) line() (text string, wild bool) {
	var b strings.Builder
	arg := r.Arg
	if stem, ok := strings.CutSuffix(arg, ":*"); ok {
		arg, wild = stem+" *", true
	}
	for i := 0; i < len(arg); {
		slashes := len(arg[i:]) - len(strings.TrimLeft(arg[i:], `\`))
		switch {
		case i+slashes == len(arg) || arg[i+slashes] != '*': // not before a star
			b.WriteString(arg[i : i+max(slashes, 1)])
			i += max(slashes, 1)
			continue
		case slashes == 0:
			b.WriteString(wildcard)
			wild = true
		default:
			b.WriteString(arg[i:i+slashes-1] + "*")
		}
		i += slashes + 1
	}
	return b.String(), wild
}

// is reports whether the rule stands for this very line.
func (r Rule) is(line string) bool {
	text, wild := r.line()
	return r.HasArg && !wild && text == line
}

// command reads the argument of a rule for commands: the words a command
// begins with, and whether more may follow.
func (r Rule) command() (words []patternWord, open bool) {
	text, _ := r.line()
	found, whole := line.Words(text)
	if !whole {
		return nil, false
	}
	words = line.Each(found, func(w string) patternWord { return patternWord(w) })
	if n := len(words); n > 0 && words[n-1].any() {
		return words[:n-1], true
	}
	return words, false
}

// patternWord is a word of a rule, without its quotes: it holds wildcard for each * that means any characters.
type patternWord string

// any reports whether the word is a * alone: any number of words.
func (w patternWord) any() bool { return w == wildcard }

// plain reports whether the word stands for one text only.
func (w patternWord) plain() bool { return !strings.Contains(string(w), wildcard) }

// matches reports whether the word stands for a text. A * crosses a slash only for deny and ask (wide).
func (w patternWord) matches(text string, wide bool) bool {
	if w.plain() {
		return text == string(w)
	}
	gap := "[^/]*"
	if wide {
		gap = ".*"
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(string(w)), wildcard, gap)
	return regexp.MustCompile("(?s)^" + pattern + "$").MatchString(text)
}

// begins reports whether an allow rule covers a command of these words in dir. An unknown
// word or a glob never matches; a path is compared by where it leads.
func (r Rule) begins(words []line.Word, dir, root string) bool {
	expected, open := r.command()
	if len(expected) == 0 {
		return false
	}
	m := match{expected: expected, words: words, dir: dir, base: r.seenFrom(root), open: open, script: scriptAt(words, dir)}
	yes, _ := m.from(0, 0)
	// A rule that names all words speaks of known ones only.
	return yes && (open || !slices.ContainsFunc(words, func(w line.Word) bool { return !w.Known || w.Glob }))
}

// match compares the words of a rule with those of a command.
type match struct {
	expected  []patternWord
	words     []line.Word
	dir       string // "" where it is not known
	base      string
	open      bool // more words may follow
	wide      bool // the rule refuses or asks: a possible meaning counts
	takesArgs bool // more words may come
	script    int  // the script of an interpreter is this word, -1 for none
}

// from compares the rest of both. maybe means that a word which decides is not known beforehand.
func (m match) from(at, i int) (yes, maybe bool) {
	switch {
	case at == len(m.expected):
		return i == len(m.words) || m.open && m.mayFollow(i), false
	case m.expected[at].any():
		for end := i; end <= len(m.words); end++ {
			hit, unsure := m.from(at+1, end)
			if hit {
				return true, false
			}
			maybe = maybe || unsure
			if end < len(m.words) && !m.swallows(end) {
				break
			}
		}
		return false, maybe
	case i >= len(m.words):
		return false, m.takesArgs
	case !m.words[i].Known || m.words[i].Glob:
		return false, true
	case !m.same(at, i):
		return false, false
	}
	return m.from(at+1, i+1)
}

// swallows reports whether a * before other words may take this one: no option before the subcommand.
func (m match) swallows(i int) bool {
	w := m.words[i]
	subcommand := slices.ContainsFunc(m.words[min(1, i):i], func(w line.Word) bool { return w.Known && !line.IsOption(w.Text) })
	return m.wide || w.Known && !w.Glob && (!line.IsOption(w.Text) || subcommand)
}

// mayFollow reports whether a * at the end may take all from here: for programs with subcommands, no
// option in the place of one.
func (m match) mayFollow(i int) bool {
	const programs = `git hg svn docker podman kubectl helm gh glab npm pnpm yarn cargo systemctl terraform aws gcloud az`
	if m.wide || i != 1 || i >= len(m.words) || !line.In(programs, string(m.expected[0])) {
		return true
	}
	return m.words[i].Known && !m.words[i].Glob && !line.IsOption(m.words[i].Text)
}

// same reports whether a word of the rule stands for one of the command. For a rule that refuses or asks it does in any
// letter case, too, since there are file systems that find RM.
func (m match) same(at, i int) bool {
	expected, text := m.expected[at], m.words[i].Text
	lower := patternWord(strings.ToLower(string(expected)))
	if m.wide && (expected.matches(text, true) || i == 0 && lower.matches(strings.ToLower(text), true)) {
		return true
	}
	isPath := i == m.script || namesPath(expected, text, m.base, m.dir) && (i > 0 || strings.Contains(text, "/"))
	if !isPath {
		return expected.matches(text, false)
	}
	if expected.plain() && strings.Contains(string(expected), "/") != strings.Contains(text, "/") && i == 0 {
		return false // a name alone is looked up elsewhere
	}
	return leadsTo(expected, text, m.base, m.dir)
}

// speaksOf reports whether a deny or ask rule speaks of a command: by name or path, with or without
// options, also by its wrappers. maybe means that a word which decides is not known beforehand.
func (r Rule) speaksOf(s line.Command) (yes, maybe bool) {
	if !r.HasArg {
		return true, false
	}
	expected, open := r.command()
	if len(expected) == 0 {
		return false, false
	}
	lists := append([][]line.Word{s.Words}, line.Each(s.Wrappers, func(w line.Wrapper) []line.Word { return w.Words })...)
	for i, words := range lists {
		m := match{expected: expected, words: words, open: open, wide: true, takesArgs: s.TakesArgs && i == 0, dir: s.Dir, base: r.base, script: -1}
		whole, unsure := m.from(0, 0)
		anywhere, unsureAnywhere := m.optionsAnywhere()
		if whole || anywhere || m.asText() {
			return true, false
		}
		maybe = maybe || unsure || unsureAnywhere
	}
	return false, maybe || s.RunsUnknown
}

// asText compares both as texts, in which a * of the rule also matches spaces.
func (m match) asText() bool {
	pattern := strings.Join(line.Each(m.expected, func(w patternWord) string { return string(w) }), " ")
	if m.open {
		pattern += " " + wildcard
	}
	words := m.words
	if at := slices.IndexFunc(words, func(w line.Word) bool { return !w.Known || w.Glob }); at >= 0 {
		words = words[:at]
	}
	return strings.Contains(pattern, wildcard) && patternWord(pattern).matches(strings.Join(line.Texts(words), " "), true)
}

// optionsAnywhere compares the plain words in their order, of a program wherever it lies, and looks for the rule's
// options at any place.
func (m match) optionsAnywhere() (yes, maybe bool) {
	if len(m.words) == 0 {
		return false, false
	}
	bare, words := m, slices.Clone(m.words)
	if words[0].Known {
		words[0].Text = path.Base(words[0].Text)
	}
	if strings.EqualFold(words[0].Text, "git") {
		words = append(words[:1], line.GitWords(words[1:])...)
	}
	bare.words = slices.DeleteFunc(words, func(w line.Word) bool { return w.Known && line.IsOption(w.Text) })
	option := func(w patternWord) bool { return w.plain() && line.IsOption(string(w)) }
	bare.expected = slices.DeleteFunc(slices.Clone(m.expected), option)
	if yes, maybe = bare.from(0, 0); !yes && !maybe {
		return false, false
	}
	for _, w := range m.expected {
		for _, o := range line.Letters(string(w)) {
			if !option(w) || slices.ContainsFunc(m.words, func(w line.Word) bool { return w.Known && line.HasOption(w.Text, o) }) {
				continue
			}
			maybe = m.takesArgs || slices.ContainsFunc(m.words, func(w line.Word) bool { return !w.Known })
			yes = false
		}
	}
	return yes, maybe
}

// exact reports whether the rule stands for one call only.
func (r Rule) exact() bool {
	_, wild := r.line()
	return r.HasArg && (r.Tool == "bash" && !wild || r.Tool != "bash" && !files.HasMeta(r.Arg))
}

// namesPath reports whether a rule's word, or a command's, names a path: by its form, or as it is
// there.
func namesPath(expected patternWord, text, base, dir string) bool {
	if line.IsOption(text) || strings.Contains(text, "://") || !strings.Contains(string(expected)+text, "/") {
		return false
	}
	written := func(w string) bool {
		first, _, _ := strings.Cut(w, "/")
		return w != "" && (first == "" || first == "." || first == "..")
	}
	return written(string(expected)) || written(text) || names.Exists(seenFrom(base, text)) || names.Exists(seenFrom(dir, text))
}

// leadsTo reports whether a command's word leads to where the rule's does, each seen from its own directory.
func leadsTo(expected patternWord, text, base, dir string) bool {
	if dir == "" && !filepath.IsAbs(text) {
		return false
	}
	fixed, rest := string(expected), ""
	if i := strings.Index(string(expected), wildcard); i >= 0 {
		cut := strings.LastIndex(string(expected)[:i], "/") + 1
		fixed, rest = string(expected)[:cut], string(expected)[cut:]
	}
	pattern := names.Real(seenFrom(base, fixed))
	if rest != "" {
		pattern = strings.TrimSuffix(pattern, "/") + "/" + rest
	}
	return patternWord(pattern).matches(names.Real(seenFrom(dir, text)), false)
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
	for i, w := range words[1:] {
		if !w.Known || w.Glob || line.IsOption(w.Text) {
			continue
		}
		if info, err := os.Stat(seenFrom(dir, w.Text)); err == nil && info.Mode().IsRegular() {
			return i + 1
		}
		if like < 0 && strings.ContainsAny(w.Text, "./") {
			like = i + 1
		}
	}
	return like
}
