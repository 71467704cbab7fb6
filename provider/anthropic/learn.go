package anthropic

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

// limits are what a model was found not to take: no table knows every model and
// every server.
type limits struct {
	style         *style // how it wants to be told to think, where the table is wrong
	noTemperature bool
	noEffort      bool
	noInterleave  bool
	most          int // the longest reply it gives, in tokens; 0 when not known
	room          wire.Room
	thoughts      map[string]bool // that are no longer taken, by their proof
}

// lessons are the limits of all models, for all requests of a provider.
type lessons struct {
	mu     sync.Mutex
	models map[string]limits
}

// of is what holds for a model. The map of the result is its own.
func (s *lessons) of(model string) limits {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.models[model]
	l.thoughts = maps.Clone(l.thoughts)
	return l
}

func (s *lessons) keep(model string, l limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.models == nil {
		s.models = map[string]limits{}
	}
	s.models[model] = l
}

// learn finds in an error what the model does not take. It reports whether the
// request, which was made with l, may succeed now, and what the user must know.
func (s *lessons) learn(e *provider.Error, req provider.Request, l limits) (learned bool, notice string) {
	sent := head(req, l)
	sent.think(req.Effort, nil, l)
	said := strings.ToLower(e.Message)
	switch {
	case sent.interleaves(l) && (strings.Contains(said, "anthropic-beta") || strings.Contains(said, interleavedBeta)):
		l.noInterleave, learned = true, true // what is lost is a gain nobody was promised
	case e.Kind == provider.KindContext:
		learned, notice = l.learnRoom(said, sent.MaxTokens, req)
	case strings.Contains(said, "max_tokens"):
		learned, notice = l.learnMost(said, sent.MaxTokens, req.Model)
	case strings.Contains(said, "thinking") && (strings.Contains(said, "cannot be modified") || strings.Contains(said, "signature")):
		learned, notice = l.learnThoughts(req)
	case sent.Thinking != nil && strings.Contains(said, "thinking") && (strings.Contains(said, "support") || strings.Contains(said, "thinking.type")):
		learned, notice = l.learnStyle(said, sent.Thinking.Type, req)
	case sent.OutputConfig != nil && strings.Contains(said, "effort"):
		l.noEffort, learned = true, true
		notice = fmt.Sprintf("%s does not take the effort %s: it thinks as it does by itself", req.Model, req.Effort)
	case sent.Temperature != nil && strings.Contains(said, "temperature"):
		l.noTemperature, learned = true, true
		notice = req.Model + " does not take a temperature: it is left out"
	}
	if learned {
		s.keep(req.Model, l)
	}
	return learned, notice
}

// learnStyle tries the other way to ask for thoughts, then none. Nothing is said
// while the effort still arrives in some form.
func (l *limits) learnStyle(said, kind string, req provider.Request) (bool, string) {
	next := styleNone
	switch {
	case l.style != nil: // neither was right
	case kind == "enabled" && strings.Contains(said, "enabled"):
		next = styleAdaptive
	case kind == "adaptive" && strings.Contains(said, "adaptive"):
		next = styleBudget
	case kind == "disabled":
		next = styleAlways
	}
	l.style = &next
	if next == styleNone || next == styleAlways {
		return true, fmt.Sprintf("%s does not take the effort %s: it thinks as it does by itself", req.Model, req.Effort)
	}
	return true, ""
}

// learnThoughts gives up the thoughts of the history so far. With all of them
// gone, the loop that is under way counts as one that began without a thought.
func (l *limits) learnThoughts(req provider.Request) (learned bool, notice string) {
	if l.thoughts == nil {
		l.thoughts = map[string]bool{}
	}
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			if r, ok := p.(provider.Reasoning); ok && r.Opaque != "" && !l.thoughts[r.Opaque] {
				l.thoughts[r.Opaque], learned = true, true
			}
		}
	}
	return learned, "the server no longer takes the thoughts of this conversation so far: they are left out"
}

// learnRoom makes the reply shorter where prompt and reply together do not fit,
// but the prompt does.
func (l *limits) learnRoom(said string, asked int, req provider.Request) (bool, string) {
	m := sumTooLong().FindStringSubmatch(strings.ReplaceAll(said, ",", ""))
	if m == nil {
		return false, ""
	}
	input, err1 := strconv.Atoi(m[1])
	window, err2 := strconv.Atoi(m[2])
	told := l.room != wire.Room{}
	if err1 != nil || err2 != nil || !l.room.Learn(window, input, asked, len(req.Messages)) {
		return false, ""
	}
	if told {
		return true, ""
	}
	return true, fmt.Sprintf("little room is left in the window of %s: replies are at most %d tokens long", req.Model, l.room.Cut(asked, len(req.Messages)))
}

// learnMost takes the limit for a reply from the words that name it.
func (l *limits) learnMost(said string, asked int, model string) (bool, string) {
	m := mostTokens().FindStringSubmatch(strings.ReplaceAll(said, ",", ""))
	if m == nil {
		return false, ""
	}
	most, err := strconv.Atoi(m[1])
	if err != nil || most < 1 || most >= asked {
		return false, ""
	}
	l.most = most
	return true, fmt.Sprintf("%s gives at most %d tokens in a reply", model, most)
}

// sumTooLong finds the size of the prompt and of the window, mostTokens the
// longest reply.
var (
	sumTooLong = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\d+) \+ \d+ > (\d+)`) })
	mostTokens = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`max_tokens: \d+ > (\d+)`) })
)
