package cli

import (
	"cmp"
	"strings"
	"time"

	"artoo/provider"
	"artoo/tool/text"
)

const (
	// Characters of a step's object.
	mostStep = 200
	// Bytes of all that is kept of a reply.
	mostReply = 256 << 20
)

// reply is the reply of a run so far. The events of its tool fill it.
type reply struct {
	// send sends nothing after the caller has left.
	send func(provider.Event)
	progress
	// session is the tool's, the last that was named. model answers, and is "" until it is known.
	session, model string
	// answer is the whole answer, where the last event repeats it.
	answer string
	stop   provider.StopReason
	// usage is that of the run so far. total is that of the tool's session, if the tool reports one.
	usage provider.Usage
	total *provider.Usage
	// mayWait is the longest wait for the retries of one request.
	mayWait time.Duration
	content
}

// progress is how far a run has come.
type progress struct {
	// events are those that show that the tool is at work.
	events int
	// started means that the model has said something, heard that it has begun to work, over that the last event came.
	started, heard, over bool
	// trouble is the last error that was not the end.
	trouble string
	// failure says why the run failed; without a text it did not. aborted means that it will not come to an end by
	// itself.
	failure failure
	aborted bool
}

// content is what the tool said and did.
type content struct {
	// steps are the calls so far, about as many as the requests before the last.
	steps int
	// size is how many bytes are kept.
	size int
	// parts are those before the last step, said is the last text among them, text is since then.
	parts     []provider.Part
	reasoning strings.Builder
	said      string
	text      []byte
	// begun is where the text of the present message begins, sure up to where the text came whole.
	begun, sure int
	// apart means that the next text is a paragraph of its own.
	apart bool
}

// failure is why a run failed. code is the tool's own word, status one of HTTP or 0; kind is "" when only these and
// the text show it.
type failure struct {
	text, code string
	status     int
	kind       provider.ErrorKind
}

// abort ends a run that will not come to an end by itself.
func (r *reply) abort(f failure) { r.failure, r.aborted = f, true }

// begin says that the run has begun. model may be "".
func (r *reply) begin(session, model string) {
	if validID(session) {
		r.session = session
	}
	r.model = cmp.Or(model, r.model)
}

// working notes that the message was heard: now the tool answers.
func (r *reply) working() {
	r.heard = true
	if !r.started {
		r.started = true
		r.send(provider.Started{RequestID: r.session, Model: r.model})
	}
}

// unsure reports whether there is text of which the tool has not said that it is whole.
func (r *reply) unsure() bool { return len(r.text) > r.sure }

// void takes back such text. Text that still counts is sent once more.
func (r *reply) void(try provider.Retry) {
	try.Discard = r.unsure()
	r.send(try)
	if try.Discard {
		r.text, r.apart = r.text[:r.sure], false
		r.reasoning.Reset()
		if r.sure > 0 {
			r.send(provider.TextDelta{Text: string(r.text)})
		}
	}
}

// refuse reports a call that the tool refused, since no one can be asked.
func (r *reply) refuse(tool, object, reason string) {
	r.send(provider.Refused{Tool: oneLine(tool), Object: oneLine(object), Reason: oneLine(reason)})
}

// keep is the text as it is kept, and counts it: a tool that runs wild must not take all memory.
func (r *reply) keep(text string) string {
	r.working()
	if r.size += len(text); r.size > mostReply {
		r.abort(failure{text: "the reply is larger than 256 MiB", kind: provider.KindProvider})
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// block says that the text to come is a paragraph of its own.
func (r *reply) block() { r.apart = len(r.text) > 0 }

func (r *reply) say(text string) {
	if text == "" {
		return
	}
	text = r.keep(text)
	r.endReasoning()
	if r.apart {
		text = "\n\n" + text
	}
	r.apart, r.text = false, append(r.text, text...)
	r.send(provider.TextDelta{Text: text})
}

func (r *reply) think(text string) {
	if text != "" {
		text = r.keep(text)
		r.reasoning.WriteString(text)
		r.send(provider.ReasoningDelta{Text: text})
	}
}

// calling is a piece of a call that the model writes; the whole call is a step.
func (r *reply) calling(tool string, call, bytes int) {
	r.working()
	r.send(provider.CallDelta{Tool: oneLine(tool), Call: call, Bytes: bytes})
}

func (r *reply) endReasoning() {
	if r.reasoning.Len() > 0 {
		r.parts = append(r.parts, provider.Reasoning{Form: formThinking, Text: r.reasoning.String()})
		r.reasoning.Reset()
	}
}

// step is a step of the tool: the text before was not the answer.
func (r *reply) step(what, object string) {
	r.steps++
	r.outcome(what, object)
}

// outcome is how a step went, which is shown as a step is.
func (r *reply) outcome(what, object string) {
	r.endReasoning()
	if len(r.text) > 0 {
		r.said = string(r.text)
		r.parts = append(r.parts, provider.Reasoning{Form: formSaid, Text: r.said})
	}
	r.text, r.begun, r.sure, r.apart = nil, 0, 0, false
	text := r.keep(strings.TrimSuffix(oneLine(what)+": "+oneLine(object), ": "))
	r.parts = append(r.parts, provider.Reasoning{Form: formStep, Text: text})
	r.send(provider.Step{Text: text})
}

func (r *reply) notify(text string) {
	if text = oneLine(text); text != "" {
		r.send(provider.Notice{Text: text})
	}
}

// inTrouble reports an error of a tool that goes on, once.
func (r *reply) inTrouble(tool, text string) {
	if text != r.trouble {
		r.notify(tool + ": " + text)
	}
	r.trouble = text
}

// finish looks for the answer: before a last step the tool may have said it.
func (r *reply) finish() {
	r.working()
	r.endReasoning()
	if strings.TrimSpace(string(r.text)) == "" {
		r.say(cmp.Or(strings.TrimSpace(r.answer), strings.TrimSpace(r.said)))
	}
}

// message is the whole reply, with the tool's session.
func (r *reply) message(name, model string, kept provider.Part) provider.Message {
	parts := append([]provider.Part{kept}, r.parts...)
	if len(r.text) > 0 {
		parts = append(parts, provider.Text{Text: string(r.text)})
	}
	return provider.Message{Role: provider.RoleAssistant, Provider: name, Model: cmp.Or(r.model, model), Parts: parts}
}

func oneLine(said string) string {
	return text.Clip(text.Head(strings.ToValidUTF8(said, "\uFFFD")), mostStep)
}
