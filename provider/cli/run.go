package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"artoo/provider"
)

const (
	silence   = 30 * time.Minute
	mostWait  = 2 * time.Minute
	mostNoise = 4 << 10 // bytes that are kept of lines that are no events
)

// run is one reply: a run of the tool, or a second one if the first lost its session.
type run struct {
	*CLI
	dialect *dialect
	ctx     context.Context
	req     provider.Request
	yield   func(provider.Event, error) bool

	left  bool // the caller does not listen any more
	most  int  // tokens, 0 for any number
	lost  bool // the tool does not know the session it should resume
	trust bool // the tool gets the project's settings
	reply *reply
	noise []byte // lines on stdout that are not events
}

func (r *run) send(e provider.Event) {
	if !r.left && r.ctx.Err() == nil {
		r.left = !r.yield(e, nil)
	}
}

func (r *run) notify(text string) { r.send(provider.Notice{Text: text}) }

// once runs the tool and passes on its events. The error is nil after Done, or without a consumer.
func (r *run) once(p plan) error {
	r.reply, r.noise, r.lost = &reply{send: r.send, mayBeStuck: r.waits().stuck, mayWait: max(cmp.Or(r.MaxRetry, mostWait), 0)}, nil, false
	path, err := r.path(r.dialect)
	if err != nil {
		return err
	}
	if most := r.dialect.most; most > 0 && len(p.prompt) > most {
		why := fmt.Sprintf("the message has %d bytes, and %s reads no more than %d", len(p.prompt), r.dialect.program, most)
		return r.fault(provider.KindInvalid, why, "a shorter message, or the path of a file to read", nil)
	}
	r.trust = r.trusted()
	r.introduce(p)
	if r.left || r.ctx.Err() != nil {
		return r.stopped()
	}
	environ, err := r.alone()
	if err != nil {
		return err
	}
	call := r.call(p)
	if !call.edits {
		if call.policy, err = r.policyFile(r.dialect); err != nil {
			return r.fault(provider.KindConfig, "the rules for "+r.dialect.program+" cannot be written: "+err.Error(),
				"set TMPDIR to a directory that can be written", err)
		}
	}
	r.most = call.caps.Tokens
	cmd := exec.Command(path, r.dialect.args(call)...)
	cmd.Dir, cmd.Env = r.Dir, environ
	if r.Trace != nil {
		r.Trace("request", r.dialect.program+" "+strings.Join(cmd.Args[1:], " ")+"\n"+r.masked(p.prompt))
	}
	out, errs := newLines(), &tail{}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(p.prompt), out, errs
	cmd.WaitDelay = time.Second // something outside the run may hold the pipes
	proc, err := start(cmd)
	if err != nil {
		return r.fault(provider.KindConfig, r.dialect.program+" cannot be started: "+err.Error(), "check "+path, err)
	}
	defer out.drop()
	ended, err := r.follow(proc, out)
	if err != nil || r.left {
		r.remember(p)
		return r.kept(p, err)
	}
	return r.verdict(p, path, proc, ended, errs.String())
}

// trusted reports whether the project's settings count, and notifies the user why no longer.
func (r *run) trusted() bool {
	if r.Trusted == nil {
		return false
	}
	trusted, err := r.Trusted()
	if err != nil && err.Error() != r.changed {
		r.changed = err.Error()
		r.notify(err.Error())
	}
	return trusted
}

// alone is the environment of a run. The error names the settings of an untrusted repository.
func (r *run) alone() ([]string, error) {
	d, where, home := r.dialect, r.place(), r.home()
	environ, found := slices.Clone(r.Environ), ""
	var err error
	if r.trust {
		environ = append(environ, d.trusts...)
	} else if d.projectSettings != nil {
		found, err = d.projectSettings(where, home)
	}
	if d.environ != nil && err == nil && found == "" {
		environ, err = d.environ(where, home, environ)
	}
	why := d.program + " would run or obey files of the project: " + found
	switch {
	case err != nil:
		why = "the project's files for " + d.program + " cannot be read: " + err.Error()
	case found == "":
		return environ, nil
	}
	return nil, r.fault(provider.KindConfig, why, "artoo trust, once you have looked; or another provider", err)
}

// introduce gives the notices about the run before it begins.
func (r *run) introduce(p plan) {
	if text := r.announce(r.trust); text != "" {
		r.notify(text)
	}
	if p.images > 0 {
		r.notify(fmt.Sprintf("images cannot be passed on to %s: it was not sent %d of them", r.dialect.program, p.images))
	}
	if caps := r.caps(); !r.dialect.keepsCaps && !r.capped && (caps.Steps > 0 || caps.Tokens > 0) {
		r.CLI.capped = true
		r.notify(r.dialect.program + " keeps no cap of steps or tokens itself: they are checked after each of its runs")
	}
	if p.session.ID == "" && r.req.Effort != "" && r.call(p).effort == "" {
		r.notify(fmt.Sprintf("%s takes no effort %s: its own setting holds", r.dialect.program, r.req.Effort))
	}
}

func (r *run) call(p plan) call {
	c := call{model: r.req.Model, effort: effortOf(r.req.Effort, r.dialect.effort), edits: mayEdit(r.mode()),
		resume: p.session.ID, caps: r.caps(), place: r.place(), opens: r.opens(), trust: r.trust}
	if c.model == DefaultModel {
		c.model = ""
	}
	return c
}

// follow passes the events on until the tool has ended, or was (ended) after its last event.
func (r *run) follow(proc *process, out *lines) (ended bool, failed error) {
	decoder, waits, silent := r.dialect.events(), r.waits(), cmp.Or(r.Idle, silence)
	idle, quiet, limit := newTimer(silent), newTimer(waits.still), newTimer(r.Limit)
	last := newTimer(0) // runs after the last event
	defer func() {
		for _, t := range []*time.Timer{idle, quiet, limit, last} {
			t.Stop()
		}
	}()
	began, exited := time.Now(), false
	for {
		over := r.reply.over
		taken, err := r.take(out, decoder)
		switch {
		case err != nil && r.ctx.Err() == nil:
			r.leave(proc)
			return false, err
		case r.left, r.ctx.Err() != nil:
			r.leave(proc)
			return false, r.stopped()
		case exited:
			return ended, nil
		}
		if taken > 0 { // the consumer may have been slow
			again(idle, silent)
			again(quiet, waits.still)
			began = time.Now()
		}
		if r.reply.over && !over {
			again(last, waits.end)
		}
		select {
		case <-out.ready:
		case <-proc.done:
			exited = true
			out.end()
		case <-r.ctx.Done():
		case <-last.C:
			ended = true
			proc.end(min(waits.terminate, time.Second))
		case <-quiet.C:
			if !r.reply.over {
				quietFor := time.Since(began).Round(time.Second)
				r.notify(fmt.Sprintf("%s has said nothing for %s, and is waited for", r.dialect.program, quietFor))
			}
			again(quiet, waits.still)
		case <-idle.C:
			r.leave(proc)
			return false, r.timeout(fmt.Sprintf("%s said nothing for %s", r.dialect.program, silent),
				"ARTOO_IDLE_TIMEOUT with a longer time, if it works that long in silence")
		case <-limit.C:
			r.leave(proc)
			return false, r.timeout(fmt.Sprintf("%s took more than %s", r.dialect.program, r.Limit),
				"ARTOO_REQUEST_TIMEOUT with a longer time")
		}
	}
}

// newTimer is a timer that fires after d; never for 0 or less.
func newTimer(d time.Duration) *time.Timer {
	t := time.NewTimer(d)
	if d <= 0 {
		t.Stop()
	}
	return t
}

// again sets a timer again; 0 or less leaves it as it is.
func again(t *time.Timer, d time.Duration) {
	if d > 0 {
		t.Reset(d)
	}
}

func (r *run) take(out *lines, d decoder) (taken int, err error) {
	for ; !r.left && r.ctx.Err() == nil; taken++ {
		line, err := out.take()
		if err != nil {
			return taken, r.fault(provider.KindProvider, r.dialect.program+" wrote "+err.Error(), "", nil)
		}
		if line == nil {
			return taken, nil
		}
		r.line(d, line)
		if most, used := r.most, r.reply.usage.Total(); most > 0 && used > most && !r.reply.over && !r.reply.abort {
			why := fmt.Sprintf("%s has used %d tokens, of %d that were left", r.dialect.program, used, most)
			r.reply.failure, r.reply.abort = &failure{text: why, kind: provider.KindCap}, true
		}
		if r.reply.abort {
			return taken, r.failed(r.reply.failure, "")
		}
	}
	return taken, nil
}

// line decodes an event, or an array of all events. Anything else is noise.
func (r *run) line(d decoder, line []byte) {
	line = bytes.TrimSpace(line)
	if r.Trace != nil && len(line) > 0 {
		r.Trace("body", r.masked(string(line)))
	}
	switch {
	case r.reply.over, len(line) == 0: // nothing counts after the last event
		return
	case line[0] == '{' && json.Valid(line):
		d.event(r.reply, line)
		return
	case line[0] == '[':
		var list []json.RawMessage
		if json.Unmarshal(line, &list) == nil {
			for _, item := range list {
				if len(item) > 0 && item[0] == '{' && !r.reply.over {
					d.event(r.reply, item)
				}
			}
			return
		}
	}
	if len(r.noise) < mostNoise {
		r.noise = append(append(r.noise, line[:min(len(line), mostNoise)]...), '\n')
	}
}

// verdict ends a run whose process ended: good only by both its last event and exit status.
func (r *run) verdict(p plan, path string, proc *process, ended bool, stderr string) error {
	rep := r.reply
	if !rep.over || rep.failure != nil || exitCode(proc.cmd.ProcessState) != 0 && !ended {
		err := r.judge(p, path, proc.cmd.ProcessState, stderr)
		if !r.lost {
			r.remember(p)
			err = r.kept(p, err)
		}
		return err
	}
	for line := range strings.Lines(stderr) {
		if r.dialect.remark != "" && strings.Contains(line, r.dialect.remark) {
			rep.notify(r.dialect.program + ": " + strings.TrimSpace(line))
			break
		}
	}
	rep.finish()
	if over := r.passed(p); over != nil {
		r.remember(p)
		return r.kept(p, over)
	}
	message, err := rep.message(r.Name, r.req.Model, r.sessionAfter(p))
	if err != nil {
		return r.fault(provider.KindProvider, err.Error(), "", nil)
	}
	r.mu.Lock()
	delete(r.broken, r.req.SessionID)
	r.mu.Unlock()
	if strings.TrimSpace(message.Text()) == "" {
		r.remember(p) // an empty reply is not kept, yet the tool has worked
	}
	r.send(provider.Done{Message: message, Stop: cmp.Or(rep.stop, provider.StopComplete), Usage: r.usage(p), Several: true,
		RequestID: rep.session, Tries: 1})
	if r.ctx.Err() != nil && !r.left { // just before the end
		r.remember(p)
		return r.kept(p, r.stopped())
	}
	return nil
}

// usage is the usage of this run, also where the tool counts for its session.
func (r *run) usage(p plan) provider.Usage {
	total, before := r.reply.total, p.session.Total
	if total == nil {
		return r.reply.usage
	}
	used := *total
	if before == nil || p.session.ID != r.reply.session || total.Input < before.Input ||
		total.CacheRead < before.CacheRead || total.Output < before.Output {
		return used // a new session, or a tool that began to count again
	}
	used.Input -= before.Input
	used.CacheRead -= before.CacheRead
	used.CacheWrite -= min(before.CacheWrite, used.CacheWrite)
	used.Output -= before.Output
	used.Reasoning -= min(before.Reasoning, used.Reasoning)
	return used
}

// spent is the usage of a run that was cut off, by its model's price.
func (r *run) spent() provider.Usage {
	u := r.reply.usage
	if r.dialect.price == nil || u.CostUSD != nil || u.Total() == 0 {
		return u
	}
	u.Output = max(u.Output, r.reply.size/4) // it reports no number before a reply's end
	if price := r.dialect.price(r.Catalog, r.reply.model); price != nil {
		u.CostUSD, u.Estimated = provider.Cost(u, price), true
	}
	return u
}

// remember keeps the session of a run that was cut off, so that it can be resumed.
func (r *run) remember(p plan) {
	if r.reply.session == "" || !r.reply.heard {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broken == nil {
		r.broken = map[string]broken{}
	}
	s := session{ID: r.reply.session, Of: r.req.SessionID, Total: p.session.Total}
	r.broken[r.req.SessionID] = broken{s, p.heard}
}

// stoppedText stands for the answer of a stopped run: its message must not be sent again.
const stoppedText = "(stopped before an answer)"

// kept adds the session of a run that was cut off to its error, for the history.
func (r *run) kept(p plan, err error) error {
	e := provider.AsError(err)
	if e == nil || r.reply.session == "" || !r.reply.heard {
		return err
	}
	part, failed := r.sessionAfter(p).part()
	if failed != nil {
		return err // the message is then sent once more
	}
	e.Keep = []provider.Part{part, provider.Text{Text: stoppedText}}
	return err
}

func (r *run) sessionAfter(p plan) session {
	return session{ID: r.reply.session, Of: r.req.SessionID, Total: cmp.Or(r.reply.total, p.session.Total)}
}

// passed is the error of a whole run that used more than a cap that the tool cannot keep.
func (r *run) passed(p plan) error {
	caps, used, program := r.caps(), r.usage(p), r.dialect.program
	steps := r.reply.requests + 1
	var why string
	switch {
	case caps.Tokens > 0 && used.Total() > caps.Tokens:
		why = fmt.Sprintf("%s used %d tokens, of %d that were left", program, used.Total(), caps.Tokens)
	case caps.Steps > 0 && !r.dialect.keepsCaps && steps > caps.Steps:
		why = fmt.Sprintf("%s took about %d steps, of %d that it may", program, steps, caps.Steps)
	default:
		return nil
	}
	e := r.failed(&failure{text: why, kind: provider.KindCap}, "")
	e.Usage = used
	return e
}

// stopped is the error of a run that ctx ended; nil without a consumer.
func (r *run) stopped() error {
	if r.left {
		return nil
	}
	e := r.canceled(r.ctx)
	e.Usage = r.spent()
	return e
}

func (r *run) timeout(why, hint string) error {
	e := r.fault(provider.KindTimeout, why, hint, nil)
	e.Usage = r.spent()
	return e
}
