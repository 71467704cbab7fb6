package cli

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"artoo/provider"
	"artoo/tool/text"
)

const (
	mostStep  = 200       // characters of a step's object
	mostReply = 256 << 20 // bytes of all that is kept of a reply
)

// reply is the reply of a run so far. The decoder of its tool fills it.
type reply struct {
	send func(provider.Event) // sends nothing after the caller has left

	session string // the tool's; the last that was named
	model   string // the model that answers, "" until it is known
	events  int    // events understood
	heard   bool   // the model has begun to work
	over    bool   // the terminal event came
	answer  string // the whole answer, where the terminal event repeats it
	failure *failure
	abort   bool                // the tool will not come to an end by itself: failure says why
	stop    provider.StopReason // "" is a complete reply
	usage   provider.Usage      // so far
	// requests are about how many the tool made before its last.
	requests int
	total    *provider.Usage // total of the tool's session, if it reports one

	started    bool
	steps      int             // steps shown
	size       int             // bytes that are kept
	parts      []provider.Part // parts before the last step
	reasoning  strings.Builder
	text       strings.Builder // since the last step
	apart      bool            // the next text is a paragraph of its own
	stuck      time.Time       // since when there was nothing but a broken connection
	mayBeStuck time.Duration   // how long there may be
	mayWait    time.Duration   // total wait for the retries of one request
}

type failure struct {
	text   string
	code   string             // the tool's own word
	status int                // HTTP status, 0 if unknown
	kind   provider.ErrorKind // "" when only text and status show it
	after  time.Duration      // until it may work again, 0 when not known
}

// begin says that the run has begun. model may be "".
func (r *reply) begin(session, model string) {
	if session != "" && validID(session) {
		r.session = session
	}
	r.model = cmp.Or(model, r.model)
}

// working notes that the message was heard: now the tool answers.
func (r *reply) working() {
	r.heard, r.stuck = true, time.Time{}
	if !r.started {
		r.started = true
		r.send(provider.Started{RequestID: r.session, Model: r.model})
	}
}

type mark struct{ steps, text int }

func (r *reply) here() mark { return mark{r.steps, r.text.Len()} }

// kept is how much of the text since the last step stood there at m.
func (r *reply) kept(m mark) int {
	if m.steps != r.steps {
		return 0
	}
	return min(m.text, r.text.Len())
}

// more reports whether there is text that was not there at m.
func (r *reply) more(m mark) bool { return r.text.Len() > r.kept(m) }

// void takes back the text since m. Text that still counts is sent once more.
func (r *reply) void(m mark, try provider.Retry) {
	kept := r.kept(m)
	try.Discard = kept < r.text.Len()
	if try.Discard {
		text := r.text.String()[:kept]
		r.text.Reset()
		r.text.WriteString(text)
		r.reasoning.Reset()
		r.apart = false
		r.send(try)
		if text != "" {
			r.send(provider.TextDelta{Text: text})
		}
		return
	}
	r.send(try)
}

// refuse reports a call that the tool refused, since no one can be asked.
func (r *reply) refuse(tool, object, reason string) {
	r.send(provider.Refused{Tool: oneLine(tool), Object: oneLine(object), Reason: oneLine(reason)})
}

// keep counts kept bytes: a tool that runs wild must not take all memory.
func (r *reply) keep(text string) {
	if r.size += len(text); r.size > mostReply {
		why := fmt.Sprintf("the reply is larger than %d MiB", mostReply>>20)
		r.failure, r.abort = &failure{text: why, kind: provider.KindProvider}, true
	}
}

// block says that the text to come is a paragraph of its own.
func (r *reply) block() { r.apart = r.text.Len() > 0 }

func (r *reply) say(text string) {
	if text == "" {
		return
	}
	r.working()
	r.endReasoning()
	text = strings.ToValidUTF8(text, "\uFFFD")
	if r.apart {
		text = "\n\n" + text
	}
	r.apart = false
	r.keep(text)
	r.text.WriteString(text)
	r.send(provider.TextDelta{Text: text})
}

func (r *reply) think(text string) {
	if text == "" {
		return
	}
	r.working()
	text = strings.ToValidUTF8(text, "\uFFFD")
	r.keep(text)
	r.reasoning.WriteString(text)
	r.send(provider.ReasoningDelta{Text: text})
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
	r.working()
	r.endReasoning()
	r.steps++
	if r.text.Len() > 0 {
		r.parts = append(r.parts, provider.Reasoning{Form: formSaid, Text: r.text.String()})
		r.text.Reset()
	}
	r.apart = false
	text := oneLine(what)
	if object = oneLine(object); object != "" {
		text += ": " + object
	}
	r.keep(text)
	r.parts = append(r.parts, provider.Reasoning{Form: formStep, Text: text})
	r.send(provider.Step{Text: text})
}

func (r *reply) notify(text string) {
	if text = oneLine(text); text != "" {
		r.send(provider.Notice{Text: text})
	}
}

// finish makes sure that there is an answer: before a last step the tool may have said it.
func (r *reply) finish() {
	r.working()
	r.endReasoning()
	if strings.TrimSpace(r.text.String()) != "" {
		return
	}
	answer := r.answer
	for i := len(r.parts) - 1; i >= 0 && strings.TrimSpace(answer) == ""; i-- {
		if said, ok := r.parts[i].(provider.Reasoning); ok && said.Form == formSaid {
			answer = said.Text
		}
	}
	r.say(strings.TrimSpace(answer))
}

func (r *reply) message(name, model string, s session) (provider.Message, error) {
	kept, err := s.part()
	parts := append([]provider.Part{kept}, r.parts...)
	if r.text.Len() > 0 {
		parts = append(parts, provider.Text{Text: r.text.String()})
	}
	model = cmp.Or(r.model, model)
	return provider.Message{Role: provider.RoleAssistant, Provider: name, Model: model, Parts: parts}, err
}

func oneLine(said string) string {
	return text.Clip(text.Head(strings.ToValidUTF8(said, "\uFFFD")), mostStep)
}
