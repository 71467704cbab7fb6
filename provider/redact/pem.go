package redact

import (
	"encoding/base64"
	"regexp"
	"strings"
	"sync"
)

const (
	pemBegin    = "-----BEGIN "
	pemEndBegin = "-----END "
)

// Bounds of a private key.
const (
	longestPEM = 32 << 10 // bytes
	leastPEM   = 32       // a line with fewer key characters in a row, and others, is not part of a key
)

var pemHead = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----`)
})

var pemEnd = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`-----END [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----`)
})

// privateKey finds a private key, whole or cut off. A head alone is not a key.
func privateKey(text string, i int) (from, to, end int) {
	head := pemHead().FindStringIndex(text[i:])
	if head == nil {
		return 0, 0, i
	}
	begin := i + head[1]
	rest := text[begin:min(len(text), begin+longestPEM)]
	if next := strings.Index(rest, pemBegin); next >= 0 {
		rest = rest[:next]
	}
	if rest == "" {
		return 0, 0, begin
	}
	at := pemEnd().FindStringIndex(rest)
	program := strings.IndexByte(" \r\n\\", rest[0]) < 0 // a quote follows, or a bracket
	switch {
	case program && (at == nil || !mostlyKey(rest[:at[0]])):
		return 0, 0, begin
	case at == nil:
		n := pemLines(rest)
		if n == 0 {
			return 0, 0, begin
		}
		return i, begin + n, begin + n
	case !program && pemLines(rest[:at[0]]) == 0:
		return 0, 0, begin + at[1]
	}
	return i, begin + at[1], begin + at[1]
}

// mostlyKey says whether text is mostly lines of a key, as in a list.
func mostlyKey(text string) bool {
	of, rest := 0, 0
	for word := range strings.FieldsFuncSeq(text,
		func(c rune) bool { return strings.ContainsRune("\r\n\t '\"`,;<>$", c) }) {
		if run := len(runOf(word)); run >= leastPEM {
			of += run
		} else {
			rest += len(word)
		}
	}
	return of > 4*rest
}

// pemLines is the length of the lines that are a key's, or 0. A few words may come first.
func pemLines(text string) (n int) {
	at, words := 0, 0
	for line := range strings.Lines(text) {
		at += len(line)
		bare := strings.TrimSpace(line)
		if run := len(runOf(line)); run >= leastPEM || run > 3 && run == len(bare) {
			n = at - len(line) + len(strings.TrimRight(line, "\r\n"))
		} else if words++; n > 0 || words > 4 {
			break
		}
	}
	return n
}

// runOf is the longest run of characters of base64.
func runOf(text string) (most string) {
	for run := range strings.FieldsFuncSeq(text, func(r rune) bool { return !base64Rune(r) }) {
		if len(run) > len(most) {
			most = run
		}
	}
	return most
}

func base64Rune(r rune) bool {
	return r == '+' || r == '/' || r == '=' || r != '_' && r < 0x80 && wordByte(byte(r))
}

// privateKeyEnd finds the last lines of a private key whose first ones are not there.
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

// keyLine says whether a line is a key's, perhaps in a listing. The last may be short.
func keyLine(line string, last bool) bool {
	line = strings.TrimRight(line, "\r\n")
	run := runOf(line)
	if !strings.HasSuffix(line, run) || 2*len(run) < len(strings.TrimSpace(line)) {
		return false
	}
	return len(run) >= leastPEM && strings.ContainsAny(run, "0123456789") || last && len(run) >= 4 &&
		strings.HasSuffix(run, "=")
}

// encodedBegin is pemBegin in base64.
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
func leadingRun(text string) int { return len(text) - len(strings.TrimLeftFunc(text, base64Rune)) }
