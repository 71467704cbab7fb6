package screen

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"artoo/agent"
	"artoo/ui/sanitize"
)

func (s *Screen) print(lines string) {
	s.closeReply()
	s.gap(status)
	s.put(lines)
}

// aside puts whole lines into the transcript; an open reply goes on in the next row.
func (s *Screen) aside(lines string) {
	if s.open.md != nil && !s.open.shown { // all of the reply is still held back
		s.gap(status)
		s.put(lines)
		return
	}
	if !s.open.replying() {
		s.print(lines)
		return
	}
	last := s.last
	if s.open.md != nil && s.opt.ErrTTY {
		s.breakRow()
	}
	s.put(lines)
	s.last = last
}

func (s *Screen) must(lines string) {
	quiet := s.opt.Quiet
	s.opt.Quiet = false
	s.print(lines)
	s.opt.Quiet = quiet
}

func (s *Screen) put(lines string) {
	if !s.opt.Quiet && lines != "" {
		s.emit(s.layout.ascii(lines))
		s.last, s.lastRun = status, ""
	}
}

// emit writes safe text to Err whatever the settings, marked against forged rows.
func (s *Screen) emit(text string) {
	s.hideProgress()
	if s.prompt {
		s.prompt = false
		s.outputs.writeErr(s.opt.Now(), "\n")
	}
	s.outputs.writeErr(s.opt.Now(), s.layout.marked(text))
}

func (s *Screen) gap(next section) {
	if !s.opt.ErrTTY && !s.opt.Conversation {
		return
	}
	var need bool
	switch next {
	case status:
		need = s.last == promptLine || s.last == answer
	case answer:
		need = s.last == promptLine || s.last == status
	case promptLine:
		need = s.last == answer || s.last == banner
	}
	if need && !s.opt.Quiet {
		s.emit("\n")
	}
}

func (lay *layout) ascii(text string) string {
	if lay.opt.UTF8 {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case r == '…':
			b.WriteString("...")
		default:
			fmt.Fprintf(&b, "<U+%04X>", r)
		}
	}
	return b.String()
}

// line makes one safe line of untrusted text.
func line(text string) string {
	return sanitize.Text(strings.Join(strings.Fields(text), " "), sanitize.Line)
}

func indented(text, margin string) string {
	text = strings.TrimRight(sanitize.Text(text, sanitize.Code), "\n")
	if text == "" {
		return ""
	}
	var b strings.Builder
	for _, l := range strings.Split(text, "\n") {
		if l != "" {
			b.WriteString(margin)
			b.WriteString(l)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (lay *layout) path(p string) string {
	if rel, ok := below(p, lay.opt.Root); ok && rel != "" {
		return rel
	}
	return lay.home(p)
}

func (lay *layout) home(p string) string {
	if rel, ok := below(p, lay.opt.Home); ok {
		return strings.TrimSuffix("~/"+rel, "/")
	}
	return p
}

// below is a path relative to a directory above it, or "" for the directory itself. Nothing is
// below the root.
func below(p, dir string) (string, bool) {
	dir = strings.TrimRight(dir, "/") + "/"
	rel, ok := strings.CutPrefix(p+"/", dir)
	return strings.TrimSuffix(rel, "/"), ok && dir != "/"
}

func (s *Screen) printCall(c agent.Call, result string, ink style) {
	named := s.named == c.ID
	s.named = c.ID
	s.print(s.layout.callLine(c, result, ink, named))
}
