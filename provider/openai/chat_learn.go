package openai

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

// maxCompletion is OpenAI's newer name for the length of a reply.
const maxCompletion = "max_completion_tokens"

// lessons are the ways in which a model was found to differ from the quirks of
// its provider: no table knows every server.
type lessons struct {
	field         string // for the reply's length, where the other one was refused
	echo          Echo   // what of the reasoning goes back, where that was wrong
	echoed        bool   // echo holds
	noTemperature bool
	noEffort      bool
	noOptions     bool // stream_options
	noParallel    bool
	noCacheKey    bool
	plainRole     bool // the system prompt's role is system
	plainSchemas  bool // of the tools
	shortIDs      bool // of calls: nine letters and digits, as Mistral's are
	bridges       bool // a user's message does not follow a result directly
	most          int  // the longest reply, in tokens; 0 when not known
	room          wire.Room
}

// over is the quirks with what was learned.
func (l lessons) over(q Quirks) Quirks {
	if l.field != "" {
		q.MaxTokensField = l.field
	}
	if l.echoed {
		q.Echo = l.echo
	}
	if l.noEffort {
		q.Effort = EffortNone
	}
	if l.plainRole {
		q.SystemRole = ""
	}
	q.StreamOptions = q.StreamOptions && !l.noOptions
	q.ParallelCalls = q.ParallelCalls && !l.noParallel
	q.PromptCacheKey = q.PromptCacheKey && !l.noCacheKey
	return q
}

// length is the limit for the reply to a request.
func (l lessons) length(req provider.Request) int {
	n := max(0, req.MaxTokens)
	if l.most > 0 && n > 0 {
		n = min(n, l.most)
	}
	return l.room.Cut(n, len(req.Messages))
}

// learned is what holds for a model by now.
func (p *Chat) learned(model string) lessons {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lessons[model]
}

// learn finds in an error what the model does not take. It reports whether the
// request, which was made with l, may succeed now, and what the user must know.
func (p *Chat) learn(e *provider.Error, req provider.Request, l lessons) (learned bool, notice string) {
	q := l.over(p.Quirks)
	said := strings.ToLower(e.Message)
	if e.Kind == provider.KindContext {
		learned, notice = l.learnRoom(said, req)
	} else if l.learnThoughts(said, q, req) {
		learned, notice = true, "the server no longer takes the thoughts of this conversation so far: they are left out"
	} else if learned, notice = l.learnField(said, q, head(q, req, l), req); !learned {
		learned = l.learnForm(said, q, req)
	}
	if learned {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.lessons == nil {
			p.lessons = map[string]lessons{}
		}
		p.lessons[req.Model] = l
	}
	return learned, notice
}

// learnField looks for a field of the body that the error names.
func (l *lessons) learnField(said string, q Quirks, sent body, req provider.Request) (learned bool, notice string) {
	names := func(field string) bool { return strings.Contains(said, field) }
	length := max(sent.MaxTokens, sent.MaxCompletionTokens)
	switch {
	case length > 0 && names("max_") && mostTokens().MatchString(strings.ReplaceAll(said, ",", "")):
		most, err := strconv.Atoi(mostTokens().FindStringSubmatch(strings.ReplaceAll(said, ",", ""))[1])
		if err != nil || most < 1 || most >= length {
			return false, ""
		}
		l.most = most
		return true, fmt.Sprintf("%s gives at most %d tokens in a reply", req.Model, most)
	case l.field == "" && sent.MaxTokens > 0 && names("max_tokens") && (names(maxCompletion) || names("unsupported")):
		l.field = maxCompletion
	case l.field == "" && sent.MaxCompletionTokens > 0 && names(maxCompletion):
		l.field = "max_tokens"
	case sent.Temperature != nil && names("temperature"):
		l.noTemperature, notice = true, req.Model+" does not take a temperature: it is left out"
	case !l.noEffort && (sent.ReasoningEffort != "" && names("effort") || (sent.Reasoning != nil || sent.Thinking != nil) && (names("reasoning") || names("thinking")) && !names("reasoning_content")):
		l.noEffort, notice = true, fmt.Sprintf("%s does not take the effort %s: it thinks as it does by itself", req.Model, req.Effort)
	case sent.StreamOptions != nil && (names("stream_options") || names("include_usage")):
		l.noOptions = true
	case q.ParallelCalls && names("parallel_tool_calls"):
		l.noParallel = true
	case sent.PromptCacheKey != "" && names("prompt_cache_key"):
		l.noCacheKey = true
	default:
		return false, ""
	}
	return true, notice
}

// learnThoughts gives up sending reasoning back, where a router's server finds
// that it is not what the model said.
func (l *lessons) learnThoughts(said string, q Quirks, req provider.Request) bool {
	if l.echoed || q.Echo == EchoNone || !sentBack(req) || !strings.Contains(said, "thinking") ||
		!strings.Contains(said, "cannot be modified") && !strings.Contains(said, "signature") {
		return false
	}
	l.echo, l.echoed = EchoNone, true
	return true
}

// learnForm looks for a form that the error is about: the schemas of the tools,
// the ids of calls, the order and the role of messages, and the reasoning, which
// some servers demand back with each call and others do not take.
func (l *lessons) learnForm(said string, q Quirks, req provider.Request) bool {
	switch {
	case !l.plainSchemas && len(req.Tools) > 0 && (strings.Contains(said, "schema") || strings.Contains(said, "grammar")):
		l.plainSchemas = true
	case !l.shortIDs && strings.Contains(said, "tool call id") && strings.Contains(said, "length of 9"):
		l.shortIDs = true
	case !l.bridges && strings.Contains(said, "role 'user' after role 'tool'"):
		l.bridges = true
	case q.SystemRole == "developer" && (strings.Contains(said, "developer") || strings.Contains(said, "unexpected message role")): // the latter are templates
		l.plainRole = true
	case l.echoed || !strings.Contains(said, "reasoning"):
		return false
	case q.Echo != EchoToolTurns && strings.Contains(said, "passed back"):
		l.echo, l.echoed = EchoToolTurns, true
	case q.Echo != EchoNone && sentBack(req):
		l.echo, l.echoed = EchoNone, true
	default:
		return false
	}
	return true
}

// sentBack reports whether the history holds reasoning.
func sentBack(req provider.Request) bool {
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			if _, ok := p.(provider.Reasoning); ok {
				return true
			}
		}
	}
	return false
}

// learnRoom makes the reply shorter where prompt and reply together do not fit,
// but the prompt does.
func (l *lessons) learnRoom(said string, req provider.Request) (bool, string) {
	window, input := sumNumbers(strings.ReplaceAll(said, ",", ""), l.length(req))
	told := l.room != wire.Room{}
	if !l.room.Learn(window, input, l.length(req), len(req.Messages)) {
		return false, ""
	}
	if told {
		return true, ""
	}
	return true, fmt.Sprintf("little room is left in the window of %s: replies are at most %d tokens long", req.Model, l.length(req))
}

// sumNumbers reads the size of the window and of the prompt where the reply is
// counted beside it, 0 where an error does not tell them. vLLM stops counting a
// prompt as soon as it does not fit: then half of what was asked for is left.
func sumNumbers(said string, asked int) (window, input int) {
	for _, form := range sumsTooLong() {
		m := form.FindStringSubmatch(said)
		if m == nil {
			continue
		}
		var err1, err2 error
		window, err1 = strconv.Atoi(m[1])
		input, err2 = strconv.Atoi(m[2])
		if err1 != nil || err2 != nil {
			return 0, 0
		}
		if strings.Contains(m[0], "at least") && input < window {
			input = max(input, window-asked/2)
		}
		return window, input
	}
	return 0, 0
}

// sumsTooLong are the forms in which window and prompt are told, in this order;
// mostTokens finds the longest reply.
var (
	sumsTooLong = sync.OnceValue(func() []*regexp.Regexp {
		return []*regexp.Regexp{
			regexp.MustCompile(`(?s)length is (\d+) tokens.*?\((\d+) (?:in the messages|of text input|in your prompt)[^)]*(?:completion|output)`), // OpenAI, OpenRouter, vLLM
			regexp.MustCompile(`(?s)length is (\d+) tokens.*?\brequest has (\d+) input tokens`),                                                   // vLLM, later
			regexp.MustCompile(`(?s)length is (\d+) tokens.*?\bprompt contains (?:at least )?(\d+) input tokens`),                                 // vLLM, still later
			regexp.MustCompile(`(?s)max_new_tokens.? must be <= (\d+).*?given: (\d+)`),                                                            // text-generation-inference, Together
		}
	})
	mostTokens = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile("(?s)(?:at most|maximum(?: allowed)?(?: number of)?(?: value)?(?: of| is|:)?|less than or equal to|<=|\\[1) ?`?(\\d+)")
	})
)
