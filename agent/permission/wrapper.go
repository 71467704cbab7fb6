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
	flags  string // options without a value; those of one letter may be clustered
	valued string // options with a value, in the same word or the next
	skip   int    // plain words before the inner command
	raises bool   // the inner command gets more rights
	feeds  bool   // the inner command gets further arguments
	env    bool   // NAME=value words may stand before the inner command
}

func wrapperOf(name string) (wrapper, bool) {
	switch name {
	case "sudo", "doas":
		return wrapper{flags: "-n -E -H -i -s -S -b -k -A --non-interactive --preserve-env --set-home", valued: "-u -g -p -C --user --group --preserve-env", raises: true, env: true}, true
	case "env":
		return wrapper{flags: "-i - --ignore-environment -0 --null -v --debug", valued: "-u --unset", env: true}, true
	case "timeout", "gtimeout":
		return wrapper{flags: "-v -f -p --foreground --preserve-status --verbose", valued: "-k -s --kill-after --signal", skip: 1}, true
	case "nice":
		return wrapper{flags: "-0 -1 -2 -3 -4 -5 -6 -7 -8 -9", valued: "-n --adjustment"}, true
	case "ionice":
		return wrapper{flags: "-t", valued: "-c -n --class --classdata"}, true
	case "xargs":
		return wrapper{flags: "-0 -r -t -x -o --null --no-run-if-empty --verbose --exit", valued: "-a -d -E -I -J -R -L -n -P -s --arg-file --delimiter --max-args --max-procs --max-chars", feeds: true}, true
	case "time":
		return wrapper{flags: "-p -v -l"}, true
	case "setsid":
		return wrapper{flags: "-c -f -w --ctty --fork --wait"}, true
	case "command":
		return wrapper{flags: "-p"}, true
	case "exec":
		return wrapper{flags: "-c -l", valued: "-a"}, true
	case "stdbuf":
		return wrapper{valued: "-i -o -e --input --output --error"}, true
	case "nohup", "builtin", "busybox", "caffeinate":
		return wrapper{}, true
	case "chrt", "taskset", "flock", "chroot", "unshare", "nsenter", "strace", "ltrace", "watch", "parallel", "script", "su", "runuser",
		"pkexec", "systemd-run", "fakeroot", "proot", "firejail", "bwrap", "unbuffer", "rlwrap", "setarch", "cpulimit", "gdb", "entr", "toybox":
		return wrapper{skip: -1}, true // in ways of their own: not opened
	}
	return wrapper{}, false
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
	valued, flags := strings.Fields(w.valued), strings.Fields(w.flags)
	if slices.Contains(flags, text) {
		return text, "", false
	}
	if slices.Contains(valued, text) {
		return text, "", true
	}
	if strings.HasPrefix(text, "--") {
		name, value, _ = strings.Cut(text, "=")
		if slices.Contains(valued, name) && value != "" {
			return name, value, true
		}
		return "", "", false
	}
	if len(text) > 2 && slices.Contains(valued, text[:2]) {
		return text[:2], text[2:], true
	}
	if len(text) < 2 {
		return "", "", false
	}
	for i := 1; i < len(text); i++ { // a cluster of flags
		if !slices.Contains(flags, "-"+text[i:i+1]) {
			return "", "", false
		}
	}
	return text[:2], "", false
}

// isShell reports whether a program takes lines as shells do.
func isShell(name string) bool {
	switch name {
	case "sh", "bash", "dash", "ash", "zsh", "ksh", "ksh93", "mksh", "yash", "rbash":
		return true
	}
	return false
}

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
			if i++; i >= len(words) || !tameOption(words[i].text) || text != "-o" && strings.Trim(text[1:], "eu") != "o" {
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

// tameOption reports whether a shell option, by its long name, only tells when
// the shell gives up.
func tameOption(name string) bool {
	return name == "pipefail" || name == "errexit" || name == "nounset"
}
