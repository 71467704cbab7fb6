package gemini

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"artoo/provider"
)

// The forms in which a tool's schema is sent, in the order in which they are
// tried.
type schemaForm int

const (
	formJSONSchema schemaForm = iota
	formSubset
	formNone // the tool is left out
)

// limits are what a server, or one of its models, was found not to take.
type limits struct {
	subsetOnly bool // parametersJsonSchema is unknown
	noIDs      bool // calls have no ids
	noThinking bool // this model
	signAll    bool // this model wants a signature where its family's rule has none
	forms      map[string]schemaForm
	signatures map[string]bool // not valid any more
}

func (l limits) form(tool string) schemaForm {
	form := l.forms[tool]
	if l.subsetOnly {
		form = max(form, formSubset)
	}
	return form
}

// refused is what was learned so far, for all requests of a provider.
type refused struct {
	mu         sync.Mutex
	limits     limits
	noThinking map[string]bool // by model
	signAll    map[string]bool // by model
	resent     map[string]int  // by model: the messages of the request whose signatures were refused once, perhaps by chance
}

// of is what holds for a model. The maps of the result are its own.
func (r *refused) of(model string) limits {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.limits
	l.noThinking, l.signAll = r.noThinking[model], r.signAll[model]
	l.forms, l.signatures = maps.Clone(l.forms), maps.Clone(l.signatures)
	return l
}

// learn finds in an error what the server does not take. It reports whether the
// request, which the provider of that name made with l, may succeed now, and what
// the user must know. Such an error comes before anything of a reply.
func (r *refused) learn(e *provider.Error, name string, req provider.Request, l limits) (learned bool, notice string) {
	if e.Status != http.StatusBadRequest || e.Kind != provider.KindInvalid {
		return false, ""
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	message := strings.ToLower(e.Message)
	switch {
	case strings.Contains(message, "missing a thought_signature"):
		if r.signAll == nil {
			r.signAll = map[string]bool{}
		}
		r.signAll[req.Model] = true
		return !l.signAll, ""
	case strings.Contains(message, "signature") && strings.Contains(message, "thought"):
		return r.learnSignatures(message, name, req, l)
	case strings.Contains(message, `unknown name "parametersjsonschema"`), strings.Contains(message, `unknown name "parameters_json_schema"`):
		learned = !l.subsetOnly
		r.limits.subsetOnly = true
		return learned, ""
	case unknownID().MatchString(e.Message):
		learned = !l.noIDs
		r.limits.noIDs = true
		return learned, ""
	case declared().MatchString(e.Message):
		return r.learnTools(e.Message, req, l)
	case strings.Contains(message, "thinking") && !l.noThinking && parseFamily(req.Model).thinks():
		if r.noThinking == nil {
			r.noThinking = map[string]bool{}
		}
		r.noThinking[req.Model] = true
		if req.Effort == "" {
			return true, ""
		}
		return true, req.Model + " does not take the effort " + string(req.Effort) + ": it thinks as it does by itself"
	}
	return false, ""
}

// learnSignatures gives up the signatures of the history, after the request was
// sent once more as it is: servers refuse good ones now and then.
func (r *refused) learnSignatures(message, name string, req provider.Request, l limits) (learned bool, notice string) {
	if !strings.Contains(message, "invalid") && !strings.Contains(message, "corrupt") && !strings.Contains(message, "not valid") {
		return false, ""
	}
	var sent []string
	for _, m := range req.Messages {
		if m.Provider != name || m.Model != req.Model || m.Partial {
			continue // was not sent
		}
		for _, p := range m.Parts {
			if sig := signatureOf(p); sig != "" && !l.signatures[sig] {
				sent = append(sent, sig)
			}
		}
	}
	if len(sent) == 0 {
		return false, ""
	}
	if r.resent[req.Model] != len(req.Messages) {
		if r.resent == nil {
			r.resent = map[string]int{}
		}
		r.resent[req.Model] = len(req.Messages)
		return true, ""
	}
	if r.limits.signatures == nil {
		r.limits.signatures = map[string]bool{}
	}
	for _, sig := range sent {
		r.limits.signatures[sig] = true
	}
	return true, "the server no longer takes the thoughts of this conversation so far: they are left out"
}

// signatureOf is the signature that a part came with, "" for none.
func signatureOf(p provider.Part) string {
	switch p := p.(type) {
	case provider.Text:
		return p.Opaque
	case provider.Reasoning:
		return p.Opaque
	case provider.ToolCall:
		return p.Opaque
	}
	return ""
}

// learnTools lets each tool that the error names fall back to its next form. The
// error counts the tools as they were sent.
func (r *refused) learnTools(message string, req provider.Request, l limits) (learned bool, notice string) {
	var sent []string
	for _, t := range req.Tools {
		if l.form(t.Name) != formNone {
			sent = append(sent, t.Name)
		}
	}
	var dropped, seen []string
	for _, m := range declared().FindAllStringSubmatch(message, -1) {
		i, err := strconv.Atoi(m[1])
		if err != nil || i >= len(sent) || slices.Contains(seen, sent[i]) {
			continue
		}
		name := sent[i]
		seen = append(seen, name)
		form := l.form(name) + 1
		if r.limits.forms == nil {
			r.limits.forms = map[string]schemaForm{}
		}
		r.limits.forms[name] = form
		if form == formNone {
			dropped = append(dropped, name)
		}
	}
	if len(dropped) > 0 {
		notice = fmt.Sprintf("%s refuses the schema of %s: left out, the model cannot call it", req.Model, strings.Join(dropped, ", "))
	}
	return len(seen) > 0, notice
}

// declared finds the tools that an error is about.
var declared = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)function_?declarations\[(\d+)\]`)
})

// unknownID finds an id that the server has no field for.
var unknownID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)unknown name "id" at '[^']*function_?(call|response)`)
})
