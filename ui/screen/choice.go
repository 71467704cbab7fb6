package screen

import (
	"fmt"
	"strings"
)

// answerTo begins the prompts of questions that approve nothing.
const answerTo = "answer: "

// OfferCommand asks for the command that a user chose to name.
const OfferCommand = answerTo + "which command? "

// Offer prints what is offered, with the choices there are, and returns the line to ask
// with. The last choice is taken by Enter alone.
func (s *Screen) Offer(text string, choices []string) (prompt string) {
	s.do(func() {
		before := strings.Repeat(margin, 2)
		if s.opt.Profile == Spoken {
			before = ""
		}
		var b strings.Builder
		b.WriteString(s.layout.note(text))
		for i, choice := range choices {
			b.WriteString(s.layout.wrap(choice, fmt.Sprintf("%s%d  ", before, i+1), before+"   "))
		}
		s.must(b.String())
	})
	n, last := len(choices), choices[len(choices)-1]
	if s.opt.Profile == Spoken {
		return answerTo + fmt.Sprintf("which one? Type a number from 1 to %d. Enter means %s. ", n, last)
	}
	return answerTo + fmt.Sprintf("which one? [1-%d] (%s) ", n, last)
}
