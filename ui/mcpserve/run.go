package mcpserve

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"artoo/agent"
	"artoo/provider"
	"artoo/ui/result"
	"artoo/ui/sanitize"
)

// run is a run of artoo. In the modern era it outlives its call when it asks: the next call brings the
// answer. It implements Client.
type run struct {
	ctx       context.Context
	call      Call
	answers   bool
	roots     []string
	cancel    context.CancelCauseFunc
	questions chan *question // to the call that waits for the run
	ended     chan struct{}
	result    result.Result // once it has ended

	report atomic.Pointer[func(step string)] // of the call that waits, nil for none
	steps  int                               // so many were reported
}

// question is one that waits for its answer.
type question struct {
	run      *run
	id       string
	params   *sdk.ElicitParams
	answered chan answered // has room for one
	done     <-chan struct{}
	late     *time.Timer
}

type answered struct {
	result *sdk.ElicitResult
	err    error
}

// reportTo lets the run report to a call that waits for it, if that wants reports.
func (r *run) reportTo(ctx context.Context, request *sdk.CallToolRequest) {
	token := request.Params.GetProgressToken()
	if token == nil {
		return
	}
	report := func(step string) {
		r.steps++
		// The error is of a client that is gone, which ends the run.
		_ = request.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: token, Progress: float64(r.steps), Message: step})
	}
	r.report.Store(&report)
}

// outcome is the result of a run that has ended.
func (r *run) outcome() *sdk.CallToolResult { return resultOf(r.result) }

// Answers implements Client.
func (r *run) Answers() bool { return r.answers }

// Roots implements Client.
func (r *run) Roots() []string { return r.roots }

// rootsWithin is how long a client may take to name its roots.
const rootsWithin = 5 * time.Second

// rootsOf asks the client for its roots. One that does not answer, or whose era knows no such question, has none.
func rootsOf(ctx context.Context, request *sdk.CallToolRequest) (dirs []string) {
	//lint:ignore SA1019 clients of the older era have nothing else
	if c := request.ClientCapabilities(); c == nil || c.RootsV2 == nil || isModern(request) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, rootsWithin)
	defer cancel()
	//lint:ignore SA1019 clients of the older era have nothing else
	list, err := request.Session.ListRoots(ctx, nil)
	if err != nil {
		return nil
	}
	for _, root := range list.Roots {
		at, err := url.Parse(root.URI)
		if err == nil && at.Scheme == "file" && (at.Host == "" || at.Host == "localhost") && filepath.IsAbs(at.Path) {
			dirs = append(dirs, at.Path)
		}
	}
	return dirs
}

// Report implements Client.
func (r *run) Report(step string) {
	if report := r.report.Load(); report != nil {
		(*report)(sanitize.Text(step, sanitize.Line))
	}
}

// Ask implements Client.
func (r *run) Ask(ctx context.Context, q agent.Question) (agent.Answer, error) {
	params := form(q)
	if len(params.Message) > mostMessage {
		return agent.Answer{Reason: "the question is too long to be shown to a client"}, nil
	}
	one := &question{run: r, id: q.ID, params: params, answered: make(chan answered, 1), done: ctx.Done()}
	if !one.put(r.questions) {
		return agent.Answer{}, context.Cause(ctx)
	}
	select {
	case a := <-one.answered:
		if a.err != nil {
			return agent.Answer{}, a.err
		}
		return read(q, a.result)
	case <-ctx.Done():
		return agent.Answer{}, context.Cause(ctx)
	}
}

// put hands the question to the call that waits; false where the run ends before.
func (q *question) put(to chan<- *question) bool {
	select {
	case to <- q:
		return true
	case <-q.done:
		return false
	}
}

// mostMessage bounds the text of a question, in bytes: one that cannot be shown whole is not asked.
const mostMessage = 100 << 10

// The modes of an elicitation.
const (
	modeForm = "form"
	modeURL  = "url"
)

// form is a question as a client shows it: its text, and a form for the fields of an answer. A server's own
// form is passed on.
func form(q agent.Question) *sdk.ElicitParams {
	p := &sdk.ElicitParams{Mode: modeForm}
	switch {
	case q.Kind == agent.QuestionForm && q.Form.URL != "":
		p.Mode, p.URL, p.ElicitationID = modeURL, q.Form.URL, q.ID
	case q.Kind == agent.QuestionForm:
		p.RequestedSchema = q.Form.Schema
	default:
		p.RequestedSchema = schema(q)
	}
	p.Message = sanitize.Text(message(q), sanitize.Code)
	return p
}

// message is all that the user has to know of a question.
func message(q agent.Question) string {
	parts := []string{q.Title()}
	object := strings.TrimSpace(q.Call.Access.Object)
	if q.Call.Access.Command != "" {
		object = q.Call.Access.Command
	}
	if !strings.Contains(parts[0], object) {
		parts = append(parts, object)
	}
	detail := q.Detail()
	switch {
	case q.Call.Access.Diff != "" && q.Diff == "":
		parts = append(parts, q.Call.Access.Diff)
	case q.Kind == agent.QuestionApproval && q.Call.Access.Command == "" && q.Call.Access.Server == "" && len(q.Call.Input) > 0:
		parts = append(parts, "input: "+string(q.Call.Input))
	}
	if detail != "" {
		parts = append(parts, detail)
	}
	if more := lasting(q); more != "" {
		parts = append(parts, more)
	}
	for i, part := range parts {
		parts[i] = strings.TrimRight(part, "\n")
	}
	return strings.Join(parts, "\n\n")
}

// lasting explains the answers that hold for more than this question; it is "" if there are none.
func lasting(q agent.Question) string {
	switch {
	case q.Kind == agent.QuestionPlan:
		return "yes continues in mode " + string(q.Then) + ", session in mode edits"
	case !slices.Contains(q.Verdicts(), agent.YesForSession):
		return ""
	case q.OwnPrograms():
		return "session and forever allow the project's own programs, in the sandbox"
	}
	return "session and forever allow " + q.Rule
}

// schema is a form for the answer to a question; its fields are those of agent.AnswerEvent.
func schema(q agent.Question) map[string]any {
	event := q.Event()
	answer := map[string]any{"type": "string", "title": "Answer", "enum": event.Answers}
	fields := map[string]any{"answer": answer}
	switch q.Kind {
	case agent.QuestionChoice, agent.QuestionCompact:
		text := map[string]any{"type": "string", "title": "Text", "description": "goes with yes"}
		if q.Kind == agent.QuestionCompact {
			text["enum"] = q.Choices
		} else if len(q.Choices) > 0 {
			text["description"] = "goes with yes: " + strings.Join(q.Choices, ", or ") + ", or another answer"
		}
		fields["text"] = text
	default:
		fields["reason"] = map[string]any{"type": "string", "title": "Reason", "description": "reason for a no, which the model gets"}
	}
	return map[string]any{"type": "object", "properties": fields, "required": []string{"answer"}}
}

// read is the answer in a client's result. Only an accepted form approves.
func read(q agent.Question, result *sdk.ElicitResult) (agent.Answer, error) {
	event := agent.AnswerEvent{ID: q.ID, Answer: agent.No.String()}
	text := func(name string) string { value, _ := result.Content[name].(string); return value }
	switch {
	case result.Action == "decline":
	case result.Action != "accept" && q.Kind == agent.QuestionForm:
		event.Answer = agent.Cancel.String()
	case result.Action != "accept":
		return agent.Answer{}, fmt.Errorf("the client gave no answer: %w", agent.ErrNobody)
	case q.Kind == agent.QuestionForm:
		event.Answer = agent.Yes.String()
		if q.Form.URL == "" {
			values := result.Content
			if values == nil {
				values = map[string]any{}
			}
			var err error
			if event.Input, err = provider.Marshal(values); err != nil {
				return agent.Answer{}, err
			}
		}
	default:
		event.Answer, event.Text, event.Reason = text("answer"), text("text"), text("reason")
	}
	answer, err := q.Read(event)
	if err != nil {
		return agent.Answer{}, fmt.Errorf("the client's answer is ignored: %v: %w", err, agent.ErrNobody)
	}
	return answer, nil
}
