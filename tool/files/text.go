package files

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	utf16 "golang.org/x/text/encoding/unicode"

	"artoo/tool/diff"
	"artoo/tool/text"
)

// Charset is how a text file is encoded.
type Charset int

const (
	Plain Charset = iota
	utf8Marked
	utf16Little
	utf16Big
	utf16LittleBare // without its mark
	utf16BigBare
)

// Mark is the byte order mark at the start of such a file, "" for none.
func (c Charset) Mark() string {
	return [...]string{"", "\xef\xbb\xbf", "\xff\xfe", "\xfe\xff", "", ""}[c]
}

func (c Charset) String() string {
	return [...]string{"UTF-8", "UTF-8 with a byte order mark", "UTF-16LE", "UTF-16BE",
		"UTF-16LE without a byte order mark", "UTF-16BE without a byte order mark"}[c]
}

// Wide is the codec of a UTF-16 charset without its mark, nil for UTF-8.
func (c Charset) Wide() encoding.Encoding {
	switch c {
	case utf16Little, utf16LittleBare:
		return utf16.UTF16(utf16.LittleEndian, utf16.IgnoreBOM)
	case utf16Big, utf16BigBare:
		return utf16.UTF16(utf16.BigEndian, utf16.IgnoreBOM)
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
	head = head[:min(len(head), HeadSize)]
	switch {
	case len(head) < 8 || len(head)%2 != 0 || bytes.IndexByte(head, 0) < 0:
	case oneAlphabet(head, binary.LittleEndian):
		return utf16LittleBare
	case oneAlphabet(head, binary.BigEndian):
		return utf16BigBare
	}
	return Plain
}

// oneAlphabet reports whether head is a text of 16-bit units: half of them or more are printable ASCII, line breaks or
// letters of one block such as Cyrillic, and none is a control character, as those of a binary file are.
func oneAlphabet(head []byte, order binary.ByteOrder) bool {
	ascii, most, letters := 0, 0, map[uint16]int{}
	for i := 0; i < len(head); i += 2 {
		switch unit := order.Uint16(head[i:]); {
		case unit >= ' ' && unit < 0x7f, unit == '\t', unit == '\n', unit == '\r', unit == '\f':
			ascii++
		case unit < 0xa0:
			return false
		case unicode.IsLetter(rune(unit)):
			letters[unit>>8]++
			most = max(most, letters[unit>>8])
		}
	}
	return ascii > 0 && (ascii+most)*4 >= len(head)
}

// HeadSize is how many bytes of a file decide its type; git takes as many.
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

// Text is a text file as models read and write it, with the encoding needed to write it back.
type Text struct {
	Charset Charset
	Body    string // every line end as \n
	// Ends has the line end in the file for each \n of Body: \n, \r\n or \r. It is nil where all are \n.
	Ends []string
}

var errBadUTF16 = errors.New("is not valid UTF-16, so writing it would damage it")

// ErrBinary is the error for a file that is no text.
var ErrBinary = errors.New("is a binary file, not text")

// TextOf is a whole file as models read it; ErrBinary for one that is no text.
func TextOf(raw []byte) (string, error) {
	if BinaryType(raw) != "" {
		return "", ErrBinary
	}
	t, err := Decode(raw)
	if err != nil {
		return "", err
	}
	if strings.ContainsRune(t.Body, 0) {
		return "", ErrBinary
	}
	return t.Body, nil
}

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
	t.Body, t.Ends = cutReturns(string(content))
	return t, nil
}

// cutReturns turns the line ends of a text into \n and returns those it had. A \r alone is one where more
// lines end so than with \n; elsewhere it is a character of its line.
func cutReturns(s string) (body string, ends []string) {
	if !strings.Contains(s, "\r") {
		return s, nil
	}
	marks := "\n"
	if alone := strings.Count(s, "\r") - strings.Count(s, "\r\n"); alone > strings.Count(s, "\n") {
		marks = "\r\n"
	} else if !strings.Contains(s, "\r\n") {
		return s, nil
	}
	var b strings.Builder
	b.Grow(len(s))
	for {
		at := strings.IndexAny(s, marks)
		if at < 0 {
			b.WriteString(s)
			return b.String(), ends
		}
		from, end := at, s[at:at+1]
		if strings.HasPrefix(s[at:], "\r\n") {
			end = "\r\n"
		} else if end == "\n" && strings.HasSuffix(s[:at], "\r") {
			from, end = at-1, "\r\n"
		}
		b.WriteString(s[:from] + "\n")
		ends = append(ends, end)
		s = s[from+len(end):]
	}
}

// ReturnsEndLines reports whether lines of the file end with \r alone.
func (t Text) ReturnsEndLines() bool { return slices.Contains(t.Ends, "\r") }

func (t Text) Encode() ([]byte, error) {
	body := t.Body
	if t.Ends != nil {
		var b strings.Builder
		b.Grow(len(body) + len(t.Ends))
		last := ""
		for i, line := range strings.SplitAfter(body, "\n") {
			if bare, ended := strings.CutSuffix(line, "\n"); ended && i < len(t.Ends) {
				end := t.Ends[i]
				if last == "\r" && bare == "" && end == "\n" {
					end = last // Both would be one line end.
				}
				line, last = bare+end, end
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
	if t.Ends != nil {
		s = strings.ReplaceAll(s, "\r\n", "\n")
	}
	if t.ReturnsEndLines() {
		s = strings.ReplaceAll(s, "\r", "\n")
	}
	return s
}

var errNotUTF8 = errors.New("is not UTF-8, and non-ASCII text would be garbled in its encoding; leave such " +
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
func (t Text) Apply(edits []diff.Edit) Text {
	var body strings.Builder
	var ends []string
	done, line := 0, 0 // how far Body and Ends have been taken over
	replace := func(to int, with string, end func(old []string, i int) string) {
		n := strings.Count(t.Body[done:to], "\n")
		if t.Ends != nil {
			for i := range strings.Count(with, "\n") {
				ends = append(ends, end(t.Ends[line:line+n], i))
			}
		}
		body.WriteString(with)
		done, line = to, line+n
	}
	keep := func(to int) {
		replace(to, t.Body[done:to], func(old []string, i int) string { return old[i] })
	}
	for _, e := range edits {
		for _, d := range diff.Lines(t.Body[e.Start:e.End], e.New) {
			keep(e.Start + d.Start)
			replace(e.Start+d.End, d.New, func(old []string, i int) string {
				switch {
				case i < len(old):
					return old[i]
				case len(ends) > 0:
					return ends[len(ends)-1]
				}
				return t.Ends[0]
			})
		}
		keep(e.End)
	}
	keep(len(t.Body))
	if len(ends) == 0 && t.Ends != nil {
		ends = t.Ends[:1] // for later edits of a file that has no line now
	}
	return Text{Charset: t.Charset, Body: body.String(), Ends: ends}
}
