package screen

import (
	"bytes"
	"fmt"
	"regexp"
	"sort"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/briandowns/spinner"

	"artoo/agent"
	"artoo/provider"
	"artoo/tool"
)

// clock is time that passes when a test says so.
type clock struct {
	mu     sync.Mutex
	now    time.Time
	timers []*fakeTimer
}

type fakeTimer struct {
	at      time.Time
	f       func()
	stopped bool
}

func newClock() *clock { return &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) After(d time.Duration, f func()) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &fakeTimer{at: c.now.Add(d), f: f}
	c.timers = append(c.timers, t)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		t.stopped = true
	}
}

// pass lets d go by, running the timers that fall due.
func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	end := c.now.Add(d)
	for {
		sort.SliceStable(c.timers, func(i, j int) bool { return c.timers[i].at.Before(c.timers[j].at) })
		for len(c.timers) > 0 && c.timers[0].stopped {
			c.timers = c.timers[1:]
		}
		if len(c.timers) == 0 || c.timers[0].at.After(end) {
			break
		}
		t := c.timers[0]
		c.timers = c.timers[1:]
		if t.at.After(c.now) {
			c.now = t.at
		}
		c.mu.Unlock()
		t.f()
		c.mu.Lock()
	}
	c.now = end
	c.mu.Unlock()
}

// spinner draws the frames of a Spinner on the clock as its own goroutine does on the real one.
func (c *clock) spinner(utf8 bool) func(sp *spinner.Spinner) (stop func()) {
	frames := spinner.CharSets[framesASCII]
	if utf8 {
		frames = spinner.CharSets[framesBraille]
	}
	return func(sp *spinner.Spinner) (stop func()) { return c.spin(sp, frames) }
}

func (c *clock) spin(sp *spinner.Spinner, frames []string) (stop func()) {
	var once sync.Mutex
	stopped, i := false, 0
	stopTimer := func() {}
	var draw func()
	draw = func() {
		once.Lock()
		defer once.Unlock()
		if stopped {
			return
		}
		fmt.Fprint(sp.Writer, "\r\033[K")
		sp.PreUpdate(sp)
		fmt.Fprintf(sp.Writer, "\r%s\x1b[37m%s\x1b[0m%s", sp.Prefix, frames[i%len(frames)], sp.Suffix)
		i++
		stopTimer = c.After(sp.Delay, draw)
	}
	stopTimer = c.After(0, draw)
	return func() {
		once.Lock()
		defer once.Unlock()
		stopped = true
		stopTimer()
	}
}

// waiting is how many timers are set.
func (c *clock) waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, t := range c.timers {
		if !t.stopped {
			n++
		}
	}
	return n
}

// tape keeps the written bytes, and counts the writes.
type tape struct {
	bytes.Buffer
	writes int
}

func (t *tape) Write(p []byte) (int, error) {
	t.writes++
	return t.Buffer.Write(p)
}

// rig is a Screen on a clock with both outputs on tapes; on a terminal they are
// one.
type rig struct {
	*Screen
	*clock
	out, err *tape
	calm     bool // time stands still
}

// choices end the last line of an approval.
const choices = "[y,n,a,A,e,p,q,?] (n) "

func (r *rig) Question(q agent.Question) string {
	prompt, _ := r.Confirm(Approval{q})
	return prompt
}

func (r *rig) QuestionAll(q agent.Question) string { return r.ConfirmAll(Approval{q}) }
func (r *rig) QuestionHelp(q agent.Question)       { r.ConfirmHelp(Approval{q}) }

func (r *rig) Unseen(q agent.Question) bool {
	_, left := r.layout.about(Approval{q}, true, false)
	return left
}

func (r *rig) pass(d time.Duration) {
	if !r.calm {
		r.clock.pass(d)
	}
}

func newRig(change func(*Options)) *rig {
	c := newClock()
	r := &rig{clock: c, err: &tape{}}
	opt := Options{
		OutTTY: true, ErrTTY: true, OutColor: true, ErrColor: true, Profile: Rich, UTF8: true,
		Root: "/home/jo/src/shop", Home: "/home/jo", Now: c.Now, After: c.After,
	}
	if change != nil {
		change(&opt)
	}
	r.out = &tape{}
	if opt.OutTTY && opt.ErrTTY {
		r.out = r.err
	}
	opt.Out, opt.Err, opt.Spin = r.out, r.err, c.spinner(opt.UTF8)
	r.Screen = New(opt)
	return r
}

func profiles() map[string]func(*Options) {
	return map[string]func(*Options){
		"rich":    nil,
		"nocolor": func(o *Options) { o.OutColor, o.ErrColor = false, false },
		"plain":   func(o *Options) { o.OutColor, o.ErrColor, o.Profile = false, false, Plain },
		"spoken":  func(o *Options) { o.OutColor, o.ErrColor, o.Profile = false, false, Spoken },
		"ascii":   func(o *Options) { o.OutColor, o.ErrColor, o.UTF8 = false, false, false },
		"piped": func(o *Options) {
			o.OutTTY, o.ErrTTY, o.OutColor, o.ErrColor, o.Profile, o.Hold = false, false, false, false, Plain, true
		},
		"tee": func(o *Options) { o.OutTTY, o.OutColor = false, false },
	}
}

// why is the reason for the profile in the banner.
func (r *rig) why() string {
	if r.opt.Profile == Spoken {
		return "ACCESSIBLE=1"
	}
	return "TERM=dumb"
}

// stream sends text in pieces of n bytes, 10 ms apart.
func (r *rig) stream(text string, n int) {
	for len(text) > 0 {
		k := min(n, len(text))
		r.OnText(text[:k])
		text = text[k:]
		r.pass(10 * time.Millisecond)
	}
}

func call(id, verb, object string) agent.Call {
	return agent.Call{ToolCall: provider.ToolCall{ID: id, Name: verb},
		Access: tool.Access{Kind: tool.KindRead, Verb: verb, Object: object}}
}

func runCall(id, command string) agent.Call {
	c := call(id, "run", command)
	c.Access.Kind, c.Access.Command, c.Access.Dir = tool.KindRun, command, "/home/jo/src/shop"
	return c
}

func ok(summary string) agent.CallResult {
	return agent.CallResult{Status: agent.CallOK, Summary: summary}
}

var sgr = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// vt is a small terminal: it knows the sequences that Screen may use, and reports all
// others.
type vt struct {
	rows []string
	row  []rune
	col  int
	bad  string
}

func (v *vt) write(s string) {
	s = sgr.ReplaceAllString(s, "")
	for i := 0; i < len(s); {
		switch {
		case strings.HasPrefix(s[i:], "\x1b[K"):
			v.row = v.row[:min(v.col, len(v.row))]
			i += 3
			continue
		case s[i] == '\n':
			v.rows = append(v.rows, strings.TrimRight(string(v.row), "\x00"))
			v.row, v.col = nil, 0
		case s[i] == '\r':
			v.col = 0
		case s[i] == '\b':
			v.col--
		case s[i] < ' ' && s[i] != '\t', s[i] == 0x7f:
			v.bad = fmt.Sprintf("%q at %d", s[i:min(i+8, len(s))], i)
		default:
			r, size := utf8.DecodeRuneInString(s[i:])
			w := max(cells(string(r)), 1) // a tab moves further, which does not matter here
			for len(v.row) < v.col+w {
				v.row = append(v.row, 0)
			}
			v.row[v.col] = r
			v.col += w
			i += size
			continue
		}
		i++
	}
}

func (v *vt) text() string {
	all := strings.Join(append(append([]string{}, v.rows...), string(v.row)), "\n")
	return strings.ReplaceAll(all, "\x00", "")
}
