// Package pdf makes text of a PDF.
package pdf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/ledongthuc/pdf"
)

// Magic is how a PDF begins.
const Magic = "%PDF-"

// MaxSize is the size in bytes of the largest PDF that is worth reading.
const MaxSize = 20 << 20

// maxText is how many bytes of text are taken of one.
const maxText = 5 << 20

// Text is the text of a PDF of size bytes, page by page, each after a line with its number. Notes in
// brackets stand for pages without text or that cannot be read. The error says why there is no text at all,
// or is ctx's. The library panics at broken data, and reads through a reader that ends with ctx: so
// neither a broken file nor one that is made to take forever holds anything up.
func Text(ctx context.Context, from io.ReaderAt, size int64) (text string, err error) {
	var out strings.Builder
	defer func() {
		broken := recover()
		switch cause := context.Cause(ctx); {
		case cause != nil:
			text, err = "", cause
		case broken != nil && out.Len() == 0:
			text, err = "", fmt.Errorf("the PDF cannot be read: %v", broken)
		case broken != nil:
			text = out.String() + "[the rest of the PDF cannot be read]\n"
		}
	}()
	r, err := pdf.NewReader(endingReader{ctx, from}, size)
	switch {
	case errors.Is(err, pdf.ErrInvalidPassword):
		return "", errors.New("the PDF is encrypted")
	case err != nil:
		return "", fmt.Errorf("the PDF cannot be read: %w", err)
	}
	for i := 1; i <= r.NumPage() && ctx.Err() == nil; i++ {
		if r.Page(i).V.IsNull() {
			break // it has fewer pages than it says
		}
		if out.Len() >= maxText {
			fmt.Fprintf(&out, "[the rest, from page %d on, is left out]\n", i)
			break
		}
		page, err := r.Page(i).GetPlainText(nil)
		switch {
		case err != nil:
			page = "[this page cannot be read]"
		case strings.TrimSpace(page) == "":
			page = "[no text on this page]"
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
