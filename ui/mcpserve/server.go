// Package mcpserve offers artoo as a tool to an MCP client, on stdin and stdout: one call is one
// headless run. The wire is the library's, in both eras of the protocol; docs/headless.md lists the
// supported parts.
package mcpserve

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/sourcegraph/conc/panics"

	"artoo/agent"
	"artoo/provider"
	"artoo/ui/result"
)

// Call is a call of the tool.
type Call struct {
	Prompt  string `json:"prompt"`
	Dir     string `json:"cwd"`     // as the client wrote it; "" for none
	Session string `json:"session"` // the id of the session to continue; "" begins one
}

// Client is the client as a run sees it. The goroutine of the run calls it.
type Client interface {
	// Answers reports whether the client answers questions.
	Answers() bool
	// Roots are the directories that the client works in, absolute, as far as it names them.
	Roots() []string
	// Ask puts a question to the client's user. The error is agent.ErrNobody if the user cannot answer, or does not.
	Ask(ctx context.Context, q agent.Question) (agent.Answer, error)
	// Report reports the present step of the run, in a few words.
	Report(step string)
}

// Host does the runs. Any goroutine calls it.
type Host interface {
	// Run does one run. The cause of a ctx that ends is the run's error.
	Run(ctx context.Context, call Call, client Client) result.Result
}

// Options configure Serve.
type Options struct {
	In      io.Reader
	Out     io.Writer
	Log     func(text string) // gets the trace of a crash; any goroutine calls it
	Host    Host
	Version string
	Wait    time.Duration // how long a question waits for its answer in the era without requests of the server; 0: ten minutes
}

const (
	// endAfter is how long runs may take to end once the client is gone.
	endAfter = 1500 * time.Millisecond
	// mostRuns bounds the runs at a time, those that wait for an answer among them.
	mostRuns = 16
	// answerWithin is Options.Wait where it is not set.
	answerWithin = 10 * time.Minute
)

// interruption is the cause of a run's context that ended before the run did.
type interruption string

// The interruptions.
const (
	errCancelled interruption = "cancelled by the client"
	errGone      interruption = "the client is gone"
	errLate      interruption = "the client did not bring the answer to a question"
)

// Error names the cause of the run's end.
func (i interruption) Error() string { return string(i) }

// ErrorKind is that of a turn that a program interrupted.
func (i interruption) ErrorKind() string { return "interrupted" }

type server struct {
	Options
	mu      sync.Mutex // guards all below
	runs    map[*run]bool
	waiting map[string]*question // by the state that the client brings back
	ending  bool
	done    sync.WaitGroup // counts runs
}

// Serve serves one client until it leaves or ctx ends, and ends its runs. The goroutine that reads
// In ends with it.
func Serve(ctx context.Context, opt Options) error {
	tool, err := newTool()
	if err != nil {
		return err
	}
	opt.Wait = cmp.Or(opt.Wait, answerWithin)
	s := &server{Options: opt, runs: map[*run]bool{}, waiting: map[string]*question{}}
	library := sdk.NewServer(&sdk.Implementation{Name: "artoo", Title: "artoo", Version: opt.Version},
		&sdk.ServerOptions{Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}})
	library.AddTool(tool, s.call)
	c := newConn(opt.In, opt.Out)
	if _, err := library.Connect(ctx, c, nil); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-c.gone:
	}
	s.end(c)
	return c.Close()
}

// end cancels all runs, and waits until they have ended and are answered, in bounded time.
func (s *server) end(c *conn) {
	s.mu.Lock()
	s.ending = true
	for r := range s.runs {
		r.cancel(errGone)
	}
	s.mu.Unlock()
	ended := make(chan struct{})
	go func() { s.done.Wait(); c.drain(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(endAfter):
	}
}

func newTool() (*sdk.Tool, error) {
	out, err := jsonschema.For[result.Result](nil)
	if err != nil {
		return nil, err
	}
	open(out)
	text := func(description string) map[string]any {
		return map[string]any{"type": "string", "description": description}
	}
	return &sdk.Tool{
		Name: "artoo", Title: "artoo",
		Description: "Gives a task to artoo, a coding agent that works in a project directory: it reads and edits files and runs commands there, within the permissions " +
			"that its user set. It sees the prompt and the project, nothing else. Returns its answer, and the session with which a later call continues.",
		InputSchema: map[string]any{"type": "object", "additionalProperties": false, "required": []string{"prompt"}, "properties": map[string]any{
			"prompt":  text("the task, with all that must be known"),
			"cwd":     text("the project directory, below where artoo was started or a root; without it that of the session, or where artoo was started"),
			"session": text("continues the session of an earlier call"),
		}},
		OutputSchema: out,
		Annotations:  &sdk.ToolAnnotations{DestructiveHint: new(true), OpenWorldHint: new(true)},
	}, nil
}

// open allows further fields: results get some with time.
func open(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.Properties != nil {
		s.AdditionalProperties = nil
	}
	for _, p := range s.Properties {
		open(p)
	}
	open(s.Items)
}

// call is a call of the tool: it begins a run, or brings the answer to its question, and lasts until
// the run has ended or asks.
func (s *server) call(ctx context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	r, err := s.runOf(ctx, request)
	if err != nil {
		return failed(err), nil
	}
	defer r.report.Store(nil)
	for {
		select {
		case q := <-r.questions:
			switch {
			case !elicits(request, q.params.Mode):
				q.answered <- answered{err: agent.ErrNobody}
			case isModern(request):
				return s.park(q), nil
			default:
				asking, stop := context.WithCancel(ctx)
				forget := context.AfterFunc(r.ctx, stop)
				result, err := request.Session.Elicit(asking, q.params)
				forget()
				stop()
				if err != nil {
					err = fmt.Errorf("the client could not ask: %v: %w", err, agent.ErrNobody)
				}
				q.answered <- answered{result, err}
			}
		case <-r.ended:
			return r.outcome(), nil
		case <-ctx.Done():
			r.cancel(errCancelled)
			<-r.ended
			return r.outcome(), nil
		}
	}
}

// modern is the first version of the protocol in which a server asks by its result.
const modern = "2026-07-28"

func isModern(request *sdk.CallToolRequest) bool {
	p := request.Session.InitializeParams()
	return p != nil && p.ProtocolVersion >= modern
}

// elicits reports whether the client shows forms, or for the mode url addresses.
func elicits(request *sdk.CallToolRequest, mode string) bool {
	c := request.ClientCapabilities()
	switch {
	case c == nil || c.Elicitation == nil:
		return false
	case mode == modeURL:
		return c.Elicitation.URL != nil
	}
	return c.Elicitation.Form != nil || c.Elicitation.URL == nil
}

// runOf is the run that a call means: a new one, or the one whose question it answers. It reports to the call.
func (s *server) runOf(ctx context.Context, request *sdk.CallToolRequest) (*run, error) {
	var call Call
	d := json.NewDecoder(bytes.NewReader(request.Params.Arguments))
	d.DisallowUnknownFields()
	if err := d.Decode(&call); err != nil {
		return nil, fmt.Errorf("the arguments do not match the tool's schema: %w", err)
	}
	if request.Params.RequestState != "" {
		return s.proceed(ctx, request, call)
	}
	if strings.TrimSpace(call.Prompt) == "" {
		return nil, errors.New("the prompt is empty")
	}
	return s.begin(ctx, request, call)
}

// begin begins a run, which may outlive ctx.
func (s *server) begin(ctx context.Context, request *sdk.CallToolRequest, call Call) (*run, error) {
	runs, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	r := &run{ctx: runs, call: call, answers: elicits(request, modeForm), cancel: cancel, questions: make(chan *question), ended: make(chan struct{})}
	if call.Dir != "" || call.Session != "" {
		r.roots = rootsOf(ctx, request)
	}
	r.reportTo(ctx, request)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ending:
		return nil, errGone
	case len(s.runs) >= mostRuns:
		return nil, fmt.Errorf("%d calls run already: wait until one of them ends", mostRuns)
	}
	s.runs[r] = true
	s.done.Go(func() {
		caught := panics.Try(func() { r.result = s.Host.Run(r.ctx, call, r) })
		if caught != nil {
			s.Log(caught.String())
			r.result = result.New(result.Info{Began: time.Now()}, nil, agent.Classify(errors.New("artoo crashed in this call; its log has the trace")), 1)
		}
		cancel(nil)
		s.mu.Lock()
		delete(s.runs, r)
		s.mu.Unlock()
		close(r.ended)
	})
	return r, nil
}

// park leaves a question to the client, which answers it with the next call.
func (s *server) park(q *question) *sdk.CallToolResult {
	state := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting[state] = q
	q.late = time.AfterFunc(s.Wait, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.waiting[state] == q {
			delete(s.waiting, state)
			q.run.cancel(errLate)
		}
	})
	return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{q.id: q.params}, RequestState: state}
}

// proceed gives a run the answer that it waits for. A state counts once. Where the answer is missing, the
// question is asked again.
func (s *server) proceed(ctx context.Context, request *sdk.CallToolRequest, call Call) (*run, error) {
	params := request.Params
	s.mu.Lock()
	q := s.waiting[params.RequestState]
	if q == nil || q.run.call != call {
		s.mu.Unlock()
		return nil, errors.New("no call with these arguments waits under this requestState: it was answered or has ended, and its session is kept")
	}
	delete(s.waiting, params.RequestState)
	q.late.Stop()
	s.mu.Unlock()
	q.run.reportTo(ctx, request)
	if result, ok := params.InputResponses[q.id].(*sdk.ElicitResult); ok && result != nil {
		q.answered <- answered{result: result} // It has room.
	} else {
		go q.put(q.run.questions)
	}
	return q.run, nil
}

// failed is the result of a call without a run.
func failed(err error) *sdk.CallToolResult {
	failure := &agent.Failure{Kind: agent.KindUsage, Err: err}
	return resultOf(result.New(result.Info{Began: time.Now()}, nil, failure, failure.Kind.ExitCode()))
}

// resultOf is the result of a run as the client gets it: the answer, how it failed, and its session.
func resultOf(r result.Result) *sdk.CallToolResult {
	out := &sdk.CallToolResult{IsError: r.Error != nil, Content: []sdk.Content{}}
	add := func(text string) {
		if strings.TrimSpace(text) != "" {
			out.Content = append(out.Content, &sdk.TextContent{Text: text})
		}
	}
	answer, isText := r.Result.(string)
	if !isText && r.Result != nil { // that of a schema
		data, err := provider.Marshal(r.Result)
		if err != nil {
			out.SetError(err)
			return out
		}
		answer = string(data)
	}
	add(answer)
	if r.Error != nil {
		text := "artoo: " + r.Error.Message
		if r.Error.Hint != "" {
			text += "\n  try: " + r.Error.Hint
		}
		add(text)
	}
	if r.SessionID != "" {
		add("session " + r.SessionID + " continues this")
	}
	structured, err := provider.Marshal(r)
	if err != nil { // A result of numbers and texts can always be written.
		out.SetError(err)
		return out
	}
	out.StructuredContent = json.RawMessage(structured)
	return out
}
