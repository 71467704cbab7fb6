package screen

import (
	"cmp"
	"fmt"
	"strings"

	"artoo/agent"
	texts "artoo/tool/text"
	"artoo/ui/sanitize"
)

// BannerInfo holds the facts of a conversation's first lines.
type BannerInfo struct {
	Version, Model string
	Dir            string // absolute
	Branch         string // "" outside git
	Why            string // why the profile is not Rich, from ProfileDecision, or which setting asked for it
	Notes          []string
}

// Banner opens a conversation.
func (s *Screen) Banner(i BannerInfo) {
	s.do(func(t *transcript) {
		t.signed = true
		var b strings.Builder
		words, branch := s.layout.words, line(i.Branch)
		if branch != "" {
			branch = words(" ("+branch+")", ", branch "+branch)
		}
		b.WriteString(words("", "Screen reader mode: on"+spokenWhy(i.Why)+".\n"))
		fmt.Fprintf(&b, words("artoo %s  %s  %s%s\n", "artoo %s, model %s, directory %s%s.\n"), line(i.Version), line(i.Model),
			sanitize.Text(s.layout.home(i.Dir), sanitize.Line), branch)
		switch s.opt.Profile {
		case Plain:
			fmt.Fprintf(&b, "Plain terminal (%s): no colours, no line editing. /help for commands.\n",
				line(cmp.Or(i.Why, "asked for")))
		case Spoken:
			b.WriteString("Type /help for commands.\n")
		default:
			b.WriteString("/help for commands. Ctrl-C stops a turn, Ctrl-D exits.\n")
		}
		for _, n := range i.Notes {
			n = line(n)
			b.WriteString(words(n, "note: "+strings.TrimRight(n, ".")+".") + "\n")
		}
		var rows strings.Builder
		for _, l := range strings.SplitAfter(strings.TrimSuffix(b.String(), "\n"), "\n") {
			rows.WriteString(s.layout.wrap(strings.TrimSuffix(l, "\n"), "", s.layout.before("")))
		}
		t.print(rows.String())
		if !s.opt.Quiet {
			t.last = banner
		}
	})
}

// spokenWhy names the setting that chose the profile, without the value of a variable.
func spokenWhy(why string) string {
	name, _, _ := strings.Cut(line(why), "=")
	switch name {
	case "":
		return ""
	case "asked for":
		return ", as asked for"
	}
	return ", from " + name
}

// Line prints text from column 0; it may have several lines.
func (s *Screen) Line(text string) {
	s.do(func(t *transcript) { t.aside(indented(text, "")) })
}

// Note prints text indented like all status; it may have several lines. One that
// follows the banner belongs to it.
func (s *Screen) Note(text string) { s.noted(markBegun, text) }

// Trouble is Note for what failed.
func (s *Screen) Trouble(text string) { s.noted(markFailed, text) }

// Asks prints the title of a list to choose from.
func (s *Screen) Asks(text string) { s.noted(markAsk, text) }

func (s *Screen) noted(m mark, text string) {
	s.do(func(t *transcript) {
		if t.last == banner {
			defer func() { t.last = banner }()
		}
		t.aside(s.layout.led(m, "", s.layout.prose(text, s.layout.before("note: "))))
	})
}

// TookBack prints a line about what was undone or redone.
func (s *Screen) TookBack(text string) {
	s.do(func(t *transcript) { t.aside(s.layout.said(markBack, text)) })
}

// Text is Note for the output of a slash command: no label where it is heard.
func (s *Screen) Text(text string) {
	s.do(func(t *transcript) { t.aside(s.layout.prose(text, s.layout.before(""))) })
}

func (lay *layout) before(label string) string { return lay.words(margin, label) }

// Block prints a text from column 0 as it is, set apart by blank lines from answers and
// prompts.
func (s *Screen) Block(text string) {
	s.do(func(t *transcript) { t.print(s.layout.heard(indented(text, ""))) })
}

// Markdown prints a finished Markdown text as an answer is shown, but to Err.
func (s *Screen) Markdown(text string) {
	s.do(func(t *transcript) {
		rows := indented(text, "")
		if s.opt.ErrTTY {
			rows = s.layout.whole(text, s.layout.width(), s.layout.answerLabel())
		}
		t.closeReply()
		t.gap(answer)
		if rows != "" && !s.opt.Quiet {
			t.emit(rows) // its characters stay whatever the locale, as those of answers do
			t.last, t.lastRun = answer, ""
		}
	})
}

// Queued reports a line that waits for the turn's end. On a rich terminal it comes at the next line end of an answer.
func (s *Screen) Queued(text string) {
	s.do(func(t *transcript) {
		rows := s.layout.said(markBegun, "queued: "+line(text))
		if remark := s.layout.slip(text); remark != "" {
			rows += s.layout.note(remark)
		}
		if t.queued += rows; !s.layout.rich() || !t.open.replying() || t.open.rowIsFree() {
			t.echo()
		}
	})
}

// echo shows the queued lines that are not shown yet.
func (t *transcript) echo() {
	if rows := t.queued; rows != "" {
		t.queued = ""
		t.aside(rows)
	}
}

// slip is the remark to a queued line that may have been meant for a question; "" for others.
func (lay *layout) slip(text string) string {
	if text = strings.TrimSpace(text); !lay.rich() || len(text) != 1 || !strings.Contains("ynaAepq?", text) {
		return ""
	}
	return "no question waits; " + text + " goes to the model (/queue removes it)"
}

// Stopped reports that a turn was interrupted after so many words, and how many queued lines
// come back.
func (s *Screen) Stopped(words, queued int) {
	s.do(func(t *transcript) {
		t.rest()
		t.closeReply()
		text := "stopped"
		if words > 0 {
			text = fmt.Sprintf("stopped after %s; the text so far is kept", texts.Count(words, "word"))
		}
		switch {
		case queued == 1:
			text += ". Your queued line is below."
		case queued > 1:
			text += fmt.Sprintf(". Your %d queued lines come back one by one.", queued)
		}
		// The answer was cut: no blank line parts it from this.
		if t.last == answer {
			t.last = status
		}
		t.print(s.layout.said(markWarn, text))
	})
}

// Failure prints "artoo: THING: problem", then "  try: …", also when Quiet is set. A nil f
// prints nothing.
func (s *Screen) Failure(f *agent.Failure) {
	if f == nil {
		return
	}
	s.do(func(t *transcript) {
		t.rest()
		text := s.layout.oneLine(line(f.Error()))
		hint := line(f.Hint)
		if len(hint) > maxOneLine {
			hint = "" // half a hint misleads
		}
		if s.opt.Profile == Spoken {
			if hint != "" {
				hint = " Try: " + strings.TrimRight(hint, ".") + "."
			}
			t.must(s.layout.wrap("error: "+strings.TrimRight(text, ".")+"."+hint, "", ""))
			return
		}
		t.must(s.layout.failure(text, hint))
	})
}

// mostRows is how many rows a failure takes on a rich terminal.
const mostRows = 4

// failure are the rows of a failure and of the next step after it, which is never cut.
func (lay *layout) failure(text, hint string) string {
	step := ""
	if hint != "" {
		step = lay.wrapHint("try: "+hint, margin, margin+margin)
	}
	const label = "artoo:"
	lead := either(lay.rich(), lay.lead(markFailed), "")
	rows := strings.SplitAfter(lay.wrap(label+" "+text, lead, margin), "\n")
	if most := max(mostRows-strings.Count(step, "\n"), 1); lay.opt.ErrTTY && lay.rich() && len(rows)-1 > most {
		last := strings.TrimSuffix(rows[most-1], "\n")
		rows = append(rows[:most-1], lay.cut(last+"   ", cells(last)-1)+"\n")
	}
	return either(lay.rich(), lay.inked(markFailed), "") + lay.ink(errorStyle).Sprint(label) +
		strings.Join(rows, "")[len(lead+label):] + either(lay.rich(), lay.painted(step, bold), step)
}
