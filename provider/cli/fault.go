package cli

import (
	"cmp"
	"os"
	"slices"
	"strconv"
	"strings"

	"artoo/provider"
)

// The words of a failure's kind; the first that fits decides, + joins words that must all occur.
var kindWords = []struct {
	kind  provider.ErrorKind
	words []string
}{
	{provider.KindContext, []string{
		"prompt is too long", "context_length_exceeded", "context window", "input token count+exceeds the maximum",
	}},
	{provider.KindBilling, []string{
		"credit balance", "insufficient_quota", "payment required", "billing hard limit",
		"quota exceeded. check your plan",
	}},
	{provider.KindRateLimit, []string{
		"usage limit", "session limit", "weekly limit", "hit your limit", "limit reached", "rate limit", "rate_limit",
		"too many requests", "exceeded your current quota", "resource_exhausted", "quota will reset",
		"exhausted your",
	}},
	{provider.KindAuth, []string{
		"not logged in", "run /login", "invalid api key", "incorrect api key", "api key not valid", "unauthorized",
		"unauthenticated", "set an auth method", "invalid auth method", "authentication", "login is refused",
		"log in again", "login again", "sign in again", "oauth token", "missing bearer", "refresh token",
		"api_key environment variable", "missing environment variable",
	}},
	{provider.KindConfig, []string{
		"model+not found", "model+does not exist", "model+may not exist", "model+not supported", "unknown model",
		"invalid model", "issue with the selected model", "not a trusted", "not trusted", "untrusted",
	}},
	{provider.KindOverloaded, []string{"overloaded", "high demand", "at capacity", "server is busy"}},
	{provider.KindNetwork, []string{
		"stream disconnected", "error sending request", "econnrefused", "econnreset", "enotfound", "eai_again",
		"fetch failed", "lookup address", "connection error", "unable to connect", "network error",
	}},
	{provider.KindTimeout, []string{"timed out", "timeout"}},
	{provider.KindRefused, []string{"usage policy", "content policy", "blocked by safety"}},
}

// lostWords are how a tool says that it has no such session.
var lostWords = []string{
	"no conversation found with session id", "no rollout found", "thread/resume failed",
	"no previous sessions found", "invalid session identifier", "error resuming session", "session not found",
	"no saved session",
}

// usageWords are how a tool says that it does not know an option.
var usageWords = []string{
	"unknown option", "unknown argument", "unexpected argument", "unrecognized option", "unrecognized subcommand",
	"invalid value+for", "invalid values:", "only available when experimental", "is invalid. allowed choices",
}

func fits(text string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		missing := func(word string) bool { return !strings.Contains(text, word) }
		return !slices.ContainsFunc(strings.Split(p, "+"), missing)
	})
}

// judge finds the error of a run that did not end well.
func (r *run) judge(p plan, path string, state *os.ProcessState, stderr string) error {
	code := exitCode(state)
	f := cmp.Or(r.reply.failure, &failure{})
	said := strings.ToLower(f.text + "\n" + stderr + "\n" + string(r.noise))
	if p.session.ID != "" && !r.reply.heard && fits(said, lostWords) {
		r.lost = true
	}
	if r.reply.events == 0 && fits(said, usageWords) {
		if old := r.old(r.dialect, r.version(r.ctx, path), said); old != nil {
			return old
		}
		why := r.dialect.program + " rejects artoo's request: " + r.reason(stderr)
		return r.fault(provider.KindConfig, why, r.dialect.install+" renews it", nil)
	}
	own := *f
	own.text = cmp.Or(own.text, r.reason(stderr), lastLine(string(r.noise)))
	switch {
	case own.text == "" && code == 0:
		own.text = r.dialect.program + " ended without its last event: the answer is not whole"
	case own.text == "":
		own.text = r.dialect.program + " " + ending(state) + " and said nothing"
	case f.text == "" && code == 0:
		own.text = r.dialect.program + " ended without its last event: " + own.text
	}
	own.status = cmp.Or(own.status, r.dialect.https[code])
	own.kind = cmp.Or(own.kind, r.dialect.exits[code])
	return r.failed(&own, stderr)
}

// exitCode is -1 for a tool without one.
func exitCode(state *os.ProcessState) int {
	if state == nil {
		return -1
	}
	return state.ExitCode()
}

func ending(state *os.ProcessState) string {
	if code := exitCode(state); code >= 0 {
		return "ended with status " + strconv.Itoa(code)
	}
	if how, ok := strings.CutPrefix(state.String(), "signal: "); ok {
		return "was ended by a signal (" + how + ")"
	}
	return "ended, nobody knows how,"
}

// failed makes the error of a failure by its kind, its text, then its status.
func (r *run) failed(f *failure, stderr string) *provider.Error {
	e := r.fault(f.kind, strings.TrimRight(r.masked(oneLine(f.text)), "."), "", nil)
	e.Status, e.Code, e.RequestID = f.status, f.code, r.reply.session
	e.Usage, e.RetryAfter = r.spent(), f.after
	words := strings.ToLower(f.text + " " + f.code)
	if e.Kind == "" {
		e.Kind = kindOf(words, f.status)
	}
	d := r.dialect
	switch e.Kind {
	case provider.KindAuth:
		e.Hint = "log in: " + d.login
		if name := missingVariable(f.text); name != "" && r.variable(name) == "" {
			e.Hint = "ARTOO_PASS_ENV=" + name + " lets " + d.program + " have that variable, if it is set; or " + e.Hint
		} else if len(r.Withheld) > 0 {
			e.Hint += "; or ARTOO_PASS_ENV=" + r.Withheld[0] + " lets it use that key"
		}
	case provider.KindConfig:
		e.Hint = "choose another model with --model, by the name " + d.program + " has for it"
		if strings.Contains(words, "trust") || strings.Contains(strings.ToLower(stderr), "trust") {
			e.Hint = "start " + d.program + " in this directory and trust it there"
			if d.trusts != nil {
				e.Hint = "artoo trust, once you have looked at the project; or " + e.Hint
			}
		}
	case provider.KindRateLimit:
		e.Hint = "again when " + d.program + " allows it, or choose another provider with --provider"
	case provider.KindCap:
		e.Hint = "a higher cap, or another message to go on"
	case provider.KindNetwork:
		e.Hint = "check the network and HTTPS_PROXY; " + d.program + " in this directory shows more"
	case provider.KindProvider, provider.KindInvalid:
		e.Hint = d.program + " in this directory shows the error"
	case provider.KindContext:
		e.Elsewhere = true
		e.Hint = "/clear: " + d.program + "'s own conversation is full"
	}
	return e
}

// missingVariable is the environment variable that a text says is missing, or "".
func missingVariable(text string) string {
	_, name, ok := strings.Cut(text, "issing environment variable: `")
	if name, _, closed := strings.Cut(name, "`"); ok && closed && validID(name) {
		return name
	}
	return ""
}

func kindOf(words string, status int) provider.ErrorKind {
	for _, row := range kindWords {
		if fits(words, row.words) {
			return row.kind
		}
	}
	kind := map[int]provider.ErrorKind{
		401: provider.KindAuth, 403: provider.KindAuth, 402: provider.KindBilling, 404: provider.KindConfig,
		408: provider.KindTimeout, 504: provider.KindTimeout, 429: provider.KindRateLimit,
		503: provider.KindOverloaded, 529: provider.KindOverloaded,
	}[status]
	if kind == "" && status >= 400 && status < 500 {
		return provider.KindInvalid
	}
	return cmp.Or(kind, provider.KindProvider)
}

// masked takes the keys that the tool was given out of its output.
func (r *run) masked(text string) string {
	for _, kv := range r.Environ {
		name, value, _ := strings.Cut(kv, "=")
		if len(value) >= 8 && slices.Contains(slices.Concat(r.dialect.own, r.dialect.keys), name) {
			text = strings.ReplaceAll(text, value, "(key)")
		}
	}
	return text
}

// reason is the last line of stderr that names an error, else the last outside a trace.
func (r *run) reason(stderr string) string {
	found := ""
	for line := range strings.Lines(stderr) {
		const word = "error"
		if line = strings.TrimSpace(line); len(line) > len(word) && strings.EqualFold(line[:len(word)], word) {
			found = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line[len(word):]), ":"))
		}
	}
	return cmp.Or(found, lastLine(stderr))
}

// lastLine is the last line that is not just a place in a trace or a wait for input.
func lastLine(text string) string {
	for _, line := range slices.Backward(strings.Split(text, "\n")) {
		line = strings.TrimSpace(line)
		begins := func(word string) bool { return strings.HasPrefix(line, word) }
		noise := strings.Contains(line, "<unknown>") || strings.Contains(line, "from stdin") ||
			slices.ContainsFunc([]string{"at ", "Stack backtrace", "[STARTUP]", "Warning:", "WARNING:"}, begins)
		if len(line) >= 3 && !noise {
			return line
		}
	}
	return ""
}
