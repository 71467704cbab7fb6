package screen

import (
	"strings"

	"artoo/agent"
	"artoo/ui/sanitize"
)

// The words that only the user's own lines and what artoo asks and notes of its
// questions begin with, in every profile. No other line does: see rowGuard.
const (
	You     = "you: "
	approve = "approve: "
	// YouIndent begins the further lines of what the user says.
	YouIndent = "     "
)

// GoOn is the line that asks whether a turn whose steps are used up goes on.
func GoOn(q agent.Question) string { return approve + unforged(line(q.Reason)) + " [y,n] (n) " }

// Bold is how many bytes at the start of a prompt stand out: all of one for a
// message, a question up to its choices; none without styles. A prompt is drawn
// by the line editor, which measures it, so the styles are not in its text.
func (s *Screen) Bold(prompt string) int {
	switch {
	case !s.opt.ErrColor:
		return 0
	case prompt == You:
		return len(You)
	case strings.HasPrefix(prompt, approve):
		if end := strings.LastIndex(prompt, " "+choices); end > 0 {
			return end
		}
		return len(approve)
	}
	return 0
}

// bolded is a prompt with its styles.
func (s *Screen) bolded(prompt string) string {
	n := s.Bold(prompt)
	if n == 0 {
		return prompt
	}
	return s.styles.prompt.Sprint(prompt[:n]) + prompt[n:]
}

// Said prints a message of the user as if it had just been typed.
func (s *Screen) Said(text string) {
	s.do(func() {
		s.closeReply()
		s.gap(promptLine)
		s.put(string(ours) + s.bolded(You) + s.saidRows(text)[len(You):])
		if !s.opt.Quiet {
			s.last = promptLine
		}
	})
}

// saidRows are the rows of a message behind You, broken at blanks. A line with
// tabs is left to the terminal, which knows where they end.
func (s *Screen) saidRows(text string) string {
	var b strings.Builder
	first := You
	for l := range strings.SplitSeq(strings.TrimRight(sanitize.Text(text, sanitize.Code), "\n"), "\n") {
		if strings.Contains(l, "\t") || cells(first)+cells(l) < s.width() {
			b.WriteString(first + l + "\n")
		} else {
			b.WriteString(s.wrap(l, first, YouIndent))
		}
		first = YouIndent
	}
	return b.String()
}

// Prompt writes the prompt and leaves the cursor behind it; whatever was going
// on is over. text is shown as it is and must be safe (Question's line is). From
// now until PromptDone the last rows belong to the line editor, which writes
// with Draw.
func (s *Screen) Prompt(text string) {
	s.do(func() {
		if !s.asking {
			s.rest()
		}
		s.hideTransient()
		s.closeReply()
		if !s.asking {
			s.gap(promptLine)
		}
		s.sink.writeErr(s.opt.Now(), s.bolded(s.promptRows(text)))
		s.prompt = true
	})
}

// promptRows is a prompt in rows that no terminal breaks within a word.
func (s *Screen) promptRows(text string) string {
	words := strings.TrimRight(text, " ")
	if words == "" || cells(s.ascii(text)) < s.width() {
		return s.ascii(text)
	}
	return strings.TrimSuffix(s.wrap(words, "", ""), "\n") + text[len(words):]
}

// Draw passes bytes of the line editor on to Err as they are, escape sequences
// included: it must have made its text safe. Only between Prompt and PromptDone.
func (s *Screen) Draw(p []byte) {
	s.do(func() {
		s.hideTransient()
		s.sink.writeErr(s.opt.Now(), string(p))
	})
}

// PromptDone says that the line was entered and the cursor stands at the start
// of a new one.
func (s *Screen) PromptDone() {
	s.do(func() {
		s.prompt = false
		if s.last = promptLine; s.asking {
			s.last = status
		}
	})
}

// PromptErased says that the prompt's rows were taken away and the cursor stands
// where they began: what is printed now takes their place.
func (s *Screen) PromptErased() {
	s.do(func() {
		s.prompt = false
		s.last = status
	})
}
