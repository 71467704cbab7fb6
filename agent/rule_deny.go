package agent

import (
	"path"
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
	line, prefix := r.command()
	want := strings.Fields(line)
	if len(want) == 0 || r.Arg == readGroup {
		return false, false
	}
	lists := [][]word{s.words}
	for _, l := range s.layers {
		lists = append(lists, l.words)
	}
	for i, words := range lists {
		fed := s.fed && i == 0
		for _, v := range variants(words) {
			hit, unsure := compare(want, v, prefix, fed)
			if hit {
				return true, false
			}
			maybe = maybe || unsure
		}
	}
	return false, maybe || s.hides
}

// variants are the ways to read the words of a command: as they are, without
// options, and for git without the options before its command.
func variants(words []word) [][]word {
	if len(words) == 0 {
		return nil
	}
	first := words[0]
	first.text = path.Base(first.text)
	base := append([]word{first}, words[1:]...)
	var bare []word
	for _, w := range base {
		if !w.known || !isOption(w.text) {
			bare = append(bare, w)
		}
	}
	lists := [][]word{words, base, bare}
	if strings.EqualFold(first.text, "git") {
		lists = append(lists, append([]word{first}, gitCommand(base[1:])...))
	}
	return lists
}

// compare is the test of speaksOf for one way to read the words.
func compare(want []string, words []word, prefix, fed bool) (yes, maybe bool) {
	for i, w := range want {
		if i >= len(words) {
			return false, fed
		}
		if !words[i].known || words[i].glob {
			return false, true
		}
		// File systems that ignore case find RM too.
		if words[i].text != w && !(i == 0 && strings.EqualFold(words[i].text, w)) {
			return false, false
		}
	}
	return prefix || len(words) == len(want), false
}
