package screen

import (
	"fmt"
	"strings"

	"artoo/ui/sanitize"
)

// TrustQuestion asks whether to trust what a repository brings. All its texts may
// come from outside.
type TrustQuestion struct {
	Dir     string   // the project's root
	Lines   []string // what it brings, one file a line
	Changes []string // since it was trusted; nil where it never was
	Rules   []string // kept for the project, out of force until a yes
	All     string   // every file with its content, for the pager
}

// trustChoices is how the question ends.
const trustChoices = "[y,n,p,?] (n) "

// Trust prints what a repository brings and returns the line to ask with, safe and
// without escapes. left says that a part of the list was left to the pager. It
// prints even when Quiet is set.
func (s *Screen) Trust(q TrustQuestion) (prompt string, left bool) {
	s.do(func() {
		s.startAsking()
		s.hideTransient()
		s.closeReply()
		b := asking{s: s, cut: true}
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
	end, dir := trustChoices, s.ascii(sanitize.Text(s.home(q.Dir), sanitize.Line))
	if s.opt.Profile == Spoken {
		end = "Type y, n, p, or ? for help. Enter means no. "
	}
	return s.ascii(approve + "trust what " + unforged(s.shortDir(dir, usualWidth/2)) + " brings? " + end), left
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
func (s *Screen) TrustHelp() {
	s.do(func() {
		rows := [][2]string{
			{"y", "trust it as it is now; a change asks again"},
			{"n", "leave it out; artoo trust asks again"},
			{"p", "show every file in the pager"},
			{"?", "this text; Enter alone means no"},
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
func (s *Screen) TrustDecided(yes bool) {
	s.do(func() {
		s.endAsking()
		text := "not trusted: what it brings is left out"
		if yes {
			text = "trusted as it is now"
		}
		s.must(s.decidedLine(text))
	})
}

// TrustLine is a file of a repository as it is listed: its name, size in bytes and
// the program it is for.
func TrustLine(name string, size int, program string) string {
	return fmt.Sprintf("%s  (%s, for %s)", name, Count(size, "byte"), program)
}
