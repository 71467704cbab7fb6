package permission

import (
	"path"
	"slices"
	"strings"
)

// speaksOf reports whether a deny or ask rule speaks of a command: by its name
// or its path, with or without options before the words that count, and also of
// the wrappers around it. maybe says that it could, but that a word which
// decides is not known beforehand.
func (r Rule) speaksOf(s simple) (yes, maybe bool) {
	if !r.HasArg {
		return true, false
	}
	expected, open := r.command()
	if len(expected) == 0 || r.Arg == ReadGroup {
		return false, false
	}
	lists := append([][]word{s.words}, each(s.layers, func(l layer) []word { return l.words })...)
	for i, words := range lists {
		for _, v := range variants(words) {
			m := match{expected: expected, words: v, open: open, wide: true, fed: s.fed && i == 0, dirs: s.dirs,
				base: r.base}
			hit, unsure := m.compare()
			if hit {
				return true, false
			}
			maybe = maybe || unsure
		}
	}
	return false, maybe || s.hides || readsScript(s)
}

// readsScript reports whether a command is a shell that takes its commands from
// its input, which is not seen.
func readsScript(s simple) bool {
	given := func(w word) bool { return !isOption(w.text) }
	return shellName(path.Base(s.name())) && !slices.ContainsFunc(s.words[1:], given)
}

func shellName(name string) bool {
	return listed("sh bash dash zsh ksh mksh ash fish", name)
}

// variants are the ways to read the words of a command: as they are, without
// options, and for git without the options before its command.
func variants(words []word) [][]word {
	if len(words) == 0 {
		return nil
	}
	first := words[0]
	if first.known {
		first.text = path.Base(first.text)
	}
	base := append([]word{first}, words[1:]...)
	lists := [][]word{words, base, withoutOptions(base)}
	if strings.EqualFold(first.text, "git") {
		lists = append(lists, append([]word{first}, gitCommand(base[1:])...))
	}
	return lists
}

func withoutOptions(words []word) []word {
	return slices.DeleteFunc(slices.Clone(words), func(w word) bool { return w.known && isOption(w.text) })
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
	pattern := strings.Join(each(m.expected, func(w patternWord) string { return w.text }), " ")
	if m.open {
		pattern += " " + wildcard
	}
	words := m.words
	if at := slices.IndexFunc(words, func(w word) bool { return !w.known || w.glob }); at >= 0 {
		words = words[:at]
	}
	return strings.Contains(pattern, wildcard) && patternWord{text: pattern}.matches(strings.Join(plain(words), " "), true)
}

// optionsAnywhere compares plain words in their order, and looks for the rule's
// options at any place.
func (m match) optionsAnywhere() (yes, maybe bool) {
	var plainExpected []patternWord
	var options []string
	for _, w := range m.expected {
		if w.plain() && isOption(w.text) {
			options = append(options, letters(w.text)...)
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
		if slices.ContainsFunc(m.words, func(w word) bool { return w.known && hasOption(w.text, o) }) {
			continue
		}
		unknown := m.fed || slices.ContainsFunc(m.words, func(w word) bool { return !w.known })
		yes, maybe = false, unknown && (yes || maybe)
	}
	return yes, maybe
}

// letters are the options of a cluster such as -rf, one by one.
func letters(option string) []string {
	if len(option) < 3 || option[1] == '-' {
		return []string{option}
	}
	return each([]rune(option[1:]), func(c rune) string { return "-" + string(c) })
}
