package agent

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"artoo/agent/permission"
	"artoo/tool"
	"artoo/tool/text"
)

// serial passes callbacks on one at a time and none after the turn, whatever tools that were
// given up still do.
type serial struct {
	mu    sync.Mutex
	cb    Callbacks
	clock *runClock
	// masks is the session whose marks stand in place of keys in calls, questions and artoo's own words; nil masks nothing.
	masks  *session
	closed bool
	thinks bool // between OnThinking and OnThinkingDone
}

// errTurnOver is the answer to a question of a tool that was given up: its turn has ended.
var errTurnOver = errors.New("the turn is over")

func (s *serial) pass(f func(Callbacks)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		f(s.cb)
	}
}

// notice reports something to the user.
func (s *serial) notice(kind NoticeKind, text string) { s.OnNotice(Notice{Kind: kind, Text: text}) }

func (s *serial) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// alone waits until no other agent of the turn decides over a call or runs one that changes
// something: journal and layers serve one at a time. The func lets the next one on; where ctx
// ended the wait it does nothing.
func (s *session) alone(ctx context.Context) (free func()) {
	select {
	case s.running <- struct{}{}:
		return sync.OnceFunc(func() { <-s.running })
	case <-ctx.Done():
		return func() {}
	}
}

func (s *serial) OnReasoning(text string) { s.pass(func(cb Callbacks) { cb.OnReasoning(text) }) }
func (s *serial) OnText(text string)      { s.pass(func(cb Callbacks) { cb.OnText(text) }) }
func (s *serial) OnToolCall(c Call) {
	c = s.masks.shown(c)
	s.pass(func(cb Callbacks) { cb.OnToolCall(c) })
}
func (s *serial) OnNotice(n Notice) {
	n.Text = s.masks.maskedWords(n.Text)
	if n.Answered != nil {
		n.Answered = &Answered{s.masks.shownQuestion(n.Answered.Question), n.Answered.Answer}
	}
	s.pass(func(cb Callbacks) { cb.OnNotice(n) })
}
func (s *serial) OnToolOutput(c Call, chunk string) {
	s.pass(func(cb Callbacks) { cb.OnToolOutput(c, chunk) })
}
func (s *serial) OnToolResult(c Call, r CallResult) {
	c = s.masks.shown(c)
	s.pass(func(cb Callbacks) { cb.OnToolResult(c, r) })
}

// OnThinking and OnThinkingDone come in pairs, however often the second is called.
func (s *serial) OnThinking() { s.pass(func(cb Callbacks) { s.thinks = true; cb.OnThinking() }) }

func (s *serial) OnThinkingDone() {
	s.pass(func(cb Callbacks) {
		if s.thinks {
			s.thinks = false
			cb.OnThinkingDone()
		}
	})
}

// Ask stops the run's clock while the user thinks.
func (s *serial) Ask(ctx context.Context, q Question) (Answer, error) {
	s.clock.pause()
	defer s.clock.resume()
	s.mu.Lock()
	defer s.mu.Unlock()
	if cause := context.Cause(ctx); cause != nil { // while another question stood there
		return Answer{}, cause
	}
	if s.closed {
		return Answer{}, errTurnOver
	}
	if q.ID == "" {
		q.ID = s.clock.session.questionID()
	}
	answer, err := s.cb.Ask(ctx, s.masks.shownQuestion(q))
	answer.Input = s.masks.unmasked(answer.Input, q.Call.Input)
	return answer, err
}

// liveOutput passes a running call's output on until the call was given up.
type liveOutput struct {
	call Call
	cb   *serial

	mu     sync.Mutex
	text   heldText
	closed bool
}

// Write implements io.Writer. It never fails.
func (o *liveOutput) Write(chunk []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.closed {
		o.show(o.text.add(chunk))
	}
	return len(chunk), nil
}

func (o *liveOutput) show(text string) {
	if text != "" {
		o.cb.OnToolOutput(o.call, text)
	}
}

func (o *liveOutput) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if rest := o.text.rest(); !o.closed && utf8.ValidString(rest) {
		o.show(rest)
	}
	o.closed = true
}

// runClock enforces MaxTime over all turns of a run. It stands still while anyone waits for the user.
type runClock struct {
	session *session
	cancel  context.CancelCauseFunc

	mu     sync.Mutex
	timer  *time.Timer // nil without a limit
	since  time.Time
	paused int // so many wait for the user
}

func (s *session) startClock(ctx context.Context) (context.Context, *runClock) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &runClock{session: s, cancel: cancel, since: time.Now()}
	if s.opt.Limits.MaxTime > 0 {
		c.timer = time.AfterFunc(s.opt.Limits.MaxTime-s.elapsed, func() { cancel(c.failure()) })
	}
	return ctx, c
}

func (c *runClock) failure() error {
	return capFailure(fmt.Sprintf("the run's time limit of %s has passed", c.session.opt.Limits.MaxTime),
		c.session.goOn("", "a higher --max-time"))
}

func (c *runClock) over() error {
	if limit := c.session.opt.Limits.MaxTime; limit > 0 && c.elapsed() >= limit {
		return c.failure()
	}
	return nil
}

func (c *runClock) elapsed() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused > 0 {
		return c.session.elapsed
	}
	return c.session.elapsed + time.Since(c.since)
}

func (c *runClock) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused++; c.paused > 1 {
		return
	}
	c.session.elapsed += time.Since(c.since)
	if c.timer != nil {
		c.timer.Stop()
	}
}

func (c *runClock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused--; c.paused > 0 {
		return
	}
	c.since = time.Now()
	if c.timer != nil {
		c.timer.Reset(c.session.opt.Limits.MaxTime - c.session.elapsed)
	}
}

func (c *runClock) stop() {
	c.pause()
	c.cancel(nil)
}

// maskMark matches the mark of a key, also as a model may write it in JSON.
var maskMark = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:‹|\\u2039)secret:[0-9a-f]{4}(?:[0-9a-f]{8})?(?:›|\\u203[aA])`)
})

// maskedEffects are effects as people see them.
func maskedEffects(e permission.Effects, mask func(string) string) *permission.Effects {
	by := map[permission.What][]permission.Entry{}
	for what, entries := range e.By {
		for _, entry := range entries {
			by[what] = append(by[what], permission.Entry{Path: mask(entry.Path), Detail: mask(entry.Detail)})
		}
	}
	e.By = by
	return &e
}

// fileHeader reports whether line i of a diff names the changed file; an added "++" never follows
// a "--- ".
func fileHeader(lines []string, i int) bool {
	return i > 0 && strings.HasPrefix(lines[i], "+++ ") && strings.HasPrefix(lines[i-1], "--- ")
}

// marked is the first mark in a call's input, "" for none: the model meant the key.
func marked(input string) string {
	return strings.NewReplacer(`\u2039`, "‹", `\u203a`, "›", `\u203A`, "›").Replace(maskMark().FindString(input))
}

// jsonText matches the texts of a JSON document, in their quotes.
var jsonText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"(?:[^"\\]|\\.)*"`) })

// maskedJSON masks a JSON document, also where it writes a key with escapes.
func (s *session) maskedJSON(document []byte) []byte {
	if s == nil || s.opt.Secrets.Mask == nil || len(document) == 0 {
		return document
	}
	out := inTexts(document, s.masked)
	if whole := []byte(s.masked(string(out))); json.Valid(whole) || !json.Valid(out) {
		return whole
	}
	return out
}

// inTexts changes the texts of a JSON document.
func inTexts(document []byte, change func(string) string) []byte {
	return jsonText().ReplaceAllFunc(document, func(quoted []byte) []byte {
		var plain string
		if json.Unmarshal(quoted, &plain) != nil {
			return quoted
		}
		if changed := change(plain); changed != plain {
			return tool.Quoted(changed)
		}
		return quoted
	})
}

// shown is a call as front ends get it. Its diff is masked already, except for the text that the call writes.
func (s *session) shown(c Call) Call {
	c.Input, c.Raw = s.maskedJSON(c.Input), s.masked(c.Raw)
	a := &c.Access
	for _, text := range []*string{&a.Object, &a.Command, &a.To, &a.Unconfined, &a.Why, &a.Address} {
		*text = s.masked(*text)
	}
	return c
}

// shownQuestion is a question as front ends get it.
func (s *session) shownQuestion(q Question) Question {
	q.Call = s.shown(q.Call)
	q.Reason, q.Plan, q.Text = s.masked(q.Reason), s.masked(q.Plan), s.masked(q.Text)
	if q.Effects != nil {
		q.Effects = maskedEffects(*q.Effects, s.masked)
	}
	if q.Form != nil {
		form := *q.Form
		form.Message = s.masked(form.Message)
		q.Form = &form
	}
	return q
}

// unmasked is an edited input, with the keys of the input that was shown in place of their marks.
func (s *session) unmasked(edited, shown []byte) []byte {
	if s == nil || s.opt.Env == nil || s.opt.Env.Secrets == nil || marked(string(edited)) == "" {
		return edited
	}
	var pairs []string
	inTexts(shown, func(text string) string {
		for _, secret := range s.opt.Env.Secrets(text) {
			pairs = append(pairs, secret.Mark, text[secret.From:secret.To])
		}
		return text
	})
	return inTexts(edited, strings.NewReplacer(pairs...).Replace)
}

// maskedDiff masks the parts that are in the file already. The model's text is shown as it is: the approver must see
// it, and it is no secret of the file.
func (s *session) maskedDiff(diff string) string {
	if s.opt.Secrets.Mask == nil || s.opt.Secrets.Mask(diff) == diff {
		return diff
	}
	lines := strings.SplitAfter(diff, "\n")
	known := map[string]bool{}
	for i := 0; i < len(lines); i++ {
		from := i
		for i < len(lines) && !(strings.HasPrefix(lines[i], "+") && !fileHeader(lines, i)) {
			i++
		}
		if from == i {
			continue
		}
		whole := s.opt.Secrets.Mask(strings.Join(lines[from:i], "")) // together: a private key has many lines
		clear(lines[from:i])
		lines[from] = whole
		for _, mark := range maskMark().FindAllString(whole, -1) {
			known[mark] = true
		}
	}
	for i, line := range lines {
		if strings.HasPrefix(line, "+") {
			m := s.opt.Secrets.Mask(line)
			unknown := func(mark string) bool { return !known[mark] }
			if !slices.ContainsFunc(maskMark().FindAllString(m, -1), unknown) {
				lines[i] = m
			}
		}
	}
	return strings.Join(lines, "")
}

// heldText masks a text that comes in pieces. It holds back a possible beginning of a key.
type heldText struct {
	mask func(string) string
	held string
}

func (h *heldText) add(piece []byte) string {
	whole := h.held + string(piece)
	cut := maskable(whole)
	h.held = whole[cut:]
	return h.mask(whole[:cut])
}

func (h *heldText) rest() string { return h.mask(h.held) }

// Bounds of live output that is held back.
const (
	longestKey   = 4 << 10 // bytes of a word that may be a key
	longestBlock = 8 << 10 // and of a private key
)

// maskable is how much of a command's output so far can be masked and shown: not a word at its
// end, Bearer without its word, or a private key that has only begun.
func maskable(output string) int {
	end := strings.LastIndexAny(output, " \t\r\n") + 1
	if before := strings.TrimRight(output[:end], " "); strings.HasSuffix(before, "earer") { // the key is the word behind it
		end = strings.LastIndexAny(before, " \t\r\n") + 1
	}
	if len(output)-end > longestKey {
		end = len(text.Cut(output, len(output)-utf8.UTFMax))
	}
	at := strings.LastIndex(output, "-----BEGIN ")
	if at < 0 || len(output)-at > longestBlock {
		return end
	}
	_, last, _ := strings.Cut(output[at:], "-----END ")
	if _, behind, whole := strings.Cut(last, "-----"); !whole || end < len(output)-len(behind) {
		end = min(end, at)
	}
	return end
}

// maskedFile is a file with marks in place of keys. It is made when the first text comes.
type maskedFile struct {
	name string
	text heldText
	file *os.File
}

func (f *maskedFile) Write(p []byte) (int, error) {
	return len(p), f.write(f.text.add(p))
}

func (f *maskedFile) write(text string) (err error) {
	if text == "" {
		return nil
	}
	if f.file == nil {
		if f.file, err = os.OpenFile(f.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			return err
		}
	}
	_, err = f.file.WriteString(text)
	return err
}

func (f *maskedFile) Close() error {
	err := f.write(f.text.rest())
	if f.file == nil {
		return err
	}
	return f.file.Close()
}

func (s *session) keepOutput(id string) (io.WriteCloser, string, error) {
	dir := s.outputDir()
	if dir == "" {
		return nil, "", nil
	}
	name := filepath.Join(dir, "background-"+id+"-"+rand.Text()[:6]+".txt")
	return &maskedFile{name: name, text: heldText{mask: s.masked}}, name, nil
}

func firstLine(s string) string { return text.Clip(text.FirstLine(s), 120) }
