package screen

import "slices"

// Signs are what the terminal takes besides rows. The zero value has none of them.
type Signs struct {
	// Title is OSC 2, and Stack that XTWINOPS keeps the title and gives it back.
	Title, Stack bool
	// Progress is OSC 9;4 of ConEmu.
	Progress bool
}

const (
	keepTitle     = "\x1b[22;2t"
	giveBackTitle = "\x1b[23;2t"
	titleWidth    = 60
)

func titled(text string) string { return "\x1b]2;" + text + "\x1b\\" }

func progressed(state string) string { return "\x1b]9;4;" + state + "\x1b\\" }

// SignsDecision is the signs of a rich terminal by the setting (on, off or auto) and the environment. Nothing is asked
// of the terminal itself. modern says that it ignores sequences that it does not know.
//
//   - Ghostty takes all (terminal.md, ghostty-conemu).
//   - tmux takes titles and keeps them on a stack; tried with 3.3a.
//   - Other modern terminals take titles, and are given an empty one at the end.
func SignsDecision(setting string, env func(string) string, modern bool) Signs {
	ghostty := env("TMUX") == "" && env("STY") == "" && (env("TERM") == "xterm-ghostty" || env("TERM_PROGRAM") == "ghostty")
	stack := ghostty || env("TMUX") != ""
	unknown := slices.Contains([]string{"linux", "cons25"}, env("TERM")) || env("INSIDE_EMACS") != ""
	switch {
	case setting == "off", unknown, setting != "on" && !stack && !modern:
		return Signs{}
	}
	return Signs{Title: true, Stack: stack, Progress: ghostty}
}

// End takes the signs away.
func (s Signs) End() (text string) {
	if s.Progress {
		text = progressed("0")
	}
	switch {
	case s.Stack:
		text += giveBackTitle
	case s.Title:
		text += titled("")
	}
	return text
}

// signal shows what artoo does in the title and by progress, where that has changed.
func (t *transcript) signal() {
	signs := t.opt.Signs
	if !signs.Title || !t.signed {
		return
	}
	title, state := "artoo", "0"
	switch {
	case t.asking:
		title, state = "artoo: waits", "4;100"
	case len(t.work.calls) > 0 && t.work.calls[0].call.Access.Command != "":
		title, state = "artoo: runs "+t.layout.cut(line(t.layout.object(t.work.calls[0].call)), titleWidth), "3"
	case len(t.work.calls) > 0 || t.work.busy.doing != "":
		title, state = "artoo: works", "3"
	}
	text := ""
	if t.title == "" && signs.Stack {
		text = keepTitle
	}
	if title != t.title {
		text += titled(title)
	}
	if signs.Progress && state != t.state {
		text += progressed(state)
	}
	if t.title, t.state = title, state; text != "" {
		t.outputs.writeErr(t.opt.Now(), text)
	}
}

// LastSigns takes the signs away where the Screen cannot: after a crash its lock may be held.
func (s *Screen) LastSigns() string { return s.opt.Signs.End() }

// Leave takes the signs away for good.
func (s *Screen) Leave() {
	s.do(func(t *transcript) {
		if t.signed {
			t.outputs.writeErr(t.opt.Now(), t.opt.Signs.End())
		}
		t.signed = false
	})
}
