package builtin

import (
	"fmt"
	"math"
	"strings"

	"artoo/tool"
	"artoo/tool/text"
)

// inside are the lines of a text that are part of a secret of several lines which
// begins before the line of this number, by their number from 1, with the mark that
// stands for it. Those that only say what begins or ends there are none.
func insideSecrets(e *tool.Env, body string, before int) map[int]string {
	marks := map[int]string{}
	if e.Secrets == nil {
		return marks
	}
	for _, s := range e.Secrets(body) {
		secret := body[s.From:s.To]
		number := 1 + strings.Count(body[:s.From], "\n")
		if number >= before || !strings.Contains(secret, "\n") {
			continue
		}
		for line := range strings.Lines(secret) {
			if !strings.Contains(line, "-----BEGIN ") && !strings.Contains(line, "-----END ") {
				marks[number] = s.Mark
			}
			number++
		}
	}
	return marks
}

// hideInside puts marks in place of the lines of a page whose secret begins before
// it: who sees the page alone cannot tell. page has the lines as writeLine writes
// them, from number first; body is all of the file.
func hideInside(e *tool.Env, page, body string, first int) string {
	if first <= 1 {
		return page
	}
	marks := insideSecrets(e, body, first)
	if len(marks) == 0 {
		return page
	}
	var b strings.Builder
	for line := range strings.Lines(page) {
		var number int
		if _, err := fmt.Sscanf(line, "%d\t", &number); err == nil && marks[number] != "" {
			text.WriteLine(&b, number, marks[number], 0)
		} else {
			b.WriteString(line)
		}
	}
	return b.String()
}

// secretLines is insideSecrets for all of a text; nil where there are none to find.
func secretLines(env *tool.Env) func(body string) map[int]string {
	if env.Secrets == nil {
		return nil
	}
	return func(body string) map[int]string { return insideSecrets(env, body, math.MaxInt) }
}
