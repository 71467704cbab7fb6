package tool

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// maxInside is the size in bytes up to which a file is looked through for secrets
// of several lines, such as private keys: one of these lines alone does not tell
// what it is.
const maxInside = 1 << 20

// inside are the lines of a text that are part of a secret of several lines which
// begins before the line of this number, by their number from 1, with the mark that
// stands for it. Those that only say what begins or ends there are none.
func (e *Env) inside(body string, before int) map[int]string {
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
func (e *Env) hideInside(page, body string, first int) string {
	if first <= 1 {
		return page
	}
	marks := e.inside(body, first)
	if len(marks) == 0 {
		return page
	}
	var b strings.Builder
	for line := range strings.Lines(page) {
		var number int
		if _, err := fmt.Sscanf(line, "%d\t", &number); err == nil && marks[number] != "" {
			writeLine(&b, number, marks[number], 0)
		} else {
			b.WriteString(line)
		}
	}
	return b.String()
}

// hideHits does the same for the lines that a search found.
func (s *fileSearch) hideHits(abs string, hits fileHits) error {
	suspect := false
	for _, line := range hits.lines {
		suspect = suspect || hasBase64(line.text)
	}
	if !suspect || s.env.Secrets == nil {
		return nil
	}
	file, info, err := openRegular(s.env.Files, abs)
	if err != nil {
		return err
	}
	defer file.Close()
	if info.Size() > maxInside {
		return nil
	}
	raw, err := io.ReadAll(io.LimitReader(file, maxInside))
	if err != nil {
		return err
	}
	text, err := decodeText(raw)
	if err != nil {
		return nil // what is no text holds no private key as text
	}
	marks := s.env.inside(text.body, math.MaxInt)
	for i, line := range hits.lines {
		if mark := marks[line.num]; mark != "" {
			hits.lines[i].text = mark
		}
	}
	return nil
}

// hasBase64 reports whether a line may be one of a key: so many characters of
// base64 stand in a row, or it ends as base64 may.
func hasBase64(line string) bool {
	run := 0
	for i := range len(line) {
		switch c := line[i]; {
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c == '+', c == '/':
			if run++; run >= 32 {
				return true
			}
		default:
			run = 0
		}
	}
	return strings.HasSuffix(strings.TrimSpace(line), "=")
}
