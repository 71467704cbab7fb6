package shell

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestCleaner(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"plain", "a\tb\nc", "a\tb\nc"},
		{"SGR", "\x1b[1;31mred\x1b[0m\n", "red\n"},
		{"OSC with BEL", "\x1b]0;title\x07x", "x"},
		{"OSC 8", "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"},
		{"OSC 52", "\x1b]52;c;Zm9v\x07", ""},
		{"DCS", "a\x1bPq#0;2\x1b\\b", "ab"},
		{"a query", "\x1b[6n\x1b[?2004h\x1b[>c", ""},
		{"charset", "\x1b(Bx\x1b)0y", "xy"},
		{"short escapes", "\x1b7\x1b8\x1b=\x1bcx", "x"},
		{"C1", "a\u009b31mb\u009d0;t\u009cc\u0085d", "abcd"},
		{"Latin letters stay", "caf\u00e9 \u00a0\u00ff\n", "caf\u00e9 \u00a0\u00ff\n"},
		{"CRLF", "a\r\nb\r\n", "a\nb\n"},
		{"progress", "10%\r50%\r100%\ndone", "100%\ndone"},
		{"progress that only ends in CR", "10%\r20%\r", "20%"},
		{"progress with erase", "10%\r\x1b[K20%\n", "20%\n"},
		{"spinner", "|\b/\b-\bok\n", "ok\n"},
		{"overstrike", "N\bNA\bA\n", "NA\n"},
		{"backspace over a wide character", "\u00e4\u65e5\bx\n", "\u00e4x\n"},
		{"bell and other controls", "a\x07\x00\x0b\x7fb\n", "ab\n"},
		{"cut off CSI", "\x1b[31\nnext", "\nnext"},
		{"unfinished OSC ends with its line", "\x1b]0;never\nnext", "\nnext"},
		{"ESC ESC", "\x1b\x1b[1mx", "x"},
		{"ESC at the end", "x\x1b", "x"},
		{"CSI broken by ESC", "\x1b[3\x1b[1mx", "x"},
	} {
		t.Run(test.name, func(t *testing.T) {
			// All at once, and byte by byte: sequences may be cut anywhere.
			for _, size := range []int{len(test.in), 1, 2} {
				var out bytes.Buffer
				c := NewCleaner(&out)
				for p := []byte(test.in); len(p) > 0; p = p[min(size, len(p)):] {
					_, _ = c.Write(p[:min(size, len(p))])
				}
				_ = c.Close()
				if diff := cmp.Diff(test.want, out.String()); diff != "" {
					t.Errorf("in pieces of %d: %s", size, diff)
				}
			}
		})
	}
}

func TestCleanerBoundsWhatItSkips(t *testing.T) {
	var out bytes.Buffer
	c := NewCleaner(&out)
	_, _ = c.Write([]byte("\x1bP" + strings.Repeat("x", 3*maxSequence) + "end"))
	_ = c.Close()
	if !strings.HasSuffix(out.String(), "end") || out.Len() < maxSequence {
		t.Errorf("%d bytes came through", out.Len())
	}
}

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) { f(p); return len(p), nil }

// Gigabytes of short lines must not cost a call for each.
func TestLinesAreKeptTogether(t *testing.T) {
	writes := 0
	var out bytes.Buffer
	c := NewCleaner(writerFunc(func(p []byte) { writes++; out.Write(p) }))
	text := "begun " + strings.Repeat("y\n", 10_000) + "\tand so on"
	_, _ = c.Write([]byte(text[:3]))
	_, _ = c.Write([]byte(text[3:]))
	_ = c.Close()
	if diff := cmp.Diff(text, out.String()); diff != "" || writes > 3 {
		t.Errorf("%d writes; %s", writes, diff)
	}
}

func FuzzCleaner(f *testing.F) {
	f.Add([]byte("\x1b[1mx\x1b]0;\x07\xc2\x9b1m\r\b\n"))
	f.Add([]byte("a\nb\tc\n\nd\re\xc2\n\xc2\xa0f\b\ng"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var out, single bytes.Buffer
		c := NewCleaner(&out)
		_, _ = c.Write(data)
		_ = c.Close()
		c = NewCleaner(&single)
		for i := range data {
			_, _ = c.Write(data[i : i+1])
		}
		_ = c.Close()
		if diff := cmp.Diff(single.String(), out.String()); diff != "" {
			t.Fatalf("byte by byte %q becomes something else: %s", data, diff)
		}
		text := strings.ToValidUTF8(out.String(), "\ufffd")
		for _, r := range text {
			if r < ' ' && r != '\n' && r != '\t' || r == 0x7f {
				t.Fatalf("%q left %q", data, r)
			}
		}
	})
}

func TestSpool(t *testing.T) {
	s := newSpool(8 << 10)
	var all strings.Builder
	for i := range 3000 {
		line := strings.Repeat(string(rune('a'+i%26)), 9) + "\n"
		all.WriteString(line)
		if _, err := s.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	got := s.String()
	head, tail, found := strings.Cut(got, "\n[")
	mark, tail, found2 := strings.Cut(tail, "]\n")
	if !found || !found2 {
		t.Fatalf("nothing says what is missing: %q", got)
	}
	if !strings.HasPrefix(all.String(), head) || !strings.HasSuffix(all.String(), tail) {
		t.Error("head and tail are not those of what was written")
	}
	if kept := len(head) + len(tail); kept > 8<<10 || kept < 4<<10 || len(head) < 2<<10 || len(tail) < 2<<10 {
		t.Errorf("kept %d + %d bytes of 8192", len(head), len(tail))
	}
	if want := all.Len() - len(head) - len(tail); s.dropped != want || !strings.HasPrefix(mark, "2") {
		t.Errorf("dropped %d, want %d; mark %q", s.dropped, want, mark)
	}
	small := newSpool(maxOutput)
	small.Write([]byte("a\xffb"))
	if got := small.String(); got != "a\ufffdb" {
		t.Errorf("%q", got)
	}
}

// pieces keeps what is written to it, with the time.
type pieces struct {
	text []string
	at   []time.Duration
	from time.Time
}

func (p *pieces) Write(b []byte) (int, error) {
	p.text = append(p.text, string(b))
	p.at = append(p.at, time.Since(p.from))
	return len(b), nil
}

func TestLiveComesAtOnceAndThenInPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		screen := &pieces{from: time.Now()}
		l := newLive(screen, 50*time.Millisecond)
		for range 100 {
			l.write([]byte("x"))
			<-time.After(2 * time.Millisecond) // a bubble's clock
		}
		l.close()
		l.write([]byte("late"))
		if len(screen.text) > 6 || screen.at[0] != 0 || strings.Join(screen.text, "") != strings.Repeat("x", 100) {
			t.Errorf("%v at %v", screen.text, screen.at)
		}
		for i := 2; i < len(screen.at)-1; i++ {
			if gap := screen.at[i] - screen.at[i-1]; gap < 50*time.Millisecond {
				t.Errorf("only %v between two pieces", gap)
			}
		}
	})
}

func TestLiveKeepsCharactersWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		screen := &pieces{}
		l := newLive(screen, 50*time.Millisecond)
		text := "日本🎉é"
		for i := range len(text) {
			l.write([]byte{text[i]})
			<-time.After(60 * time.Millisecond)
		}
		l.write([]byte{0xe6}) // never finished
		l.close()
		for _, piece := range screen.text {
			if !utf8.ValidString(piece) {
				t.Errorf("%q", piece)
			}
		}
		if got := strings.Join(screen.text, ""); got != text+"\ufffd" {
			t.Errorf("%q", got)
		}
	})
}

func TestLiveIsBounded(t *testing.T) {
	screen := &pieces{}
	l := newLive(screen, time.Nanosecond)
	for range 100 {
		l.write(bytes.Repeat([]byte("y"), 1000))
	}
	l.close()
	got := strings.Join(screen.text, "")
	if n := strings.Count(got, "y"); n != MaxLive+1 { // one in "bytes"
		t.Errorf("%d bytes on the screen", n)
	}
	if !strings.HasSuffix(got, "\n[… 69280 more bytes, not shown]\n") {
		t.Errorf("ends %q", got[len(got)-60:])
	}
}
