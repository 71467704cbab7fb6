package line

import (
	"path"
	"slices"
	"strings"
)

// A wrapper is a command that runs another one given in its arguments. Words after an option that is not listed are not
// seen.
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
		fakeroot proot firejail bwrap unbuffer rlwrap setarch cpulimit gdb entr toybox`, skip: -1},
}

// How a command runs another one.
type wrapping int

const (
	wrapsNothing wrapping = iota
	wrapsCommand          // inner
	wrapsScript           // a line for a shell; inner surrounds it
	wrapsForeign          // a line for a shell that may take it in another way
	wrapsUnseen           // something that cannot be seen
)

// unwrap opens one wrapper.
func unwrap(s Command) (inner Command, script string, how wrapping) {
	name := path.Base(s.Name())
	if name == "." && s.Name() != "." { // path.Base of an unknown name
		return s, "", wrapsNothing
	}
	inner = s
	inner.Wrappers = append(slices.Clip(s.Wrappers), Wrapper{s.Words, s.SetsVariables})
	if IsShell(name) {
		script, how = shellScript(s.Words[1:])
		return inner, script, how
	}
	if name == "eval" {
		if len(s.Words) > 1 && s.Known() && !s.Globs() {
			return inner, strings.Join(Texts(s.Words[1:]), " "), wrapsScript
		}
		return s, "", wrapsUnseen
	}
	inner.Compound = s.Compound || name == "busybox" // its commands are not those of the system
	switch i := slices.IndexFunc(wrappers, func(w wrapper) bool { return In(w.names, name) }); {
	case i < 0:
		return s, "", wrapsNothing
	case wrappers[i].skip < 0:
		return s, "", wrapsUnseen
	default:
		return open(s, inner, wrappers[i])
	}
}

// open finds the inner command behind a wrapper's own words.
func open(s, inner Command, w wrapper) (Command, string, wrapping) {
	inner.Elevated = s.Elevated || w.raises
	inner.TakesArgs = s.TakesArgs || w.feeds
	words, skip := s.Words[1:], w.skip
	replace := "" // the text that xargs replaces by its input
	for i := 0; i < len(words); i++ {
		at := words[i]
		switch {
		case !at.Known || at.Glob:
			return s, "", wrapsUnseen
		case at.Text == "--":
			continue
		case strings.HasPrefix(at.Text, "-"):
			option, value, valued := optionOf(at.Text, w)
			inner.SetsVariables = inner.SetsVariables || w.env && !w.raises // -i, -u
			switch {
			case option == "":
				if s.Name() == "command" && (at.Text == "-v" || at.Text == "-V") {
					return s, "", wrapsNothing // it only prints where the command is
				}
				return s, "", wrapsUnseen
			case valued && value == "":
				i++
				if i < len(words) {
					value = words[i].Text
				}
			}
			if option == "-I" || option == "-J" || option == "-R" {
				replace = value
			}
		case w.env && strings.Contains(at.Text, "="):
			inner.SetsVariables = true
		case skip > 0:
			skip--
		default:
			inner.Words = slices.Clone(words[i:])
			for j := range inner.Words {
				if replace != "" && strings.Contains(inner.Words[j].Text, replace) {
					inner.Words[j].Known = false
				}
			}
			return inner, "", wrapsCommand
		}
	}
	return s, "", wrapsNothing // no inner command: judged by its own name
}

// OfSystem reports whether a name stands for a program of the system, not the project's file.
func OfSystem(name string) bool {
	dir := path.Dir(name)
	return !strings.Contains(name, "/") || dir == "/bin" || dir == "/usr/bin"
}

// optionOf reads an option word: its name, "" when it is none of the wrapper's, and its value.
func optionOf(text string, w wrapper) (name, value string, valued bool) {
	name, value, _ = strings.Cut(text, "=")
	switch {
	case In(w.flags, text):
		return text, "", false
	case In(w.valued, text):
		return text, "", true
	case strings.HasPrefix(text, "--"):
		if In(w.valued, name) && value != "" {
			return name, value, true
		}
	case len(text) > 2 && In(w.valued, text[:2]):
		return text[:2], text[2:], true
	case len(text) > 2 && !slices.ContainsFunc(Letters(text), func(flag string) bool { return !In(w.flags, flag) }):
		return text[:2], "", false
	}
	return "", "", false
}

// IsShell reports whether a program takes lines as shells do.
func IsShell(name string) bool { return In("sh bash dash ash zsh ksh ksh93 mksh yash rbash", name) }

// shellScript is the line of `sh -c 'line'`. With options that only say when
// the shell gives up the line keeps its meaning; with others it may not.
func shellScript(words []Word) (script string, how wrapping) {
	how = wrapsScript
	for i := 0; i < len(words); i++ {
		text, next := words[i].Text, Word{}
		if i+1 < len(words) {
			next = words[i+1]
		}
		switch letters := strings.TrimLeft(text, "-+"); {
		case strings.HasPrefix(text, "~/"):
			return "", wrapsNothing // a script in the home: no value of HOME makes an option of it
		case !words[i].Known || words[i].Glob:
			return "", wrapsUnseen
		case text == "--noprofile", text == "--norc":
		case strings.HasPrefix(text, "--"):
			how = wrapsForeign
		case letters == text:
			return "", wrapsNothing // a script in a file, judged by its own name
		case strings.Trim(letters, "ceuflxaBCEHPTbhkmnprtvoO") != "",
			strings.Contains(letters, "c") && strings.ContainsAny(letters, "oO"):
			return "", wrapsUnseen
		case strings.ContainsAny(letters, "oO"):
			if i++; text[0] == '+' || strings.Trim(letters, "eu") != "o" || !In("pipefail errexit nounset", next.Text) {
				how = wrapsForeign
			}
		case strings.Contains(letters, "c"):
			if strings.Trim(letters, "ceu") != "" || text[0] == '+' {
				how = wrapsForeign
			}
			// Behind -c may stand more options before the line.
			if next.Known && !next.Glob && !strings.HasPrefix(next.Text, "-") {
				return next.Text, how
			}
			return "", wrapsUnseen
		case strings.Trim(letters, "eu") != "" || text[0] == '+':
			how = wrapsForeign
		}
	}
	return "", wrapsNothing
}

// script walks the line that a shell is given.
func (w *walker) script(c, inner Command, script string, how wrapping) ends {
	kind := c.Base()
	if kind == "eval" {
		kind = w.kind
	}
	if how == wrapsForeign || kind != w.kind || inner.SetsVariables {
		// Another shell may take the line in another way: no rule for its words covers it.
		w.unlike(script, inner)
		c.Compound, c.RunsUnknown = true, true
		return w.append(c)
	}
	before := len(w.commands)
	commands, ok := read(script, inner.Dirs, walker{kind: w.kind, depth: w.depth + 1, certain: w.certain})
	w.ok = w.ok && ok
	for _, found := range commands {
		w.commands = append(w.commands, found.within(inner))
	}
	if len(w.commands) == before { // nothing in it, except its surroundings
		w.append(c)
	}
	if c.Name() == "eval" {
		return ends{}
	}
	return ends{c.Dirs, c.Dirs}
}

// within is a command of a script with the script's surroundings.
func (c Command) within(outer Command) Command {
	c.Elevated, c.TakesArgs = c.Elevated || outer.Elevated, c.TakesArgs || outer.TakesArgs
	c.SetsVariables, c.UnknownText = c.SetsVariables || outer.SetsVariables, c.UnknownText || outer.UnknownText
	c.UnsafeExpansion, c.Compound = c.UnsafeExpansion || outer.UnsafeExpansion, c.Compound || outer.Compound
	c.Outputs = append(slices.Clip(outer.Outputs), c.Outputs...)
	c.Overwrites = append(slices.Clip(outer.Overwrites), c.Overwrites...)
	c.Inputs = append(slices.Clip(outer.Inputs), c.Inputs...)
	c.Wrappers = append(slices.Clip(outer.Wrappers), c.Wrappers...)
	return c
}

// unlike collects the commands of a text that is not for this shell, or not for now: for
// rules that deny or ask, and for commands that are always asked.
func (w *walker) unlike(script string, outer Command) {
	commands, _ := read(script, nil, walker{kind: "sh", depth: w.depth + 1, certain: w.certain})
	for _, found := range commands {
		found = found.within(outer)
		found.Compound = true
		w.commands = append(w.commands, found)
	}
}

// given collects the commands that a command makes the shell run later or by another name,
// and those that a shell reads from its input.
func (w *walker) given(c Command) {
	last := len(w.commands) - 1
	words := Texts(c.Words)
	switch name := c.Base(); {
	case name == "trap" && len(words) > 1:
		w.unlike(strings.Join(words[1:], "\n"), c)
	case name == "alias":
		for _, word := range words[1:] {
			if _, value, ok := strings.Cut(word, "="); ok {
				w.unlike(value, c)
			}
		}
	case name == "hash" && len(words) > 2, name == "enable" && slices.Contains(words, "-f"):
		w.commands[last].RunsUnknown = true // names stand for other programs from now on
	case IsShell(name) && !slices.ContainsFunc(words[1:], func(a string) bool { return !IsOption(a) }):
		w.commands[last].Compound, w.commands[last].RunsUnknown = true, true
		for _, text := range c.Texts {
			w.unlike(text, c)
		}
	}
}
