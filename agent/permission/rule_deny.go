package permission

import (
	"path"
	"slices"
	"strings"

	"artoo/agent/permission/line"
)

// speaksOf reports whether a deny or ask rule speaks of a command: by its name
// or its path, with or without options before the words that count, and also of
// the wrappers around it. maybe says that it could, but that a word which
// decides is not known beforehand.
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
			hit, unsure := m.compare()
			if hit {
				return true, false
			}
			maybe = maybe || unsure
		}
	}
	return false, maybe || s.RunsUnknown || readsScript(s)
}

// readsScript reports whether a command is a shell that takes its commands from
// its input, which is not seen.
func readsScript(s line.Command) bool {
	given := func(w line.Word) bool { return !line.IsOption(w.Text) }
	return (line.IsShell(s.Base()) || s.Base() == "fish") && !slices.ContainsFunc(s.Words[1:], given)
}

// variants are the ways to read the words of a command: as they are, without
// options, and for git without the options before its command.
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

func (m match) compare() (yes, maybe bool) {
	if yes, maybe = m.from(0, 0); yes || m.asText() {
		return true, false
	}
	hit, unsure := m.optionsAnywhere()
	return hit, maybe || unsure
}

// asText compares both as texts, in which a * of the rule stands for blanks too.
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
