package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// maxJobs is how many background commands of a session may run at a time.
const maxJobs = 16

// Jobs are the background commands of a session, for any goroutine. The zero value has none.
type Jobs struct {
	// Keep opens a file of the name for a command's whole output; nil keeps only unread output.
	Keep func(id string) (file io.WriteCloser, name string, err error)

	mu     sync.Mutex
	list   []*Job
	closed bool
}

// Job is a command in the background.
type Job struct {
	ID    string
	Line  string // the command line
	Begun time.Time

	input  *os.File // nil where the command has no input
	record *record
	in     *intake
	pause  time.Duration // between two pieces that are shown
	stop   chan struct{}
	once   sync.Once     // stop is closed
	done   chan struct{} // closed when nothing of it is left
	result Result        // once done is closed

	reported atomic.Bool            // its reader knows how it ended
	next     atomic.Pointer[string] // nil where nothing was started in its place
}

// FollowedBy notes the ID of the job that was started in its place.
func (j *Job) FollowedBy(id string) { j.next.Store(&id) }

// Next is the ID of the job that was started in its place, "" for none.
func (j *Job) Next() string {
	if next := j.next.Load(); next != nil {
		return *next
	}
	return ""
}

// errJobsOver says that a session is over.
var errJobsOver = errors.New("the session is over")

// Start starts a command in the background, until its Limit, if it has one; Live and Late do not count.
func (js *Jobs) Start(c *Command) (*Job, error) {
	job, err := js.add(c.line())
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		js.remove(job)
		return nil, err
	}
	c.Cmd.Stdin = r
	run, err := c.begin(job.record, nil)
	r.Close()
	if err != nil {
		js.remove(job)
		return nil, errors.Join(err, w.Close())
	}
	job.input, job.in, job.pause = w, run.in, c.Waits.Live
	run.in.tell(job.record)
	go job.supervise(run, c.Limit)
	return job, nil
}

// take has a command go on in the background, and returns its output so far. job is nil where it
// cannot.
func (js *Jobs) take(r *running, output *Spool, line string, limit time.Duration) (so []byte, job *Job) {
	if limit <= 0 {
		return nil, nil
	}
	job, err := js.add(line)
	if err != nil {
		return nil, nil
	}
	job.Begun, job.in, job.pause = r.begun, r.in, r.waits.Live
	so = r.in.handOver(output, job.record)
	r.kill = nil // An interrupt of its call does not reach it.
	go job.supervise(r, limit)
	return so, job
}

// add makes a job that is about to start.
func (js *Jobs) add(line string) (*Job, error) {
	js.mu.Lock()
	defer js.mu.Unlock()
	if js.closed {
		return nil, errJobsOver
	}
	runs := 0
	for _, j := range js.list {
		if j.Runs() {
			runs++
		}
	}
	if runs >= maxJobs {
		return nil, fmt.Errorf("%d commands run in the background, and no more may: kill one", runs)
	}
	id := "1"
	if n := len(js.list); n > 0 {
		last, _ := strconv.Atoi(js.list[n-1].ID) // made below
		id = strconv.Itoa(last + 1)
	}
	job := &Job{ID: id, Line: line, Begun: time.Now(), stop: make(chan struct{}), done: make(chan struct{}),
		record: newRecord()}
	if js.Keep != nil {
		job.record.file, job.record.name, job.record.err = js.Keep(id)
	}
	js.list = append(js.list, job)
	return job, nil
}

// remove takes back a job that could not be started.
func (js *Jobs) remove(job *Job) {
	job.record.close()
	js.mu.Lock()
	defer js.mu.Unlock()
	js.list = slices.DeleteFunc(js.list, func(j *Job) bool { return j == job })
}

// List are the commands, also those that have ended, in the order in which they began.
func (js *Jobs) List() []*Job {
	js.mu.Lock()
	defer js.mu.Unlock()
	return slices.Clone(js.list)
}

// Find is the command with an id, nil for none.
func (js *Jobs) Find(id string) *Job {
	for _, j := range js.List() {
		if j.ID == id {
			return j
		}
	}
	return nil
}

// Close stops all that run, waits for their end and returns them. No other can be started.
func (js *Jobs) Close() (stopped []*Job) {
	js.mu.Lock()
	js.closed = true
	js.mu.Unlock()
	for _, j := range js.List() {
		if j.Runs() {
			stopped = append(stopped, j)
			j.Stop()
		}
	}
	for _, j := range stopped {
		<-j.done
	}
	return stopped
}

// supervise waits for the end of a command, and ends its descendants.
func (j *Job) supervise(r *running, limit time.Duration) {
	why := r.await(j.stop, limit)
	if why == StopCanceled {
		why = StopAsked
	}
	end := r.end(why, nil)
	end.Limit = limit
	j.record.close()
	if j.input != nil {
		j.input.Close()
	}
	j.result = end
	close(j.done)
}

// Runs reports whether anything of the command runs.
func (j *Job) Runs() bool { return !isClosed(j.done) }

// Done is closed when nothing of the command is left.
func (j *Job) Done() <-chan struct{} { return j.done }

// Result is how the command ended; only after that. It has no Output.
func (j *Job) Result() Result { return j.result }

// Stop has the command asked to end, and ended if it does not. It does not wait.
func (j *Job) Stop() { j.once.Do(func() { close(j.stop) }) }

// Read takes the output that came since the last time; of too much the middle is missing, as a
// line says.
func (j *Job) Read() string { return j.record.read() }

// Show shows unread and new output, until the returned func is called. It stays unread.
func (j *Job) Show(screen io.Writer) (end func()) { return j.in.show(screen, j.pause) }

// File is the file of the whole output, "" for none; err says why it is not whole.
func (j *Job) File() (name string, err error) {
	j.record.mu.Lock()
	defer j.record.mu.Unlock()
	return j.record.name, j.record.err
}

// Await waits until a line of the output matches the pattern that matched none in an
// earlier Await, or with nil for the end alone, for at most limit. It returns that line
// and whether one did; an end is to be seen by Runs. The error is ctx's.
func (j *Job) Await(ctx context.Context, pattern *regexp.Regexp, limit time.Duration) (line string, found bool, err error) {
	w := &watch{pattern: pattern, hit: make(chan string, 1)}
	if pattern != nil {
		defer j.record.await(w)()
		defer func() {
			if found {
				j.record.spend(pattern)
			}
		}()
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case line = <-w.hit:
		return line, true, nil
	case <-j.done:
	case <-timer.C:
	case <-ctx.Done():
		return "", false, ctx.Err()
	}
	select { // the last line may have come with the end
	case line = <-w.hit:
		return line, true, nil
	default:
		return "", false, nil
	}
}

// silentFor is how long a command is silent before its first output counts as whole.
const silentFor = 150 * time.Millisecond

// WaitForOutput waits until the command has said more than from bytes and is silent, or has ended, at
// most limit.
func (j *Job) WaitForOutput(ctx context.Context, from int, limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	tick := time.NewTicker(silentFor)
	defer tick.Stop()
	for last := from; ; {
		select {
		case <-j.done:
			return
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case <-tick.C:
			now := j.record.bytes()
			if now == last && now > from {
				return
			}
			last = now
		}
	}
}

// Bytes is how much the command has said, to be compared.
func (j *Job) Bytes() int { return j.record.bytes() }

// patience is how long a command may take to read its input.
const patience = 2 * time.Second

// Write writes to the command's input. The error says that it takes none.
func (j *Job) Write(text string) error {
	if j.input == nil {
		return errors.New("it was started without input")
	}
	_ = j.input.SetWriteDeadline(time.Now().Add(patience)) // where there are none it waits
	_, err := io.WriteString(j.input, text)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errors.New("it does not read its input")
	case errors.Is(err, syscall.EPIPE), errors.Is(err, os.ErrClosed):
		return errors.New("it takes no more input")
	}
	return err
}

// EndInput ends the command's input, as Ctrl-D does.
func (j *Job) EndInput() error {
	if j.input == nil {
		return errors.New("it was started without input")
	}
	return j.input.Close()
}

// Reported notes that its reader knows how the command ended; it returns whether that is the first time.
func (j *Job) Reported() bool { return !j.reported.Swap(true) }
