package wire

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestLines(t *testing.T) {
	t.Parallel()
	long := `"` + strings.Repeat("x", 200_000) + `"`
	for _, tc := range []struct {
		name, in string
		want     []string
		err      error
	}{
		{"nothing", "", nil, nil},
		{"plain", "{}\n[1]\n", []string{"{}", "[1]"}, nil},
		{"CRLF and blanks", "\xef\xbb\xbf\r\n {} \r\n\n\t\n[1]\r\n", []string{"{}", "[1]"}, nil},
		{"no end", "{}\n[1]", []string{"{}", "[1]"}, nil},
		{"cut", "{}\n[1", []string{"{}"}, io.ErrUnexpectedEOF},
		{"long", long + "\n{}\n" + long, []string{long, "{}", long}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for how, r := range map[string]io.Reader{
				"whole": strings.NewReader(tc.in), "bytewise": iotest.OneByteReader(strings.NewReader(tc.in)),
				"with the end": iotest.DataErrReader(strings.NewReader(tc.in)),
			} {
				var got []string
				var failed error
				for line, err := range Lines(r) {
					if err != nil {
						failed = err
						continue
					}
					got = append(got, line)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" || !errors.Is(failed, tc.err) {
					t.Errorf("%s: %v\n%.500s", how, failed, diff)
				}
			}
		})
	}
}

func TestAFaultDiscardsThePendingLine(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	var got []string
	for line, err := range Lines(io.MultiReader(strings.NewReader("{}\n{}"), iotest.ErrReader(broken))) {
		if err != nil {
			if !errors.Is(err, broken) {
				t.Error(err)
			}
			continue
		}
		got = append(got, line)
	}
	if diff := cmp.Diff([]string{"{}"}, got); diff != "" {
		t.Error(diff)
	}
}

// endless is a line without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestALineHasALimit(t *testing.T) {
	t.Parallel()
	for _, err := range Lines(endless{}) {
		if !errors.Is(err, ErrEventTooLarge) {
			t.Errorf("%v", err)
		}
	}
}
