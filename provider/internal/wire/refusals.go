package wire

import (
	"cmp"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"artoo/provider"
)

// API is one of the interfaces that servers offer, as a set.
type API uint8

// The interfaces.
const (
	Messages  API = 1 << iota // Anthropic's
	Chat                      // Chat Completions
	Responses                 // OpenAI's
	Gemini
	Ollama
	Converse // Bedrock's
)

// Omission is a set of fields that requests to a model leave out or send in another form.
type Omission uint32

// The fields that can be left out.
const (
	Temperature        Omission = 1 << iota
	Effort                      // reasoning in any form
	Thinking                    // the switch for it
	Interleaving                // thinking between calls
	FixedThinking               // a budget for thinking: an effort is sent instead
	AdaptiveThinking            // the reverse
	NotThinking                 // thinking cannot be switched off
	Summary                     // the reasoning summary
	EncryptedReasoning          // the server's own form of it
	ItemIDs                     // IDs of the model's items
	CallIDs
	LongCallIDs // any but nine letters and digits
	StreamOptions
	ParallelCalls
	CacheKey
	Tools
	ThinkingLevels
	LengthField   // the one for the reply's length: the other is used
	DeveloperRole // role of the system prompt
	RichSchemas
	UserAfterTool // a word of the model's stands between
	ReasoningEcho // reasoning of the history
	BareCalls     // calls without reasoning: it goes back with each
	UnsignedCalls
	Structure // the schema that the answer is held to: the error says so, since the model has to be asked for it
	// These come with their objects:
	longReply    // the longest is named
	fullWindow   // prompt and reply share the window
	oldReasoning // the one sent so far, by its proofs
	namedTools   // the tools that are named, or the rich form of their schemas
)

// refusal is a row: a server's words, the field left out then, and the user's notice.
type refusal struct {
	at     API                // 0 for all
	status int                // 0 for those of a bad request
	kind   provider.ErrorKind // where status is 0; "" for KindInvalid
	code   string             // "" for any
	says   []string           // expressions, all found in the message, in lower case and without commas
	unless string             // words that must not be there, or ""
	omit   Omission
	notice string // "" where nothing is lost; {model}, {effort}, {tokens}, {tools} are filled in
	maybe  bool   // servers refuse good requests so, too: the request is sent once more as it is
}

// Notices to users, when something is lost.
const (
	noticeReasoning   = "the server no longer takes the reasoning of this conversation so far: it is left out"
	noticeEffort      = "{model} does not take the effort {effort}: its default applies"
	noticeTemperature = "{model} does not take a temperature: it is left out"
	noticeMost        = "{model} gives at most {tokens} tokens in a reply"
	noticeWindow      = "little room is left in the window of {model}: replies are at most {tokens} tokens long"
	noticeTools       = "{model} refuses the schema of {tools}: left out, the model cannot call it"
)

const (
	windowLength = `length is (?P<window>\d+) tokens`
	replyLimit   = `(?:at most|maximum(?: allowed)?(?: number of)?(?: value)?(?: of| is|:)?|<=|\[1|` +
		"less than or equal to)[ `]{0,2}(?P<most>\\d+)"
	lostItem = `item with id|could not be (?:verified|decrypted)|item_id mismatch|` +
		`without its required (?:following|'reasoning') item`
	thinkingType = `support|thinking\.type`
	invalid      = `invalid|corrupt|not valid`
)

// refusals is the table; the first row that fits and makes another request counts.
var refusals = []refusal{
	// The prompt fits, but not with so long a reply: Anthropic; OpenAI, OpenRouter and vLLM;
	// vLLM, later and still later; text-generation-inference and Together.
	{kind: provider.KindContext, omit: fullWindow, notice: noticeWindow,
		says: []string{`(?P<input>\d+) \+ \d+ > (?P<window>\d+)`}},
	{kind: provider.KindContext, omit: fullWindow, notice: noticeWindow, says: []string{windowLength,
		`\((?P<input>\d+) (?:in the messages|of text input|in your prompt)[^)]*(?:completion|output)`}},
	{kind: provider.KindContext, omit: fullWindow, notice: noticeWindow, says: []string{windowLength,
		`\brequest has (?P<input>\d+) input tokens`}},
	{kind: provider.KindContext, omit: fullWindow, notice: noticeWindow, says: []string{windowLength,
		`\bprompt contains (?P<least>at least )?(?P<input>\d+) input tokens`}},
	{kind: provider.KindContext, omit: fullWindow, notice: noticeWindow,
		says: []string{`max_new_tokens.? must be <= (?P<window>\d+).*?given: (?P<input>\d+)`}},
	{at: Messages | Converse, says: []string{`max_tokens: \d+ > (?P<most>\d+)`}, omit: longReply, notice: noticeMost},
	{at: Chat, says: []string{`max_`, replyLimit}, omit: longReply, notice: noticeMost},
	{at: Chat, says: []string{`max_completion_tokens|max_tokens.*unsupported|unsupported.*max_tokens`},
		omit: LengthField},

	// The reasoning of the history.
	{at: Messages | Chat | Converse, says: []string{`thinking`, `cannot be modified|signature`},
		omit: oldReasoning | ReasoningEcho, notice: noticeReasoning},
	{at: Responses, status: http.StatusNotFound, says: []string{`^item with id `},
		omit: ItemIDs}, // some servers look for it, though nothing is stored
	{at: Responses, says: []string{`item with id|duplicate item found`}, omit: ItemIDs},
	{at: Responses, status: http.StatusNotFound, says: []string{`^item with id `},
		omit: oldReasoning, notice: noticeReasoning},
	{at: Responses, says: []string{lostItem},
		omit: oldReasoning, notice: noticeReasoning}, // another key's, or away from the item that it led to
	{at: Responses, code: "invalid_encrypted_content", omit: oldReasoning, notice: noticeReasoning},
	{at: Responses, says: []string{`encrypted content is not supported`}, omit: EncryptedReasoning},
	{at: Gemini, says: []string{`missing a thought_signature`}, omit: UnsignedCalls},
	{at: Gemini, says: []string{`signature`, `thought`, invalid},
		omit: oldReasoning, notice: noticeReasoning, maybe: true},

	// The schema of the answer.
	{at: Chat | Responses, says: []string{`response_format|text\.format|json_schema|structured output|custom grammar`}, omit: Structure},
	{at: Chat, status: http.StatusNotFound, says: []string{`no endpoints found`}, omit: Structure}, // OpenRouter: require_parameters
	{at: Messages, says: []string{`output_config\.format|output_format|structured output|compiled grammar`}, omit: Structure},
	{at: Converse, says: []string{`outputconfig|textformat|output_config\.format|json_?schema|structured output|compiled grammar`}, omit: Structure},
	{at: Gemini, says: []string{`response_?(?:json_?)?schema|response_? ?mime_? ?type`}, omit: Structure},
	{at: Ollama, says: []string{`\bformat\b|grammar`}, omit: Structure},
	{at: Ollama, status: http.StatusInternalServerError, says: []string{`\bformat\b|grammar`}, omit: Structure},

	// How to think.
	{at: Messages | Converse, says: []string{`anthropic.beta|interleaved-thinking`},
		omit: Interleaving}, // losing it is not worth a notice
	{at: Messages | Converse, says: []string{`thinking`, thinkingType, `enabled`}, omit: FixedThinking},
	{at: Messages | Converse, says: []string{`thinking`, thinkingType, `adaptive`}, omit: AdaptiveThinking},
	{at: Messages | Converse, says: []string{`thinking`, thinkingType, `disabled`}, omit: NotThinking, notice: noticeEffort},
	{at: Messages | Converse, says: []string{`thinking`, thinkingType}, omit: Thinking, notice: noticeEffort},
	{at: Responses, says: []string{`'reasoning\.summary'|reasoning summaries`},
		omit: Summary}, // only for organisations that OpenAI has verified
	{says: []string{`temperature`}, omit: Temperature, notice: noticeTemperature},
	{says: []string{`effort`}, omit: Effort, notice: noticeEffort},
	{at: Chat, says: []string{`reasoning|thinking`}, unless: "reasoning_content",
		omit: Thinking, notice: noticeEffort},

	// Fields and forms.
	{at: Chat, says: []string{`stream_options|include_usage`}, omit: StreamOptions},
	{at: Chat, says: []string{`parallel_tool_calls`}, omit: ParallelCalls},
	{at: Chat, says: []string{`prompt_cache_key`}, omit: CacheKey},
	{at: Converse, says: []string{`prompt caching|cachepoint`}, omit: CacheKey},
	{at: Converse, status: http.StatusForbidden, says: []string{`prompt caching`}, omit: CacheKey},
	{at: Chat, says: []string{`schema|grammar`}, omit: RichSchemas},
	{at: Chat, status: http.StatusInternalServerError, says: []string{`schema|grammar`},
		omit: RichSchemas}, // llama.cpp
	{at: Chat, says: []string{`schema|grammar`}, omit: Structure}, // it was none of a tool
	{at: Chat, status: http.StatusInternalServerError, says: []string{`schema|grammar`}, omit: Structure},
	{at: Chat, says: []string{`tool call id`, `length of 9`},
		omit: LongCallIDs}, // Mistral
	{at: Chat, says: []string{`role 'user' after role 'tool'`}, omit: UserAfterTool},
	{at: Chat, says: []string{`developer|unexpected message role`}, omit: DeveloperRole}, // the latter are templates
	{at: Chat, says: []string{`reasoning`, `passed back`}, omit: BareCalls},
	{at: Chat, says: []string{`reasoning`}, omit: ReasoningEcho},
	{at: Gemini, says: []string{`unknown name "parameters_?json_?schema"`}, omit: RichSchemas},
	{at: Gemini, says: []string{`unknown name "id" at '[^']*function_?(?:call|response)`}, omit: CallIDs},
	{at: Gemini, says: []string{`function_?declarations\[(?P<tool>\d+)\]`}, omit: namedTools, notice: noticeTools},
	{at: Gemini, says: []string{`thinking`}, omit: Thinking, notice: noticeEffort},

	// A model that was not described, or wrongly; the wire notifies the user.
	{at: Ollama, says: []string{`does not support tools`}, omit: Tools},
	{at: Ollama, says: []string{`does not support thinking`}, omit: Thinking},
	{at: Ollama, says: []string{`think value`}, omit: ThinkingLevels},
}

// is reports whether a row is about an error of this kind, whatever its words.
func (r refusal) is(api API, e *provider.Error) bool {
	status := e.Status == r.status
	if r.status == 0 {
		status = (e.Status == http.StatusBadRequest || e.Status == http.StatusUnprocessableEntity) &&
			e.Kind == cmp.Or(r.kind, provider.KindInvalid)
	}
	return status && (r.at == 0 || r.at&api != 0) && (r.code == "" || r.code == e.Code) &&
		(r.unless == "" || !strings.Contains(strings.ToLower(e.Message), r.unless))
}

type expressions []*regexp.Regexp

var patterns = sync.OnceValue(func() []expressions {
	all := make([]expressions, len(refusals))
	for i, r := range refusals {
		for _, say := range r.says {
			all[i] = append(all[i], regexp.MustCompile("(?s)"+say))
		}
	}
	return all
})

// find looks for all expressions in a message; found holds the matches of their names.
func (list expressions) find(message string) (found map[string][]string, ok bool) {
	found = map[string][]string{}
	message = strings.ReplaceAll(message, ",", "")
	for _, re := range list {
		all := re.FindAllStringSubmatch(message, -1)
		if all == nil {
			return nil, false
		}
		for i, name := range re.SubexpNames() {
			for _, m := range all {
				if name != "" && m[i] != "" {
					found[name] = append(found[name], m[i])
				}
			}
		}
	}
	return found, true
}
