package tool

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
)

// charset is how a text file is encoded. Files without a mark are UTF-8, or
// bytes that are kept as they are.
type charset int

const (
	utf8Plain charset = iota
	utf8Marked
	utf16Little
	utf16Big
)

// marks are the byte order marks, which decide the charset.
func (c charset) mark() string {
	return [...]string{"", "\xef\xbb\xbf", "\xff\xfe", "\xfe\xff"}[c]
}

func (c charset) String() string {
	return [...]string{"UTF-8", "UTF-8 with a byte order mark", "UTF-16LE", "UTF-16BE"}[c]
}

// wide is the codec of a UTF-16 charset without its mark, nil for UTF-8.
func (c charset) wide() encoding.Encoding {
	switch c {
	case utf16Little:
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case utf16Big:
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	}
	return nil
}

// charsetOf finds the charset from the first bytes of a file.
func charsetOf(head []byte) charset {
	if bytes.HasPrefix(head, []byte("\xff\xfe\x00\x00")) {
		return utf8Plain // UTF-32, which counts as binary
	}
	for _, c := range []charset{utf8Marked, utf16Little, utf16Big} {
		if bytes.HasPrefix(head, []byte(c.mark())) {
			return c
		}
	}
	return utf8Plain
}

// headSize is how much of a file decides what it is; git takes as much.
const headSize = 8000

// binaryType is the media type of a file that is no text, "" for text.
func binaryType(head []byte) string {
	head = head[:min(len(head), headSize)]
	if charsetOf(head) != utf8Plain {
		return ""
	}
	media, _, _ := strings.Cut(http.DetectContentType(head), ";")
	if bytes.IndexByte(head, 0) >= 0 {
		if strings.HasPrefix(media, "text/") {
			media = "application/octet-stream"
		}
		return media
	}
	if validHead(head) || strings.HasPrefix(media, "text/") || media == "application/octet-stream" {
		return "" // text in some encoding
	}
	return media
}

// validHead reports whether head is UTF-8, but for a character that is cut at
// its end.
func validHead(head []byte) bool {
	for cut := 0; cut < utf8.UTFMax && cut <= len(head); cut++ {
		if utf8.Valid(head[:len(head)-cut]) {
			return true
		}
	}
	return false
}

// textFile is the content of a text file in the form models read and write it,
// with all that is needed to write it back as it was.
type textFile struct {
	charset charset
	body    string // every \r\n as \n
	// crlf has one element for each \n of body: whether it was \r\n. nil when
	// none was; a \r in body is then nothing but a character.
	crlf []bool
}

var errBadUTF16 = errors.New("is not valid UTF-16, and would not come out as it was")

// decodeText reads a text file; encode is its exact inverse.
func decodeText(raw []byte) (textFile, error) {
	t := textFile{charset: charsetOf(raw)}
	content := raw[len(t.charset.mark()):]
	if wide := t.charset.wide(); wide != nil {
		decoded, err := wide.NewDecoder().Bytes(content)
		if err != nil {
			return t, errBadUTF16
		}
		again, err := wide.NewEncoder().Bytes(decoded)
		if err != nil || !bytes.Equal(again, content) {
			return t, errBadUTF16
		}
		content = decoded
	}
	t.body, t.crlf = cutReturns(string(content))
	return t, nil
}

// cutReturns turns \r\n into \n and tells which ones were.
func cutReturns(s string) (body string, crlf []bool) {
	if !strings.Contains(s, "\r\n") {
		return s, nil
	}
	var b strings.Builder
	b.Grow(len(s))
	for line := range strings.Lines(s) {
		bare, cut := strings.CutSuffix(line, "\r\n")
		if cut {
			line = bare + "\n"
		}
		if b.WriteString(line); strings.HasSuffix(line, "\n") {
			crlf = append(crlf, cut)
		}
	}
	return b.String(), crlf
}

func (t textFile) encode() ([]byte, error) {
	body := t.body
	if t.crlf != nil {
		var b strings.Builder
		b.Grow(len(body) + len(t.crlf))
		for i, line := range strings.SplitAfter(body, "\n") {
			if i < len(t.crlf) && t.crlf[i] {
				line = line[:len(line)-1] + "\r\n"
			}
			b.WriteString(line)
		}
		body = b.String()
	}
	content := []byte(body)
	if wide := t.charset.wide(); wide != nil {
		var err error
		if content, err = wide.NewEncoder().Bytes(content); err != nil {
			return nil, err
		}
	}
	return append([]byte(t.charset.mark()), content...), nil
}

// adopt brings text from the model into the form of body.
func (t textFile) adopt(s string) string {
	if t.crlf != nil {
		s = strings.ReplaceAll(s, "\r\n", "\n")
	}
	return s
}

var errNotUTF8 = errors.New("is not UTF-8, and what is not ASCII would come out wrong in its encoding; leave such " +
	"characters out, or convert the file first, with iconv for example")

// takes returns errNotUTF8 for text from the model, which is UTF-8, if the file
// is in some other encoding and that makes a difference.
func (t textFile) takes(s string) error {
	if t.charset == utf8Plain && !isASCII(s) && !utf8.ValidString(t.body) {
		return errNotUTF8
	}
	return nil
}

// apply returns the file after edits of its body, which are in order and do
// not overlap. Lines that stay keep their line ends; a new line takes that of
// the line it replaces, or of the one before.
func (t textFile) apply(edits []udiff.Edit) textFile {
	out := textFile{charset: t.charset}
	var body strings.Builder
	done, line := 0, 0 // how far body and crlf have been taken over
	keep := func(to int) {
		kept := t.body[done:to]
		body.WriteString(kept)
		if t.crlf != nil {
			n := strings.Count(kept, "\n")
			out.crlf = append(out.crlf, t.crlf[line:line+n]...)
			line += n
		}
		done = to
	}
	for _, e := range edits {
		keep(e.Start)
		body.WriteString(e.New)
		if t.crlf != nil {
			old := t.body[e.Start:e.End]
			n := strings.Count(old, "\n")
			out.crlf = append(out.crlf, t.endsOf(line, n, old, e.New)...)
			line += n
		}
		done = e.End
	}
	keep(len(t.body))
	if t.crlf != nil && out.crlf == nil {
		out.crlf = []bool{} // still a file with \r\n as line end, for later edits
	}
	out.body = body.String()
	return out
}

// endsOf chooses the line ends of the replacement for old, which has n lines
// ends, the first one being number first of the file.
func (t textFile) endsOf(first, n int, old, replacement string) []bool {
	m := strings.Count(replacement, "\n")
	ends := make([]bool, m)
	before := t.crlf[first : first+n]
	oldLines, newLines := strings.SplitAfter(old, "\n"), strings.SplitAfter(replacement, "\n")
	same := 0 // lines both begin with
	for same < min(n, m) && oldLines[same] == newLines[same] {
		same++
	}
	tail := 0 // lines both end with
	for tail < min(n, m)-same && oldLines[n-1-tail] == newLines[m-1-tail] {
		tail++
	}
	for i := range ends {
		switch {
		case m-i <= tail:
			ends[i] = before[n-(m-i)]
		case i < n-tail:
			ends[i] = before[i]
		case i > 0:
			ends[i] = ends[i-1]
		case first > 0:
			ends[i] = t.crlf[first-1]
		default:
			ends[i] = len(t.crlf) == 0 || t.crlf[0]
		}
	}
	return ends
}
