package screen

import (
	"strings"

	"github.com/clipperhouse/displaywidth"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/ui/sanitize"
)

// Only the user's lines and artoo's questions and decisions begin with these words: see
// rowGuard.
const (
	You       = "you: "
	youIn     = "you ["
	approve   = "approve: "
	answering = "answer: " // a question of the model: a yes to it permits nothing
)

// mostUntil bounds the command of /until in the prompt, in cells.
const mostUntil = 16

// YouIn is the prompt for a message. It names every mode except the default, and the command of /until, "" for none.
func YouIn(mode permission.Mode, until string) string {
	var in []string
	if mode != permission.ModeAsk {
		in = append(in, string(mode))
	}
	if until != "" {
		in = append(in, "until "+displaywidth.TruncateString(until, mostUntil, "..."))
	}
	if in == nil {
		return You
	}
	return youIn + strings.Join(in, ", ") + "]: "
}

func isYou(prompt string) bool {
	return strings.HasPrefix(prompt, You) || strings.HasPrefix(prompt, youIn)
}

// Indent begins the further lines behind a prompt of the user's.
func Indent(prompt string) string {
	if !isYou(prompt) {
		prompt = You
	}
	return strings.Repeat(" ", cells(prompt))
}

// GoOn is the line that asks whether a turn goes on whose steps are used up, or which has to wait.
func (s *Screen) GoOn(q agent.Question) string {
	return s.layout.asks() + approve + unforged(line(q.Reason)) + " [y,n] (n) "
}

// Said prints a message of the user as if it had been typed behind a prompt.
func (s *Screen) Said(prompt, text string) {
	s.do(func(t *transcript) {
		t.closeReply()
		t.gap(promptLine)
		t.put(string(ours) + s.layout.dressed(prompt) + s.layout.saidRows(prompt, text)[len(prompt):])
		if !s.opt.Quiet {
			t.last = promptLine
		}
	})
}

// saidRows are the rows of a message behind a prompt. A line with tabs is left to the terminal,
// which knows where they end.
func (lay *layout) saidRows(prompt, text string) string {
	var b strings.Builder
	first := prompt
	for l := range strings.SplitSeq(strings.TrimRight(sanitize.Text(text, sanitize.Code), "\n"), "\n") {
		if strings.Contains(l, "\t") || cells(first)+cells(l) < lay.width() {
			b.WriteString(first + l + "\n")
		} else {
			b.WriteString(lay.wrap(l, first, Indent(prompt)))
		}
		first = Indent(prompt)
	}
	return b.String()
}

// Prompt writes a safe prompt and leaves the cursor behind it. From now until PromptDone the
// last rows belong to the line editor, which writes with Draw.
func (s *Screen) Prompt(text string) {
	s.do(func(t *transcript) {
		if !t.asking {
			t.rest()
		}
		t.hideProgress()
		t.closeReply()
		if !t.asking {
			t.gap(promptLine)
		}
		t.outputs.writeErr(s.opt.Now(), s.layout.dressed(s.layout.promptRows(text)))
		t.prompt = true
	})
}

func (lay *layout) promptRows(text string) string {
	words := strings.TrimRight(text, " ")
	if words == "" || cells(lay.ascii(text)) < lay.width() {
		return lay.ascii(text)
	}
	label, rest, ok := strings.Cut(words, ": ")
	if label += ":"; !ok {
		label, rest, _ = strings.Cut(words, " ")
	}
	answers := len(words) - AnswersAt(words)
	rows := lay.wrapWords(rest, label+" ", lay.indent(text), func(text string) int {
		return promptWord(text, answers, lay.width()-1)
	})
	return strings.TrimSuffix(rows, "\n") + text[len(words):]
}

// indent begins the further rows of a prompt.
func (lay *layout) indent(prompt string) string {
	if ask := lay.asks(); ask != "" && strings.HasPrefix(prompt, ask) {
		return margin
	}
	return ""
}

// promptWord is how many bytes at the start of a prompt stay in one row of n cells, as its answers do, its last bytes.
func promptWord(text string, answers, n int) int {
	end := strings.IndexByte(text, ' ')
	if end < 0 || len(text) == answers && cells(strings.TrimRight(text, " ")) <= n {
		return len(text)
	}
	return end
}

// Draw passes the line editor's bytes on to Err, escape sequences included. Only between Prompt
// and PromptDone.
func (s *Screen) Draw(p []byte) {
	s.do(func(t *transcript) {
		t.hideProgress()
		t.outputs.writeErr(s.opt.Now(), string(p))
	})
}

// PromptDone says that the line was entered and the cursor stands at the start of a row.
func (s *Screen) PromptDone() {
	s.do(func(t *transcript) {
		t.prompt = false
		if t.last = promptLine; t.asking {
			t.last = status
		}
	})
}

// PromptErased says that the prompt's rows were taken away.
func (s *Screen) PromptErased() {
	s.do(func(t *transcript) {
		t.prompt = false
		t.last = status
	})
}
