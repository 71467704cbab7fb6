package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// detail is a server's description of a failure, in whatever shape.
type detail struct {
	Message     string
	Code        string // the most telling word or number
	Type        string
	RequestID   string
	Window      int // llama.cpp: n_ctx
	Requested   int // llama.cpp: n_prompt_tokens
	LimitSource string
	Reason      string // Google's own word, or one of ours
	RetryAfter  time.Duration
	Generation  string // Groq: the model's text that could not be read
}

// The reasons that are not a server's own word.
const (
	reasonModeration = "artoo:moderation" // OpenRouter flagged the input
	reasonDaily      = "artoo:daily"      // the quota of the day is used up
	reasonNoQuota    = "artoo:no quota"   // the plan has none
)

type errorJSON struct {
	Message   json.RawMessage `json:"message"`
	Type      json.RawMessage `json:"type"`
	Code      json.RawMessage `json:"code"`
	Status    json.RawMessage `json:"status"`
	Detail    json.RawMessage `json:"detail"`
	Error     json.RawMessage `json:"error"`
	RequestID string          `json:"request_id"`
	Failed    json.RawMessage `json:"failed_generation"`
	NPrompt   int             `json:"n_prompt_tokens"`
	NCtx      int             `json:"n_ctx"`
	Details   json.RawMessage `json:"details"`
	Metadata  struct {
		Raw         json.RawMessage `json:"raw"`
		ErrorType   string          `json:"error_type"`
		LimitSource string          `json:"limit_source"`
		Reasons     json.RawMessage `json:"reasons"`
	} `json:"metadata"`
}

// nesting is how deep errors are looked for in errors, since each level reads all below it.
const nesting = 4

// parseDetail reads an error document in any of its shapes. ok is false without a message.
func parseDetail(data []byte) (d detail, ok bool) { return parseNested(data, nesting) }

func parseNested(data []byte, levels int) (d detail, ok bool) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || levels == 0 {
		return d, false
	}
	switch data[0] {
	case '[':
		var list []json.RawMessage
		if json.Unmarshal(data, &list) != nil || len(list) == 0 {
			return d, false
		}
		return parseNested(list[0], levels-1)
	case '"':
		d.Message = Text(data)
		if inner, ok := quoted(d.Message, levels-1); ok {
			return inner, true
		}
		return d, d.Message != ""
	case '{':
	default:
		return d, false
	}
	var e errorJSON
	if err := json.Unmarshal(data, &e); err != nil && e.Message == nil && e.Error == nil {
		return d, false
	}
	if Present(e.Error) {
		if inner, ok := parseNested(e.Error, levels-1); ok {
			inner.RequestID = cmp.Or(inner.RequestID, e.RequestID)
			return inner, true
		}
	}
	return e.detail(levels)
}

func (e errorJSON) detail(levels int) (detail, bool) {
	d := detail{
		Message: Text(e.Message), Code: Text(e.Code), Type: Text(e.Type), RequestID: e.RequestID,
		Window: e.NCtx, Requested: e.NPrompt, LimitSource: e.Metadata.LimitSource,
		Generation: Text(e.Failed),
	}
	if Present(e.Metadata.Reasons) {
		d.Reason = reasonModeration
	}
	d.Type = cmp.Or(d.Type, e.Metadata.ErrorType, Text(e.Status))
	d.Message = cmp.Or(d.Message, Text(e.Detail))
	// A router's own words say less than those of the server behind it.
	if raw := Text(e.Metadata.Raw); raw != "" {
		if inner, ok := parseNested([]byte(raw), levels-1); ok {
			raw = inner.Message
		}
		d.Message = strings.TrimPrefix(d.Message+": "+raw, ": ")
	}
	d.google(e.Details)
	if inner, ok := quoted(d.Message, levels-1); ok {
		inner.RequestID = cmp.Or(inner.RequestID, d.RequestID)
		d = inner
	}
	return d, d.Message != "" || d.Code != "" || d.Type != "" && d.Type != "error"
}

// quoted reads an error document inside a server's message, as Ollama passes on its runner's.
func quoted(message string, levels int) (detail, bool) {
	at := strings.Index(message, `{"`)
	if at < 0 {
		return detail{}, false
	}
	inner := strings.TrimSpace(message[at:])
	if !json.Valid([]byte(inner)) {
		return detail{}, false
	}
	return parseNested([]byte(inner), levels)
}

// status is the HTTP status a code or type stands for, or 0.
func (d detail) status() int {
	if n, err := strconv.Atoi(d.Code); err == nil && n >= 400 && n < 600 {
		return n
	}
	return d.wordStatus()
}

// wordStatus is the same, but only for words.
func (d detail) wordStatus() int {
	for _, word := range []string{d.Type, d.Code} {
		if status, ok := wordStatuses()[word]; ok {
			return status
		}
		// OpenAI has many more codes for faulty requests.
		for _, part := range []string{"invalid_", "unsupported_", "missing_", "_above_max_", "_below_min_"} {
			if strings.HasPrefix(word, part) || part[0] == '_' && strings.Contains(word, part) {
				return 400
			}
		}
	}
	return 0
}

var wordStatuses = sync.OnceValue(func() map[string]int {
	words := map[string]int{}
	for status, list := range map[int]string{
		400: "invalid_request_error invalid_request BadRequestError INVALID_ARGUMENT FAILED_PRECONDITION OUT_OF_RANGE " +
			"data_residency_mismatch image_too_large image_too_small image_parse_error image_file_too_large " +
			"empty_image_file unknown_parameter validationException",
		401: "authentication_error invalid_api_key AuthenticationError UNAUTHENTICATED authentication",
		402: "billing_error insufficient_balance payment_required",
		403: "permission_error PermissionDeniedError PERMISSION_DENIED permission_denied",
		404: "not_found_error model_not_found NotFoundError not_found NOT_FOUND",
		409: "ABORTED CANCELLED",
		413: "request_too_large payload_too_large",
		429: "rate_limit_error rate_limit_exceeded RateLimitError RESOURCE_EXHAUSTED rate_limit throttlingException",
		408: "modelTimeoutException",
		529: "overloaded_error overloaded provider_overloaded service_unavailable UNAVAILABLE engine_overloaded_error " +
			"server_is_overloaded slow_down serviceUnavailableException",
		504: "timeout_error timeout DEADLINE_EXCEEDED",
		500: "api_error server_error internal_error internal_server_error INTERNAL UNKNOWN DATA_LOSS unavailable_error " +
			"internalServerException modelStreamErrorException",
	} {
		for word := range strings.FieldsSeq(list) {
			words[word] = status
		}
	}
	return words
})

// googleDetail is one of the typed details of Google's errors.
type googleDetail struct {
	RetryDelay string `json:"retryDelay"` // RetryInfo: "34.07s"
	Reason     string `json:"reason"`     // ErrorInfo
	Violations []struct {
		QuotaID string `json:"quotaId"`
	} `json:"violations"` // QuotaFailure
}

// google reads how long to wait, which quota is used up, and a more telling reason.
func (d *detail) google(details json.RawMessage) {
	var list []googleDetail
	if len(details) > 0 && details[0] == '[' {
		_ = Decode(details, &list) // ignore details that cannot be read
	}
	for _, g := range list {
		if g.Reason != "" {
			d.Reason = g.Reason
		}
		if wait, err := time.ParseDuration(g.RetryDelay); err == nil && wait > 0 {
			d.RetryAfter = wait
		}
		for _, v := range g.Violations {
			if strings.Contains(v.QuotaID, "PerDay") || strings.Contains(v.QuotaID, "Daily") {
				d.Reason = reasonDaily
			}
		}
	}
	if d.RetryAfter == 0 {
		d.RetryAfter = retryInWords(d.Message)
	}
	if d.Type == "RESOURCE_EXHAUSTED" && noQuota().MatchString(d.Message+"\n") {
		d.Reason = reasonNoQuota
	}
}

// retryInWords reads "Please retry in 34.07s." and "Please try again in 28ms.".
func retryInWords(message string) time.Duration {
	_, after, found := strings.Cut(message, "lease retry in ")
	if !found {
		if _, after, found = strings.Cut(message, "lease try again in "); !found {
			return 0
		}
	}
	word, _, _ := strings.Cut(strings.TrimSpace(after), " ")
	wait, err := time.ParseDuration(strings.TrimRight(word, ".,"))
	if err != nil || wait < 0 {
		return 0
	}
	return wait
}

// noQuota knows "limit: 0": the plan holds nothing of this model.
var noQuota = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`limit: 0\.?[^0-9.]`) })
