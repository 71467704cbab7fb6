package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"artoo/agent/permission"
	"artoo/conversation"
	"artoo/provider"
	"artoo/tool"
	"artoo/tool/mcp"
)

// Callbacks is how a turn is reported, and how its questions are asked.
//
// One goroutine at a time calls them, also while tools run side by side, and none does after
// SendMessage returned. OnToolCall and OnToolResult come in pairs, one for each call of a reply,
// results in the model's order, each when it is part of the history. A sub-agent's pairs come
// between the two of the call that it works for. Except for Ask no method may block for long, and
// none may call back into the agent.
type Callbacks interface {
	// OnThinking reports that a request begins, OnThinkingDone that its reply began, or failed. They
	// come in pairs.
	OnThinking()
	OnThinkingDone()
	// OnReasoning and OnText carry streamed pieces: untrusted, unsanitised, cut anywhere except
	// inside a rune.
	OnReasoning(text string)
	OnText(text string)
	// OnToolCall comes before a call is decided or run. For one that will not run (unknown tool, broken
	// input) Access is zero except for Verb and Object.
	OnToolCall(call Call)
	// OnToolOutput carries live output of a running call, untrusted.
	OnToolOutput(call Call, chunk string)
	OnToolResult(call Call, result CallResult)
	// OnNotice reports everything recoverable.
	OnNotice(n Notice)
	// Ask asks the user and waits; the time does not count against limits. It
	// returns ctx's error on an interrupt and ErrNobody when no one can be asked; any error means
	// "no".
	Ask(ctx context.Context, q Question) (Answer, error)
}

// Call is a tool call on its way through the loop, and its access.
type Call struct {
	provider.ToolCall
	Access tool.Access
	Index  int // position in its reply, from 0
	Of     int // how many calls the reply has
	// Agent names the sub-agent whose call it is ("task 2 (review)"), Parent is the id of the
	// call that it works for; both are "" for calls of the model that the user talks to. The
	// call's id is unique.
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
	// Todo is the model's plan of a long task as the call set it; nil for other calls.
	Todo    []TodoItem
	Applied Applied
	// Decision is the last decision on the call; the zero value where none was needed.
	Decision conversation.Decision
}

// Applied are the changes of a command that landed.
type Applied struct {
	// Effects is nil for none. Words are the part of the summary, or of the notice, that says the same.
	Effects *permission.Effects
	Words   string
}

// TodoItem is a step of the model's plan of a long task.
type TodoItem struct {
	Text   string `json:"text"`
	Status string `json:"status" jsonschema:"pending, in_progress, done or dropped"`
}

// State is the item's status in artoo's own word: pending, in_progress, done or dropped.
func (i TodoItem) State() string {
	switch i.Status {
	case "completed":
		return "done"
	case "cancelled":
		return "dropped"
	}
	return i.Status
}

// todoWords are the statuses as the user reads them. The second row has the names of other programs.
var todoWords = map[string]string{"pending": "to do", "in_progress": "doing", "done": "done", "dropped": "dropped",
	"completed": "done", "cancelled": "dropped"}

// CallStatus sorts the ends of a call.
type CallStatus string

// The ends a call can come to.
const (
	CallOK          CallStatus = "ok"
	CallFailed      CallStatus = "failed"      // ran, and failed; or could not be run (unknown, invalid, panic)
	CallDenied      CallStatus = "denied"      // the user or a rule denied it
	CallUnanswered  CallStatus = "unanswered"  // no one could answer: the run ends 6
	CallInterrupted CallStatus = "interrupted" // the turn was stopped before or while it ran
)

// QuestionKind decides the meaning of an answer.
type QuestionKind string

// The kinds of question.
const (
	QuestionApproval QuestionKind = "approval"
	// QuestionSteps asks, in Reason, whether a turn whose steps are used up goes on: yes or no.
	QuestionSteps QuestionKind = "steps"
	// QuestionLimit asks, in Reason, whether to wait for a rate limit to reset: yes or no.
	QuestionLimit QuestionKind = "limit"
	// QuestionChanges asks whether the effects of a command that ran on a layer land. No yes lasts.
	QuestionChanges QuestionKind = "changes"
	// QuestionOutside asks whether a command that the sandbox denied something, which Reason
	// names, runs once more, on the host. There is no lasting yes.
	QuestionOutside QuestionKind = "outside"
	// QuestionWhole asks whether a background command that may not write the paths in Reason starts again, with the
	// whole project writable except files that programs run automatically. No yes lasts; Rule allows it unasked.
	QuestionWhole QuestionKind = "whole"
	// QuestionPlan asks whether the model's Plan is approved: Yes sets the mode Then,
	// YesForSession the mode edits, YesFresh sets Then and leaves out the history except for what was read. With No the
	// reason goes to the model.
	QuestionPlan QuestionKind = "plan"
	// QuestionMemory asks whether the line that is the call's object is added to the project's memory.
	QuestionMemory QuestionKind = "memory"
	// QuestionChoice is the model's own: Text, and perhaps Choices. Answer.Text is the answer, ""
	// where the user gave none.
	QuestionChoice QuestionKind = "choice"
	// QuestionCompact asks how to shorten the old part of a history that is too long: Text, and
	// Choices of which one is Answer.Text; "" is a trim.
	QuestionCompact QuestionKind = "compact"
	// QuestionForm is an MCP server's, during Call: a form to fill in, or an address to open, in
	// Form. Answer.Form is the answer.
	QuestionForm QuestionKind = "form"
)

// Question asks whether a call may run, or for another decision of the user.
type Question struct {
	ID   string // "q1", "q2", …: unique among the questions of an agent and its sub-agents
	Kind QuestionKind
	Call Call
	Dir  string // the directory that the tools work in, absolute
	// Reason is Reasons in a few words; may be "". Own are the project's own programs that would run.
	Reason  string
	Reasons []permission.Reason
	Own     []string
	// Place is where the call's command would run.
	Place permission.Place
	// Network reports that the sandbox of that place does not hold the network.
	Network bool
	// Hosts are those that the command would reach from the sandbox, as rules name them; nil for none.
	Hosts []string
	// Rule is the narrowest rule that would allow this very call, Suggested the wider one that
	// `a` could take.
	Rule, Suggested string
	// Effects and Diff, masked, are the changes of a command on a layer; nil and "" for other questions.
	Effects *permission.Effects
	Diff    string
	// Covers explains why a rule would not allow this call; an answer with such a rule approves
	// nothing. Only the goroutine that is asked may call it, before it answers; may be nil.
	Covers func(rule string) error
	// Plan is Markdown, Text and Choices are plain; all are the model's words, except for
	// QuestionCompact.
	Plan, Text string
	Choices    []string
	Then       permission.Mode
	Form       *mcp.Request // the server's words; nil for other questions
	// Number and Of count the questions of one reply, from 1.
	Number, Of int
}

// Verdict is the decision of an Answer.
type Verdict string

// The verdicts. The zero value is no, which programs write as "no".
const (
	No            Verdict = ""
	Yes           Verdict = "yes"
	YesForSession Verdict = "session" // and Answer.Rule holds until the session ends
	YesForever    Verdict = "forever" // and Answer.Rule is written to the user's file
	YesFresh      Verdict = "fresh"   // to QuestionPlan
	StopTurn      Verdict = "stop"    // no, and the turn ends
	Cancel        Verdict = "cancel"  // QuestionForm ends without an answer
)

// String is the verdict as programs write it.
func (v Verdict) String() string { return cmp.Or(string(v), "no") }

// From is who or what decided.
type From string

// Those who decide. FromMode stands for the mode and for all that artoo itself allows or denies without a rule.
const (
	FromTyped   From = "typed"
	FromRule    From = "rule"
	FromMode    From = "mode"
	FromHook    From = "hook"
	FromProgram From = "program"
	FromEditor  From = "editor"
	FromNobody  From = "nobody"
)

// Answer is the user's. The zero value is no.
type Answer struct {
	Verdict Verdict
	Reason  string // It goes to the model with No; may be "".
	Rule    string // It counts for YesForSession and YesForever; "" means Question.Rule.
	Text    string // It answers QuestionChoice and QuestionCompact.
	// Input is the call's input, in JSON, as it was edited; nil otherwise. With Yes it runs unless
	// a rule denies it; else it is planned and asked about again.
	Input []byte
	By    string // the hook or program that answered; "" for the user
	// From is who answered; "" means the program By, or, without one, that it was typed.
	From From
	// Form answers QuestionForm; its zero value cancels.
	Form mcp.Answer

	// Decision is what it decides, once the agent has it.
	Decision conversation.Decision
}

// Answered is a question that a hook answered in the user's place.
type Answered struct {
	Question Question
	Answer   Answer
}

// Notice reports something recoverable. Text is one sentence without a full stop. Parts of it may
// come from outside (sanitise it).
type Notice struct {
	Kind    NoticeKind
	Text    string
	Hint    string          // the commands that follow it up in a conversation; "" for none
	Retry   *provider.Retry // set for NoticeRetry, and where text that came is void
	Request *RequestReport  // set for NoticeUsage
	Input   *ToolInput      // set for NoticeInput
	// Answered is set for NoticeAnswered.
	Answered *Answered
	// Applied is set where a background command has ended.
	Applied Applied
}

// NoticeKind sorts notices for front ends that treat some differently.
type NoticeKind string

// The kinds of notice.
const (
	NoticeRetry     NoticeKind = "retry"
	NoticeTrimmed   NoticeKind = "trimmed"   // history was shrunk or dropped to fit
	NoticeCompacted NoticeKind = "compacted" // a summary replaced old history
	NoticeTruncated NoticeKind = "truncated" // a reply was cut, or a tool result shortened
	NoticeModel     NoticeKind = "model"     // the model that answers is not the one asked for
	NoticeCap       NoticeKind = "cap"       // a cap is near
	// the provider did something with a tool of its own; the text before it was not the answer
	NoticeStep  NoticeKind = "step"
	NoticeUsage NoticeKind = "usage" // a request ended; Text is empty, most front ends show nothing
	// NoticeInput reports how much has come of a call that the model is writing, for every few
	// bytes; Text is empty. The text before the call is complete. The call may never come: the
	// reply can break off.
	NoticeInput NoticeKind = "input"
	// NoticeAnswered reports that a hook answered a question, which then is not asked; Text is empty.
	NoticeAnswered NoticeKind = "answered"
	NoticeInfo     NoticeKind = "info"
	NoticeWarning  NoticeKind = "warning"
)

// NopCallbacks ignores everything and answers ErrNobody. Embed it to implement a part of Callbacks.
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

// Ask implements Callbacks: no one can answer.
func (NopCallbacks) Ask(context.Context, Question) (Answer, error) { return Answer{}, ErrNobody }

// Response is the outcome of a turn; with an error, as far as it came.
type Response struct {
	Text string // the final reply; with an error, the partial one
	// JSON is the answer, where Options.Schema was set and it fits; nil otherwise.
	JSON     json.RawMessage
	Stop     provider.StopReason
	Detail   string // the provider's explanation of Stop; may be ""
	Steps    int    // model requests, continuations included
	Usage    provider.Usage
	CostUSD  *float64 // CostUSD is nil when a price is unknown.
	Requests []RequestReport
	Denied   []Denial
	Answered []HookAnswer
	// Background are the lines of background commands that still ran, and were ended with the turn or its sub-agents.
	Background []string
	// Reach has the effects of the turn's sub-agents, too.
	Reach Reach
	// ToolErrors counts calls that failed.
	ToolErrors int
	// Model and Provider are those that answered last.
	Provider, Model string
}

// Reach is what a turn changed in the project, and what it reached outside the sandbox.
type Reach struct {
	Created  int `json:"created"` // files, by the undo journal; 0 without one
	Modified int `json:"modified"`
	Deleted  int `json:"deleted"`
	// Outside are the calls that ran outside the sandbox, Network the hosts that web tools tried to reach and lines in the
	// sandbox reached, Networked the calls that ran in the sandbox with the network, each once and masked; may be nil.
	Outside   []string `json:"outside"`
	Network   []string `json:"network"`
	Networked []string `json:"networked"`
}

// Changed is how many files the turn changed.
func (r Reach) Changed() int { return r.Created + r.Modified + r.Deleted }

// And is what two turns changed and reached. Its lists are not nil.
func (r Reach) And(other Reach) Reach {
	sum := Reach{Created: r.Created + other.Created, Modified: r.Modified + other.Modified,
		Deleted: r.Deleted + other.Deleted, Outside: []string{}, Network: []string{}, Networked: []string{}}
	sum.reached(r)
	sum.reached(other)
	return sum
}

// reached adds what another turn reached.
func (r *Reach) reached(other Reach) {
	for list, more := range map[*[]string][]string{&r.Outside: other.Outside, &r.Network: other.Network,
		&r.Networked: other.Networked} {
		for _, name := range more {
			if !slices.Contains(*list, name) {
				*list = append(*list, name)
			}
		}
	}
}

// HookAnswer is a question that a hook answered in the user's place.
type HookAnswer struct {
	Tool   string  `json:"tool"`
	Object string  `json:"object"` // the command or path, unsanitised
	Answer Verdict `json:"answer"` // no, yes, session or stop
	Reason string  `json:"reason"`
	By     string  `json:"by"` // the hook
}

// RequestReport is one finished model request.
type RequestReport struct {
	ID      string         `json:"id"`
	Model   string         `json:"model"`
	Usage   provider.Usage `json:"usage"`
	CostUSD *float64       `json:"cost_usd"`
	Millis  int64          `json:"ms"`
	Tries   int            `json:"tries"`
	// Small says that the small model answered.
	Small bool `json:"small,omitempty"`
	// Quota is the state of the server's rate limits after it; nil where the server does not say it.
	Quota *provider.Quota `json:"-"`
}

// Denial is a call that was refused.
type Denial struct {
	Tool   string `json:"tool"`
	Object string `json:"object"` // the command or path, unsanitised
	Reason string `json:"reason"`
	Rule   string `json:"rule"` // the rule that would have allowed it, "" when none can
	Nobody bool   `json:"nobody"`
	// Code is the reason that decided over a call that did not run; own-programs where that is
	// among the reasons.
	Code permission.Code `json:"code,omitempty"`
	// Changes lists the discarded changes of a command, the most important first; nil for a call
	// that did not run.
	Changes []string `json:"changes,omitempty"`
}
