package cli

import (
	"cmp"
	"os"
	"regexp"
	"strings"
	"sync"

	"artoo/provider"
)

// The words of a failure's kind, as expressions; the first that fits decides.
var kindWords = []struct {
	kind  provider.ErrorKind
	words string
}{
	{provider.KindCap, `error_max_budget_usd|error_max_turns`},
	{provider.KindContext, `prompt is too long|context_length_exceeded|context window|` +
		`input token count.*exceeds the maximum`},
	{provider.KindBilling, `credit balance|insufficient_quota|payment required|billing hard limit|billing_error|` +
		`quota exceeded. check your plan`},
	{provider.KindRateLimit, `usage limit|session limit|weekly limit|hit your limit|limit reached|rate limit|` +
		`rate_limit|too many requests|exceeded your current quota|resource_exhausted|quota will reset|exhausted your`},
	{provider.KindAuth, `not logged in|run /login|invalid api key|incorrect api key|api key not valid|unauthorized|` +
		`unauthenticated|set an auth method|invalid auth method|authentication|login is refused|` +
		`log in again|login again|sign in again|oauth token|missing bearer|refresh token|` +
		`api_key environment variable|missing environment variable`},
	{provider.KindConfig, `model.*(not found|does not exist|may not exist|not supported)|unknown model|` +
		`invalid model|issue with the selected model|not a trusted|not trusted|untrusted`},
	{provider.KindOverloaded, `overloaded|high demand|at capacity|server is busy|service unavailable`},
	{provider.KindNetwork, `stream disconnected|error sending request|econnrefused|econnreset|enotfound|eai_again|` +
		`fetch failed|lookup address|connection error|unable to connect|network error`},
	{provider.KindTimeout, `timed out|timeout`},
	{provider.KindInvalid, `status 400`},
	{provider.KindRefused, `usage policy|content policy|blocked by safety`},
}

// lostWords are how a tool says that it has no such session.
const lostWords = `no conversation found with session id|no rollout found|thread/resume failed|` +
	`no previous sessions found|invalid session identifier|error resuming session|session not found|no saved session`

// fits reports whether a text has words that an expression matches, in letters of any case.
func fits(text, words string) bool { return regexp.MustCompile("(?is)" + words).MatchString(text) }

// hints are the next steps of the user, in which TOOL is the program.
var hints = map[provider.ErrorKind]string{
	provider.KindConfig:    "choose another model with --model, by the name TOOL has for it",
	provider.KindRateLimit: "again when TOOL allows it, or choose another provider with --provider",
	provider.KindCap:       "a higher cap, or another message to go on",
	provider.KindNetwork:   "check the network and HTTPS_PROXY; TOOL in this directory shows more",
	provider.KindProvider:  "TOOL in this directory shows the error; artoo doctor says whether TOOL is new enough",
	provider.KindInvalid:   "TOOL in this directory shows the error",
	provider.KindContext:   "/clear: TOOL's own conversation is full",
}

// judge finds the error of a run that did not end well.
func (r *run) judge(state *os.ProcessState, stderr string) error {
	f, noise := r.reply.failure, r.noise.String()
	r.lost = r.session.ID != "" && !r.reply.heard && fits(f.text+"\n"+stderr+"\n"+noise, lostWords)
	code, why := state.ExitCode(), "without its last event"
	if code != 0 {
		why = "with " + strings.TrimPrefix(state.String(), "exit ")
	}
	why = r.program + " ended " + why
	if said := cmp.Or(reason(stderr), reason(noise)); said != "" {
		why += ": " + said
	}
	f.text, f.status, f.kind = cmp.Or(f.text, why), cmp.Or(f.status, r.https[code]), cmp.Or(f.kind, r.exits[code])
	return r.failed(f, stderr)
}

// failed makes the error of a failure by its kind, its text, then its status.
func (r *run) failed(f failure, stderr string) error {
	words := f.text + " " + f.code
	f.kind = cmp.Or(f.kind, kindOf(words, f.status))
	e := r.fault(f.kind, strings.TrimRight(oneLine(f.text), "."),
		strings.ReplaceAll(hints[f.kind], "TOOL", r.program), nil)
	e.Status, e.Code, e.RequestID = f.status, f.code, r.reply.session
	e.Usage, e.Elsewhere = r.spent(), f.kind == provider.KindContext
	switch {
	case f.kind == provider.KindAuth:
		e.Hint = "log in: " + r.login
		if len(r.Withheld) > 0 {
			e.Hint += "; or ARTOO_PASS_ENV=" + r.Withheld[0] + " lets it use that key"
		}
	case f.kind == provider.KindConfig && fits(words+stderr, "trust"):
		e.Hint = "artoo trust, once you have looked at the project; or start " + r.program +
			" in this directory and trust it there"
	}
	return e
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

// noise matches a line that is a place in a trace or a wait for input; named one that says what went wrong.
var (
	noise = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(.{0,2}$|at |Stack backtrace|\[STARTUP\]|Warning:|WARNING:)|<unknown>|from stdin`)
	})
	named = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^error[\s:]*(.+)`) })
)

// reason is the last line that names an error, else the last that is not noise.
func reason(text string) (last string) {
	found := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := named().FindStringSubmatch(line); m != nil {
			found = m[1]
		} else if !noise().MatchString(line) {
			last = line
		}
	}
	return cmp.Or(found, last)
}
