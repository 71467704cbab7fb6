package ui

import (
	"regexp"
	"strings"
)

// secretShapes is what the keys and tokens of well-known services look like. A
// line that holds one is not written into the history.
var secretShapes = regexp.MustCompile(`(?:^|[^A-Za-z0-9_])(?:` +
	`sk-[A-Za-z0-9_-]{20,}` + // OpenAI, Anthropic, OpenRouter, DeepSeek
	`|[sr]k_(?:live|test)_[A-Za-z0-9]{16,}` + // Stripe
	`|gh[oprsu]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,}` +
	`|glpat-[A-Za-z0-9_-]{20,}` + // GitLab
	`|(?:AKIA|ASIA)[A-Z0-9]{16}` + // AWS
	`|AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,}` + // Google
	`|xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}` + // Slack
	`|npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{40,}|hf_[A-Za-z0-9]{30,}` +
	`|dop_v1_[0-9a-f]{64}|SG\.[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}` + // DigitalOcean, SendGrid
	`|eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.` + // a signed JSON token
	`|[Bb]earer +[A-Za-z0-9._~+/-]{20,}` +
	`)|AGE-SECRET-KEY-1[0-9A-Z]{20,}|-----BEGIN [A-Z ]*PRIVATE KEY-----` +
	`|://[^/\s:@]+:[^/\s@]{3,}@`) // a password in an address

// secretStarts is what each of the shapes has in it as it stands. Looking for
// these first makes it cheap to find nothing, in a paste of megabytes too.
var secretStarts = []string{
	"sk-", "sk_", "rk_", "ghp_", "gho_", "ghr_", "ghs_", "ghu_", "github_pat_", "glpat-", "AKIA", "ASIA", "AIza", "ya29.", "xox", "xapp-",
	"npm_", "pypi-", "hf_", "dop_v1_", "SG.", "eyJ", "earer ", "AGE-SECRET-KEY-1", "-----BEGIN ", "://",
}

// holdsSecret says whether text has something in it that looks like a key.
func holdsSecret(text string) bool {
	for _, start := range secretStarts {
		if strings.Contains(text, start) {
			return secretShapes.MatchString(text)
		}
	}
	return false
}
