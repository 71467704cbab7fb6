package permission

import (
	"os"
	"path"
	"path/filepath"
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
	words = patternWords(text)
	if n := len(words); n > 0 && words[n-1].any() {
		return words[:n-1], true
	}
	return words, false
}

// patternWord is a word of a rule, without its quotes.
type patternWord struct {
	Text   string // it holds wildcard for each * that means any characters
	quoted bool
}

// any reports whether the word is a * alone: any number of words.
func (w patternWord) any() bool { return w.Text == wildcard }

// plain reports whether the word stands for one text only.
func (w patternWord) plain() bool { return !strings.Contains(w.Text, wildcard) }

// matches reports whether the word stands for a text. A * crosses a slash only for deny and ask (wide).
func (w patternWord) matches(text string, wide bool) bool {
	pieces := strings.Split(w.Text, wildcard)
	if len(pieces) == 1 {
		return text == w.Text
	}
	rest, ok := strings.CutPrefix(text, pieces[0])
	last := pieces[len(pieces)-1]
	if !ok || !strings.HasSuffix(rest, last) {
		return false
	}
	return fill(strings.TrimSuffix(rest, last), pieces[1:len(pieces)-1], wide)
}

// fill reports whether the pieces stand in the text in order, with gaps without slash unless wide.
func fill(text string, pieces []string, wide bool) bool {
	if len(pieces) == 0 {
		return wide || !strings.Contains(text, "/")
	}
	for at := 0; ; at++ {
		i := strings.Index(text[at:], pieces[0])
		if i < 0 || !wide && strings.Contains(text[:at+i], "/") {
			return false
		}
		at += i
		if fill(text[at+len(pieces[0]):], pieces[1:], wide) {
			return true
		}
		if at >= len(text) {
			return false
		}
	}
}

// patternWords parts the line of a rule into words as a shell would, without
// expanding anything; nil when its quotes are not closed.
func patternWords(line string) (words []patternWord) {
	var b strings.Builder
	word, quoted, quote := false, false, byte(0)
	end := func() {
		if word {
			words = append(words, patternWord{b.String(), quoted})
		}
		b.Reset()
		word, quoted = false, false
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == '\'', quote == '"' && c != '\\':
			b.WriteByte(c)
		case c == '\\' && i+1 < len(line):
			if i++; quote == '"' && !strings.ContainsRune("$`\"\\", rune(line[i])) {
				b.WriteByte('\\')
			}
			b.WriteByte(line[i])
			word, quoted = true, true
		case c == '\'', c == '"':
			quote, word, quoted = c, true, true
		case c == ' ', c == '\t', c == '\n':
			end()
		default:
			b.WriteByte(c)
			word = true
		}
	}
	if end(); quote != 0 {
		return nil
	}
	return words
}

// begins reports whether an allow rule covers a command of these words in all of dirs. An unknown
// word or a glob never matches; a path is compared by where it leads.
func (r Rule) begins(words []line.Word, dirs []string, root string) bool {
	expected, open := r.command()
	if len(expected) == 0 {
		return false
	}
	m := match{expected: expected, words: words, dirs: dirs, base: r.seenFrom(root), open: open,
		script: scriptAt(words, dirs)}
	yes, _ := m.from(0, 0)
	// A rule that names all words speaks of known ones only.
	return yes && (open || !slices.ContainsFunc(words, func(w line.Word) bool { return !w.Known || w.Glob }))
}

// match compares the words of a rule with those of a command.
type match struct {
	expected  []patternWord
	words     []line.Word
	dirs      []string
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
	case m.wide && !m.couldMean(at, i), !m.wide && !m.same(at, i):
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
	if m.wide || i != 1 || i >= len(m.words) || !line.In(programs, m.expected[0].Text) {
		return true
	}
	return m.words[i].Known && !m.words[i].Glob && !line.IsOption(m.words[i].Text)
}

// same reports whether a word of an allow rule stands for one of the command.
func (m match) same(at, i int) bool {
	expected, w := m.expected[at], m.words[i]
	isPath := i == m.script || namesPath(expected, w.Text, m.base, m.dirs) && (i > 0 || strings.Contains(w.Text, "/"))
	if !isPath {
		return expected.matches(w.Text, false)
	}
	if expected.plain() && strings.Contains(expected.Text, "/") != strings.Contains(w.Text, "/") && i == 0 {
		return false // a name alone is looked up elsewhere
	}
	return leadsTo(expected, w.Text, m.base, m.dirs)
}

// couldMean reports whether a word of a rule that refuses or asks may stand for
// one of the command.
func (m match) couldMean(at, i int) bool {
	expected, text := m.expected[at], m.words[i].Text
	if expected.matches(text, true) {
		return true
	}
	lower := patternWord{Text: strings.ToLower(expected.Text)}
	if i == 0 && lower.matches(strings.ToLower(text), true) { // file systems that ignore case find RM too
		return true
	}
	return m.base != "" && namesPath(expected, text, m.base, m.dirs) && slices.ContainsFunc(m.dirs, func(dir string) bool {
		return leadsTo(expected, text, m.base, []string{dir})
	})
}

// speaksOf reports whether a deny or ask rule speaks of a command: by name or path, with or without
// options, also by its wrappers. maybe means that a word which decides is not known beforehand.
func (r Rule) speaksOf(s line.Command) (yes, maybe bool) {
	if !r.HasArg {
		return true, false
	}
	expected, open := r.command()
	if len(expected) == 0 || r.Arg == ReadGroup {
		return false, false
	}
	lists := append([][]line.Word{s.Words}, line.Each(s.Wrappers, func(w line.Wrapper) []line.Word { return w.Words })...)
	for i, words := range lists {
		for _, v := range variants(words) {
			m := match{expected: expected, words: v, open: open, wide: true, takesArgs: s.TakesArgs && i == 0, dirs: s.Dirs,
				base: r.base}
			hit, unsure := m.from(0, 0)
			anywhere, unsureAnywhere := m.optionsAnywhere()
			if hit || anywhere || m.asText() {
				return true, false
			}
			maybe = maybe || unsure || unsureAnywhere
		}
	}
	// A shell without a script takes its commands from its input, which is not seen.
	shell := line.IsShell(s.Base()) || s.Base() == "fish"
	given := func(w line.Word) bool { return !line.IsOption(w.Text) }
	return false, maybe || s.RunsUnknown || shell && !slices.ContainsFunc(s.Words[1:], given)
}

// variants are the readings of words: as they are, without options, and without git's own options.
func variants(words []line.Word) [][]line.Word {
	if len(words) == 0 {
		return nil
	}
	first := words[0]
	if first.Known {
		first.Text = path.Base(first.Text)
	}
	base := append([]line.Word{first}, words[1:]...)
	lists := [][]line.Word{words, base, withoutOptions(base)}
	if strings.EqualFold(first.Text, "git") {
		lists = append(lists, append([]line.Word{first}, line.GitWords(base[1:])...))
	}
	return lists
}

func withoutOptions(words []line.Word) []line.Word {
	return slices.DeleteFunc(slices.Clone(words), func(w line.Word) bool { return w.Known && line.IsOption(w.Text) })
}

// asText compares both as texts, in which a * of the rule also matches spaces.
func (m match) asText() bool {
	pattern := strings.Join(line.Each(m.expected, func(w patternWord) string { return w.Text }), " ")
	if m.open {
		pattern += " " + wildcard
	}
	words := m.words
	if at := slices.IndexFunc(words, func(w line.Word) bool { return !w.Known || w.Glob }); at >= 0 {
		words = words[:at]
	}
	return strings.Contains(pattern, wildcard) && patternWord{Text: pattern}.matches(strings.Join(line.Texts(words), " "), true)
}

// optionsAnywhere compares plain words in their order, and looks for the rule's
// options at any place.
func (m match) optionsAnywhere() (yes, maybe bool) {
	var plainExpected []patternWord
	var options []string
	for _, w := range m.expected {
		if w.plain() && line.IsOption(w.Text) {
			options = append(options, line.Letters(w.Text)...)
		} else {
			plainExpected = append(plainExpected, w)
		}
	}
	if len(options) == 0 {
		return false, false
	}
	bare := m
	bare.expected, bare.words = plainExpected, withoutOptions(m.words)
	yes, maybe = bare.from(0, 0)
	for _, o := range options {
		if slices.ContainsFunc(m.words, func(w line.Word) bool { return w.Known && line.HasOption(w.Text, o) }) {
			continue
		}
		unknown := m.takesArgs || slices.ContainsFunc(m.words, func(w line.Word) bool { return !w.Known })
		yes, maybe = false, unknown && (yes || maybe)
	}
	return yes, maybe
}

// exact reports whether the rule stands for one call only.
func (r Rule) exact() bool {
	if !r.HasArg || r.Arg == ReadGroup {
		return false
	}
	if r.Tool == "bash" {
		_, wild := r.line()
		return !wild
	}
	return !files.HasMeta(r.Arg)
}

// namesPath reports whether a rule's word, or a command's, names a path: by its form, or as it is
// there.
func namesPath(expected patternWord, text, base string, dirs []string) bool {
	if line.IsOption(text) || strings.Contains(text, "://") || !strings.Contains(expected.Text+text, "/") {
		return false
	}
	written := func(w string) bool {
		first, _, _ := strings.Cut(w, "/")
		return w != "" && (first == "" || first == "." || first == "..")
	}
	there := func(dir string) bool {
		_, err := os.Lstat(seenFrom(dir, text))
		return err == nil
	}
	return written(expected.Text) || written(text) || there(base) || slices.ContainsFunc(dirs, there)
}

// leadsTo reports whether a command's word leads, from each directory the
// command may run in, to where the rule's does from its own.
func leadsTo(expected patternWord, text, base string, dirs []string) bool {
	if len(dirs) == 0 {
		if !filepath.IsAbs(text) {
			return false
		}
		dirs = []string{base}
	}
	fixed, rest := expected.Text, ""
	if i := strings.Index(expected.Text, wildcard); i >= 0 {
		cut := strings.LastIndex(expected.Text[:i], "/") + 1
		fixed, rest = expected.Text[:cut], expected.Text[cut:]
	}
	pattern := patternWord{Text: names.Real(seenFrom(base, fixed))}
	if rest != "" {
		pattern.Text = strings.TrimSuffix(pattern.Text, "/") + "/" + rest
	}
	return !slices.ContainsFunc(dirs, func(dir string) bool {
		return !pattern.matches(names.Real(seenFrom(dir, text)), false)
	})
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
func scriptAt(words []line.Word, dirs []string) int {
	if len(words) < 2 || !words[0].Known || words[0].Text != "." && !line.Interprets(words[0].Text) {
		return -1
	}
	like := -1
	for i, w := range words[1:] {
		if !w.Known || w.Glob || line.IsOption(w.Text) {
			continue
		}
		for _, dir := range dirs {
			if info, err := os.Stat(seenFrom(dir, w.Text)); err == nil && info.Mode().IsRegular() {
				return i + 1
			}
		}
		if like < 0 && strings.ContainsAny(w.Text, "./") {
			like = i + 1
		}
	}
	return like
}
