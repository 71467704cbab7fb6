package ollama

import (
	"fmt"
	"sync"

	"artoo/provider"
)

type known struct {
	models   sync.Map // facts by model
	notified sync.Map // notices that were given, by model and subject
}

// notices names, once for each model, the parts of the request it cannot serve.
func (k *known) notices(req provider.Request, f facts) (texts []string) {
	notify := func(what, text string) {
		if _, again := k.notified.LoadOrStore(req.Model+" "+what, true); !again {
			texts = append(texts, text)
		}
	}
	if len(req.Tools) > 0 && !f.mayCall() {
		notify("tools", req.Model+" cannot call tools: it can only answer; ollama show NAME lists a model's capabilities")
	}
	if !f.mayThink() && req.Effort != "" && req.Effort != provider.EffortOff {
		notify("thinking", fmt.Sprintf("%s does not think: the effort %s has no effect", req.Model, req.Effort))
	}
	if !f.maySee() && len(provider.Images(req.Messages)) > 0 {
		notify("vision", req.Model+" takes no images: they are left out")
	}
	return texts
}

const (
	// leastTokens is for how many bytes of a request there is one token at least: measured,
	// most text has 3 to 5.
	leastTokens = 6
	// windowStep is the smallest window that servers load a model with, and divides the others.
	windowStep = 1024
)

// cut compares the size of a request in bytes with the tokens read, 0 if unknown, and returns
// a notice if the server dropped a part, which old servers do silently. They may also count
// only tokens they had not read before: then loaded is asked for the loaded window, 0 if unknown.
func cut(size, read, window int, loaded func() int) []string {
	least := size / leastTokens
	if read >= windowStep && read < least {
		if real := loaded(); real > 0 {
			window = real
		} else if read%windowStep == 0 {
			window = read
		}
	}
	if read <= 0 || window <= 0 || least <= window && read < window {
		return nil
	}
	return []string{fmt.Sprintf("THE SERVER CUT THE CONVERSATION: the model read %d tokens of %d or more, and its window holds %d; "+
		"the answer may miss its start. Update Ollama, set ARTOO_MAX_CONTEXT_TOKENS to ask for another window, or /compact",
		read, max(least, read), window)}
}
