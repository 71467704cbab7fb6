package agent

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"artoo/agent/permission"
	"artoo/provider"
)

// maskMark is what stands for a key, also as a model may write it in JSON.
var maskMark = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:‹|\\u2039)secret:[0-9a-f]{4}(?:[0-9a-f]{8})?(?:›|\\u203[aA])`)
})

// masked is text with marks in place of keys.
func (a *Agent) masked(text string) string {
	if a.opt.Secrets.Mask == nil {
		return text
	}
	return a.opt.Secrets.Mask(text)
}

// maskedParts masks the texts of a user's message; images stay as they are. It
// reports whether there was a key in one.
func (a *Agent) maskedParts(parts []provider.Part) (out []provider.Part, found bool) {
	for _, part := range parts {
		if t, ok := part.(provider.Text); ok {
			if text := a.masked(t.Text); text != t.Text {
				t.Text, found = text, true
				part = t
			}
		}
		out = append(out, part)
	}
	return out, found
}

// maskedEffects are effects as people see them.
func maskedEffects(e permission.Effects, mask func(string) string) *permission.Effects {
	by := map[permission.What][]permission.Entry{}
	for what, entries := range e.By {
		for _, entry := range entries {
			by[what] = append(by[what], permission.Entry{Path: mask(entry.Path), Detail: mask(entry.Detail)})
		}
	}
	e.By = by
	return &e
}

// maskedDiff masks what stands in the file already, also where a changed line
// still has it. What the model writes is shown as it is: whoever approves must
// see it, and the model made it up.
func (a *Agent) maskedDiff(diff string) string {
	if a.opt.Secrets.Mask == nil || a.opt.Secrets.Mask(diff) == diff {
		return diff
	}
	lines := strings.SplitAfter(diff, "\n")
	known := map[string]bool{}
	for i := 0; i < len(lines); i++ {
		from := i
		for i < len(lines) && !(strings.HasPrefix(lines[i], "+") && !fileHeader(lines, i)) {
			i++
		}
		if from == i {
			continue
		}
		whole := a.opt.Secrets.Mask(strings.Join(lines[from:i], "")) // together: a private key has many lines
		clear(lines[from:i])
		lines[from] = whole
		for _, mark := range maskMark().FindAllString(whole, -1) {
			known[mark] = true
		}
	}
	for i, line := range lines {
		if strings.HasPrefix(line, "+") {
			m := a.opt.Secrets.Mask(line)
			unknown := func(mark string) bool { return !known[mark] }
			if !slices.ContainsFunc(maskMark().FindAllString(m, -1), unknown) {
				lines[i] = m
			}
		}
	}
	return strings.Join(lines, "")
}

// fileHeader reports whether line i of a diff names the changed file. An added line that
// begins with two plus signs looks the same, but never stands below a "--- " line of a header.
func fileHeader(lines []string, i int) bool {
	return i > 0 && strings.HasPrefix(lines[i], "+++ ") && strings.HasPrefix(lines[i-1], "--- ")
}

// marked is the first mark in a call's input, "" for none: whoever wrote it meant
// the key, and would put the mark in its place.
func marked(input string) string {
	return strings.NewReplacer(`\u2039`, "‹", `\u203a`, "›", `\u203A`, "›").Replace(maskMark().FindString(input))
}

// Bounds of what live output waits for.
const (
	longestKey   = 4 << 10 // bytes of a word that may be a key
	longestBlock = 8 << 10 // and of a private key
)

// maskable is how much of a command's output so far can be masked and shown: not
// a word at its end, nor Bearer without the word behind it, nor a private key that
// has only begun, since more of it may come.
func maskable(output string) int {
	end := strings.LastIndexAny(output, " \t\r\n") + 1
	if before := strings.TrimRight(output[:end], " "); strings.HasSuffix(before, "earer") { // the key is the word behind it
		end = strings.LastIndexAny(before, " \t\r\n") + 1
	}
	if len(output)-end > longestKey {
		end = len(output)
	}
	at := strings.LastIndex(output, "-----BEGIN ")
	if at < 0 || len(output)-at > longestBlock {
		return end
	}
	_, last, _ := strings.Cut(output[at:], "-----END ")
	if _, behind, whole := strings.Cut(last, "-----"); !whole || end < len(output)-len(behind) {
		end = min(end, at)
	}
	return end
}
