package search

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

func TestNeedlesAreFoundWhereTheyStand(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	letters := []byte("abAB.kK\xc3\xa9")
	word := func(n int) []byte {
		w := make([]byte, n)
		for i := range w {
			w[i] = letters[random.IntN(len(letters))]
		}
		return w
	}
	texts := 20_000
	if testing.Short() {
		texts = 5000
	}
	for range texts {
		text := word(random.IntN(60))
		var needles []needle
		for range 1 + random.IntN(3) {
			n := newNeedle(string(word(1+random.IntN(3))), false)
			if random.IntN(2) == 0 {
				n = newNeedle("ab.k"[:1+random.IntN(4)], true)
			}
			needles = append(needles, n)
		}
		var s needSearch
		s.start(needles, text)
		for at := 0; at <= len(text); at += 1 + random.IntN(4) {
			want := -1
			for i := at; i < len(text) && want < 0; i++ {
				for _, n := range needles {
					rest, sought := text[i:], n.text
					if n.fold { // then it is ASCII
						rest, sought = bytes.ToLower(rest[:min(len(rest), len(sought))]), bytes.ToLower(sought)
					}
					if bytes.HasPrefix(rest, sought) {
						want = i
					}
				}
			}
			if got := s.next(at); got != want {
				t.Fatalf("%v in %q from %d: %d, want %d", needles, text, at, got, want)
			}
		}
	}
}
