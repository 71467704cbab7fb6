package screen

import (
	"net/url"
	"strings"
)

// LinkDecision reports whether a terminal is known to make links of OSC 8 and
// to ignore nothing else of it. Only its own variables name it: nothing is
// asked of the terminal. env looks up environment variables; tty tells whether
// the output is a terminal of the rich profile. Inside tmux and screen the
// terminal is another one, and not known.
func LinkDecision(env func(string) string, tty bool) bool {
	if !tty || whyPlain(env) != "" || env("TMUX") != "" || env("STY") != "" {
		return false
	}
	switch env("TERM_PROGRAM") {
	case "iTerm.app", "WezTerm", "ghostty", "vscode":
		return true
	}
	switch env("TERM") {
	case "xterm-kitty", "xterm-ghostty", "foot", "foot-extra", "wezterm", "contour":
		return true
	}
	// 5000 is 0.50, the first that has them without faults.
	return positive(env("VTE_VERSION")) >= 5000 || env("WT_SESSION") != "" || env("KITTY_WINDOW_ID") != ""
}

// maxLink is the longest address that is linked, in bytes; terminals drop longer
// ones.
const maxLink = 2000

// linkable reports whether a shown address may be linked as it stands: one of
// the web, of none but the characters addresses have, so that what is seen is
// where it leads. Signs that the sanitiser puts in are not among them.
func linkable(address string) bool {
	if len(address) > maxLink {
		return false
	}
	for i := 0; i < len(address); i++ {
		if c := address[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0 {
			return false
		}
	}
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil
}
