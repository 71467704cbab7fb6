package screen

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"artoo/agent"
	"artoo/conversation"
	"artoo/provider"
	texts "artoo/tool/text"
)

// StatusMode is how much the status line shows: the words of ARTOO_STATUS.
type StatusMode string

// The status modes; the zero value is StatusShort.
const (
	StatusShort StatusMode = "short"
	StatusFull  StatusMode = "full"
	StatusOff   StatusMode = "off"
)

// Outcome is how a turn ended.
type Outcome string

// The outcomes; the zero value is OutcomeDone.
const (
	OutcomeDone    Outcome = "done"
	OutcomeStopped Outcome = "stopped"
	OutcomeFailed  Outcome = "failed"
)

// StatusInfo holds the time, steps and cost of a turn.
type StatusInfo struct {
	Outcome Outcome // shown after a failure; always said where the transcript is heard
	Model   string  // the model that answered; shown with StatusFull
	Usage   provider.Usage
	CostUSD *float64 // nil when a price is unknown
	// Small is the small model's part of the cost; nil where it is none or unknown.
	Small   *float64
	Elapsed time.Duration // time that questions stood open is not counted
	// Context is how much of the context budget is used, in percent; negative
	// when it is not known.
	Context int
	Reach   agent.Reach
	// NoWalls says that nothing confines commands.
	NoWalls bool
	Line    string // the output of the user's status command, shown in place of all but the outcome; may be ""
}

// Status prints the line after a turn: "18.2k in, 412 out, $0.06, 11s, context 9%", or "failed, 2s".
// Where it is heard it begins with the outcome, and that is said whatever the mode.
func (s *Screen) Status(info StatusInfo) {
	s.do(func(t *transcript) {
		t.rest()
		t.closeReply()
		parts := s.layout.statusParts(info)
		switch off := s.opt.Status == StatusOff; {
		case off && s.opt.Profile == Spoken:
			parts = parts[:1]
		case off:
			return
		}
		if s.layout.rich() {
			t.part()
			t.print(s.layout.receipt(info))
			return
		}
		text := strings.Join(parts, ", ")
		if s.opt.Profile == Spoken {
			t.print(s.layout.wrap("status: "+text+".", "", ""))
			return
		}
		for l := range strings.Lines(s.layout.wrap(text, margin, margin)) {
			t.print(margin + s.layout.ink(dim).Sprint(strings.TrimSpace(l)) + "\n")
		}
	})
}

// bySmall says after a cost that it is the small model's.
const bySmall = " of it by the small model"

func (lay *layout) statusParts(info StatusInfo) []string {
	var parts []string
	spoken := lay.opt.Profile == Spoken
	took := lay.words("under 1s", "less than a second")
	if whole := info.Elapsed.Round(time.Second); whole > 0 {
		took = lay.words(span(whole), spokenSpan(whole))
	}
	failed := info.Outcome == OutcomeFailed
	if spoken || failed && info.Line == "" {
		parts = append(parts, string(cmp.Or(info.Outcome, OutcomeDone))+", "+took)
	}
	if text := line(info.Line); text != "" {
		return append(parts, text)
	}
	if failed && info.Usage.Total() == 0 { // nothing was spent, and the context is what it was
		return parts
	}
	full := lay.opt.Status == StatusFull
	if full && info.Model != "" {
		parts = append(parts, line(info.Model))
	}
	u := info.Usage
	about := ""
	if u.Estimated {
		about = "about "
	}
	if u.Total() > 0 {
		parts = append(parts, about+conversation.Tokens(u.Prompt())+" in")
		if full && u.CacheRead > 0 {
			parts = append(parts, conversation.Tokens(u.CacheRead)+" of it cached")
		}
		parts = append(parts, conversation.Tokens(u.Output)+" out")
	}
	switch {
	case info.CostUSD == nil && (full || u.Total() > 0):
		parts = append(parts, "cost unknown")
	case info.CostUSD != nil && spoken:
		parts = append(parts, cents(*info.CostUSD))
	case info.CostUSD != nil:
		parts = append(parts, texts.Dollars(*info.CostUSD))
	}
	if info.Small != nil {
		parts = append(parts, lay.words(texts.Dollars(*info.Small), cents(*info.Small))+bySmall)
	}
	if !spoken && !failed {
		parts = append(parts, took)
	}
	if info.Context >= 0 {
		parts = append(parts, fmt.Sprintf("context %d%%", info.Context))
	}
	return parts
}

func kilobytes(n int) string {
	number, thousands := conversation.Scaled(n)
	return number + [...]string{" B", " KB", " MB"}[thousands]
}

func cents(usd float64) string {
	switch n := int(usd*100 + 0.5); {
	case usd > 0 && n == 0:
		return "less than a cent"
	case n < 100:
		return texts.Count(n, "cent")
	default:
		return fmt.Sprintf("%d dollars %d", n/100, n%100)
	}
}
