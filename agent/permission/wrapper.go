package permission

import (
	"path"
	"slices"
	"strings"
)

// A wrapper is a command that runs another one given in its arguments. Options
// that are not listed may take the next word or change what is run: what is
// behind them is not seen.
type wrapper struct {
	names  string
	flags  string // options without a value; those of one letter may be clustered
	valued string // options with a value, in the same word or the next
	skip   int    // plain words before the inner command; less than 0 for one that is not opened
	raises bool   // the inner command gets more rights
	feeds  bool   // the inner command gets further arguments
	env    bool   // NAME=value words may stand before the inner command
}

var wrappers = []wrapper{
	{names: "sudo doas", raises: true, env: true,
		flags:  "-n -E -H -i -s -S -b -k -A --non-interactive --preserve-env --set-home",
		valued: "-u -g -p -C --user --group --preserve-env"},
	{names: "env", flags: "-i - --ignore-environment -0 --null -v --debug", valued: "-u --unset", env: true},
	{names: "timeout gtimeout", flags: "-v -f -p --foreground --preserve-status --verbose",
		valued: "-k -s --kill-after --signal", skip: 1},
	{names: "nice", flags: "-0 -1 -2 -3 -4 -5 -6 -7 -8 -9", valued: "-n --adjustment"},
	{names: "ionice", flags: "-t", valued: "-c -n --class --classdata"},
	{names: "xargs", flags: "-0 -r -t -x -o --null --no-run-if-empty --verbose --exit", feeds: true,
		valued: "-a -d -E -I -J -R -L -n -P -s --arg-file --delimiter --max-args --max-procs --max-chars"},
	{names: "time", flags: "-p -v -l"},
	{names: "setsid", flags: "-c -f -w --ctty --fork --wait"},
	{names: "command", flags: "-p"},
	{names: "exec", flags: "-c -l", valued: "-a"},
	{names: "stdbuf", valued: "-i -o -e --input --output --error"},
	{names: "nohup builtin busybox caffeinate"},
	{names: `chrt taskset flock chroot unshare nsenter strace ltrace watch parallel script su runuser pkexec systemd-run
		fakeroot proot firejail bwrap unbuffer rlwrap setarch cpulimit gdb entr toybox`, skip: -1}, // in ways of their own
}

func wrapperOf(name string) (wrapper, bool) {
	i := slices.IndexFunc(wrappers, func(w wrapper) bool { return listed(w.names, name) })
	if i < 0 {
		return wrapper{}, false
	}
	return wrappers[i], true
}

// How a command runs another one.
type wrapping int

const (
	wrapsNothing wrapping = iota
	wrapsCommand          // inner
	wrapsScript           // a line for a shell; inner is what surrounds it
	wrapsForeign          // a line for a shell that may take it in another way
	wrapsUnseen           // something that cannot be seen
)

// unwrap opens one wrapper.
func unwrap(s simple) (inner simple, script string, how wrapping) {
	name := path.Base(s.name())
	if name == "." && s.name() != "." { // path.Base of an unknown name
		return s, "", wrapsNothing
	}
	inner = s
	inner.layers = append(slices.Clip(s.layers), layer{s.words, s.assigns})
	if isShell(name) {
		script, how = shellScript(s.words[1:])
		return inner, script, how
	}
	if name == "eval" {
		if len(s.words) > 1 && s.known() && !s.globs() {
			return inner, strings.Join(plain(s.words[1:]), " "), wrapsScript
		}
		return s, "", wrapsUnseen
	}
	inner.opaque = s.opaque || name == "busybox" // its commands are not those of the system
	w, ok := wrapperOf(name)
	if !ok {
		return s, "", wrapsNothing
	}
	if w.skip < 0 {
		return s, "", wrapsUnseen
	}
	return open(s, inner, w)
}

// open finds the inner command behind a wrapper's own words.
func open(s, inner simple, w wrapper) (simple, string, wrapping) {
	inner.raised = s.raised || w.raises
	inner.fed = s.fed || w.feeds
	words, skip := s.words[1:], w.skip
	replace := "" // what xargs puts its input in place of
	for i := 0; i < len(words); i++ {
		at := words[i]
		switch {
		case !at.known || at.glob:
			return s, "", wrapsUnseen
		case at.text == "--":
			continue
		case strings.HasPrefix(at.text, "-"):
			option, value, taken := optionOf(at.text, w)
			inner.assigns = inner.assigns || w.env && !w.raises // -i, -u
			switch {
			case option == "":
				if s.name() == "command" && (at.text == "-v" || at.text == "-V") {
					return s, "", wrapsNothing // it only tells where the command is
				}
				return s, "", wrapsUnseen
			case taken && value == "":
				i++
				if i < len(words) {
					value = words[i].text
				}
			}
			if option == "-I" || option == "-J" || option == "-R" {
				replace = value
			}
		case w.env && strings.Contains(at.text, "="):
			inner.assigns = true
		case skip > 0:
			skip--
		default:
			inner.words = slices.Clone(words[i:])
			for j := range inner.words {
				if replace != "" && strings.Contains(inner.words[j].text, replace) {
					inner.words[j].known = false
				}
			}
			return inner, "", wrapsCommand
		}
	}
	return s, "", wrapsNothing // no inner command: judged by its own name
}

// system reports whether a command's name stands for a program of the system,
// not for a file of the project that has taken its name.
func system(name string) bool {
	dir := path.Dir(name)
	return !strings.Contains(name, "/") || dir == "/bin" || dir == "/usr/bin"
}

// optionOf reads an option word: its name, "" when it is not one of the
// wrapper's, and the value in the same word. taken says that it takes a value.
func optionOf(text string, w wrapper) (name, value string, taken bool) {
	if listed(w.flags, text) {
		return text, "", false
	}
	if listed(w.valued, text) {
		return text, "", true
	}
	if strings.HasPrefix(text, "--") {
		name, value, _ = strings.Cut(text, "=")
		if listed(w.valued, name) && value != "" {
			return name, value, true
		}
		return "", "", false
	}
	if len(text) > 2 && listed(w.valued, text[:2]) {
		return text[:2], text[2:], true
	}
	if len(text) < 2 {
		return "", "", false
	}
	for _, c := range []byte(text[1:]) { // a cluster of flags
		if !listed(w.flags, "-"+string(rune(c))) {
			return "", "", false
		}
	}
	return text[:2], "", false
}

// isShell reports whether a program takes lines as shells do.
func isShell(name string) bool { return listed("sh bash dash ash zsh ksh ksh93 mksh yash rbash", name) }

// shellScript is the line of `sh -c 'line'`. With options that only tell when
// the shell gives up it means what it says; with others it may not.
func shellScript(words []word) (string, wrapping) {
	how := wrapsScript
	for i := 0; i < len(words); i++ {
		at := words[i]
		if !at.known || at.glob {
			return "", wrapsUnseen
		}
		switch text := at.text; {
		case text == "--noprofile", text == "--norc":
		case strings.HasPrefix(text, "--"):
			how = wrapsForeign
		case text == "-O", text == "+O", text == "+o":
			how = wrapsForeign
			i++ // its value
		case !strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "+"):
			return "", wrapsNothing // a script in a file, judged by its own name
		case strings.Trim(text[1:], "ceuflxaBCEHPTbhkmnprtv") == "o":
			if strings.Contains(text, "c") {
				return "", wrapsUnseen
			}
			// These, by their long names, only tell when the shell gives up.
			const tame = "pipefail errexit nounset"
			if i++; i >= len(words) || !listed(tame, words[i].text) || strings.Trim(text[1:], "eu") != "o" {
				how = wrapsForeign
			}
		case strings.Trim(text[1:], "ceuflxaBCEHPTbhkmnprtv") != "":
			return "", wrapsUnseen
		case strings.Trim(text[1:], "ceu") != "" || text[0] == '+':
			how = wrapsForeign
			fallthrough
		default:
			if !strings.Contains(text, "c") {
				continue
			}
			// What follows -c may be more options before the line.
			if i++; i < len(words) && words[i].known && !words[i].glob && !strings.HasPrefix(words[i].text, "-") {
				return words[i].text, how
			}
			return "", wrapsUnseen
		}
	}
	return "", wrapsNothing
}

// script walks the line that a shell is given.
func (w *shellWalker) script(s, inner simple, script string, how wrapping) ends {
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
		return ends{s.dirs, s.dirs}
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
	return ends{s.dirs, s.dirs}
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
