package provider

import "time"

// Event is one thing that happened while a reply streamed. The set is sealed.
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

// CallDelta says that a tool call began or a piece of its arguments came, for counting and
// display. The call itself is in Done.
type CallDelta struct {
	Tool  string // its name as far as it came, untrusted; may be ""
	Call  int    // the same number for all pieces of one call of the reply
	Bytes int    // size of this piece; 0 if only the name came
}

// Step is a command or edit of a coding CLI, which runs its tools itself. Text is one line,
// unsanitised, never empty. The text before a step is not the answer.
type Step struct{ Text string }

// Refused is a call of such a tool that was not let run, since a user would have to approve it. Object is the call's
// object, unsanitised; Reason may be "".
type Refused struct{ Tool, Object, Reason string }

// Retry says that a try failed and another follows after Wait. The retry wrapper sends it,
// and providers that retry by themselves. Discard says that deltas of the failed try were
// yielded; they are void once a later try has delivered text or the reply.
type Retry struct {
	Try     int // the try that comes next, from 2
	Tries   int // how many there are at most
	Wait    time.Duration
	Err     *Error
	Discard bool
	// Own means that the provider retries by itself: Done or its error has all usage.
	Own bool
	// NewKey means that the key was refused and the next try uses another.
	NewKey bool
	// Lower sets a lower limit, in tokens, for the replies of the tries that come.
	// To be called while the event is handled; nil if that is impossible.
	Lower func(maxTokens int)
}

// Notice is a sentence for the user without a full stop. Warning says that something is
// lost or not as requested.
type Notice struct {
	Text    string
	Warning bool
}

// Done is a complete reply. Message holds all parts in the model's order; calls have unique
// IDs and a JSON object as Input (or Raw, see ToolCall).
type Done struct {
	Message Message
	Stop    StopReason
	Detail  string // the provider's own explanation of a refusal or cut; may be ""
	// Doubt says why this may not be the model's own text; "" mostly. The retry wrapper asks again.
	Doubt string
	// Unread means that the doubt is a call in the text, which nothing runs.
	Unread bool
	Usage  Usage
	// Several says that Usage is the sum of several requests, so it does not measure the history.
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
