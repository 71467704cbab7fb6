package screen

import (
	"strconv"
	"strings"
)

// Profile is how much a terminal can do. Words and their order are the same in
// Rich and Plain; Spoken says them in sentences with labels.
type Profile int

const (
	// Plain is for anything that only scrolls: no colour, no repainting.
	Plain Profile = iota
	// Rich is for terminals that understand cursor and colour sequences.
	Rich
	// Spoken is for screen readers: labelled lines, no glyphs, no repainting.
	Spoken
)

// String is the word of the --ui option.
func (p Profile) String() string {
	switch p {
	case Rich:
		return "rich"
	case Spoken:
		return "spoken"
	}
	return "plain"
}

// ColorDecision says whether one output is coloured. flag is the resolved --color: always,
// never, or anything else for auto; tty says that the output is a terminal of the rich profile.
// In order: the flag, NO_COLOR (not empty), CLICOLOR_FORCE or FORCE_COLOR, a terminal without
// colours, CLICOLOR=0, tty.
func ColorDecision(flag string, env func(string) string, tty bool) bool {
	switch flag {
	case "always":
		return true
	case "never":
		return false
	}
	if env("NO_COLOR") != "" {
		return false
	}
	for _, name := range []string{"CLICOLOR_FORCE", "FORCE_COLOR"} {
		if v := env(name); v != "" && v != "0" {
			return true
		}
	}
	if whyPlain(env) != "" || env("CLICOLOR") == "0" {
		return false
	}
	return tty
}

// ProfileDecision chooses the profile and says why when it is not Rich, such as "TERM=dumb".
// flag is the resolved --ui: rich, plain, spoken, or anything else for auto; tty tells whether
// stderr is a terminal.
func ProfileDecision(flag string, env func(string) string, tty bool) (p Profile, why string) {
	switch flag {
	case "rich":
		return Rich, ""
	case "plain":
		return Plain, "asked for"
	case "spoken":
		return Spoken, "asked for"
	}
	switch v := env("ACCESSIBLE"); strings.ToLower(v) {
	case "", "0", "false", "no", "off":
	default:
		return Spoken, "ACCESSIBLE=" + v
	}
	if !tty {
		return Plain, "no terminal"
	}
	if why := whyPlain(env); why != "" {
		return Plain, why
	}
	return Rich, ""
}

// whyPlain names the variable that rules out escape sequences, or "".
func whyPlain(env func(string) string) string {
	emacs := env("INSIDE_EMACS")
	for _, mode := range []string{"comint", "eshell", "compile"} {
		if strings.Contains(emacs, mode) {
			return "INSIDE_EMACS=" + emacs
		}
	}
	switch term := env("TERM"); term {
	case "":
		return "TERM is not set"
	case "dumb", "unknown":
		return "TERM=" + term
	}
	return ""
}

// UTF8Decision says whether the locale names UTF-8: the first of LC_ALL,
// LC_CTYPE and LANG that is not empty decides.
func UTF8Decision(env func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := env(name); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}

func clampWidth(w int) int {
	if w <= 0 {
		return 80
	}
	return min(max(w, 10), 1000)
}

// WidthDecision is the width of a terminal in cells: a positive COLUMNS, else the
// result of size, else 80; never less than 10 nor more than 1000. size may be nil and returns 0
// when it does not know.
func WidthDecision(env func(string) string, size func() int) int {
	if n, err := strconv.ParseUint(env("COLUMNS"), 10, 20); err == nil && n > 0 {
		return clampWidth(int(n))
	}
	if size == nil {
		return 80
	}
	return clampWidth(size())
}
