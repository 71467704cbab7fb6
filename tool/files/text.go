package files

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"

	"artoo/tool/text"
)

// Charset is how a text file is encoded.
type Charset int

const (
	Plain Charset = iota
	utf8Marked
	utf16Little
	utf16Big
)

// marks are the byte order marks, which decide the charset.
func (c Charset) Mark() string {
	return [...]string{"", "\xef\xbb\xbf", "\xff\xfe", "\xfe\xff"}[c]
}

func (c Charset) String() string {
	return [...]string{"UTF-8", "UTF-8 with a byte order mark", "UTF-16LE", "UTF-16BE"}[c]
}

// Wide is the codec of a UTF-16 charset without its mark, nil for UTF-8.
func (c Charset) Wide() encoding.Encoding {
	switch c {
	case utf16Little:
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case utf16Big:
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	}
	return nil
}

// CharsetOf finds the charset from the first bytes of a file.
func CharsetOf(head []byte) Charset {
	if bytes.HasPrefix(head, []byte("\xff\xfe\x00\x00")) {
		return Plain // UTF-32, which counts as binary
	}
	for _, c := range []Charset{utf8Marked, utf16Little, utf16Big} {
		if bytes.HasPrefix(head, []byte(c.Mark())) {
			return c
		}
	}
	return Plain
}

// HeadSize is how much of a file decides what it is; git takes as much.
const HeadSize = 8000

// BinaryType is the media type of a file that is no text, "" for text.
func BinaryType(head []byte) string {
	head = head[:min(len(head), HeadSize)]
	if CharsetOf(head) != Plain {
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

// validHead reports whether head is UTF-8, except for a character cut at its end.
func validHead(head []byte) bool {
	for cut := 0; cut < utf8.UTFMax && cut <= len(head); cut++ {
		if utf8.Valid(head[:len(head)-cut]) {
			return true
		}
	}
	return false
}

// Text is a text file as models read and write it, with what is needed to write it back.
type Text struct {
	Charset Charset
	Body    string // every \r\n as \n
	// Crlf says of each \n of Body whether it was \r\n; nil when none was.
	Crlf []bool
}

var errBadUTF16 = errors.New("is not valid UTF-16, and would not come out as it was")

// Decode reads a text file; encode is its exact inverse.
func Decode(raw []byte) (Text, error) {
	t := Text{Charset: CharsetOf(raw)}
	content := raw[len(t.Charset.Mark()):]
	if wide := t.Charset.Wide(); wide != nil {
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
	t.Body, t.Crlf = cutReturns(string(content))
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

func (t Text) Encode() ([]byte, error) {
	body := t.Body
	if t.Crlf != nil {
		var b strings.Builder
		b.Grow(len(body) + len(t.Crlf))
		for i, line := range strings.SplitAfter(body, "\n") {
			if i < len(t.Crlf) && t.Crlf[i] {
				line = line[:len(line)-1] + "\r\n"
			}
			b.WriteString(line)
		}
		body = b.String()
	}
	content := []byte(body)
	if wide := t.Charset.Wide(); wide != nil {
		var err error
		if content, err = wide.NewEncoder().Bytes(content); err != nil {
			return nil, err
		}
	}
	return append([]byte(t.Charset.Mark()), content...), nil
}

// Adopt brings text from the model into the form of body.
func (t Text) Adopt(s string) string {
	if t.Crlf != nil {
		s = strings.ReplaceAll(s, "\r\n", "\n")
	}
	return s
}

var errNotUTF8 = errors.New("is not UTF-8, and what is not ASCII would come out wrong in its encoding; leave such " +
	"characters out, or convert the file first, with iconv for example")

// Takes returns errNotUTF8 for text that makes a difference in a file of another encoding.
func (t Text) Takes(s string) error {
	if t.Charset == Plain && !text.IsASCII(s) && !utf8.ValidString(t.Body) {
		return errNotUTF8
	}
	return nil
}

// Apply returns the file after edits of its body, which are in order and do
// not overlap. Lines that stay keep their line ends; a new line takes that of
// the line it replaces, or of the one before.
func (t Text) Apply(edits []udiff.Edit) Text {
	out := Text{Charset: t.Charset}
	var body strings.Builder
	done, line := 0, 0 // how far body and crlf have been taken over
	keep := func(to int) {
		kept := t.Body[done:to]
		body.WriteString(kept)
		if t.Crlf != nil {
			n := strings.Count(kept, "\n")
			out.Crlf = append(out.Crlf, t.Crlf[line:line+n]...)
			line += n
		}
		done = to
	}
	for _, e := range edits {
		keep(e.Start)
		body.WriteString(e.New)
		if t.Crlf != nil {
			old := t.Body[e.Start:e.End]
			n := strings.Count(old, "\n")
			out.Crlf = append(out.Crlf, t.endsOf(line, n, old, e.New)...)
			line += n
		}
		done = e.End
	}
	keep(len(t.Body))
	if t.Crlf != nil && out.Crlf == nil {
		out.Crlf = []bool{} // still a file with \r\n as line end, for later edits
	}
	out.Body = body.String()
	return out
}

// endsOf chooses the line ends of the replacement for old, whose n line ends begin with number first.
func (t Text) endsOf(first, n int, old, replacement string) []bool {
	m := strings.Count(replacement, "\n")
	ends := make([]bool, m)
	before := t.Crlf[first : first+n]
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
			ends[i] = t.Crlf[first-1]
		default:
			ends[i] = len(t.Crlf) == 0 || t.Crlf[0]
		}
	}
	return ends
}
