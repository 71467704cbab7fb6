package tool

import (
	"fmt"
	"strings"
	"time"
)

const (
	// maxOutput is how much of a command's output is kept, in bytes: what the
	// file for the model may hold.
	maxOutput = 50 << 20
	// spoolBlock is the unit in which output is kept and dropped.
	spoolBlock = 64 << 10
)

// spool keeps the first and the last part of what is written to it.
type spool struct {
	max     int // bytes kept
	blocks  [][]byte
	current int // the block that is written to
	head    int // blocks that are never dropped; those behind them go round
	oldest  int // the next of those to be dropped, once one was
	size    int
	dropped int // bytes
}

// newSpool keeps max bytes, half of them from the beginning.
func newSpool(max int) *spool { return &spool{max: max} }

// Write implements io.Writer; it cannot fail.
func (s *spool) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		if len(s.blocks) == 0 || len(s.blocks[s.current]) == cap(s.blocks[s.current]) {
			s.grow()
		}
		b := s.blocks[s.current]
		n := copy(b[len(b):cap(b)], rest)
		s.blocks[s.current] = b[:len(b)+n]
		s.size += n
		rest = rest[n:]
	}
	return len(p), nil
}

// grow makes an empty block the current one: a new one, or the oldest of the
// tail when all room is taken. The first block is small, because most output is.
func (s *spool) grow() {
	block := min(spoolBlock, max(s.max/4, 1))
	if len(s.blocks) == 0 {
		block = min(block, 4<<10)
	}
	if s.dropped == 0 && s.size+block <= s.max {
		s.blocks = append(s.blocks, make([]byte, 0, block))
		s.current = len(s.blocks) - 1
		return
	}
	if s.dropped == 0 {
		s.head = (len(s.blocks) + 1) / 2
		s.oldest = s.head
	}
	s.current = s.oldest
	s.dropped += len(s.blocks[s.current])
	s.size -= len(s.blocks[s.current])
	s.blocks[s.current] = s.blocks[s.current][:0]
	if s.oldest++; s.oldest == len(s.blocks) {
		s.oldest = s.head
	}
}

// String is what was kept, with a line that says how much is missing and where.
// It is valid UTF-8 whatever was written.
func (s *spool) String() string {
	var b strings.Builder
	b.Grow(s.size + 80)
	write := func(blocks [][]byte) {
		for _, block := range blocks {
			b.Write(block)
		}
	}
	if s.dropped == 0 {
		write(s.blocks)
	} else {
		write(s.blocks[:s.head])
		fmt.Fprintf(&b, "\n[%d bytes are missing here: only the first and the last part were kept]\n", s.dropped)
		write(s.blocks[s.oldest:])
		write(s.blocks[s.head:s.oldest])
	}
	return strings.ToValidUTF8(b.String(), "\ufffd")
}

// result puts a job's end into words.
func (e jobEnd) result(remark string, withheld []string) Result {
	took, limit := seconds(e.took), trimNumber(e.limit.Seconds())+"s"
	failed, words, summary := true, "", ""
	signal := signalOf(e.state)
	switch {
	case e.cut == cutTimeout:
		words = fmt.Sprintf("stopped: it was not done after %s (timeout, in seconds, allows more)", limit)
		summary = "timed out after " + limit
	case e.cut == cutCanceled:
		words, summary = "interrupted after "+took, "interrupted after "+took
	case signal != "":
		words, summary = "killed by signal "+signal, "killed by "+signal+" in "+took
	default:
		code := e.state.ExitCode()
		failed = code != 0
		words = fmt.Sprintf("exit status %d%s", code, meaning(code))
		summary = fmt.Sprintf("exit %d in %s", code, took)
	}
	var b strings.Builder
	b.Grow(len(e.output) + len(remark) + 200)
	b.WriteString(e.output)
	switch {
	case e.output == "":
		b.WriteString("[no output]\n")
	case !strings.HasSuffix(e.output, "\n"):
		b.WriteByte('\n')
	}
	if e.strays > 0 && e.cut == cutNone {
		fmt.Fprintf(&b, "[%s still running in the background and stopped with the call]\n", counted(e.strays, "process was", "processes were"))
	}
	if e.left > 0 {
		fmt.Fprintf(&b, "[%s still running and could not be stopped: they may belong to another user]\n", counted(e.left, "process is", "processes are"))
	} else if e.held {
		b.WriteString("[a process that detached itself still runs and could not be stopped; its further output is lost]\n")
	}
	b.WriteString(remark)
	if failed {
		b.WriteString(withheldNote(withheld))
	}
	fmt.Fprintf(&b, "[%s]\n", words)
	return Result{Text: b.String(), Summary: summary, IsError: failed}
}

// seconds writes how long something took.
func seconds(d time.Duration) string {
	switch {
	case d < 100*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < 10*time.Minute:
		return fmt.Sprintf("%.0fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// meaning explains the exit codes by which shells say that they did not get to
// run a command, or how it died.
func meaning(code int) string {
	switch {
	case code == 126:
		return ", found but not executable"
	case code == 127:
		return ", command not found"
	case code > 128:
		if name := signalName(code - 128); name != "" {
			return ", which is how shells report " + name
		}
	}
	return ""
}

// maxWithheld is how many withheld variables a failing command names.
const maxWithheld = 20

// withheldNote tells a failing command's reader which variables it did not get.
func withheldNote(withheld []string) string {
	if len(withheld) == 0 {
		return ""
	}
	few := withheld[:min(len(withheld), maxWithheld)]
	more := ""
	if n := len(withheld) - len(few); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("[variables withheld from commands: %s%s; the user can pass them with ARTOO_PASS_ENV, but never keys of model providers]\n",
		strings.Join(few, ", "), more)
}
