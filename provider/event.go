package provider

import "time"

// Event is one thing that happened while a reply streamed: Started, TextDelta,
// ReasoningDelta, CallDelta, Step, Refused, Retry, Notice or Done. The set is
// sealed.
type Event interface{ event() }

// Started is the reply's first sign of life: the server accepted the request
// and sent its first event. At most one comes per try.
type Started struct {
	RequestID string // the provider's id of this request, "" when it sent none
	Model     string // the model that answers, as the server names it; may be ""
}

// TextDelta is a piece of the answer. Text is valid UTF-8 and never empty.
type TextDelta struct{ Text string }

// ReasoningDelta is a piece of the readable reasoning. Never empty.
type ReasoningDelta struct{ Text string }

// CallDelta says that a tool call began, or that a piece of its arguments came. It
// is there to be counted and shown: of a reply that breaks off nobody else reports
// what it cost. The call itself stands in Done.
type CallDelta struct {
	Tool  string // its name as far as it came, untrusted; may be ""
	Call  int    // the same number for all pieces of one call of the reply
	Bytes int    // size of this piece; 0 if only the name came
}

// Step is something the provider did with a tool of its own, which it neither
// asks for nor tells the result of: a coding CLI's command or edit. Text is one
// line, unsanitised and never empty. The text before a step is not the answer.
type Step struct{ Text string }

// Refused is a call of such a tool that was not let run, since somebody would
// have to be asked. Object is what the call is about, unsanitised; Reason may be "".
type Refused struct{ Tool, Object, Reason string }

// Retry tells that a try failed and another follows after Wait. The retry
// wrapper makes it, wires do not, but for providers that try again by themselves.
// Discard says that deltas of the failed try were already yielded. The reply starts
// again from nothing; what came is void as
// soon as a later try has delivered text or the whole reply, and not before: when
// all tries fail it is all there is.
type Retry struct {
	Try     int // the try that comes next, from 2
	Tries   int // how many there are at most
	Wait    time.Duration
	Err     *Error
	Discard bool
	// Own says that the provider tries again by itself: what it used in all stands
	// in Done, or in its error.
	Own bool
	// NewKey says that the key was refused and another one was found: the next
	// try is made with that.
	NewKey bool
	// Lower sets a lower limit, in tokens, for the replies of the tries that come.
	// To be called while the event is handled; nil where nobody can.
	Lower func(maxTokens int)
}

// Notice is something the user should know that does not end the reply, in one
// sentence without a full stop. Warning says that something is lost or not as it
// was asked for.
type Notice struct {
	Text    string
	Warning bool
}

// Done is a complete reply. Message holds all parts in the order the model made
// them; tool calls have unique ids and an Input that is a JSON object (or Raw,
// see ToolCall).
type Done struct {
	Message Message
	Stop    StopReason
	Detail  string // the provider's own explanation of a refusal or cut; may be ""
	// Doubt says why this may not be what the model wrote, such as the rest of a
	// call that the server lost; "" mostly. The retry wrapper asks once more.
	Doubt string
	// Unread says that the doubt is a call that stands in the text, which nothing
	// will run: the user must know of each.
	Unread bool
	Usage  Usage
	// Several says that Usage is the sum of several requests of the provider's
	// own making: it tells nothing of the size of the history that was sent.
	Several   bool
	RequestID string
	Tries     int // 1 unless the retry wrapper counted more
}

func (Started) event()        {}
func (TextDelta) event()      {}
func (ReasoningDelta) event() {}
func (CallDelta) event()      {}
func (Step) event()           {}
func (Refused) event()        {}
func (Retry) event()          {}
func (Notice) event()         {}
func (Done) event()           {}
