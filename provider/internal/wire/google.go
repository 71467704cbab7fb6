package wire

import (
	"encoding/json"
	"strings"
	"time"
)

// googleDetail is one of the typed details of Google's errors; which fields are
// set depends on the type.
type googleDetail struct {
	RetryDelay string `json:"retryDelay"` // RetryInfo: "34.07s"
	Reason     string `json:"reason"`     // ErrorInfo
	Violations []struct {
		QuotaID string `json:"quotaId"`
	} `json:"violations"` // QuotaFailure
}

// google reads what Google's APIs add to an error: how long to wait, which quota
// is used up, and a reason more telling than the status.
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
				d.Daily = true
			}
		}
	}
	if d.RetryAfter == 0 {
		d.RetryAfter = retryInWords(d.Message)
	}
	if d.Type == "RESOURCE_EXHAUSTED" {
		d.NoQuota = noQuota(d.Message)
	}
}

// retryInWords reads "Please retry in 34.07s." and OpenAI's "Please try again in
// 28ms.", which is all that a reply that had begun well can say.
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

// noQuota knows "limit: 0": the plan holds nothing at all of this model, so that
// waiting does not help.
func noQuota(message string) bool {
	for rest := message; ; {
		_, after, found := strings.Cut(rest, "limit: 0")
		if !found {
			return false
		}
		if after == "" || !strings.ContainsRune("0123456789", rune(after[0])) &&
			!(after[0] == '.' && len(after) > 1 && after[1] >= '0' && after[1] <= '9') {
			return true
		}
		rest = after
	}
}
