package ollama

import (
	"fmt"
	"sync"

	"artoo/provider"
)

type known struct {
	models   sync.Map // facts by model
	notified sync.Map // notices that were given, by model and what

	mu       sync.Mutex
	slips    map[string]int    // calls that could not be read, by request
	sessions map[string]memory // keyed by session and model
}

// notices says, once for each model, what of the request it cannot do.
func (k *known) notices(req provider.Request, f facts) (texts []string) {
	notify := func(what, text string) {
		if _, again := k.notified.LoadOrStore(req.Model+" "+what, true); !again {
			texts = append(texts, text)
		}
	}
	if len(req.Tools) > 0 && !f.mayCall() {
		notify("tools", req.Model+" cannot call tools: it can only answer; ollama show NAME lists what a model can do")
	}
	if !f.mayThink() && req.Effort != "" && req.Effort != provider.EffortOff {
		notify("thinking", fmt.Sprintf("%s does not think: the effort %s has no effect", req.Model, req.Effort))
	}
	if !f.maySee() && len(provider.Images(req.Messages)) > 0 {
		notify("vision", req.Model+" takes no images: they are left out")
	}
	return texts
}

// badCall is what the server says of a call that it cannot read itself.
const badCall = "error parsing tool call"

// badCall counts unreadable calls in a row (message is "" for a readable one) and reports
// whether to tell the model now: another try may succeed once.
func (k *known) badCall(message string, req provider.Request) bool {
	key := fmt.Sprintf("%s %s", req.Model, req.SessionID)
	k.mu.Lock()
	defer k.mu.Unlock()
	if message == "" {
		delete(k.slips, key)
		return false
	}
	if k.slips == nil {
		k.slips = map[string]int{}
	}
	if k.slips[key]++; k.slips[key] < 2 {
		return false
	}
	delete(k.slips, key)
	return true
}

// memory is what the last request of a session came to: its size, and the tokens
// it has at least.
type memory struct {
	extent
	tokens int
}

const (
	// leastTokens and mostTokens are for how many bytes of a request there is
	// one token at least, and at most one: measured, most text has 3 to 5.
	leastTokens, mostTokens = 6, 2
	mostSessions            = 64 // remembered
	// windowStep is the smallest window that servers load a model with, and divides the
	// others.
	windowStep = 1024
)

// unexplained reports whether fewer tokens were read than the request has at least, and
// no request of the session before it.
func (k *known) unexplained(req provider.Request, size extent, read int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	last, later := k.sessions[req.SessionID+" "+req.Model]
	return read >= windowStep && read < size.text/leastTokens && !(later && size.text >= last.text)
}

// cut compares the size of a request with the tokens read, 0 if unknown, and returns a
// notice if the server dropped a part, which old servers do silently. Where an earlier
// request does not explain it, loaded is asked for the loaded window, 0 if unknown.
func (k *known) cut(req provider.Request, size extent, read, window int, loaded func() int) string {
	if k.unexplained(req, size, read) {
		if real := loaded(); real > 0 {
			window = real
		} else if read%windowStep == 0 {
			window = read
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	key := req.SessionID + " " + req.Model
	last, grew := k.sessions[key]
	grew = grew && size.text >= last.text
	least, fresh, before := size.text/leastTokens, 0, 0
	if grew {
		fresh = size.text - last.text
		before = max(0, last.tokens-last.reasoning/mostTokens) // its reasoning may be gone by now
		least = before + fresh/leastTokens
	}
	if len(k.sessions) >= mostSessions || k.sessions == nil {
		k.sessions = map[string]memory{}
	}
	k.sessions[key] = memory{extent: size, tokens: max(least, read)}
	why := ""
	switch {
	case read <= 0:
	case window > 0 && (least > window || read >= window):
		why = fmt.Sprintf("the model read %d tokens of %d or more, and its window holds %d", read, max(least, read), window)
	// Old servers count only what they had not read before: then the count is
	// no more than that of what is new.
	case grew && read < before-before/50 && read > (fresh+size.reasoning)/mostTokens+256:
		why = fmt.Sprintf("the model read %d tokens, though the request before had %d or more and the conversation grew",
			read, before)
	}
	if why == "" {
		return ""
	}
	return "THE SERVER CUT THE CONVERSATION: " + why +
		"; the answer may miss its start. Update Ollama, set ARTOO_MAX_CONTEXT_TOKENS to ask for another window, or /compact"
}
