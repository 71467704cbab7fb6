package permission

import (
	"path"
	"slices"
	"strings"
)

// script walks the line that a shell is given.
func (w *shellWalker) script(s, inner simple, script string, how wrapping) ends {
	still := ends{s.dirs, s.dirs}
	kind := path.Base(s.name())
	if kind == "eval" {
		kind = w.kind
	}
	if how == wrapsForeign || kind != w.kind || inner.assigns {
		// Another shell, or this one with other options, may take the line in
		// another way: no rule for its words covers it.
		w.unlike(script, inner)
		s.opaque, s.hides = true, true
		w.commands = append(w.commands, s)
		return still
	}
	before := len(w.commands)
	commands, ok := parseShell(script, inner.dirs, w.kind, w.depth+1)
	w.ok = w.ok && ok
	for _, c := range commands {
		w.commands = append(w.commands, c.within(inner))
	}
	if len(w.commands) == before { // nothing in it, but for what is around it
		w.commands = append(w.commands, s)
	}
	if s.name() == "eval" {
		return ends{}
	}
	return still
}

// within is a command of a script with what surrounds the script.
func (s simple) within(outer simple) simple {
	s.raised, s.assigns, s.fed = s.raised || outer.raised, s.assigns || outer.assigns, s.fed || outer.fed
	s.loose, s.unsure, s.opaque = s.loose || outer.loose, s.unsure || outer.unsure, s.opaque || outer.opaque
	s.outputs = append(slices.Clip(outer.outputs), s.outputs...)
	s.overwrites = append(slices.Clip(outer.overwrites), s.overwrites...)
	s.inputs = append(slices.Clip(outer.inputs), s.inputs...)
	s.layers = append(slices.Clip(outer.layers), s.layers...)
	return s
}

// unlike collects what a text may run that is not for this shell, or not now:
// for rules that deny or ask, and for what is asked always.
func (w *shellWalker) unlike(script string, outer simple) {
	commands, _ := parseShell(script, nil, "sh", w.depth+1)
	for _, c := range commands {
		c = c.within(outer)
		c.opaque = true
		w.commands = append(w.commands, c)
	}
}

// given collects what a command makes the shell run later or by another name,
// and what a shell reads from its input.
func (w *shellWalker) given(s simple) {
	last := len(w.commands) - 1
	words := plain(s.words)
	switch name := path.Base(s.name()); {
	case name == "trap" && len(words) > 1:
		w.unlike(strings.Join(words[1:], "\n"), s)
	case name == "alias":
		for _, word := range words[1:] {
			if _, value, ok := strings.Cut(word, "="); ok {
				w.unlike(value, s)
			}
		}
	case name == "hash" && len(words) > 2, name == "enable" && slices.Contains(words, "-f"):
		w.commands[last].hides = true // names stand for other programs from now on
	case isShell(name) && !slices.ContainsFunc(words[1:], func(a string) bool { return !isOption(a) }):
		w.commands[last].opaque, w.commands[last].hides = true, true
		for _, text := range s.texts {
			w.unlike(text, s)
		}
	}
}
