package web

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/ledongthuc/pdf"
)

// maxText is how many bytes of text are taken of a PDF.
const maxText = 5 << 20

// pdfText is the text of a PDF, page by page. The library panics at what it cannot
// read, and whatever it reads comes through a reader that ends with ctx: so neither
// a broken file nor one made to take for ever holds anything up.
func pdfText(ctx context.Context, data []byte) (text string, err error) {
	var out strings.Builder
	defer func() {
		if r := recover(); r != nil && out.Len() == 0 {
			text, err = "", fmt.Errorf("the PDF cannot be read: %v", r)
		}
		if cause := context.Cause(ctx); cause != nil {
			text, err = "", cause
		}
	}()
	r, err := pdf.NewReader(endingReader{ctx, bytes.NewReader(data)}, int64(len(data)))
	if err != nil {
		return "", fmt.Errorf("the PDF cannot be read: %w", err)
	}
	for i := 1; i <= r.NumPage() && out.Len() < maxText && ctx.Err() == nil; i++ {
		if r.Page(i).V.IsNull() {
			break // it has fewer pages than it says
		}
		page, err := r.Page(i).GetPlainText(nil)
		if err != nil {
			page = "[this page cannot be read]"
		}
		fmt.Fprintf(&out, "[page %d]\n%s\n\n", i, strings.TrimSpace(page))
	}
	return out.String(), nil
}

// endingReader reads nothing once its context is done.
type endingReader struct {
	ctx context.Context
	r   io.ReaderAt
}

func (e endingReader) ReadAt(p []byte, at int64) (int, error) {
	if err := context.Cause(e.ctx); err != nil {
		return 0, err
	}
	return e.r.ReadAt(p, at)
}
