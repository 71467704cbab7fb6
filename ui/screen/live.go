package screen

import (
	"strings"

	"artoo/ui/sanitize"
)

const (
	// maxHeard is how much of a running call's output is kept, in bytes.
	maxHeard = 64 << 10
	// maxLive is how much of it the transient line looks at: a row is shorter.
	maxLive = 1 << 10
	// soFarLines is how many of its lines SoFar shows: a screen's worth.
	soFarLines = 20
)

// keep keeps the end of what a running call writes. It copies once for every
// maxHeard bytes, not for every chunk.
func (r *running) keep(chunk string) {
	r.wrote = r.wrote || chunk != ""
	if len(r.output)+len(chunk) > 2*maxHeard {
		chunk = chunk[max(len(chunk)-maxHeard, 0):]
		r.output = append(r.output[:0], r.output[max(len(r.output)+len(chunk)-maxHeard, 0):]...)
	}
	r.output = append(r.output, chunk...)
}

// lastLine is the last line of what a running call wrote that has something in
// it, safe to show; "" when there is none.
func (r *running) lastLine() string {
	text := plainLines(string(r.output[max(len(r.output)-maxLive, 0):]))
	text = strings.TrimRight(text, " \n")
	return strings.TrimSpace(line(text[strings.LastIndexByte(text, '\n')+1:]))
}

// plainLines is output without escape sequences. What a carriage return
// overwrites stands in a line of its own.
func plainLines(text string) string {
	return sanitize.StripSequences(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n"))
}

// SoFar prints the last lines that the running calls wrote, each call below its
// own line. It reports false when no call runs.
func (s *Screen) SoFar() bool {
	ran := false
	s.do(func() {
		for _, r := range s.calls {
			ran = true
			text := "output so far"
			if !r.wrote {
				text = "no " + text
			}
			if took := passed(s.opt.Now().Sub(r.since)); took != "" {
				text = took + ", " + text
			}
			s.print(s.callLine(r.call, text))
			s.put(s.lastLines(plainLines(string(r.output)), soFarLines))
		}
	})
	return ran
}
