package redact

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"sync"
)

// Salt makes marks that only its owner can make: whoever has a mark and not the
// salt cannot test guesses at the key.
type Salt [32]byte

// NewSalt is a random salt.
func NewSalt() (s Salt) {
	_, _ = rand.Read(s[:]) // never fails: the program ends instead
	return s
}

var ownSalt = sync.OnceValue(NewSalt)

// markBytes are six bytes of a digest: no two keys of a session meet by chance.
const markBytes = 6

// Mark is what stands for a key: the same for the same key.
func (s Salt) Mark(key string) string {
	digest := hmac.New(sha256.New, s[:])
	digest.Write([]byte(plain(key)))
	return "‹secret:" + hex.EncodeToString(digest.Sum(nil)[:markBytes]) + "›"
}

// Mask puts a mark in place of everything in text that looks like a key. What is
// masked already stays as it is.
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

// plain is a private key without what listings and diffs put before its lines, so
// that it has one mark however it is shown; any other key is itself.
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
