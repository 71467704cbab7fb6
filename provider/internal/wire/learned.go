package wire

import (
	"bytes"
	"context"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"artoo/provider"
)

// Exchange is one request to a model and its reply, as the server takes it.
type Exchange struct {
	Endpoint
	API     API
	Request provider.Request
	// Memory holds the limits learned so far, for all requests of a provider.
	Memory *Memory
	// Prepare makes the request without its body, inside the time limits.
	Prepare func(context.Context) (Request, error)
	// Encode makes the body without fields the server refuses, and sets headers. It is pure.
	Encode func(Learned, http.Header) ([]byte, error)
	// Decoder reads the reply; each try has its own.
	Decoder func() Decoder
	// Failed adds to an error that is not learned from, or makes the reply's last event of
	// it; nil leaves errors as they are.
	Failed func(*provider.Error) (provider.Event, error)
}

// Learned lists the fields one model was found not to take. The zero value takes all.
type Learned struct {
	Omitted Omission
	most    int // the longest reply it gives, in tokens; 0 when not known
	// A history of so many messages or more leaves so many tokens for the reply; or 0.
	left, messages int
	reasoning      map[string]bool       // proofs of reasoning no longer accepted
	tools          map[string]SchemaForm // the form in which tools are sent
	resent         int                   // the messages of a request that was once sent again as it was
}

// Without reports whether something is left out.
func (l Learned) Without(o Omission) bool { return l.Omitted&o != 0 }

// Forgotten reports whether reasoning with this proof does not go back any more.
func (l Learned) Forgotten(proof string) bool { return l.reasoning[proof] }

// ReplyTokens is how many tokens a reply may be asked for after so many messages; 0 is no limit.
func (l Learned) ReplyTokens(wished, messages int) int {
	if l.most > 0 && wished > 0 {
		wished = min(wished, l.most)
	}
	if l.left > 0 && messages >= l.messages && (wished == 0 || wished > l.left) {
		return l.left
	}
	return wished
}

// SchemaForm is a form in which a tool's schema is sent.
type SchemaForm int

// The forms, in the order in which they are tried.
const (
	SchemaWhole SchemaForm = iota
	SchemaPlain            // the subset that all servers know
	SchemaNone             // the tool is left out
)

// Schema is the form in which the schema of a tool is sent.
func (l Learned) Schema(tool string) SchemaForm {
	if form := l.tools[tool]; form != SchemaWhole || !l.Without(RichSchemas) {
		return form
	}
	return SchemaPlain
}

// Memory holds the limits learned of each model. The zero value is ready for several goroutines.
type Memory struct {
	mu     sync.Mutex
	models map[string]Learned
}

// Of are the limits learned of a model. The maps of the result are its own.
func (m *Memory) Of(model string) Learned {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.models[model]
	l.reasoning, l.tools = maps.Clone(l.reasoning), maps.Clone(l.tools)
	return l
}

func (m *Memory) keep(model string, l Learned) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.models == nil {
		m.models = map[string]Learned{}
	}
	m.models[model] = l
}

// RetryAdapted yields the events of an exchange, and sends a refused request again without the refused parts, with a
// Notice if something is lost.
func RetryAdapted(ctx context.Context, x Exchange) iter.Seq2[provider.Event, error] {
	const mostTries = 12
	return func(yield func(provider.Event, error) bool) {
		started := false
		for tries := 1; ; tries++ {
			again, notice := x.once(ctx, tries < mostTries, func(ev provider.Event, err error) bool {
				if _, ok := ev.(provider.Started); ok {
					if started {
						return true
					}
					started = true
				}
				return yield(ev, err)
			})
			if !again || notice != "" && !yield(provider.Notice{Text: notice, Warning: true}, nil) {
				return
			}
		}
	}
}

func (x Exchange) once(ctx context.Context, mayLearn bool, yield func(provider.Event, error) bool) (
	again bool, notice string,
) {
	sent := x.Memory.Of(x.Request.Model)
	prepare := func(ctx context.Context) (Request, error) {
		r, err := x.Prepare(ctx)
		if err != nil {
			return r, err
		}
		r.Model = x.Request.Model
		if x.Path != "" {
			if r.URL, err = elsewhere(r.URL, x.Base(), x.Path); err != nil {
				return r, err
			}
		}
		if r.Body, err = x.Encode(sent, r.Header); err == nil && x.Extra != nil {
			r.Body, err = merged(r.Body, x.Extra)
		}
		if err != nil {
			return r, &provider.Error{Kind: provider.KindInvalid, Err: err,
				Message: "the request cannot be encoded: " + err.Error()}
		}
		return r, nil
	}
	said := false
	for ev, err := range Stream(ctx, x.Endpoint, prepare, x.Decoder()) {
		if e := provider.AsError(err); e != nil && mayLearn {
			learned, notice := x.learn(e, sent)
			if learned && x.Memory.Of(x.Request.Model).Without(Structure) && !sent.Without(Structure) {
				e.Code, e.Retry, learned = provider.CodeNoSchema, new(false), false
			}
			if learned && !said {
				return true, notice
			}
			if notice != "" && !yield(provider.Notice{Text: notice, Warning: true}, nil) {
				return false, ""
			}
			if learned {
				e.Retry = new(true)
			}
		}
		if e := provider.AsError(err); e != nil && x.Failed != nil {
			ev, err = x.Failed(e)
		}
		switch ev.(type) {
		case provider.TextDelta, provider.ReasoningDelta, provider.CallDelta:
			said = true
		}
		if !yield(ev, err) {
			return false, ""
		}
	}
	return false, ""
}

// learn remembers a refusal. It reports whether a changed request may succeed, and the
// notice. It ends, since only news changes the request.
func (x Exchange) learn(e *provider.Error, sent Learned) (learned bool, notice string) {
	message := strings.ToLower(e.Message)
	for i, r := range refusals {
		if !r.is(x.API, e) {
			continue
		}
		found, ok := patterns()[i].find(message)
		if !ok {
			continue
		}
		now := x.Memory.Of(x.Request.Model)
		notice := now.adapt(r, found, x)
		if !x.differs(sent, now) {
			continue
		}
		if r.maybe && now.resent != len(x.Request.Messages) {
			now, notice = x.Memory.Of(x.Request.Model), ""
			now.resent = len(x.Request.Messages)
		}
		x.Memory.keep(x.Request.Model, now)
		return true, notice
	}
	return false, ""
}

// differs reports whether a request changes by the limits learned since.
func (x Exchange) differs(before, now Learned) bool {
	h1, h2 := http.Header{}, http.Header{}
	body1, err1 := x.Encode(before, h1)
	body2, err2 := x.Encode(now, h2)
	return err1 == nil && err2 == nil && !(bytes.Equal(body1, body2) && maps.EqualFunc(h1, h2, slices.Equal))
}
