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

var (
	pemHead = compiled(`^-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----`)
	pemEnd  = compiled(`-----END [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----`)
	// nextEncoded is the next line of a key in base64, from the end of the one before.
	nextEncoded = compiled(`^[ \t]*\r?\n[ \t]*([A-Za-z0-9+/=]+)(?:[ \t\r\n]|$)`)
)

// compiled is the expression, made on demand: no package may cost start-up time.
func compiled(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

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
	foot := strings.LastIndexByte(text[:i], '\n') + 1
	for from = foot; from > 0; {
		begin := strings.LastIndexByte(text[:from-1], '\n') + 1
		line := strings.TrimRight(text[begin:from], "\r\n")
		run := runOf(line) // a number before it is the line's, as in a listing
		whole := len(run) >= leastPEM && strings.ContainsAny(run, "0123456789")
		last := from == foot && len(run) >= 4 && strings.HasSuffix(run, "=")
		if end-begin > longestPEM || !strings.HasSuffix(line, run) || 2*len(run) < len(strings.TrimSpace(line)) ||
			!whole && !last {
			break
		}
		from = begin
	}
	if from == foot {
		return 0, 0, end
	}
	return from, end, end
}

// encodedBegin is pemBegin in base64.
const encodedBegin = "LS0tLS1CRUdJTi"

// encodedKey finds a private key in base64, on one line or on several.
func encodedKey(text string, i int) (from, to, end int) {
	most := text[i:min(len(text), i+2*longestPEM)]
	width := len(most) - len(strings.TrimLeftFunc(most, base64Rune))
	head, err := base64.RawStdEncoding.DecodeString(most[:min(width, 64)/4*4])
	if err != nil || !pemHead().Match(head) {
		return 0, 0, i + width
	}
	n := width
	for run := width; run == width && most[n-1] != '='; { // a shorter line is the last
		line := nextEncoded().FindStringSubmatchIndex(most[n:])
		if line == nil {
			break
		}
		if run = line[3] - line[2]; run <= width {
			n += line[3]
		}
	}
	return i, i + n, i + n
}
