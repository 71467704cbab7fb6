package wire

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// overflowPatterns are the words of servers for a request that does not fit the window.
const overflowPatterns = `prompt is too long` +
	`|input is too long for requested model` +
	`|exceeds? (the )?context (window|limit|length)` +
	`|context[ _]length[ _]exceeded` +
	"|input length and .max_tokens. exceed" +
	`|input token count.*exceeds the maximum` +
	`|maximum prompt length is \d+` +
	`|reduce the length of the messages` +
	`|maximum context length (is|of) \d+` +
	`|\btokens?\b.*exceeds the limit of \d+` + // but not "max_tokens … exceeds"
	`|max_new_tokens.? must be <= \d+` +
	`|exceed_context_size_error` +
	`|exceeds the available context size` +
	`|context size has been exceeded` +
	`|greater than the context length` +
	`|context window is full` +
	`|exceeded model token limit` +
	`|too large for model with \d+ maximum context` +
	`|range of input length should be` +
	`|context length is only \d+` +
	`|input too long:` +
	`|input length exceeds the context length` +
	`|must be reduced in order to run successfully` + // OpenAI's 429 for a request above the limit per minute
	`|request too large for model .*tokens per min` // Groq's 413 for the same

var overflow = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?is)` + overflowPatterns) })

// weakOverflow also means a rate limit where the status is 429.
const weakOverflow = "too many tokens"

// isOverflow reports whether an error says that the request does not fit.
func isOverflow(status int, words ...string) bool {
	if status == 401 || status == 403 {
		return false
	}
	text := strings.Join(words, "\n")
	if status != 429 && strings.Contains(strings.ToLower(text), weakOverflow) {
		return true
	}
	return overflow().MatchString(text)
}

// overflowNumbers are the forms in which the window and the request's size come.
var overflowNumbers = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		// vLLM
		regexp.MustCompile(`(?is)context length is (?P<win>\d+) tokens.*?for a total of (?:at least )?(?P<req>\d+)`),
		// vLLM again
		regexp.MustCompile(`(?is)context length is (?P<win>\d+) tokens and your request has (?P<req>\d+)`),
		regexp.MustCompile(`(?is)passed (?P<req>\d+) input tokens.*?context length is only (?P<win>\d+)`),
		// Anthropic
		regexp.MustCompile(`(?P<req>\d+)(?: \+ \d+)? (?:tokens )?> (?P<win>\d+)`),
		// OpenAI, OpenRouter, vLLM
		regexp.MustCompile(`(?is)(?P<win>\d+) tokens.*?(?:resulted in|requested)(?: about)? ~?(?P<req>\d+)`),
		// llama.cpp
		regexp.MustCompile(`(?is)request \((?P<req>\d+) tokens\) exceeds the available context size \((?P<win>\d+)`),
		// Gemini
		regexp.MustCompile(`(?is)token count \(?(?P<req>\d+)\)? exceeds the maximum number of tokens allowed \(?(?P<win>\d+)`),
		// Copilot
		regexp.MustCompile(`(?is)token count of (?P<req>\d+) exceeds the limit of (?P<win>\d+)`),
		// xAI
		regexp.MustCompile(`(?is)maximum prompt length is (?P<win>\d+) but the request contains (?P<req>\d+)`),
		// Alibaba
		regexp.MustCompile(`(?is)range of input length should be \[\d+ (?P<win>\d+)\]`),
		// Mistral and others
		regexp.MustCompile(`(?is)(?P<req>\d+) tokens too large for model with (?P<win>\d+)`),
		regexp.MustCompile(`(?is)(?:too large for model with|context length (?:is|of)) (?P<win>\d+)`),
		// loosely worded
		regexp.MustCompile(
			`(?is)(?:limit|size|window|length)\D{0,20}(?P<win>\d{4,})\D+?(?:request(?:ed)?)\D{0,20}(?P<req>\d+)`),
	}
})

// windowNumbers reads the window and the request's size out of an error text, 0 if absent.
func windowNumbers(text string) (window, requested int) {
	for _, re := range overflowNumbers() {
		if found, ok := (expressions{re}).find(text); ok {
			return firstNumber(found["win"]), firstNumber(found["req"])
		}
	}
	return 0, 0
}

// firstNumber is the first of the words that is a number, or 0.
func firstNumber(words []string) int {
	for _, word := range words {
		if n, err := strconv.Atoi(word); err == nil {
			return n
		}
	}
	return 0
}
