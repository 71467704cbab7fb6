package search

import (
	"io"
	"strings"

	"artoo/tool/files"
)

// maxInside is the size in bytes up to which a file is looked through for secrets
// of several lines, such as private keys: one of these lines alone does not tell
// what it is.
const maxInside = 1 << 20

// hideHits puts marks in place of the lines that a search found and that are part of a
// secret.
func (s *fileSearch) hideHits(abs string, hits fileHits) error {
	suspect := false
	for _, line := range hits.lines {
		suspect = suspect || hasBase64(line.Text)
	}
	if !suspect || s.inside == nil {
		return nil
	}
	file, info, err := openRegular(s.files, abs)
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
	text, err := files.Decode(raw)
	if err != nil {
		return nil
	}
	marks := s.inside(text.Body)
	for i, line := range hits.lines {
		if mark := marks[line.Num]; mark != "" {
			hits.lines[i].Text = mark
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
