package ui

import (
	"slices"
	"strconv"
	"strings"
)

// What terminals are told of the transcript's structure, so that they can jump
// from prompt to prompt and select one output: OSC 133 with A before a prompt,
// B where typing begins, C where the output does, D where it ended.
const (
	markPrompt = "\x1b]133;A\x1b\\"
	markTyped  = "\x1b]133;B\x1b\\"
	markOutput = "\x1b]133;C\x1b\\"
)

// marks knows which of these are due.
type marks struct {
	ran  bool // a line was sent, and its end was not told yet
	exit int  // how it ended, as a shell says it; -1 when nobody knows
}

// begin is what stands before a prompt.
func (m *marks) begin() string {
	if !m.ran {
		return markPrompt
	}
	m.ran = false
	done := "\x1b]133;D"
	if m.exit >= 0 {
		done += ";" + strconv.Itoa(m.exit)
	}
	return done + "\x1b\\" + markPrompt
}

// output is what stands before the output of a line.
func (m *marks) output() string {
	m.ran, m.exit = true, -1
	return markOutput
}

// isModern says whether the environment names a terminal that is known to take
// such marks, or to ignore them as it ignores any sequence that it does not know: others
// show them, and a screen reader in front of a terminal speaks them. The same holds
// for keysOn. Nothing is asked of the terminal itself. A nil env names none.
func isModern(env func(name string) string) bool {
	if env == nil {
		return false
	}
	for _, name := range []string{"INSIDE_EMACS", "TMUX", "STY"} { // what TERM_PROGRAM names is behind these
		if env(name) != "" {
			return false
		}
	}
	term := env("TERM")
	for _, prefix := range []string{"vt", "screen", "tmux", "eterm"} {
		if strings.HasPrefix(term, prefix) {
			return false
		}
	}
	switch term {
	case "", "dumb", "unknown", "linux", "cons25":
		return false
	}
	for _, name := range []string{"KITTY_WINDOW_ID", "ALACRITTY_WINDOW_ID", "WT_SESSION", "VTE_VERSION"} {
		if env(name) != "" {
			return true
		}
	}
	return slices.Contains([]string{"xterm-kitty", "xterm-ghostty", "foot", "foot-extra", "wezterm", "contour", "alacritty",
		"alacritty-direct"}, term) ||
		slices.Contains([]string{"iTerm.app", "WezTerm", "ghostty", "vscode", "WarpTerminal", "rio"}, env("TERM_PROGRAM"))
}
