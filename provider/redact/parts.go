package redact

import (
	"slices"
	"strings"
	"sync"
)

// Parts knows private keys of files that are shown, and finds any part of them in a text: a few lines do not show that they
// are a key's. The zero value knows none. Any goroutine may call its methods.
type Parts struct {
	mu    sync.RWMutex
	keys  []string
	grams map[[gram]byte]int // which key each piece of its lines is of
	lines map[string]int     // and each whole line that is shorter than a piece
}

const (
	gram         = 16 // bytes of the shortest part of a line that is found
	leastLine    = 4  // bytes of the shortest whole line
	leastVariety = 6  // different bytes of a piece: zeros of one key are those of another
)

// Learn takes up the private keys in a text.
func (p *Parts) Learn(text string) {
	Find(text, func(from, to int) {
		key := text[from:to]
		if !strings.HasPrefix(key, pemBegin) {
			return
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if slices.Contains(p.keys, key) {
			return
		}
		if p.grams == nil {
			p.grams, p.lines = map[[gram]byte]int{}, map[string]int{}
		}
		p.keys = append(p.keys, key)
		var body strings.Builder
		for line := range strings.Lines(key) {
			run := runOf(line)
			switch {
			case strings.HasPrefix(strings.TrimSpace(line), "-----"), strings.Contains(line, ": "):
				continue
			case len(run) < gram && len(run) >= leastLine && (strings.HasSuffix(run, "=") || strings.ContainsAny(run, "0123456789+/")):
				p.lines[run] = len(p.keys) - 1
			}
			body.WriteString(run)
		}
		for at := 0; at+gram <= body.Len(); at++ {
			piece := [gram]byte([]byte(body.String()[at : at+gram]))
			if various(piece) {
				p.grams[piece] = len(p.keys) - 1
			}
		}
	})
}

func various(piece [gram]byte) bool {
	slices.Sort(piece[:])
	return len(slices.Compact(piece[:])) >= leastVariety
}

// Mask puts the mark of its key in place of each part.
func (p *Parts) Mask(text string, mark func(key string) string) string {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if len(p.grams) == 0 {
		return text
	}
	var b strings.Builder
	done := 0
	replace := func(from, to, key int) {
		b.WriteString(text[done:from] + mark(p.keys[key]))
		done = to
	}
	for at := 0; at < len(text); {
		if !base64Rune(rune(text[at])) {
			at++
			continue
		}
		end := at + 1
		for end < len(text) && base64Rune(rune(text[end])) {
			end++
		}
		if key, is := p.lines[text[at:end]]; is {
			replace(at, end, key)
		}
		for i := at; i+gram <= end; i++ {
			key, is := p.grams[[gram]byte([]byte(text[i:i+gram]))]
			if !is {
				continue
			}
			to := i + gram
			for to < end {
				if next, more := p.grams[[gram]byte([]byte(text[to+1-gram:to+1]))]; !more || next != key {
					break
				}
				to++
			}
			replace(i, to, key)
			i = to - 1
		}
		at = end
	}
	return b.String() + text[done:]
}
