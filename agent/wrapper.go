package agent

import (
	"path"
	"strings"
)

// A wrapper is a command that runs another one given in its arguments.
type wrapper struct {
	valued string // its options that take a value in the next word
	skip   int    // plain words before the inner command
	raises bool   // the inner command gets more rights
	feeds  bool   // the inner command gets further arguments
	env    bool   // NAME=value words may stand before the inner command
}

func wrapperOf(name string) (wrapper, bool) {
	switch path.Base(name) {
	case "sudo", "doas":
		return wrapper{valued: "-u -g -h -p -C -r -t -T -U -D -R", raises: true, env: true}, true
	case "env":
		return wrapper{valued: "-u -C", env: true}, true
	case "timeout":
		return wrapper{valued: "-k -s", skip: 1}, true
	case "nice":
		return wrapper{valued: "-n"}, true
	case "ionice":
		return wrapper{valued: "-c -n"}, true
	case "xargs":
		return wrapper{valued: "-a -d -E -I -L -n -P -s", feeds: true}, true
	case "nohup", "setsid", "command", "builtin", "exec", "time", "busybox":
		return wrapper{}, true
	case "stdbuf":
		return wrapper{valued: "-i -o -e"}, true
	}
	return wrapper{}, false
}

// unwrap opens one wrapper. script is set instead of inner for `sh -c 'line'`.
// Not wrapped: a plain command, or a wrapper whose inner command cannot be
// found; that one is then judged by its own name.
func unwrap(s simple) (inner simple, script string, wrapped bool) {
	if line, ok := shellScript(s); ok {
		return simple{}, line, true
	}
	w, ok := wrapperOf(s.words[0])
	if !ok {
		return s, "", false
	}
	rest, assigns := skipOptions(s.words[1:], w)
	if len(rest) == 0 {
		return s, "", false
	}
	inner = s
	inner.words = rest
	inner.raised = s.raised || w.raises
	inner.fed = s.fed || w.feeds
	inner.assigns = s.assigns || assigns
	return inner, "", true
}

func skipOptions(words []string, w wrapper) (rest []string, assigns bool) {
	skip := w.skip
	for i := 0; i < len(words); i++ {
		word := words[i]
		switch {
		case word == "--":
			continue
		case strings.HasPrefix(word, "-") && len(word) > 1:
			for _, valued := range strings.Fields(w.valued) {
				if word == valued {
					i++
				}
			}
		case w.env && strings.Contains(word, "="):
			assigns = true
		case skip > 0:
			skip--
		default:
			return words[i:], assigns
		}
	}
	return nil, assigns
}

// shellScript is the line of `sh -c 'line'`.
func shellScript(s simple) (string, bool) {
	switch path.Base(s.words[0]) {
	case "sh", "bash", "dash", "zsh", "ksh":
	default:
		return "", false
	}
	if s.unknown {
		return "", false
	}
	for i, word := range s.words[1:] {
		if !strings.HasPrefix(word, "-") {
			return "", false
		}
		if !strings.HasPrefix(word, "--") && strings.Contains(word, "c") {
			if i+2 < len(s.words) {
				return s.words[i+2], true
			}
			return "", false
		}
	}
	return "", false
}
