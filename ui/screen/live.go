package screen

import "strings"

// maxHeard is how much of a running call's output is kept, in bytes: a row is
// shorter.
const maxHeard = 1 << 10

// hear keeps the end of what a running call writes.
func (r *running) hear(chunk string) {
	chunk = chunk[max(len(chunk)-maxHeard, 0):]
	r.output += chunk
	r.output = r.output[max(len(r.output)-maxHeard, 0):]
}

// lastLine is the last line of what a running call wrote that has something in
// it, safe to show; "" when there is none.
func (r *running) lastLine() string {
	// What a carriage return overwrites is gone, as on a terminal.
	text := StripSequences(strings.ReplaceAll(r.output, "\r", "\n"))
	text = strings.TrimRight(text, " \n")
	return strings.TrimSpace(line(text[strings.LastIndexByte(text, '\n')+1:]))
}
