// Package secret knows what the keys and tokens of well-known services look
// like. It finds those nobody told artoo about: a paste, a command's output, a
// file. A key that is known is looked for by its own text, where it is used.
package secret

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"sync"
)

// shapes are compiled when something is looked at that may hold one: no package
// may cost start-up time. The first group that takes part in a match is the
// secret itself.
var shapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[^A-Za-z0-9_])(` +
		`sk-[A-Za-z0-9_-]{20,}` + // OpenAI, Anthropic, OpenRouter, DeepSeek
		`|[sr]k_(?:live|test)_[A-Za-z0-9]{16,}` + // Stripe
		`|gh[oprsu]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,}` +
		`|glpat-[A-Za-z0-9_-]{20,}` + // GitLab
		`|(?:AKIA|ASIA)[A-Z0-9]{16}` + // AWS
		`|AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,}` + // Google
		`|xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}` + // Slack
		`|npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{40,}|hf_[A-Za-z0-9]{30,}` +
		`|dop_v1_[0-9a-f]{64}|SG\.[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}` + // DigitalOcean, SendGrid
		`|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*` + // a signed JSON token
		`)|[^A-Za-z0-9_]?[Bb]earer +([A-Za-z0-9._~+/-]{20,}=*)` +
		`|(AGE-SECRET-KEY-1[0-9A-Z]{20,})` +
		`|(-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[^-]*-----END [A-Z ]*PRIVATE KEY-----)?)` +
		`|://[^/\s:@]+:([^/\s@]{3,})@`) // a password in an address
})

// starts is what each of the shapes has in it as it stands. Looking for these
// first makes it cheap to find nothing, in a paste of megabytes too.
var starts = [...]string{
	"sk-", "sk_", "rk_", "ghp_", "gho_", "ghr_", "ghs_", "ghu_", "github_pat_", "glpat-", "AKIA", "ASIA", "AIza", "ya29.", "xox", "xapp-",
	"npm_", "pypi-", "hf_", "dop_v1_", "SG.", "eyJ", "earer ", "AGE-SECRET-KEY-1", "-----BEGIN ", "://",
}

func mayHold(text string) bool {
	for _, start := range starts {
		if strings.Contains(text, start) {
			return true
		}
	}
	return false
}

// Holds says whether text has something in it that looks like a key.
func Holds(text string) bool { return mayHold(text) && shapes().MatchString(text) }

// Mask puts a mark in place of everything in text that looks like a key. The
// same key gets the same mark, so that two can be told apart; the key cannot be
// found from it.
func Mask(text string) string {
	if !mayHold(text) {
		return text
	}
	var b strings.Builder
	from := 0
	for _, at := range shapes().FindAllStringSubmatchIndex(text, -1) {
		for group := 2; group < len(at); group += 2 {
			if at[group] < 0 {
				continue
			}
			b.WriteString(text[from:at[group]])
			b.WriteString(Mark(text[at[group]:at[group+1]]))
			from = at[group+1]
			break
		}
	}
	b.WriteString(text[from:])
	return b.String()
}

// Mark is what stands for a key. It has two bytes of a digest: enough to tell a few
// keys apart, too few to test guesses on.
func Mark(key string) string {
	digest := sha256.Sum256([]byte(key))
	return "‹secret:" + hex.EncodeToString(digest[:2]) + "›"
}
