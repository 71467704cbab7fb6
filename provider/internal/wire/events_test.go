package wire

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func read(r io.Reader) (events []string, err error) {
	for data, err := range Events(r) {
		if err != nil {
			return events, err
		}
		events = append(events, data)
	}
	return events, nil
}

func TestEvents(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, in string
		want     []string
	}{
		{"nothing", "", nil},
		{"many blank lines", "\n\r\n\rdata: a\r\n\r\n\r\n\ndata: b\n\n\n\n\n{}\n\n\n", []string{"a", "b", "{}"}},
		{"plain", "data: a\n\ndata: b\n\n", []string{"a", "b"}},
		{"CRLF", "event: x\r\ndata: a\r\n\r\ndata: b\r\n\r\n", []string{"a", "b"}},
		{"CR", "data: a\r\rdata: b\r\r", []string{"a", "b"}},
		{"several data lines", "data: a\ndata: b\n\n", []string{"a\nb"}},
		{"no data", "event: ping\n\nid: 3\n\ndata: a\n\n", []string{"a"}},
		{"comments", ": one\n\n:\ndata: a\n: two\ndata: b\n\n", []string{"a\nb"}},
		{"one space goes", "data:a\n\ndata:  b\n\n", []string{"a", " b"}},
		{"pending at the end", "data: a\n\ndata: 2", []string{"a", "2"}},
		{"pending with a line end", "data: a\n\ndata: [DONE]\n", []string{"a", "[DONE]"}},
		{"a lone object", "data: a\n\n{\"error\":{\"message\":\"x\"}}\ndata: b\n\n",
			[]string{"a", `{"error":{"message":"x"}}`, "b"}},
		{"a lone object at the end", "{\"error\":1}", []string{`{"error":1}`}},
		{"a lone object over lines", "data: a\n\n{\n  \"error\": {\n    \"message\": \"a } b\"\n  }\n}\ndata: b\n\n",
			[]string{"a", "{\n  \"error\": {\n    \"message\": \"a } b\"\n  }\n}", "b"}},
		{"the same with CRLF", "{\r\n  \"error\": 1\r\n}\r\n\r\ndata: b\r\n\r\n", []string{"{\n  \"error\": 1\n}", "b"}},
		{"a lone object that is cut", "{\n\"error\": {\n\ndata: b\n\n", []string{"{\n\"error\": {", "b"}},
		{"a line of spaces is no end", "data: a\n   \ndata: b\n\n", []string{"a\nb"}},
		{"mark of byte order", "\xef\xbb\xbfdata: a\n\n", []string{"a"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			for how, r := range map[string]io.Reader{
				"whole": strings.NewReader(tc.in), "bytewise": iotest.OneByteReader(strings.NewReader(tc.in)),
				"with the end": iotest.DataErrReader(strings.NewReader(tc.in)),
			} {
				got, err := read(r)
				if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
					t.Errorf("%s: %v\n%s", how, err, diff)
				}
			}
		})
	}
}

func TestAFaultDiscardsThePendingEvent(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	for _, in := range []string{"data: a\n\ndata: b", "data: a\n\n{\n\"error\": {"} {
		got, err := read(strings.NewReader(in))
		if diff := cmp.Diff([]string{"a"}, got); diff != "" || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%q: %v\n%s", in, err, diff)
		}
	}
	for _, in := range []string{"data: a\n\ndata: b", "data: a\n\ndata: b\n"} {
		got, err := read(io.MultiReader(strings.NewReader(in), iotest.ErrReader(broken)))
		if diff := cmp.Diff([]string{"a"}, got); diff != "" || !errors.Is(err, broken) {
			t.Errorf("%q: %v\n%s", in, err, diff)
		}
	}
}

// TestAnEventComesAtOnce: the reader must not wait for the next event before it
// hands on this one.
func TestAnEventComesAtOnce(t *testing.T) {
	t.Parallel()
	pr, pw := io.Pipe()
	defer pr.Close()
	written := make(chan struct{})
	go func() {
		io.WriteString(pw, "data: a\n\n")
		<-written
		io.WriteString(pw, "data: b\r\n\r\n")
		pw.Close()
	}()
	var got []string
	for data, err := range Events(pr) {
		if err != nil {
			t.Fatal(err)
		}
		if data == "a" {
			close(written) // a deadlock here is the failure
		}
		got = append(got, data)
	}
	if diff := cmp.Diff([]string{"a", "b"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestAFloodOfNothingCostsInProportion: keep-alives of all kinds, in small
// reads. A reader that looks at them again with each read takes minutes.
func TestAFloodOfNothingCostsInProportion(t *testing.T) {
	t.Parallel()
	const size = 2 << 20
	for _, piece := range []string{"\n", "\r", "\r\n", " \n", ": x\n", ": x\n\n", "event: x\n\n", "data\n\n", "x"} {
		start := time.Now()
		events, err := read(&trickle{strings.NewReader(strings.Repeat(piece, size/len(piece)))})
		if took := time.Since(start); err != nil || len(events) != 0 || took > 20*time.Second {
			t.Errorf("%q: %d events after %s, error %v", piece, len(events), took, err)
		}
	}
}

// trickle reads 100 bytes at a time.
type trickle struct{ io.Reader }

func (r *trickle) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(len(p), 100)]) }

// stepReader gives one piece for each read.
type stepReader struct {
	pieces []string
	reads  int
}

func (r *stepReader) Read(p []byte) (int, error) {
	if r.reads == len(r.pieces) {
		return 0, io.EOF
	}
	r.reads++
	return copy(p, r.pieces[r.reads-1]), nil
}

// An event that came whole is handed on before anything more is read, also when
// the beginning of the next came with it: packets end where they like.
func TestAWholeEventDoesNotWait(t *testing.T) {
	t.Parallel()
	for name, pieces := range map[string][]string{
		"half an event":      {"data: a\n\ndata: ", "b\n\n"},
		"half a blank line":  {"data: a\r\n\r\ndata: b\r\n", "\r\n"},
		"half a line end":    {"data: a\r\n\r", "\ndata: b\r\n\r\n"},
		"the name only":      {"event: x\ndata: a\n\nev", "ent: x\ndata: b\n\n"},
		"a comment":          {"data: a\n\n: ping", "\n\ndata: b\n\n"},
		"an error of a line": {"{\"a\":1}\ndata: ", "b\n\n"},
	} {
		r := &stepReader{pieces: pieces}
		n := 0
		for _, err := range Events(r) {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if n++; r.reads != n {
				t.Errorf("%s: event %d came after %d reads", name, n, r.reads)
			}
		}
		if n != 2 {
			t.Errorf("%s: %d events", name, n)
		}
	}
}

func TestExtent(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{
		``: false, ` `: false, `{`: false, `{}`: true, ` { } `: true, `{"a":"}"`: false, `{"a":"}"}`: true,
		`{"a":"\"}"`: false, `{"a":"\\"}`: true,
		`"x`: false, `"x"`: true, `"{\"a\":1}"`: true, `[1]`: true, `null`: false, `12`: false,
		`{"a":1}{"b"`: false, `}}`: true,
	} {
		var whole, pieces Extent
		whole.Add(in)
		for _, piece := range strings.Split(in, "") {
			pieces.Add(piece)
		}
		if whole.Ended() != want || pieces != whole {
			t.Errorf("%s: %v, want %v (%+v, in pieces %+v)", in, whole.Ended(), want, whole, pieces)
		}
	}
}
