package agent

import (
	"context"
	"slices"

	"artoo/agent/permission"
	"artoo/provider"
	"artoo/tool"
)

// Callbacks is how a turn is reported, and how its questions are asked. Nine
// methods tell, one asks.
//
// They are called by one goroutine at a time, also while tools run side by
// side, and never after SendMessage returned. OnToolCall and OnToolResult come
// in pairs, one pair for each call of a reply, results in the model's order,
// each when it is part of the history. A pair of a sub-agent's comes between the two
// of the call that it works for. The telling methods must not block for
// long: the turn waits for them. No method may call back into the agent.
type Callbacks interface {
	// OnThinking says that a request begins; OnThinkingDone that the model was
	// heard: its reply began, or failed. They come in pairs.
	OnThinking()
	OnThinkingDone()
	// OnReasoning and OnText carry streamed pieces as the model sent them:
	// untrusted, unsanitised, cut anywhere but inside a rune.
	OnReasoning(text string)
	OnText(text string)
	// OnToolCall comes when a call was understood and planned, before it is
	// decided or run. For a call that will not run (unknown tool, broken
	// input) Access is zero but for Verb and Object.
	OnToolCall(call Call)
	// OnToolOutput carries live output of a running call, untrusted.
	OnToolOutput(call Call, chunk string)
	OnToolResult(call Call, result CallResult)
	// OnNotice tells everything recoverable.
	OnNotice(n Notice)
	// Ask puts a question to the user and waits. It returns ctx's error when
	// the turn is interrupted, and ErrNobody when no one can be asked; any
	// error means "no". Waiting time does not count against time limits.
	Ask(ctx context.Context, q Question) (Answer, error)
}

// Call is a tool call on its way through the loop, and what it would touch.
type Call struct {
	provider.ToolCall
	Access tool.Access
	Index  int // position in its reply, from 0
	Of     int // how many calls the reply has
	// Agent names the sub-agent whose call it is ("task 2 (review)"), Parent is the id
	// of the call that it works for. The id of its call is one that no other has. ""
	// and "" for the calls of the model that the user talks to.
	Agent, Parent string
}

// ToolInput is a call that the model is writing.
type ToolInput struct {
	Tool  string // the tool's name is untrusted, and "" while it is not known
	Index int    // position in its reply, from 0
	Bytes int    // so many bytes of its arguments have come
	// Agent and Parent are those of Call.
	Agent, Parent string
}

// CallResult is how a call ended.
type CallResult struct {
	Text     string // The model gets it; it is truncated already.
	Summary  string // The user reads it; a few words.
	Tail     string // the last lines of a failed command's output, for the user; may be ""
	Status   CallStatus
	Duration float64 // seconds it ran, 0 when it did not
	File     string  // where the whole output is, when Text was cut
}

// CallStatus sorts the ends of a call.
type CallStatus string

// The ends a call can come to.
const (
	CallOK          CallStatus = "ok"
	CallFailed      CallStatus = "failed"      // ran, and failed; or could not be run (unknown, invalid, panic)
	CallDenied      CallStatus = "denied"      // the user or a rule said no
	CallUnanswered  CallStatus = "unanswered"  // no one could answer: the run ends 6
	CallInterrupted CallStatus = "interrupted" // the turn was stopped before or while it ran
)

// Notice tells of something recoverable. Text is one sentence without a full
// stop, safe except for parts that came from outside (sanitise it).
type Notice struct {
	Kind    NoticeKind
	Text    string
	Retry   *provider.Retry // set for NoticeRetry, and where text that came is void
	Request *RequestReport  // set for NoticeUsage
	Input   *ToolInput      // set for NoticeInput
}

// NoticeKind sorts notices for front ends that treat some differently.
type NoticeKind string

// The kinds of notice.
const (
	NoticeRetry     NoticeKind = "retry"
	NoticeTrimmed   NoticeKind = "trimmed"   // history was shrunk or dropped to fit
	NoticeCompacted NoticeKind = "compacted" // a summary took the place of old history
	NoticeTruncated NoticeKind = "truncated" // a reply was cut, or a tool result shortened
	NoticeModel     NoticeKind = "model"     // the model that answers is not the one asked for
	NoticeCap       NoticeKind = "cap"       // a cap is near
	// the provider did something with a tool of its own; the text before it was not the answer
	NoticeStep  NoticeKind = "step"
	NoticeUsage NoticeKind = "usage" // a request ended; Text is empty, most front ends show nothing
	// NoticeInput says how much has come of a call that the model is writing; Text is empty.
	// It comes for every piece of the arguments, which may be a few bytes. The text before
	// the call is complete. A call that was begun may never come: the reply can break off.
	NoticeInput   NoticeKind = "input"
	NoticeInfo    NoticeKind = "info"
	NoticeWarning NoticeKind = "warning"
)

// QuestionKind says what an answer means.
type QuestionKind string

// The kinds of question.
const (
	QuestionApproval QuestionKind = "approval"
	// QuestionSteps asks whether a turn whose steps are used up goes on: yes or no.
	// Of the question only Reason is set, which is the question itself.
	QuestionSteps QuestionKind = "steps"
	// QuestionChanges asks whether the effects of a command land. It has run on a
	// layer: Effects and Diff are what it did. A lasting yes is for this line, as long
	// as it does nothing else, and can be had where Lasts says so.
	QuestionChanges QuestionKind = "changes"
	// QuestionOutside asks whether a command that failed at a wall of the sandbox runs
	// once more, on the host. Reason names the wall. There is no lasting yes.
	QuestionOutside QuestionKind = "outside"
	// QuestionWhole asks whether a background command that may not write the project
	// starts again, with all of it writable except what programs run automatically. Reason
	// names what it may not write. There is no lasting yes; Rule allows it unasked.
	QuestionWhole QuestionKind = "whole"
	// QuestionPlan asks whether the model's Plan is approved, which ends plan mode: Yes
	// puts the mode Then in force, YesForSession the mode edits. With No the reason goes
	// to the model.
	QuestionPlan QuestionKind = "plan"
	// QuestionChoice is the model's own: Text, and Choices if there are any. The answer
	// is Answer.Text, "" for none.
	QuestionChoice QuestionKind = "choice"
	// QuestionCompact asks what becomes of the old part of a history that is too long:
	// Text, and Choices of which one is the answer, Answer.Text; "" is a trim.
	QuestionCompact QuestionKind = "compact"
)

// Question asks whether a call may run.
type Question struct {
	Kind QuestionKind
	Call Call
	Dir  string // the directory that the tools work in, absolute
	// Reason says why it is asked, in a few words; may be "". Reasons are the same as
	// data, Own the project's own programs that the call would run.
	Reason  string
	Reasons []permission.Reason
	Own     []string
	// Place is where the call's command would run.
	Place permission.Place
	// Network says that the sandbox of that place does not hold the network.
	Network bool
	// Rule is the narrowest rule that would allow this very call, Suggested
	// the wider one that `a` could take; both in rule syntax.
	Rule, Suggested string
	// Effects and Diff, masked, are what a command did on a layer; nil and "" for
	// other questions.
	Effects *permission.Effects
	Diff    string
	// Lasts says that a yes to QuestionChanges may hold for the same line later in the
	// session.
	Lasts bool
	// Covers says why a rule would not allow this call: it is not a rule, or
	// speaks of something else. An answer with such a rule approves nothing.
	// To be called by the goroutine that is asked, while it is; may be nil.
	Covers func(rule string) error
	// Plan is Markdown, Text and Choices are plain; all are the model's words, except for
	// QuestionCompact.
	Plan, Text string
	Choices    []string
	Then       permission.Mode
	// Number and Of count the questions of one reply, from 1.
	Number, Of int
}

// OwnPrograms reports whether the question is about running the project's own programs:
// a lasting yes without a rule then trusts the project to run them.
func (q Question) OwnPrograms() bool {
	return q.Kind == QuestionApproval &&
		slices.ContainsFunc(q.Reasons, func(r permission.Reason) bool { return r.Code == permission.OwnPrograms })
}

// Verdict is the decision of an Answer.
type Verdict string

// The verdicts. The zero value is no.
const (
	No            Verdict = ""
	Yes           Verdict = "yes"
	YesForSession Verdict = "session" // and Answer.Rule holds until the session ends
	YesForever    Verdict = "forever" // and Answer.Rule is written to the user's file
	StopTurn      Verdict = "stop"    // no, and the turn ends
	// Withhold is no to QuestionChanges, and the model does not get the output either.
	Withhold Verdict = "withhold"
)

// Answer is what the user said. The zero value is no.
type Answer struct {
	Verdict Verdict
	Reason  string // It goes to the model with No; may be "".
	Rule    string // It counts for YesForSession and YesForever; "" means Question.Rule.
	Text    string // It answers QuestionChoice and QuestionCompact.
	// Input is the call's input, in JSON, as the user edited it: it is checked,
	// planned and asked about again. nil otherwise.
	Input []byte
}

// NopCallbacks ignores everything and answers ErrNobody. Embed it to
// implement a part of Callbacks.
type NopCallbacks struct{}

var _ Callbacks = NopCallbacks{}

func (NopCallbacks) OnThinking()                   {}
func (NopCallbacks) OnThinkingDone()               {}
func (NopCallbacks) OnReasoning(string)            {}
func (NopCallbacks) OnText(string)                 {}
func (NopCallbacks) OnToolCall(Call)               {}
func (NopCallbacks) OnToolOutput(Call, string)     {}
func (NopCallbacks) OnToolResult(Call, CallResult) {}
func (NopCallbacks) OnNotice(Notice)               {}

// Ask says that no one can answer.
func (NopCallbacks) Ask(context.Context, Question) (Answer, error) { return Answer{}, ErrNobody }

// Response is what a turn came to. SendMessage returns one with its error too:
// it then holds what there is.
type Response struct {
	Text     string // the final reply; with an error, the partial one
	Stop     provider.StopReason
	Detail   string // the provider's explanation of Stop; may be ""
	Steps    int    // model requests, continuations included
	Usage    provider.Usage
	CostUSD  *float64 // CostUSD is nil when a price is unknown.
	Requests []RequestReport
	Denied   []Denial
	// ToolErrors counts calls that failed.
	ToolErrors int
	// Model and Provider are those that answered last.
	Provider, Model string
}

// RequestReport is one finished model request.
type RequestReport struct {
	ID      string         `json:"id"`
	Model   string         `json:"model"`
	Usage   provider.Usage `json:"usage"`
	CostUSD *float64       `json:"cost_usd"`
	Millis  int64          `json:"ms"`
	Tries   int            `json:"tries"`
}

// Denial is a call that was refused.
type Denial struct {
	Tool   string `json:"tool"`
	Object string `json:"object"` // the command or path, unsanitised
	Reason string `json:"reason"`
	Rule   string `json:"rule"` // the rule that would have allowed it, "" when none can
	Nobody bool   `json:"nobody"`
	// Code is the reason that decided, of a call that did not run; own-programs where that
	// is among the reasons, since one answer to it covers all such calls.
	Code permission.Code `json:"code,omitempty"`
	// Changes are what a command did that does not count, one a row, what matters most
	// first; nil for a call that did not run.
	Changes []string `json:"changes,omitempty"`
}
