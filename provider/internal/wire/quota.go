package wire

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"artoo/provider"
)

// Bounds of what is kept of a server's rate limits: no server has more, or longer names.
const (
	mostLimits  = 16
	longestName = 40
)

// limits are the rate limits in the head of a reply, those of Anthropic's and of OpenAI's kind, sorted by name.
func limits(h http.Header, now time.Time) (list []provider.RateLimit) {
	said := map[string]map[string]string{}
	for key := range h {
		name, field := "", ""
		key = strings.ToLower(key)
		if rest, ok := strings.CutPrefix(key, "anthropic-ratelimit-"); ok {
			at := max(strings.LastIndexByte(rest, '-'), 0)
			name, field = rest[:at], strings.TrimPrefix(rest[at:], "-")
		} else if rest, ok := strings.CutPrefix(key, "x-ratelimit-"); ok {
			field, name, _ = strings.Cut(rest, "-")
		}
		if name = cmp.Or(name, "requests"); field == "" || len(name) > longestName {
			continue
		}
		if said[name] == nil {
			said[name] = map[string]string{}
		}
		said[name][field] = h.Get(key)
	}
	for name, fields := range said {
		l := provider.RateLimit{Name: name}
		l.Limit, l.Remaining = number(fields["limit"], 1), number(fields["remaining"], 1)
		switch {
		case fields["utilization"] != "":
			l.Limit, l.Remaining = 100, max(100-number(fields["utilization"], 100), 0)
		case fields["remaining"] == "" && fields["status"] != "rejected":
			continue
		}
		if wait := untilWord(fields["reset"], now); wait > 0 {
			l.Resets = now.Add(wait)
		}
		list = append(list, l)
	}
	slices.SortStableFunc(list, func(a, b provider.RateLimit) int { return cmp.Compare(a.Name, b.Name) })
	return list[:min(len(list), mostLimits)]
}

// number is a server's number times a factor, 0 for none.
func number(word string, factor float64) int {
	n, err := strconv.ParseFloat(word, 64)
	if err != nil || n != n || n < 0 {
		return 0
	}
	return Count(int(min(n*factor+0.5, 1<<40)))
}

// resets is how long until the last limit that is used up resets, 0 where none says so.
func resets(list []provider.RateLimit, now time.Time) (wait time.Duration) {
	for _, l := range list {
		if l.Remaining == 0 && !l.Resets.IsZero() {
			wait = max(wait, l.Resets.Sub(now))
		}
	}
	return wait
}

// quota is the state of the server's rate limits after a reply, or after the error e; nil where it says nothing of
// them.
func (c *call) quota(e *provider.Error) *provider.Quota {
	if c.resp == nil {
		return nil
	}
	q := &provider.Quota{Provider: c.Name, Seen: time.Now().Round(time.Second)}
	q.Limits = limits(c.resp.Header, q.Seen)
	if e != nil && e.Kind == provider.KindRateLimit && e.RetryAfter > 0 && resets(q.Limits, q.Seen) == 0 {
		q.Limits = append(q.Limits, provider.RateLimit{Name: "rate limit", Resets: q.Seen.Add(e.RetryAfter)})
	}
	for i := range q.Limits {
		q.Limits[i].Resets = q.Limits[i].Resets.Round(time.Second)
	}
	if q.Limits == nil {
		return nil
	}
	return q
}
