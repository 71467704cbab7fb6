// Package telemetry gives each turn, request and call of a run an id, and sends them as spans and metrics of
// OpenTelemetry, by its conventions for generative AI, to the collector that the user's environment names.
// Without one it sends nothing. It is no more than artoo needs: the SDK would add nine megabytes.
package telemetry

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"strings"
	"sync"
	"time"
)

// Operation is the beginning of a span. Empty fields are left out.
type Operation struct {
	Name     string // Invoke, Chat or Tool
	Of       string // the agent, model or tool
	Provider string // The conventions name it so.
	Model    string // the model that an agent asks
	Session  string // the session's ID; "" means that of the span around it
	Call     string // the call's id
}

// The names of operations.
const (
	Invoke = "invoke_agent"
	Chat   = "chat"
	Tool   = "execute_tool"
)

// Outcome is the end of a span. Empty fields are left out.
type Outcome struct {
	Error   string // the kind of a failure, "" for success
	Model   string // the model that answered
	Request string // the server's id of the request
	Finish  string // why the reply ended
	Usage   Usage
	CostUSD *float64 // nil is unknown
	Tries   int
	// Decision is the answer to whether a call may run, DecidedBy who gave it.
	Decision, DecidedBy string
}

// Usage counts tokens. Input includes those that a cache had or took, Output those of reasoning.
type Usage struct {
	Input, CacheRead, CacheWrite, Output, Reasoning int
}

// IDs connect a line of the log with the span in which it was written; all are "" outside spans.
type IDs struct {
	Session string `json:"session,omitempty"`
	Trace   string `json:"trace,omitempty"`
	Step    string `json:"step,omitempty"`
}

// Recorder makes the spans of one process. Any goroutine may use it. A nil one makes none.
type Recorder struct {
	run      string
	parent   IDs // the span that the environment names; the zero value for none
	contents bool
	out      *exporter // nil sends nothing
}

// New reads the variables of OpenTelemetry from env, which is as os.Getenv. Warnings are about values that cannot be
// used. version is artoo's.
func New(env func(string) string, version string) (r *Recorder, warnings []string) {
	r = &Recorder{run: random(16), parent: parse(env("TRACEPARENT"))}
	r.contents = strings.EqualFold(env("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"), "true")
	r.out, warnings = newExporter(env, r.run, version)
	return r, warnings
}

// Run is the id of the run; spans have it as service.instance.id. It is "" for nil.
func (r *Recorder) Run() string {
	if r == nil {
		return ""
	}
	return r.run
}

// parse reads a traceparent. A wrong one counts as none.
func parse(text string) IDs {
	f := strings.Split(strings.TrimSpace(text), "-")
	if len(f) < 4 || len(f[0]) != 2 || f[0] == "ff" || !isID(f[0]+f[3], 2) || !isID(f[1], 16) || !isID(f[2], 8) {
		return IDs{}
	}
	return IDs{Trace: f[1], Step: f[2]}
}

// isID reports whether s is so many bytes as lower-case hexadecimal digits, and not zero.
func isID(s string, bytes int) bool {
	if bytes > 2 && strings.Trim(s, "0") == "" || s != strings.ToLower(s) {
		return false
	}
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == bytes
}

func random(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // It never fails.
	return hex.EncodeToString(b)
}

type spanKey struct{}

// Of returns the ids of the span that ctx belongs to.
func Of(ctx context.Context) IDs {
	if s, ok := ctx.Value(spanKey{}).(*Span); ok {
		return s.ids
	}
	return IDs{}
}

// Span is an operation that runs. A nil one takes everything and does nothing.
type Span struct {
	recorder *Recorder
	op       Operation
	ids      IDs
	parent   string
	root     bool // no other span of this process is around it
	began    time.Time
	ended    sync.Once
	contents []attribute
}

// Start begins a span within the one that ctx belongs to. The context is for all that is done within it.
func (r *Recorder) Start(ctx context.Context, op Operation) (context.Context, *Span) {
	if r == nil {
		return ctx, nil
	}
	around := Of(ctx)
	s := &Span{recorder: r, op: op, root: around.Step == "", began: time.Now()}
	if s.root {
		around = r.parent
	}
	s.ids, s.parent = IDs{Session: op.Session, Trace: around.Trace, Step: random(8)}, around.Step
	if s.ids.Trace == "" {
		s.ids.Trace = random(16)
	}
	if s.ids.Session == "" {
		s.ids.Session = around.Session
	}
	return context.WithValue(ctx, spanKey{}, s), s
}

// Content adds text of the conversation as an attribute, if the user has contents sent. text is called only then.
func (s *Span) Content(key string, text func() string) {
	if s == nil || s.recorder.out == nil || !s.recorder.contents {
		return
	}
	if value := text(); value != "" {
		s.contents = append(s.contents, attribute{key, value})
	}
}

// End ends the span. Later calls do nothing.
func (s *Span) End(o Outcome) {
	if s == nil || s.recorder.out == nil {
		return
	}
	s.ended.Do(func() { s.recorder.out.add(s, o, time.Now()) })
}
