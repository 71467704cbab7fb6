package conversation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"artoo/tool/text"
)

// maxOutput is the most of one output that is kept in a file, in bytes.
const maxOutput = 50 << 20

// outputs writes results that are too long for the history to files of their own.
type outputs struct {
	dir  string // "" keeps nothing
	next int    // number of the next file
}

type location struct {
	path string // "" when it was not
	why  string // then why not, else the content of the file; a sentence, or its beginning before the path
	// again means that the text was shortened before.
	again bool
}

// keep writes data to a new file whose name begins with the tool's.
func (o *outputs) keep(name, ext, data string) location {
	if o.dir == "" {
		return location{why: "The rest is not kept."}
	}
	why := "The whole is in"
	if len(data) > maxOutput {
		cut := maxOutput
		for cut > 0 && ext == ".txt" && !utf8.RuneStart(data[cut]) {
			cut--
		}
		data = data[:cut]
		why = "The first 50 MB are in"
	}
	path, err := o.write(fileName(name), ext, data)
	if err != nil {
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			err = e.Err
		}
		return location{why: fmt.Sprintf("The rest could not be kept: %v.", err)}
	}
	return location{path: path, why: why}
}

// write makes the directory and a new file: sub-agents and earlier runs write there too.
func (o *outputs) write(name, ext, data string) (string, error) {
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return "", err
	}
	for {
		o.next++
		path := filepath.Join(o.dir, fmt.Sprintf("%s-%d%s", name, o.next, ext))
		if err := createFile(path, data); !errors.Is(err, os.ErrExist) {
			return path, err
		}
	}
}

// createFile makes a new file for its user only, whole or not at all.
func createFile(path, data string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

func fileName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, s)
	if s == "" {
		return "output"
	}
	return s[:min(len(s), 40)]
}

// saltExt ends the name of the file beside a session that its marks are made with.
const saltExt = ".salt"

// saltMax is more bytes than any salt has.
const saltMax = 1 << 10

// Salt is the salt that KeepSalt kept for the session or the one it was forked from, or nil. It is never
// exported.
func (s *Session) Salt() ([]byte, error) {
	for _, dir := range s.OutputDirs() {
		path := strings.TrimSuffix(dir, outputExt) + saltExt
		switch info, err := os.Stat(path); {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, err
		case info.Size() > saltMax:
			return nil, fileError(path, errors.New("is no salt"))
		}
		return os.ReadFile(path)
	}
	return nil, nil
}

// KeepSalt writes the salt beside the session, for its user only.
func (s *Session) KeepSalt(salt []byte) error {
	path := strings.TrimSuffix(s.path, fileExt) + saltExt
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return createFile(path, string(salt))
}

// headTail keeps about head and tail characters, cut between lines where that costs at most half
// of either. inLine reports a cut within a line.
func headTail(s string, head, tail int) (first, rest string, inLine bool) {
	end := 0
	for range head {
		_, n := utf8.DecodeRuneInString(s[end:])
		if n == 0 {
			break
		}
		end += n
	}
	start := len(s)
	for range tail {
		_, n := utf8.DecodeLastRuneInString(s[end:start])
		if n == 0 {
			break
		}
		start -= n
	}
	first, rest = s[:end], s[start:]
	if i := strings.LastIndexByte(first, '\n') + 1; i > 0 && i >= len(first)/2 {
		first = first[:i]
	} else if first != "" {
		inLine = true
	}
	if start > 0 && s[start-1] == '\n' {
		return first, rest, inLine
	}
	if i := strings.IndexByte(rest, '\n') + 1; i > 0 && i <= len(rest)/2 {
		rest = rest[i:]
	} else if rest != "" {
		inLine = true
	}
	return first, rest, inLine
}

// markerRoom is the room for the line between head and tail.
const markerRoom = 320

// shorten shortens s to about limit characters around a line that names where the whole is.
func shorten(s string, limit int, where location) string {
	space := max(limit-markerRoom, limit/2)
	head := space / 2
	first, rest, inLine := headTail(s, head, space-head)
	gap := s[len(first) : len(s)-len(rest)]
	var b strings.Builder
	b.WriteString(first)
	if first != "" && !strings.HasSuffix(first, "\n") {
		b.WriteByte('\n')
	}
	b.WriteString(gapLine(first, gap, inLine, where))
	b.WriteByte('\n')
	b.WriteString(rest)
	return b.String()
}

// gapLine stands for the omitted text. It names the way to get it.
func gapLine(first, gap string, inLine bool, where location) string {
	size := text.Bytes(int64(len(gap)))
	if n := strings.Count(gap, "\n"); n > 0 {
		size = text.Count(n, "line") + ", " + size
	}
	if where.again {
		size = "more than " + size
	}
	if where.path == "" {
		return fmt.Sprintf("[... %s left out here. %s ...]", size, where.why)
	}
	how := fmt.Sprintf("read it with offset %d and a limit, or grep it", 1+strings.Count(first, "\n"))
	if inLine {
		how = fmt.Sprintf("its lines are long, so grep it, or take a piece: tail -c +%d FILE | head -c 4000", len(first)+1)
	}
	return fmt.Sprintf("[... %s left out here. %s %s: %s ...]", size, where.why, where.path, how)
}

// Tokens is a number of tokens: 412, 18.2k, 180k, 1.2M.
func Tokens(n int) string {
	number, thousands := Scaled(n)
	return number + [...]string{"", "k", "M"}[thousands]
}

// Scaled is a number in three digits or so, and how often it was divided by 1,000.
func Scaled(n int) (number string, thousands int) {
	switch {
	case n < 1000:
		return fmt.Sprint(n), 0
	case n < 99_950:
		return fmt.Sprintf("%.1f", float64(n)/1e3), 1
	case n < 999_500:
		return fmt.Sprintf("%.0f", float64(n)/1e3), 1
	}
	return fmt.Sprintf("%.1f", float64(n)/1e6), 2
}
