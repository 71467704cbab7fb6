package wire

import (
	"cmp"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

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
	if kind, _, _ := strings.Cut(c.resp.Header.Get("X-Amzn-Errortype"), ":"); d.Code == "" {
		d.Code = kind
	}
	if !ok {
		d.Message = shorten(c.secrets.Hide(string(data)), 200)
		d.Message = cmp.Or(d.Message, strings.ToLower(http.StatusText(status)))
	}
	e := classify(status, d, c.req)
	e.Status = status
	wait, retry := retryWords(c.resp.Header)
	e.RetryAfter = max(wait, e.RetryAfter)
	if now := time.Now(); e.Kind == provider.KindRateLimit && e.RetryAfter == 0 {
		e.RetryAfter = resets(limits(c.resp.Header, now), now)
	}
	if retry != nil { // a time alone does not make a final failure passing
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
	case e.Kind == provider.KindAuth && e.Hint == "" && c.Keyless():
		e.Hint = "artoo doctor names the credentials that were used: log in again, or replace them"
	case status == http.StatusPaymentRequired && d.LimitSource == "openrouter_in_flight_budget" && e.RetryAfter > 0:
		// Credit that running requests hold back, not credit that is gone.
		e.Kind = provider.KindRateLimit
	}
	return e
}

// CodeBadCall is Groq's word for a reply with a call that it could not read.
const CodeBadCall = "tool_use_failed"

// BadCall is the cause of an error with CodeBadCall: the model's text.
type BadCall string

// Error shows the beginning of the call.
func (b BadCall) Error() string { return "the call: " + shorten(string(b), 200) }

func looksLikePage(h http.Header, data []byte) bool {
	return strings.HasPrefix(h.Get("Content-Type"), "text/html") ||
		strings.HasPrefix(strings.TrimSpace(string(data[:min(len(data), 64)])), "<")
}

// proxyPage is the error of a page in place of JSON. Only servers that fail are tried again.
func (c *call) proxyPage(e *provider.Error) {
	e.Message = "a web page came instead of an answer, perhaps from a proxy: " + e.Message
	if e.Kind == provider.KindAuth || e.Kind == provider.KindInvalid {
		e.Kind = provider.KindProvider
		e.Retry = new(false)
	}
	if e.Hint == "" || e.Kind == provider.KindProvider {
		e.Hint = "check ARTOO_BASE_URL and HTTPS_PROXY: the server at " + c.host() + " is not a model's API"
	}
}

// failure is a row: a server's words, and their meaning.
type failure struct {
	status []int    // nil for any
	words  []string // one is the code, type or reason of the error
	says   []string // or stands in its message, in lower case
	kind   provider.ErrorKind
	hint   string // {model} is filled in
	retry  *bool
}

// failures is the table; the first row that fits decides.
var failures = []failure{
	{words: []string{reasonNoQuota}, kind: provider.KindBilling,
		hint: "your plan has no quota for this model: choose another with --model, or another plan"},
	// OpenAI's used-up quota, Anthropic's balance and spend limits, whatever the status
	{words: []string{"BILLING_DISABLED", "insufficient_quota", "billing_hard_limit_reached"}, kind: provider.KindBilling,
		says: []string{"credit balance is too low", "specified api usage limits", "insufficient balance", "insufficient credits"}},
	{words: []string{reasonDaily}, kind: provider.KindRateLimit, retry: new(false),
		hint: "another model with --model, another plan, or tomorrow: the daily quota is used up"},
	{words: []string{"MODEL_CAPACITY_EXHAUSTED"}, kind: provider.KindOverloaded, retry: new(false),
		hint: "later, or another model with --model: this one is at capacity"},
	{words: []string{CodeBadCall}, kind: provider.KindProvider, retry: new(true)}, // sent again the call may be better
	// Content filters: Azure, OpenAI, Anthropic, DashScope
	{words: []string{"content_filter", "content_policy_violation", "invalid_prompt", "data_inspection_failed",
		"bio_policy", "cyber_policy", "image_content_policy_violation"}, kind: provider.KindRefused,
		says: []string{"blocked by content filtering policy"}},
	// A model that does not see: llama.cpp (as a 500), OpenRouter (as a 404), OpenAI, Ollama,
	// vLLM and others
	{kind: provider.KindInvalid, hint: hintNoImages, says: []string{"image input is not supported", "support image input",
		"image_url is only supported by", "does not support image", "does not support vision",
		"missing data required for image input", "is not a multimodal model", "images are not supported",
		"image inputs are not supported", "failed to load image"}},
	{words: []string{"model_not_found"}, kind: provider.KindConfig, hint: hintModel},
	{status: []int{404, 410}, says: []string{"model", "no endpoints found"}, // the latter is OpenRouter's
		kind: provider.KindConfig, hint: hintModel},
	{status: []int{400, 422}, kind: provider.KindConfig, hint: hintModel,
		says: []string{"not a valid model id", "model not exist", "invalid model name", "model not found", "model identifier is invalid"}},
	{status: []int{400}, says: []string{"on-demand throughput isn"}, kind: provider.KindConfig, // Bedrock
		hint: "choose a profile of the model: its name with us., eu., apac. or global. in front; artoo models lists them"},
	{words: []string{"InvalidSignatureException"}, kind: provider.KindAuth, // AWS's
		hint: "set the clock of this machine, or check the secret key: artoo doctor names the credentials that were used"},
	{words: []string{"AccessDeniedException"}, kind: provider.KindAuth,
		hint: "allow bedrock:InvokeModelWithResponseStream for these credentials, and get access to the model in the region of the address"},
	{status: []int{400}, says: []string{"http request to an https server", "http request was sent to https port"},
		kind: provider.KindConfig, hint: "the server speaks HTTPS: write https:// in ARTOO_BASE_URL"},
}

// byStatus sorts the rest, by the status that a failure stands for; the first row that fits decides.
var byStatus = []failure{
	{status: []int{401}, kind: provider.KindAuth},
	{status: []int{402}, kind: provider.KindBilling},
	{status: []int{403}, words: []string{reasonModeration}, says: []string{"moderation"}, kind: provider.KindRefused},
	{status: []int{403}, kind: provider.KindAuth},
	{status: []int{404, 405, 410}, kind: provider.KindConfig,
		hint: "check ARTOO_BASE_URL (or base_url): many servers want it to end in /v1; and --model"},
	{status: []int{407}, kind: provider.KindNetwork, retry: new(false),
		hint: "the proxy wants a user and password: set them in HTTPS_PROXY"},
	{status: []int{408, 504}, kind: provider.KindTimeout},
	{status: []int{409, 425, 499}, kind: provider.KindProvider}, // the last: a server that gave up on its own side
	{status: []int{413}, kind: provider.KindContext, hint: hintTooLarge},
	{status: []int{429}, kind: provider.KindRateLimit},
	{status: []int{503, 529}, says: []string{"loading model"}, kind: provider.KindOverloaded, // llama.cpp
		hint: "again in a moment: the server is still loading its model"},
	{status: []int{503, 529}, kind: provider.KindOverloaded},
}

const (
	hintModel    = "the provider does not know {model}: choose another with --model"
	hintNoImages = "this model takes no images: choose another with --model, or start a new session"
	// hintTooLarge goes with a size in bytes, not in tokens.
	hintTooLarge = "fewer or smaller images, or a new session: the request has too many bytes"
)

// classify sorts a failure by the server's words and status. Words that
// mean an overflow win over everything, because resending would not help.
func classify(status int, d detail, r Request) *provider.Error {
	e := &provider.Error{Message: d.Message, Code: d.Code, RetryAfter: d.RetryAfter}
	if d.Type != "" && (e.Code == "" || e.Code[0] >= '0' && e.Code[0] <= '9') {
		e.Code = d.Type
	}
	e.Message = cmp.Or(e.Message, e.Code)
	message := strings.ToLower(d.Message)
	if isOverflow(status, d.Message, d.Code, d.Type) {
		e.Kind = provider.KindContext
		e.Window, e.Requested = d.Window, d.Requested
		if e.Window == 0 {
			e.Window, e.Requested = windowNumbers(d.Message)
		}
		switch {
		case strings.Contains(message, "per min"):
			e.Hint = "your plan allows fewer tokens a minute than this request has: another model with --model, or another plan"
		case status == http.StatusRequestEntityTooLarge && e.Window == 0:
			e.Hint, e.InBytes = hintTooLarge, true
		}
		return e
	}
	fits := func(status int) func(f failure) bool {
		return func(f failure) bool {
			said := slices.ContainsFunc(f.words, func(word string) bool { return slices.Contains([]string{d.Code, d.Type, d.Reason}, word) }) ||
				slices.ContainsFunc(f.says, func(words string) bool { return strings.Contains(message, words) })
			return (f.status == nil || slices.Contains(f.status, status)) && (said || f.words == nil && f.says == nil)
		}
	}
	row := failure{kind: provider.KindInvalid}
	if i := slices.IndexFunc(failures, fits(status)); i >= 0 {
		row = failures[i]
	} else {
		status = moreTelling(status, d)
		if i := slices.IndexFunc(byStatus, fits(status)); i >= 0 {
			row = byStatus[i]
		} else if status >= 500 || status == 0 {
			row.kind = provider.KindProvider
		}
		e.Images = row.kind == provider.KindInvalid && strings.Contains(message+" "+strings.ToLower(d.Code), "image")
	}
	e.Kind, e.Retry = row.kind, row.retry
	e.Hint = strings.ReplaceAll(row.hint, "{model}", cmp.Or(r.Model, "this model"))
	e.InBytes = row.hint == hintTooLarge
	switch {
	case row.hint == hintNoImages:
		e.Code = provider.CodeNoImages
	case d.Code == CodeBadCall && row.kind == provider.KindProvider:
		e.Err = BadCall(d.Generation)
	}
	return e
}

// moreTelling is the status that a failure stands for, if its own (400, 5xx) is vague.
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

// Failure makes the error that a server reports within a reply, or nil.
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
