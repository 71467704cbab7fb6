package provider

import "time"

// Event is one thing that happened while a reply streamed: Started, TextDelta,
// ReasoningDelta, Step, Retry, Notice or Done. The set is sealed.
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

// Step is something the provider did with a tool of its own, which it neither
// asks for nor tells the result of: a coding CLI's command or edit. Text is one
// line, unsanitised and never empty. The text before a step is not the answer.
type Step struct{ Text string }

// Retry tells that a try failed and another follows after Wait. The retry
// wrapper makes it, wires do not. Discard says that deltas of the failed try
// were already yielded: they are void, the reply starts again from nothing.
type Retry struct {
	Try     int // the try that comes next, from 2
	Tries   int // how many there are at most
	Wait    time.Duration
	Err     *Error
	Discard bool
	// NewKey says that the key was refused and another one was found: the next
	// try is made with that.
	NewKey bool
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
	Usage Usage
	// Several says that Usage is the sum of several requests of the provider's
	// own making: it tells nothing of the size of the history that was sent.
	Several   bool
	RequestID string
	Tries     int // 1 unless the retry wrapper counted more
}

func (Started) event()        {}
func (TextDelta) event()      {}
func (ReasoningDelta) event() {}
func (Step) event()           {}
func (Retry) event()          {}
func (Notice) event()         {}
func (Done) event()           {}
