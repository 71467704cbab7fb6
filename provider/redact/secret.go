// Package redact knows how the keys and tokens of well-known services look
// like. It finds those nobody told artoo about: a paste, a command's output, a
// file. A key that is known is looked for by its own text, where it is used.
package redact

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"

	"artoo/tool/environ"
)

// Holds says whether text has something in it that looks like a key.
func Holds(text string) bool {
	found := false
	find(text, func(int, int) bool { found = true; return false })
	return found
}

var connection = compiled(`(?i)(?:^|[;?&\s])(?:password|pwd|passwd|accountkey|sharedaccesskey|sharedsecret|secret|token|api_?key)\s*=\s*([^;&\s]+)`)

// InVariable says whether the value of a variable holds a credential: a key by its shape, a password in an address or in
// another connection string, or an address with a token in it, as web hooks are.
func InVariable(value string) bool {
	if Holds(value) {
		return true
	}
	for _, at := range connection().FindAllStringSubmatch(value, -1) {
		if password := strings.Trim(at[1], `"'`); len(password) > 1 && !dummy("", password) {
			return true
		}
	}
	for _, found := range address().FindAllString(value, -1) {
		scheme, rest, _ := strings.Cut(found, "://")
		host := strings.IndexAny(rest, "/?#")
		if host < 0 || strings.EqualFold(scheme, "file") {
			continue
		}
		for part := range strings.FieldsFuncSeq(rest[host:], func(r rune) bool { return strings.ContainsRune("/?&#;,:", r) }) {
			key, said, _ := strings.Cut(part, "=")
			if token(key) || token(said) || len(said) >= 20 && environ.IsCredential(key) {
				return true
			}
		}
	}
	return false
}

// token reports whether a part of an address is a token of 20 characters or more, and no name or commit: of hexadecimal
// digits, or of letters and digits mixed.
func token(part string) bool {
	bare := strings.NewReplacer("-", "", "_", "").Replace(part)
	hex := strings.Trim(bare, hexDigits) == "" && len(part) != 40
	mixed := strings.Trim(bare, base64Digits) == "" && strings.ToUpper(bare) != bare && strings.ToLower(bare) != bare && !name(part)
	return len(part) >= 20 && strings.ContainsAny(part, "0123456789") && (hex || mixed || opaque(part))
}

const base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+=%."

// Mask is Salt.Mask with a salt of this process, for texts without a session.
func Mask(text string) string { return ownSalt().Mask(text) }

// find calls found with the bounds of each key in text until it returns false. It is linear.
func find(text string, found func(from, to int) bool) {
	t, done := table(), 0
	for i := 0; i < len(text); {
		next := i + 1
		if next < len(text) && !t.begin(text[i], text[next]) {
			i = next
			continue
		}
		for _, s := range t.by[text[i]] {
			if !strings.HasPrefix(text[i:], s.start) || s.whole && inWord(text, i) {
				continue
			}
			from, to, end := s.match(text, i)
			from = max(from, done) // the end of a key may be found before its begin
			if to > from && !(between(text, i+len(s.start), from, found) && found(from, to)) {
				return
			}
			done = max(done, to)
			next = max(next, end)
			break
		}
		i = next
	}
}

// between finds the keys before a password: the user may be one.
func between(text string, begin, end int, found func(from, to int) bool) (more bool) {
	more = true
	if end > begin {
		find(text[begin:end], func(from, to int) bool { more = found(begin+from, begin+to); return more })
	}
	return more
}

// inWord reports whether a word continues at i. An escape ends a word.
func inWord(text string, i int) bool {
	if i == 0 || !wordByte(text[i-1]) {
		return false
	}
	before := text[max(0, i-8):i]
	if before[len(before)-1] == 'm' {
		at := strings.LastIndexByte(before, '[')
		return at < 0 || strings.Trim(before[at+1:len(before)-1], "0123456789;") != ""
	}
	for _, escape := range []struct {
		start  string
		digits string // length of them follow the start
		length int
	}{
		{`\`, "nrtbfav0", 1}, {`\u`, hexDigits, 4}, {`\x`, hexDigits, 2}, {"%", hexDigits, 2}, {`\0`, "01234567", 2},
	} {
		at := len(before) - escape.length
		if at >= 0 && strings.HasSuffix(before[:at], escape.start) && strings.Trim(before[at:], escape.digits) == "" {
			return false
		}
	}
	return true
}

const hexDigits = "0123456789abcdefABCDEF"

func wordByte(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// Salt makes marks: without it nobody can test guesses at a key.
type Salt [32]byte

// NewSalt is a random salt.
func NewSalt() (s Salt) {
	_, _ = rand.Read(s[:]) // never fails: the program ends instead
	return s
}

var ownSalt = sync.OnceValue(NewSalt)

// markBytes are six bytes of a digest: no two keys of a session meet by chance.
const markBytes = 6

// Mark stands for a key: the same for the same key.
func (s Salt) Mark(key string) string {
	digest := hmac.New(sha256.New, s[:])
	digest.Write([]byte(plain(key)))
	return "‹secret:" + hex.EncodeToString(digest.Sum(nil)[:markBytes]) + "›"
}

// Mask puts a mark in place of everything in text that looks like a key.
func (s Salt) Mask(text string) string {
	var b strings.Builder
	done := 0
	find(text, func(from, to int) bool {
		b.WriteString(text[done:from])
		b.WriteString(s.Mark(text[from:to]))
		done = to
		return true
	})
	if done == 0 {
		return text
	}
	b.WriteString(text[done:])
	return b.String()
}

// Find calls found with the bounds of everything in text that looks like a key.
func Find(text string, found func(from, to int)) {
	find(text, func(from, to int) bool { found(from, to); return true })
}

// plain is a private key without the numbers that listings put before its lines.
func plain(key string) string {
	if !strings.HasPrefix(key, pemBegin) {
		return key
	}
	var b strings.Builder
	for line := range strings.Lines(key) {
		b.WriteString(strings.TrimLeft(runOf(line), "+"))
		b.WriteByte('\n')
	}
	return b.String()
}
