package screen

import (
	"fmt"
	"strings"

	texts "artoo/tool/text"
	"artoo/ui/sanitize"
)

// TrustQuestion asks whether to trust what a repository brings, or, with Run, whether
// the project may run its own programs; then only Dir is set. All its texts may come
// from outside.
type TrustQuestion struct {
	Dir     string // the project's root
	Run     bool
	Lines   []string // what it brings, one file a line
	Changes []string // since it was trusted; nil where it never was
	Rules   []string // kept for the project, out of force until a yes
	All     string   // every file with its content, for the pager
}

// trustChoices and runChoices are how the two questions end.
const (
	trustChoices = "[y,n,p,?] (n) "
	runChoices   = "[y,n,?] (n) "
)

// Trust prints what a repository brings and returns the line to ask with, safe and
// without escapes. left says that a part of the list was left to the pager. It
// prints even when Quiet is set.
func (s *Screen) Trust(q TrustQuestion) (prompt string, left bool) {
	s.do(func() {
		s.startAsking()
		s.hideProgress()
		s.closeReply()
		b := asking{s: s, cut: true}
		if q.Run {
			for _, text := range trustsRunning() {
				b.WriteString(s.bodyLine(text, true))
			}
			s.must(b.String())
			return
		}
		b.trust("this repository brings settings that programs obey once you trust them:", q.Lines)
		if q.Changes != nil {
			b.trust("since you trusted it:", q.Changes)
		}
		if q.Rules != nil {
			b.trust("the rules you keep for this project are out of force until it is trusted:", q.Rules)
		}
		if text := warning(b.seen, "list"); text != "" {
			b.WriteString(s.bodyLine(text, true))
		}
		left = b.left
		s.must(b.String())
	})
	dir := unforged(s.shortDir(s.ascii(sanitize.Text(s.home(q.Dir), sanitize.Line)), usualWidth/2))
	asked, end, spoken := "trust what "+dir+" brings? ", trustChoices, "Type y, n, p, or ? for help. Enter means no. "
	if q.Run {
		asked, end, spoken = "trust "+dir+" to run its own programs? ", runChoices, "Type y, n, or ? for help. Enter means no. "
	}
	if s.opt.Profile == Spoken {
		end = spoken
	}
	return s.ascii(approve + asked + end), left
}

// trustsRunning says what it means that a project may run its own programs.
func trustsRunning() []string {
	return []string{
		"its own programs (builds, tests, scripts) will run in the sandbox without a question, in later versions too",
		"the sandbox has no network except loopback, no keys and no home; what they change is still judged",
	}
}

// trust adds a sentence and safe lines below it.
func (b *asking) trust(head string, lines []string) {
	b.WriteString(b.s.bodyLine(head, true))
	indent := b.s.bodyIndent() + "  "
	if b.s.opt.Profile == Spoken {
		indent = ""
	}
	b.rows(b.s.fold(b.safe(strings.Join(lines, "\n"), sanitize.Line), indent, indent, true))
}

// TrustAll is what q.All says, safe, for a pager.
func (s *Screen) TrustAll(q TrustQuestion) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := asking{s: s}
	b.rows(b.safe(strings.TrimRight(q.All, "\n"), sanitize.Code))
	return b.String()
}

// TrustHelp says what the answers mean.
func (s *Screen) TrustHelp(q TrustQuestion) {
	s.do(func() {
		rows := [][2]string{
			{"y", "trust it as it is now; a change asks again"},
			{"n", "leave it out; artoo trust asks again"},
			{"p", "show every file in the pager"},
			{"?", "this text; Enter alone means no"},
		}
		if q.Run {
			rows = [][2]string{
				{"y", "run them without a question from now on; artoo trust rm --run takes it back"},
				{"n", "artoo asks before they run"},
				{"?", "this text; Enter alone means no"},
			}
		}
		if s.opt.Profile == Spoken {
			s.must(s.spokenKeys(rows))
			return
		}
		for _, r := range rows {
			s.must(s.wrap(r[1], fmt.Sprintf("  %-3s ", r[0]), "      "))
		}
	})
}

// TrustDecided prints what the user said.
func (s *Screen) TrustDecided(q TrustQuestion, yes bool) {
	s.do(func() {
		s.endAsking()
		text := "not trusted: what it brings is left out"
		switch {
		case q.Run && yes:
			text = "trusted to run its own programs in the sandbox"
		case q.Run:
			text = "not trusted: artoo asks before its own programs run"
		case yes:
			text = "trusted as it is now"
		}
		s.must(s.decidedLine(text))
	})
}

// TrustLine is a file of a repository as it is listed: its name, size in bytes and
// the program it is for.
func TrustLine(name string, size int, program string) string {
	return fmt.Sprintf("%s  (%s, for %s)", name, texts.Count(size, "byte"), program)
}
