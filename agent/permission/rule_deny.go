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
	want, open := r.command()
	if len(want) == 0 || r.Arg == ReadGroup {
		return false, false
	}
	lists := [][]word{s.words}
	for _, l := range s.layers {
		lists = append(lists, l.words)
	}
	for i, words := range lists {
		for _, v := range variants(words) {
			m := match{want: want, words: v, open: open, wide: true, fed: s.fed && i == 0, dirs: s.dirs, base: r.base}
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

func withoutOptions(words []word) (bare []word) {
	for _, w := range words {
		if !w.known || !isOption(w.text) {
			bare = append(bare, w)
		}
	}
	return bare
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
	var texts []string
	for _, w := range m.want {
		texts = append(texts, w.text)
	}
	pattern := strings.Join(texts, " ")
	if m.open {
		pattern += " " + wildcard
	}
	var command []string
	for _, w := range m.words {
		if !w.known || w.glob {
			break
		}
		command = append(command, w.text)
	}
	return strings.Contains(pattern, wildcard) && patternWord{text: pattern}.matches(strings.Join(command, " "), true)
}

// optionsAnywhere compares plain words in their order, and looks for the rule's
// options at any place.
func (m match) optionsAnywhere() (yes, maybe bool) {
	var plainWant []patternWord
	var options []string
	for _, w := range m.want {
		if w.plain() && isOption(w.text) {
			options = append(options, letters(w.text)...)
		} else {
			plainWant = append(plainWant, w)
		}
	}
	if len(options) == 0 {
		return false, false
	}
	bare := m
	bare.want, bare.words = plainWant, withoutOptions(m.words)
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
	var each []string
	for _, c := range option[1:] {
		each = append(each, "-"+string(c))
	}
	return each
}
