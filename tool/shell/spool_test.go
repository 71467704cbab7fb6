package shell

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"artoo/tool/sweep"
)

// blocks is a Spool as simple as can be: a list of blocks, of which the oldest behind the
// first half is dropped when one more would be too many.
type blocks struct {
	max, size, first int
	list             [][]byte
	dropped          int
}

func (b *blocks) write(c byte) {
	last := len(b.list) - 1
	if last < 0 || len(b.list[last]) == cap(b.list[last]) {
		size := min(spoolBlock, b.max/4)
		if last < 0 {
			size = min(size, 4<<10)
		}
		if b.dropped > 0 || b.size+size > b.max {
			if b.dropped == 0 {
				b.first = (len(b.list) + 1) / 2
			}
			gone := len(b.list[b.first])
			b.dropped += gone
			b.size -= gone
			b.list = append(b.list[:b.first:b.first], b.list[b.first+1:]...)
		}
		b.list = append(b.list, make([]byte, 0, size))
		last = len(b.list) - 1
	}
	b.list[last] = append(b.list[last], c)
	b.size++
}

func (b *blocks) String() string {
	text := bytes.Join(b.list, nil)
	if b.dropped > 0 {
		text = joined(bytes.Join(b.list[:b.first], nil),
			fmt.Appendf(nil, "\n[%d bytes are missing here: only the first and the last part were kept]\n", b.dropped),
			bytes.Join(b.list[b.first:], nil))
	}
	return strings.ToValidUTF8(string(text), "\ufffd")
}

func joined(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// The kept output, and the note on missing output, do not depend on how it is kept, nor on the pieces in which it came.
func TestASpoolKeepsWhatAListOfBlocksWould(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for round := range sweep.Less(3000) {
		most := 4 + random.IntN(300)
		if round%100 == 0 {
			most = spoolBlock*4 + random.IntN(spoolBlock*3)
		}
		want, got := &blocks{max: most}, NewSpool(most)
		for left := random.IntN(4 * most); left > 0; {
			p := make([]byte, min(left, 1+random.IntN(max(most/2, 1))))
			for i := range p {
				p[i] = "abcdefg\n\xe6\x97\xa5\xff"[random.IntN(12)]
				want.write(p[i])
			}
			if _, err := got.Write(p); err != nil {
				t.Fatal(err)
			}
			left -= len(p)
			if random.IntN(3) == 0 && got.String() != want.String() {
				t.Fatalf("round %d, of %d bytes: on the way %q, want %q", round, most, got.String(), want.String())
			}
		}
		if taken := string(got.take()); taken != want.String() {
			t.Fatalf("round %d, of %d bytes: %q, want %q", round, most, taken, want.String())
		}
	}
}

// Whatever pieces a pipe gives, the same is kept of an output, and shown at its end.
func TestPiecesOfAnOutputDoNotMatter(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 6))
	parts := []string{"line of text\n", "日本語 ", "\x1b[31mred\x1b[0m", "10%\r20%\r", "\b", "\xc2", "\u009b1m", "\xff\xfe",
		"\t", "\x1b]0;title\a", "é", "\r\n", strings.Repeat("long ", 5_000), "\x00\x01"}
	for round := range sweep.Less(15) {
		var text []byte
		for range random.IntN(400) {
			text = append(text, parts[random.IntN(len(parts))]...)
		}
		outcome := func(pipe *bytes.Reader, byByte bool) string {
			output := NewSpool(200_000)
			in := newIntake(output)
			if byByte {
				in.read(iotest.OneByteReader(pipe))
			} else {
				for pipe.Len() > 0 {
					p := make([]byte, 1+random.IntN(100_000))
					n, _ := pipe.Read(p)
					if _, err := in.Write(p[:n]); err != nil {
						t.Fatal(err)
					}
				}
			}
			in.close()
			return string(output.take())
		}
		want, got := outcome(bytes.NewReader(text), true), outcome(bytes.NewReader(text), false)
		if got != want {
			t.Fatalf("round %d: %d bytes, by the byte %d", round, len(got), len(want))
		}
	}
}

// A gigabyte is kept in the memory that is kept of it, whatever is said behind it.
func TestWhatIsTakenOfASpoolHasRoomBehindIt(t *testing.T) {
	s := NewSpool(maxOutput)
	chunk := bytes.Repeat([]byte("all work and no play\n"), 10_000)
	allocated := testing.AllocsPerRun(1, func() {
		for range 300 {
			if _, err := s.Write(chunk); err != nil {
				t.Fatal(err)
			}
		}
	})
	if allocated > 2 {
		t.Errorf("%v pieces of memory for a Spool that is full", allocated)
	}
	text := s.take()
	if room := cap(text) - len(text); room < spoolRoom/2 || len(text) < maxOutput-2*spoolBlock {
		t.Errorf("%d bytes with room for %d", len(text), room)
	}
}
