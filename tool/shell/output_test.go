package shell

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestCleaner(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
	s := NewSpool(8 << 10)
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
	small := NewSpool(maxOutput)
	small.Write([]byte("a\xffb"))
	if got := small.String(); got != "a\ufffdb" {
		t.Errorf("%q", got)
	}
}

// pieces keeps writes, with the time.
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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		screen := &pieces{from: time.Now()}
		in := newIntake(io.Discard)
		in.show(screen, 50*time.Millisecond)
		for range 100 {
			write(t, in, "x")
			<-time.After(2 * time.Millisecond) // a bubble's clock
		}
		in.close()
		if _, err := in.Write([]byte("late")); err == nil {
			t.Error("a closed intake takes more")
		}
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

func write(t *testing.T, w io.Writer, text string) {
	t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
}

func TestLiveKeepsCharactersWhole(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		screen := &pieces{}
		in := newIntake(io.Discard)
		in.show(screen, 50*time.Millisecond)
		text := "日本🎉é"
		for i := range len(text) {
			write(t, in, text[i:i+1])
			<-time.After(60 * time.Millisecond)
		}
		write(t, in, "\xe6") // never finished
		in.close()
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

func TestLiveShowsTheEndOfWhatIsTooMuch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		screen := &pieces{}
		in := newIntake(io.Discard)
		end := in.show(screen, 50*time.Millisecond)
		write(t, in, "first\nope")
		for i := range 100_000 {
			write(t, in, fmt.Sprintf("%d\n", i))
		}
		<-time.After(time.Second)
		write(t, in, strings.Repeat("y", 3*maxCleanLine)+"\nlast")
		<-time.After(time.Second)
		end()
		write(t, in, "not shown\n")
		end()
		if screen.text[0] != "first\nope" || len(screen.text) != 3 {
			t.Fatalf("%d pieces, the first %q", len(screen.text), screen.text[0])
		}
		lines := strings.Split(screen.text[1], "\n")
		if lines[0] != "" || !strings.HasSuffix(lines[1], " bytes not shown]") || len(screen.text[1]) > maxPiece+50 ||
			!strings.HasSuffix(screen.text[1], "\n99998\n99999\n") {
			t.Errorf("%d bytes: %q … %q", len(screen.text[1]), lines[:3], lines[len(lines)-3:])
		}
		left := 0
		if _, err := fmt.Sscanf(lines[1], "[… %d bytes", &left); err != nil || left+len(strings.Join(lines[2:], "\n")) !=
			len("0\n")*10+3*90+4*900+5*9000+6*90_000 {
			t.Errorf("%d bytes are said to be left out, %v", left, err)
		}
		if want := fmt.Sprintf("[… %d bytes not shown]\nlast", 3*maxCleanLine+1); screen.text[2] != want {
			t.Errorf("%q, want %q", screen.text[2], want)
		}
	})
}

// TestLiveCutsNoPrivateKey: the masking of keys recognizes one by its first line.
func TestLiveCutsNoPrivateKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		key := "-----BEGIN RSA " + "PRIVATE KEY-----\n" + strings.Repeat(strings.Repeat("k", 63)+"\n", 24) +
			"-----END RSA " + "PRIVATE KEY-----\n"
		for _, before := range []int{0, 1000, 10_000, 100_000} {
			for after := maxPiece - len(key) - 10; after <= maxPiece; after += 90 {
				screen := &pieces{}
				in := newIntake(io.Discard)
				in.show(screen, 50*time.Millisecond)
				write(t, in, "begin\n") // is shown at once
				write(t, in, strings.Repeat("before\n", before/7))
				write(t, in, key+strings.Repeat("end\n", after/4))
				<-time.After(time.Second)
				in.close()
				text := strings.Join(screen.text, "")
				if strings.Contains(text, "kkk") && !strings.Contains(text, key) {
					t.Fatalf("with %d bytes before it and %d behind a key is cut: %.200q", before, after, text)
				}
			}
		}
	})
}

func TestALineThatIsWrittenOverIsShownAnew(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		screen := &pieces{}
		in := newIntake(io.Discard)
		in.show(screen, 50*time.Millisecond)
		for _, text := range []string{"get\n10%", "\r\x1b[K20%", " of 9\r", "\r30%", "\x1b[0m\ndone", "\n"} {
			write(t, in, text)
			<-time.After(time.Second)
		}
		in.close()
		want := []string{"get\n10%", "\r20%", " of 9", "\r30%", "\ndone", "\n"}
		if diff := cmp.Diff(want, screen.text); diff != "" {
			t.Error(diff)
		}
	})
}

// must fails the test where something that it only needs did not work.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What a process wrote before its end is read, also where its reader runs after the deadline only.
func TestALateReaderReadsThePipe(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	// It is held open, as by a process left behind.
	defer w.Close()
	if _, err := w.WriteString("yes"); err != nil {
		t.Fatal(err)
	}
	if err := r.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(NewPipeReader(r))
	if string(data) != "yes" || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read %q, %v", data, err)
	}
}
