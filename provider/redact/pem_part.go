package redact

import (
	"encoding/base64"
	"strings"
)

// privateKeyEnd finds the last lines of a private key whose first ones are not
// there, as of a file that was not read from its begin.
func privateKeyEnd(text string, i int) (from, to, end int) {
	at := pemEnd().FindStringIndex(text[i:min(len(text), i+80)])
	if at == nil || at[0] != 0 {
		return 0, 0, i
	}
	end = i + at[1]
	from = strings.LastIndexByte(text[:i], '\n') + 1
	for found := false; ; found = true {
		begin := strings.LastIndexByte(text[:max(from-1, 0)], '\n') + 1
		if begin >= from || end-begin > longestPEM || !keyLine(text[begin:from], !found) {
			if !found {
				return 0, 0, end
			}
			return from, end, end
		}
		from = begin
	}
}

// keyLine says whether a line is a key's, with no more before it than a listing or
// a diff puts there. The last one may be short.
func keyLine(line string, last bool) bool {
	line = strings.TrimRight(line, "\r\n")
	run := runOf(line)
	if !strings.HasSuffix(line, run) || 2*len(run) < len(strings.TrimSpace(line)) {
		return false
	}
	return len(run) >= leastPEM && strings.ContainsAny(run, "0123456789") || last && len(run) >= 4 &&
		strings.HasSuffix(run, "=")
}

// encodedBegin is pemBegin in base64, as values of Kubernetes and of build
// services hold keys.
const encodedBegin = "LS0tLS1CRUdJTi"

// encodedKey finds a private key in base64, on one line or on several.
func encodedKey(text string, i int) (from, to, end int) {
	most := text[i:min(len(text), i+2*longestPEM)]
	width := leadingRun(most)
	head, err := base64.RawStdEncoding.DecodeString(most[:min(width, 64)/4*4])
	if err != nil || !pemHead().Match(head) {
		return 0, 0, i + width
	}
	for n := width; ; {
		next := strings.TrimLeft(most[n:], " \t")
		next = strings.TrimPrefix(next, "\r")
		if !strings.HasPrefix(next, "\n") {
			return i, i + n, i + n
		}
		next = strings.TrimLeft(next[1:], " \t")
		run := leadingRun(next)
		whole := run == len(next) || strings.IndexByte(" \t\r\n", next[run]) >= 0
		if run == 0 || run > width || !whole || strings.HasSuffix(most[:n], "=") {
			return i, i + n, i + n
		}
		n = len(most) - len(next) + run
		if run < width {
			return i, i + n, i + n
		}
	}
}

// leadingRun is how many characters of base64 text begins with.
func leadingRun(text string) int {
	for i := range len(text) {
		if c := text[i]; c != '+' && c != '/' && c != '=' && (c == '_' || !wordByte(c)) {
			return i
		}
	}
	return len(text)
}
