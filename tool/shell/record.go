package shell

import (
	"errors"
	"io"
	"regexp"
	"strings"
	"sync"
)

// maxUnread is how much of a background command's unread output is kept, in bytes.
const maxUnread = 256 << 10

// record takes the output of a background command, to a file as far as there is room, and keeps unread output. Its
// methods may be called from any goroutine.
type record struct {
	mu     sync.Mutex
	file   io.WriteCloser // nil where nothing keeps it
	name   string
	room   int   // bytes that may still go to the file
	err    error // why the file is not whole
	unread *Spool
	past   *Spool // the lines that no wait has found, whether they were read or not
	open   string // the line that has not ended
	shown  string
	found  string
	seen   int // bytes that came, to report whether there were more
	watch  *watch
}

// watch waits for a line.
type watch struct {
	pattern *regexp.Regexp
	hit     chan string // takes the first line that matches
}

func (w *watch) look(lines string) {
	for line := range strings.Lines(lines) {
		if line = strings.TrimSuffix(line, "\n"); w.pattern.MatchString(line) {
			select {
			case w.hit <- line:
			default: // one is enough
			}
			return
		}
	}
}

// Write implements io.Writer; it cannot fail. It gets whole lines.
func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen += len(p)
	r.open, r.shown, r.found = "", "", ""
	_, _ = r.unread.Write(p)
	_, _ = r.past.Write(p)
	if r.watch != nil {
		r.watch.look(string(p))
	}
	if r.file == nil || r.err != nil {
		return len(p), nil
	}
	n := min(len(p), r.room)
	r.room -= n
	if _, r.err = r.file.Write(p[:n]); r.err == nil && n < len(p) {
		r.err = errors.New("it was longer than the file may be")
	}
	return len(p), nil
}

// see takes the state of the line that has not ended.
func (r *record) see(open string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if open == r.open {
		return
	}
	r.open = open
	r.seen++
	if r.watch != nil && open != "" {
		r.watch.look(open)
	}
}

// read takes the output since the last time.
func (r *record) read() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	text := r.unread.String()
	r.unread = NewSpool(maxUnread)
	if r.open != r.shown {
		r.shown = r.open
		text += r.open
	}
	return text
}

// peek is the result of read, without the line that has not ended. It is not read thereby.
func (r *record) peek() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.unread.String()
}

// newRecord makes one that keeps no file.
func newRecord() *record {
	return &record{unread: NewSpool(maxUnread), past: NewSpool(maxUnread), room: maxOutput}
}

// await has a watch look at unread output, then at output that no wait has found, then at new output.
func (r *record) await(w *watch) (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.watch = w
	w.look(r.unread.String())
	if r.open != r.shown {
		w.look(r.open)
	}
	w.look(r.past.String())
	if r.open != r.found {
		w.look(r.open)
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.watch == w {
			r.watch = nil
		}
	}
}

// spend has later waits not find the lines again that match the pattern so far.
func (r *record) spend(pattern *regexp.Regexp) {
	r.mu.Lock()
	defer r.mu.Unlock()
	past := NewSpool(maxUnread)
	for line := range strings.Lines(r.past.String()) {
		if !pattern.MatchString(strings.TrimSuffix(line, "\n")) {
			_, _ = past.Write([]byte(line))
		}
	}
	r.past = past
	if pattern.MatchString(r.open) {
		r.found = r.open
	}
}

// bytes is how much came, to report whether there was more.
func (r *record) bytes() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen
}

// close closes the file.
func (r *record) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file != nil {
		r.err = errors.Join(r.err, r.file.Close())
	}
}
