package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"artoo/provider"
	"artoo/tool/shell"
	"artoo/tool/text"
)

const (
	// Bytes that are kept of lines that are no events and of stderr, and those of one line.
	mostNoise, mostTail, mostLine = 4 << 10, 64 << 10, 64 << 20
	// Lines that wait for their reader.
	mostAhead = 8 << 10
)

// run is one reply: a run of the tool, or a second one if the first lost its session.
type run struct {
	*CLI
	*dialect
	ctx   context.Context
	req   provider.Request
	yield func(provider.Event, error) bool
	terms Terms
	// left means that the caller does not listen any more, lost that the tool does not know the session it should
	// resume.
	left, lost bool
	// session is the one to resume; its ID is "" for a new one.
	session session
	reply   *reply
	// noise are lines on stdout that are not events.
	noise *shell.Spool
}

func (r *run) send(e provider.Event) {
	if !r.left && r.ctx.Err() == nil {
		r.left = !r.yield(e, nil)
	}
}

func (r *run) notify(text string) { r.send(provider.Notice{Text: text}) }

// notifyOnce gives the notice of a name to the user unless that was done.
func (r *run) notifyOnce(name, text string) {
	if _, told := r.told.LoadOrStore(name, true); !told {
		r.notify(text)
	}
}

// once runs the tool with the messages from an index on, and passes on its events. The error is nil after Done, or
// without a consumer.
func (r *run) once(resume session, from int) error {
	r.reply = &reply{send: r.send, mayWait: r.MaxRetry}
	r.session, r.noise, r.lost = resume, shell.NewSpool(mostNoise), false
	path, err := r.path()
	if err != nil {
		return err
	}
	prompt, images := r.prompt(from)
	call := r.call()
	r.introduce(images, call)
	if r.left || r.ctx.Err() != nil {
		return r.stopped()
	}
	environ, err := r.alone()
	if err != nil {
		return err
	}
	if !call.edits && r.policy != "" {
		if call.policy, err = r.policyFile(); err != nil {
			return r.fault(provider.KindConfig, "the rules for "+r.program+" cannot be written: "+err.Error(),
				"set TMPDIR to a directory that can be written", err)
		}
		defer os.Remove(call.policy)
	}
	cmd := exec.Command(path, r.args(call)...)
	cmd.Dir, cmd.Env, cmd.Stdin = r.Dir, environ, strings.NewReader(prompt)
	// Something outside the run may hold the pipes.
	cmd.WaitDelay = time.Second
	r.Trace("request", r.program+" "+strings.Join(cmd.Args[1:], " ")+"\n"+prompt)
	return r.kept(r.follow(cmd))
}

// policyFile is the path of a new file that holds the dialect's policy.
func (r *run) policyFile() (string, error) {
	f, err := os.CreateTemp(r.Own.TempDir(), "artoo-policy-*.toml")
	if err != nil {
		return "", err
	}
	f.Close()
	return f.Name(), os.WriteFile(f.Name(), []byte(r.policy), 0o600)
}

// introduce gives the notices about the run before it begins.
func (r *run) introduce(images int, c call) {
	if err := r.terms.Untrusted; err != nil {
		r.notifyOnce(err.Error(), err.Error())
	}
	if r.Announce {
		r.notifyOnce("rules", Rules(r.Name, r.terms.Mode, r.terms.Trusted))
	}
	if images > 0 {
		r.notify(fmt.Sprintf("%s takes no images from artoo (%d not sent)", r.program, images))
	}
	if r.session.ID == "" && r.req.Effort != "" && c.effort == "" {
		r.notify(fmt.Sprintf("%s takes no effort %s: its own setting applies", r.program, r.req.Effort))
	}
}

func (r *run) call() call {
	c := call{model: r.req.Model, effort: effortOf(r.req.Effort, r.effort), resume: r.session.ID,
		terms: r.terms, edits: mayEdit(r.terms.Mode), dir: r.Dir, root: r.root()}
	if c.model == DefaultModel {
		c.model = ""
	}
	if c.root != c.dir {
		c.opens = append(c.opens, c.root)
	}
	c.opens = append(c.opens, r.terms.Reads...)
	return c
}

// follow starts the tool, passes its events on until it has ended, and judges how it did.
func (r *run) follow(cmd *exec.Cmd) error {
	out, in := io.Pipe()
	lines, stderr := make(chan []byte, mostAhead), shell.NewSpool(mostTail)
	cmd.Stdout, cmd.Stderr = in, stderr
	tool, err := shell.StartHere(cmd)
	if err != nil {
		return r.fault(provider.KindConfig, r.program+" cannot be started: "+err.Error(), "check "+cmd.Path, err)
	}
	go read(out, lines)
	go func() {
		<-tool.Done()
		in.Close()
	}()
	event, began, heard := r.events(), time.Now(), time.Now()
	// last fires some time after the tool's last event.
	var last <-chan time.Time
	for err == nil && !r.left {
		silent, over := time.Until(heard.Add(r.Idle)), time.Until(began.Add(r.Limit))
		select {
		case line, more := <-lines:
			if !more {
				stop(tool)
				return r.verdict(cmd.ProcessState, stderr.String())
			}
			alive := r.reply.events
			err = r.take(event, bytes.TrimSpace(line))
			if r.reply.events > alive {
				heard = time.Now()
			}
			if r.reply.over && last == nil {
				last = time.After(cmp.Or(r.waits.end, usualWait))
			}
		case <-last:
			r.leave(tool, lines)
			return r.verdict(nil, "")
		case <-r.ctx.Done():
			err = r.stopped()
		case <-time.After(min(silent, over)):
			err = r.late(silent < over)
		}
	}
	r.leave(tool, lines)
	return err
}

// late is the error of a run that took too long, or was silent for too long.
func (r *run) late(silent bool) error {
	if !silent {
		return r.cut(provider.KindTimeout, fmt.Sprintf("%s took more than %s", r.program, r.Limit),
			"ARTOO_REQUEST_TIMEOUT with a longer time", nil)
	}
	why := fmt.Sprintf("%s has done nothing for %s: %s", r.program, r.Idle, oneLine(r.reply.trouble))
	return r.cut(provider.KindTimeout, strings.TrimSuffix(why, ": "),
		"ARTOO_IDLE_TIMEOUT with a longer time, if it works that long in silence", nil)
}

// read takes a tool's output at once, until it ends: some lose output that they could not write. A line that is too
// long is left out.
func read(from io.Reader, to chan<- []byte) {
	defer close(to)
	for lines := bufio.NewReader(from); ; {
		line, _, err := text.ReadLine(lines, mostLine)
		to <- line
		// It is io.EOF: the pipe itself does not fail.
		if err != nil {
			return
		}
	}
}

// leave stops a run without a wait for it.
func (r *run) leave(tool shell.Started, lines <-chan []byte) {
	r.leaving.RLock()
	go func() {
		defer r.leaving.RUnlock()
		stop(tool, stage{syscall.SIGINT, cmp.Or(r.waits.interrupt, usualWait)},
			stage{syscall.SIGTERM, cmp.Or(r.waits.terminate, usualWait)})
	}()
	go func() {
		for range lines {
		}
	}()
}

// stage is a signal to a tool, and how long it may take to end then.
type stage struct {
	signal syscall.Signal
	wait   time.Duration
}

// stop ends a tool and all that it left: by signals, and then by force.
func stop(tool shell.Started, stages ...stage) {
	for _, s := range stages {
		tool.Signal(s.signal)
		select {
		case <-tool.Done():
		case <-time.After(s.wait):
		}
	}
	tool.KillAll()
	<-tool.Done()
	tool.Release()
}

// take takes a line: an event, or noise. Nothing counts after the last event.
func (r *run) take(event func(*reply, []byte), line []byte) error {
	r.Trace("body", string(line))
	switch {
	case r.reply.over:
	case bytes.HasPrefix(line, []byte("{")) && json.Valid(line):
		event(r.reply, line)
	default:
		fmt.Fprintf(r.noise, "%s\n", line)
	}
	if most, used := r.terms.Tokens, r.reply.usage.Total(); most > 0 && used > most && !r.reply.over {
		r.reply.abort(failure{kind: provider.KindCap,
			text: fmt.Sprintf("%s has used %d tokens, of %d that were left", r.program, used, most)})
	}
	if r.reply.aborted {
		return r.failed(r.reply.failure, "")
	}
	return nil
}

// verdict ends a run: good only by both its last event and exit status. state is nil where the tool goes on after that.
func (r *run) verdict(state *os.ProcessState, stderr string) error {
	rep := r.reply
	if !rep.over || rep.failure.text != "" || state != nil && state.ExitCode() != 0 {
		return r.judge(state, stderr)
	}
	rep.finish()
	if over := r.passed(); over != nil {
		return over
	}
	if strings.TrimSpace(string(rep.text)) == "" {
		r.silent.Store(r.req.SessionID, r.sessionAfter())
	}
	r.send(provider.Done{Message: rep.message(r.Name, r.req.Model, r.sessionAfter().part()), Usage: r.usage(), Several: true,
		Stop: cmp.Or(rep.stop, provider.StopComplete), RequestID: rep.session, Tries: 1})
	// It may have been stopped just before the end.
	if r.ctx.Err() != nil {
		return r.stopped()
	}
	return nil
}

// usage is the usage of this run, also where the tool counts for its session.
func (r *run) usage() provider.Usage {
	total, before := r.reply.total, r.session.Total
	switch {
	case total == nil:
		return r.reply.usage
	case before == nil, r.session.ID != r.reply.session, total.Input < before.Input, total.Output < before.Output:
		// It is a new session, or a tool that began to count again.
		return *total
	}
	return provider.Usage{Input: total.Input - before.Input, Output: total.Output - before.Output,
		CacheRead:  max(total.CacheRead-before.CacheRead, 0),
		CacheWrite: max(total.CacheWrite-before.CacheWrite, 0), Reasoning: max(total.Reasoning-before.Reasoning, 0)}
}

// spent is the usage of a run that was cut off, by its model's price.
func (r *run) spent() provider.Usage {
	u := r.usage()
	info, _ := r.Catalog.Lookup(r.prices, r.reply.model)
	if r.prices != "" && u.CostUSD == nil && u.Total() > 0 && info.Price != nil {
		// It reports no number before a reply's end.
		u.Output = max(u.Output, r.reply.size/4)
		u.CostUSD, u.Estimated = provider.Cost(u, info.Price), true
	}
	return u
}

// stoppedText stands for the answer of a stopped run: its message must not be sent again.
const stoppedText = "(stopped before an answer)"

// kept adds the session of a run that was cut off to its error, for the history.
func (r *run) kept(err error) error {
	if e := provider.AsError(err); e != nil && r.reply.session != "" && r.reply.heard {
		e.Keep = []provider.Part{r.sessionAfter().part(), provider.Text{Text: stoppedText}}
	}
	return err
}

// passed is the error of a whole run that used more than a cap that the tool cannot keep.
func (r *run) passed() error {
	used, steps, why := r.usage(), r.reply.steps+1, ""
	switch {
	case r.terms.Tokens > 0 && used.Total() > r.terms.Tokens:
		why = fmt.Sprintf("%s used %d tokens, of %d that were left", r.program, used.Total(), r.terms.Tokens)
	case r.terms.Steps > 0 && !r.keepsCaps && steps > r.terms.Steps:
		why = fmt.Sprintf("%s took about %d steps, of %d allowed", r.program, steps, r.terms.Steps)
	default:
		return nil
	}
	return r.failed(failure{text: why, kind: provider.KindCap}, "")
}

func (r *run) stopped() error {
	return r.cut(provider.KindCanceled, "stopped", "", errors.Join(r.ctx.Err(), context.Cause(r.ctx)))
}

// cut is the error of a run that was cut off.
func (r *run) cut(kind provider.ErrorKind, message, hint string, err error) error {
	e := r.fault(kind, message, hint, err)
	e.Usage = r.spent()
	return e
}
