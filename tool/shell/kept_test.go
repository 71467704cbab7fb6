package shell

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// A check of eight bytes at a time gives the same as one of each byte.
func TestTheKeptLengthIsThatOfTheBytes(t *testing.T) {
	t.Parallel()
	check := func(p []byte) {
		want := 0
		for want < len(p) && kept(p[want]) {
			want++
		}
		if got := keptLength(p); got != want {
			t.Fatalf("%d of % x are kept, want %d", got, p, want)
		}
	}
	for a := range 256 {
		for b := range 256 {
			for at := range 8 {
				p := bytes.Repeat([]byte("a"), 17)
				p[at], p[at+1] = byte(a), byte(b)
				check(p)
			}
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		p := make([]byte, random.IntN(40))
		for i := range p {
			if p[i] = byte(random.Uint32()); random.IntN(4) > 0 {
				p[i] = " \n\taé~\x80\xc3\xff"[random.IntN(10)]
			}
		}
		check(p)
	}
}
