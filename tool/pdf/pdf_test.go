package pdf

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"artoo/tool/pdf/pdftest"
)

func textOf(ctx context.Context, data []byte) (string, error) {
	return Text(ctx, bytes.NewReader(data), int64(len(data)))
}

// A page that holds nothing but images says so, and so does an encrypted file.
func TestWhatHoldsNoTextSaysSo(t *testing.T) {
	t.Parallel()
	if text, err := textOf(t.Context(), pdftest.Of("one", "")); err != nil || text != "[page 1]\none\n\n[page 2]\n[no text on this page]\n\n" {
		t.Errorf("%q, %v", text, err)
	}
	locked := bytes.Replace(pdftest.Of("one"), []byte("/Root 1 0 R >>"), []byte("/Root 1 0 R /ID [(0123456789abcdef) (0123456789abcdef)] "+
		"/Encrypt << /Filter /Standard /V 1 /R 2 /Length 40 /P -4 /O ("+strings.Repeat("o", 32)+") /U ("+strings.Repeat("u", 32)+") >> >>"), 1)
	if text, err := textOf(t.Context(), locked); err == nil || err.Error() != "the PDF is encrypted" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestABrokenPDFIsAnErrorAndEndsWithItsTime(t *testing.T) {
	t.Parallel()
	whole := pdftest.Of("one", "two")
	for _, data := range [][]byte{[]byte("%PDF-1.4\n"), whole[:len(whole)/2], bytes.ReplaceAll(whole, []byte("/Kids"), []byte("/Kidz")),
		bytes.ReplaceAll(whole, []byte("/Contents 5"), []byte("/Contents 2")), bytes.Repeat([]byte("[<<"), 100_000)} {
		if text, err := textOf(t.Context(), data); err == nil && strings.Contains(text, "one") {
			t.Errorf("%q", text)
		}
	}
	many := bytes.ReplaceAll(whole, []byte("/Count 2"), []byte("/Count 9"))
	if text, err := textOf(t.Context(), many); err != nil || !strings.Contains(text, "two") || strings.Contains(text, "[page 3]") {
		t.Errorf("%.100q, %v", text, err)
	}
	over := errors.New("over")
	ctx, stop := context.WithCancelCause(t.Context())
	stop(over)
	if _, err := textOf(ctx, whole); !errors.Is(err, over) {
		t.Errorf("%v", err)
	}
}
