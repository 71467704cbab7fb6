package wire

import (
	"cmp"
	"io"
	"net/http"
	"strings"

	"artoo/provider"
)

// statusError reads the body of a reply whose status is no success.
func (c *call) statusError() error {
	status := c.resp.StatusCode
	data, readErr := io.ReadAll(io.LimitReader(c.body, 1<<20))
	if readErr != nil && c.ctx.Err() != nil {
		return readErr
	}
	d, ok := parseDetail(data)
	if !ok {
		d.Message = shorten(c.secrets.Hide(string(data)), 200)
		d.Message = cmp.Or(d.Message, strings.ToLower(http.StatusText(status)))
	}
	e := classify(status, d, c.req)
	e.Status = status
	wait, retry := retryWords(c.resp.Header)
	e.RetryAfter = max(wait, e.RetryAfter)
	if retry != nil { // a time alone does not make passing what is final
		e.Retry = retry
	}
	if id := d.RequestID; id != "" && c.requestID == "" {
		c.requestID = id
	}
	switch {
	case status/100 == 3:
		e.Kind, e.Message = provider.KindConfig, "the server redirects to "+redactURL(c.resp.Header.Get("Location"))
		e.Hint = "set ARTOO_BASE_URL (or base_url) to the address itself"
		if to, err := c.resp.Location(); err == nil && to.Host != "" && to.Host != hostOf(c.req.URL) {
			e.Hint = "is this the login page of the network? Log in there with a browser; or, if the server has moved, " + e.Hint
		}
	case len(data) == 0 && status == http.StatusBadRequest && len(c.req.Body) > 64<<10:
		// Cerebras answers an overflow with an empty 400.
		e.Kind = provider.KindContext
	case !ok && looksLikePage(c.resp.Header, data):
		c.proxyPage(e)
	case status == http.StatusPaymentRequired && d.LimitSource == "openrouter_in_flight_budget" && e.RetryAfter > 0:
		// Credit that running requests hold back, not credit that is gone.
		e.Kind = provider.KindRateLimit
	}
	return e
}

// CodeBadCall is Groq's word for a reply that it gave up, since it could not read
// the model's call.
const CodeBadCall = "tool_use_failed"

// BadCall is the cause of an error with CodeBadCall: what the model wrote.
type BadCall string

// Error shows the beginning of the call.
func (b BadCall) Error() string { return "the call: " + shorten(string(b), 200) }

func looksLikePage(h http.Header, data []byte) bool {
	return strings.HasPrefix(h.Get("Content-Type"), "text/html") ||
		strings.HasPrefix(strings.TrimSpace(string(data[:min(len(data), 64)])), "<")
}

// proxyPage is the error of an HTML page in place of JSON. Only servers that fail, not
// those that refuse, are tried again.
func (c *call) proxyPage(e *provider.Error) {
	e.Message = "a web page came instead of an answer, perhaps from a proxy: " + e.Message
	if e.Kind == provider.KindAuth || e.Kind == provider.KindInvalid {
		e.Kind = provider.KindProvider
		e.Retry = new(false)
	}
	if e.Hint == "" || e.Kind == provider.KindProvider {
		e.Hint = "check ARTOO_BASE_URL and HTTPS_PROXY: what answered at " + c.host() + " is not a model's API"
	}
}

// classify sorts a failure by what the server said and its status. Words that
// mean an overflow win over everything, because resending would not help.
func classify(status int, d detail, r Request) *provider.Error {
	e := &provider.Error{Message: d.Message, Code: d.Code, RetryAfter: d.RetryAfter}
	if e.Code == "" || e.Code[0] >= '0' && e.Code[0] <= '9' {
		if d.Type != "" {
			e.Code = d.Type
		}
	}
	e.Message = cmp.Or(e.Message, e.Code)
	switch {
	case isOverflow(status, d.Message, d.Code, d.Type):
		e.Kind = provider.KindContext
		e.Window, e.Requested = d.Window, d.Requested
		if e.Window == 0 {
			e.Window, e.Requested = windowNumbers(d.Message)
		}
		switch {
		case strings.Contains(strings.ToLower(d.Message), "per min"):
			e.Hint = "your plan allows fewer tokens a minute than this request has: another model with --model, or another plan"
		case status == http.StatusRequestEntityTooLarge && e.Window == 0:
			e.Hint, e.InBytes = hintTooLarge, true
		}
	case d.NoQuota:
		e.Kind, e.Hint = provider.KindBilling,
			"your plan has no quota for this model: choose another with --model, or another plan"
	case outOfCredit(d):
		e.Kind = provider.KindBilling
	case d.Daily:
		e.Kind, e.Hint, e.Retry = provider.KindRateLimit,
			"the quota of the day is used up: another model with --model, another plan, or tomorrow", new(false)
	case d.Reason == "MODEL_CAPACITY_EXHAUSTED":
		e.Kind, e.Hint, e.Retry = provider.KindOverloaded,
			"there is no room on this model: choose another with --model, or try later", new(false)
	case d.Code == CodeBadCall:
		e.Kind, e.Retry = provider.KindProvider, new(true) // sent again the call may be better
		e.Err = BadCall(d.Generation)
	case filtered(d):
		e.Kind = provider.KindRefused
	case refusesImages(d.Message):
		e.Code = provider.CodeNoImages
		e.Kind, e.Hint = provider.KindInvalid,
			"this model takes no images: choose another with --model, or start a new session"
	case unknownModel(status, d):
		e.Kind = provider.KindConfig
		e.Hint = "choose a model the provider has with --model; artoo models lists them"
		if r.Model != "" {
			e.Hint = "the provider does not know " + r.Model + ": choose another with --model"
		}
	case status == http.StatusBadRequest && plainToTLS(d.Message):
		e.Kind, e.Hint = provider.KindConfig, "the server speaks HTTPS: write https:// in ARTOO_BASE_URL"
	default:
		byStatus(e, moreTelling(status, d), d)
		e.Images = e.Kind == provider.KindInvalid && strings.Contains(strings.ToLower(d.Message+" "+d.Code), "image")
	}
	return e
}

// moreTelling is the status that a failure stands for: behind a vague one (400, 5xx) the
// error's word may tell a refused key or a busy server.
func moreTelling(status int, d detail) int {
	word := d.wordStatus()
	if status == 400 && (d.Reason == "API_KEY_INVALID" || // Gemini
		strings.Contains(strings.ToLower(d.Message), "api key not valid")) {
		return 401
	}
	switch {
	// the request, not the server, is at fault
	case status == 400 && (word == 401 || word == 402 || word == 403 || word == 404),
		(status == 400 || status >= 500) && (word == 429 || word == 529):
		return word
	}
	return status
}

// refusesImages knows the words for a model that does not see: llama.cpp's (as a
// 500), OpenRouter's (as a 404), OpenAI's, Ollama's, vLLM's, and others'.
func refusesImages(message string) bool {
	message = strings.ToLower(message)
	for _, words := range []string{
		"image input is not supported", "support image input", "image_url is only supported by", "does not support image",
		"does not support vision",
		"missing data required for image input", "is not a multimodal model", "images are not supported",
		"image inputs are not supported", "failed to load image",
	} {
		if strings.Contains(message, words) {
			return true
		}
	}
	return false
}

func plainToTLS(message string) bool {
	message = strings.ToLower(message)
	return strings.Contains(message, "http request") &&
		(strings.Contains(message, "an https server") || strings.Contains(message, "to https port"))
}

// filtered knows the failures by which a content filter refuses the prompt:
// Azure, OpenAI, Anthropic, DashScope.
func filtered(d detail) bool {
	for _, word := range []string{d.Code, d.Type} {
		switch word {
		case "content_filter", "content_policy_violation", "invalid_prompt", "data_inspection_failed",
			"bio_policy", "cyber_policy", "image_content_policy_violation":
			return true
		}
	}
	return strings.Contains(strings.ToLower(d.Message), "blocked by content filtering policy")
}

// hintTooLarge goes with a size in bytes, not in tokens.
const hintTooLarge = "the request is too large in bytes: fewer or smaller images, or a new session"

func byStatus(e *provider.Error, status int, d detail) {
	switch {
	case status == 401:
		e.Kind = provider.KindAuth
	case status == 402:
		e.Kind = provider.KindBilling
	case status == 403 && (d.Moderation || strings.Contains(strings.ToLower(d.Message), "moderation")):
		e.Kind = provider.KindRefused
	case status == 403:
		e.Kind = provider.KindAuth
	case status == 404, status == 405, status == 410:
		e.Kind = provider.KindConfig
		e.Hint = "check ARTOO_BASE_URL (or base_url): many servers want it to end in /v1; and --model"
	case status == 407:
		e.Kind = provider.KindNetwork
		e.Hint = "the proxy wants a user and password: set them in HTTPS_PROXY"
		e.Retry = new(false)
	case status == 408, status == 504:
		e.Kind = provider.KindTimeout
	case status == 409, status == 425, status == 499: // the last: a server that gave up on its own side
		e.Kind = provider.KindProvider
	case status == 413:
		e.Kind = provider.KindContext
		e.Hint, e.InBytes = hintTooLarge, true
	case status == 429:
		e.Kind = provider.KindRateLimit
	case status == 503, status == 529:
		e.Kind = provider.KindOverloaded
		if strings.EqualFold(d.Message, "Loading model") { // llama.cpp
			e.Hint = "the server still loads its model: again when it is ready"
		}
	case status >= 500, status == 0:
		e.Kind = provider.KindProvider
	default:
		e.Kind = provider.KindInvalid
	}
}

// outOfCredit knows the failures that are about money though their status says
// 400 or 429: OpenAI's used-up quota, Anthropic's balance and spend limits.
func outOfCredit(d detail) bool {
	if d.Reason == "BILLING_DISABLED" || d.Code == "insufficient_quota" || d.Type == "insufficient_quota" ||
		d.Code == "billing_hard_limit_reached" {
		return true
	}
	msg := strings.ToLower(d.Message)
	for _, words := range []string{"credit balance is too low", "specified api usage limits", "insufficient balance",
		"insufficient credits"} {
		if strings.Contains(msg, words) {
			return true
		}
	}
	return false
}

// unknownModel knows the ways in which servers say that they have no such model.
func unknownModel(status int, d detail) bool {
	if d.Code == "model_not_found" || d.Type == "model_not_found" {
		return true
	}
	msg := strings.ToLower(d.Message)
	if (status == 404 || status == 410) && (strings.Contains(msg, "model") ||
		strings.Contains(msg, "no endpoints found")) { // the latter is OpenRouter's
		return true
	}
	if status != 400 && status != 422 {
		return false
	}
	return strings.Contains(msg, "not a valid model id") || strings.Contains(msg, "model not exist") ||
		strings.Contains(msg, "invalid model name") || strings.Contains(msg, "model not found")
}

// Failure makes the error that a server reports within a reply, in any known shape; nil if
// data reports none. A refusal has the status that it stands for.
func Failure(data []byte) *provider.Error {
	d, ok := parseDetail(data)
	if !ok {
		return nil
	}
	status := d.status()
	e := classify(status, d, Request{})
	if status/100 == 4 {
		e.Status = status
	}
	return e
}
