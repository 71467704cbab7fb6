package web

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"artoo/tool/pdf"
)

// read takes over the server's reply.
func (p *Page) read(ctx context.Context, answer *http.Response) error {
	declared := answer.Header.Get("Content-Type")
	media, _, _ := mime.ParseMediaType(declared)
	limit := int64(maxBody)
	if media == pdfType || media == anyBytes {
		limit = maxDocument
	}
	data, cut, err := body(answer, limit)
	if err != nil {
		return fmt.Errorf("%s could not be read: %w", p.URL.Host, err)
	}
	p.Bytes, p.Cut = len(data), cut
	p.MediaType = mediaType(media, data)
	switch kind := kindOf(p.MediaType, data); kind {
	case kindPage:
		p.Title, p.Text, err = markdown(ctx, decode(data, declared), p.URL)
	case kindText:
		p.Text = string(decode(data, declared))
	case kindPDF:
		if cut {
			return fmt.Errorf("the PDF has more than %d MB", maxDocument>>20)
		}
		p.Text, err = pdf.Text(ctx, bytes.NewReader(data), int64(len(data)))
	case kindImage:
		if cut {
			return fmt.Errorf("the image has more than %d MB", limit>>20)
		}
		p.Image = data
	default:
		err = fmt.Errorf("%s sent %s, %d bytes, which is not text", p.URL.Host, cmp.Or(p.MediaType, "something unknown"), len(data))
	}
	p.Title, p.Text = strings.Join(strings.Fields(clean(p.Title)), " "), clean(p.Text)
	return err
}

// kind is the way to read a body.
type kind int

const (
	kindNone kind = iota
	kindPage
	kindText
	kindPDF
	kindImage
)

const (
	pdfType  = "application/pdf"
	anyBytes = "application/octet-stream"
)

// mediaType is the server's type, else one guessed from the bytes.
func mediaType(said string, data []byte) string {
	if said != "" && said != anyBytes {
		return said
	}
	found, _, _ := mime.ParseMediaType(http.DetectContentType(data))
	return found
}

func kindOf(media string, data []byte) kind {
	switch media {
	case "text/html", "application/xhtml+xml":
		return kindPage
	case pdfType:
		return kindPDF
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return kindImage
	}
	if strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "+xml") || strings.HasSuffix(media, "+json") {
		return kindText
	}
	switch media[strings.IndexByte(media, '/')+1:] {
	case "json", "xml", "javascript", "ecmascript", "x-javascript", "yaml", "x-yaml", "toml", "x-sh", "sql", "graphql",
		"x-ndjson", "jsonl", "x-httpd-php", "rtf", "x-tex":
		return kindText
	}
	head := data[:min(len(data), 512)]
	if strings.HasPrefix(http.DetectContentType(head), "text/") && len(data) > 0 && !strings.Contains(media, "/zip") {
		return kindText
	}
	return kindNone
}

// decode brings text into UTF-8, by its mark, the server's or page's charset, or its bytes.
func decode(data []byte, declared string) []byte {
	coding, _, certain := charset.DetermineEncoding(data, declared)
	if !certain && utf8.Valid(data) {
		return data
	}
	text, err := coding.NewDecoder().Bytes(data)
	if err != nil {
		return data
	}
	return text
}

// clean takes characters out of a text that do not show and could only hide something.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r == '\r', unicode.IsControl(r):
			return -1
		case r == '\u200c', r == '\u200d':
			return r
		case unicode.Is(unicode.Cf, r), r >= 0xe0100 && r <= 0xe01ef, r == '\u2028', r == '\u2029', r == utf8.RuneError:
			return -1
		}
		return r
	}, strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n"))
}
