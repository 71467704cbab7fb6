package screen

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"artoo/agent"
	"artoo/ui/sanitize"
)

func (t *transcript) print(lines string) {
	t.closeReply()
	t.gap(status)
	t.put(lines)
}

// aside puts whole lines into the transcript; an open reply goes on in the next row.
func (t *transcript) aside(lines string) {
	if t.open.md != nil && !t.open.shown { // all of the reply is still held back
		t.gap(status)
		t.put(lines)
		return
	}
	if !t.open.replying() {
		t.print(lines)
		return
	}
	last := t.last
	if t.open.md != nil && t.opt.ErrTTY {
		t.breakRow()
	}
	t.put(lines)
	t.last = last
}

func (t *transcript) must(lines string) {
	quiet := t.opt.Quiet
	t.opt.Quiet = false
	t.print(lines)
	t.opt.Quiet = quiet
}

func (t *transcript) put(lines string) {
	if !t.opt.Quiet && lines != "" {
		t.emit(t.layout.ascii(lines))
		t.last, t.lastRun = status, ""
	}
}

// emit writes safe text to Err whatever the settings, marked against forged rows.
func (t *transcript) emit(text string) {
	t.hideProgress()
	if t.prompt {
		t.prompt = false
		t.outputs.writeErr(t.opt.Now(), "\n")
	}
	t.outputs.writeErr(t.opt.Now(), t.layout.marked(text))
}

func (t *transcript) gap(next section) {
	if !t.opt.ErrTTY && !t.opt.Conversation {
		return
	}
	var need bool
	switch next {
	case status:
		need = t.last == promptLine || t.last == answer
	case answer:
		need = t.last == promptLine || t.last == status
	case promptLine:
		need = t.last == answer || t.last == banner
	}
	if need && !t.opt.Quiet {
		t.emit("\n")
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

func (t *transcript) printCall(c agent.Call, result string, ink style) {
	named := t.named == c.ID
	t.named = c.ID
	t.print(t.layout.callLine(c, result, ink, named))
}
