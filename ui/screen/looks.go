package screen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/clipperhouse/displaywidth"

	"artoo/agent"
	"artoo/agent/permission"
)

// mark begins a line of artoo's own on a rich terminal. ascii stands for it where the locale names no UTF-8.
type mark struct {
	sign, ascii string
	ink         style
}

var (
	unmarkedLine mark
	markDone     = mark{"✓", "ok", doneStyle}
	markFailed   = mark{"✗", "x", errorStyle}
	markBegun    = mark{"•", "*", 0}
	markAsk      = mark{"?", "?", askStyle}
	markWarn     = mark{"!", "!", askStyle}
	markBack     = mark{"↩", "<", 0}
)

// text is the style of the words behind a mark.
func (m mark) text() style {
	if m == markFailed {
		return errorStyle
	}
	return 0
}

func (lay *layout) rich() bool { return lay.opt.Profile == Rich }

// either is the first of two values where something holds, else the second.
func either[T any](holds bool, first, second T) T {
	if holds {
		return first
	}
	return second
}

// lead is a mark with the space behind it, or the margin where lines have no marks.
func (lay *layout) lead(m mark) string {
	if !lay.rich() || m == unmarkedLine {
		return margin
	}
	return lay.glyph(m.sign, m.ascii) + " "
}

// inked is lead in the colour of the mark.
func (lay *layout) inked(m mark) string {
	lead := lay.lead(m)
	if lead == margin {
		return lead
	}
	return lay.ink(m.ink).Sprint(strings.TrimSuffix(lead, " ")) + " "
}

// led puts a mark in the place of the margin of whole rows, which begin behind an indent, where lines have marks.
func (lay *layout) led(m mark, before, rows string) string {
	if !lay.rich() || rows == "" {
		return rows
	}
	return before + lay.inked(m) + lay.painted(strings.TrimPrefix(rows, before+margin), m.text())
}

// below is led for a line that belongs to a call.
func (lay *layout) below(m mark, text string) string {
	indent := lay.body() + margin
	return lay.led(m, lay.body(), lay.wrap(text, indent, indent))
}

// size is how many lines a change adds and removes.
func (lay *layout) size(added, removed int) string {
	return fmt.Sprintf("+%d %s%d", added, either(lay.rich(), lay.glyph("\u2212", "-"), "-"), removed)
}

// column is where the object of a call begins, and the rows that belong to it.
func (lay *layout) column() int { return either(lay.rich(), 8, 10) }

// body is the indent of the rows that belong to a call.
func (lay *layout) body() string { return strings.Repeat(" ", lay.column()) }

// head is the line of a call up to its object.
func (lay *layout) head(m mark, verb string) string {
	head := lay.lead(m) + verb
	return head + strings.Repeat(" ", max(lay.column()-1-cells(head), 0)) + " "
}

func (lay *layout) styledHead(m mark, verb string) string {
	ink := lay.ink(either(lay.rich(), bold, dim))
	return lay.inked(m) + ink.Sprint(verb) + lay.head(m, verb)[len(lay.lead(m)+verb):]
}

// aligned is the width of a text with two cells for each character whose width terminals disagree about.
func aligned(s string) int { return displaywidth.Options{EastAsianWidth: true}.String(s) }

// look is the style of the next bytes of a prompt.
type look struct {
	bytes int
	style style
}

// looks are the styles of a prompt up to its answers.
func (lay *layout) looks(prompt string) (looks []look) {
	end := AnswersAt(prompt)
	label := strings.TrimPrefix(prompt, lay.asks())
	switch {
	case isYou(prompt):
		in, named := strings.CutSuffix(strings.TrimPrefix(prompt, youIn), "]: ")
		if !named {
			return []look{{len(prompt), youStyle}}
		}
		mode, _, _ := strings.Cut(in, ", ")
		return []look{{len(youIn), youStyle}, {len(mode), cmp.Or(modeStyle(mode), youStyle)}, {len(in) - len(mode) + len("]: "), youStyle}}
	case !strings.HasPrefix(label, approve) && !strings.HasPrefix(label, answering):
		return nil
	case end == 0 || lay.opt.Profile == Spoken:
		end = len(strings.TrimRight(prompt, " "))
	}
	asks := len(prompt) - len(label)
	return []look{{asks, askStyle}, {max(len(strings.TrimRight(prompt[:end], " \n"))-asks, 0), bold}}
}

// modeStyle is the colour of a mode that the prompt names.
func modeStyle(mode string) style {
	return map[permission.Mode]style{permission.ModeEdits: askStyle, permission.ModeAuto: errorStyle,
		permission.ModePlan: pathStyle}[permission.Mode(mode)]
}

// AnswersAt is where the answers begin in the line that asks a question; 0 where it has none.
func AnswersAt(prompt string) int {
	at := max(strings.LastIndex(prompt, "  [")+1, strings.LastIndex(prompt, "\n[")) + 1
	if at > 1 {
		return at
	}
	return max(strings.LastIndexByte(prompt, '['), 0)
}

// Looks calls each with the styles of a prompt from its beginning on, each with the bytes that have it: the line editor
// draws and measures prompts, so their text has no styles.
func (s *Screen) Looks(prompt string, each func(bytes int, sgr string)) {
	if !s.opt.ErrColor {
		return
	}
	palette := s.opt.Palette
	for _, l := range s.layout.looks(prompt) {
		each(l.bytes, palette.begin(l.style))
	}
}

// Indent begins the further rows of a prompt.
func (s *Screen) Indent(prompt string) string { return s.layout.indent(prompt) }

// dressed is a prompt, maybe in rows, with its styles.
func (lay *layout) dressed(prompt string) string {
	if !lay.opt.ErrColor {
		return prompt
	}
	var b strings.Builder
	for _, l := range lay.looks(prompt) {
		b.WriteString(lay.painted(prompt[:l.bytes], l.style))
		prompt = prompt[l.bytes:]
	}
	return b.String() + prompt
}

// counted are the numbers of changes.
func (lay *layout) counted(e permission.Effects) string {
	return either(lay.rich(), strings.TrimPrefix(e.Summary(), "files: "), e.Summary())
}

// keep is the verb of the question about changes.
func (lay *layout) keep() string { return either(lay.rich(), "keep", "apply") }

// answerWords are the answers as a wide terminal shows them. Those that a question has less often stand behind ? only.
func answerWords(q Confirmation) string {
	words := map[string]string{"y": "[y]es", "n": "[n]o", "a": "[a]lways", "e": "[e]dit", "p": "[p]age", "q": "[q]uit"}
	if a, ok := q.(Approval); ok && a.OwnPrograms() {
		words["A"], words["e"] = "[A] trust", ""
	} else if ok && a.Kind == agent.QuestionPlan {
		words["e"], words["f"] = "[e]dits", "[f]resh"
	}
	var shown []string
	for _, key := range Keys(q) {
		if word := words[key]; word != "" {
			shown = append(shown, word)
		}
	}
	return strings.Join(append(shown, "[?]"), " ")
}

// shortAnswers are the letters of the answers.
func shortAnswers(q Confirmation) string {
	return "[" + strings.Join(slices.Concat(Keys(q), []string{"?"}), ",") + "]"
}
