package headless

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"artoo/agent"
)

// inlineLimit is how much input goes to the model whole, in bytes; more goes to
// a file.
const inlineLimit = 64 << 10

// excerpt is how much of a larger input's head and tail the model sees, bytes.
const excerpt = 4 << 10

// intake takes input in: up to inlineLimit into memory, more straight into a
// file, so that its size does not matter.
type intake struct {
	dir string // where the file is made

	bytes, newlines int64
	open            bool // the last byte was no newline
	binary          bool // a NUL byte was among it
	data            []byte
	file            *os.File // nil while data holds everything
	tail            []byte   // the last bytes, kept once there is a file
}

// add takes a chunk.
func (in *intake) add(chunk []byte) error {
	if len(chunk) == 0 {
		return nil
	}
	in.bytes += int64(len(chunk))
	in.newlines += int64(bytes.Count(chunk, []byte("\n")))
	in.open = chunk[len(chunk)-1] != '\n'
	in.binary = in.binary || bytes.IndexByte(chunk, 0) >= 0
	if in.file == nil {
		in.data = append(in.data, chunk...)
		if len(in.data) <= inlineLimit {
			return nil
		}
		return in.spill()
	}
	in.keepTail(chunk)
	_, err := in.file.Write(chunk)
	return keepError(err)
}

// spill moves what came so far into a file.
func (in *intake) spill() error {
	if err := os.MkdirAll(in.dir, 0o700); err != nil {
		return keepError(err)
	}
	f, err := os.CreateTemp(in.dir, "stdin-*.txt") // 0600
	if err != nil {
		return keepError(err)
	}
	in.file = f
	in.keepTail(in.data)
	_, err = f.Write(in.data)
	in.data = in.data[:min(excerpt, len(in.data))]
	return keepError(err)
}

func (in *intake) keepTail(chunk []byte) {
	in.tail = append(in.tail, chunk...)
	if over := len(in.tail) - excerpt; over > 0 {
		in.tail = append(in.tail[:0], in.tail[over:]...)
	}
}

// discard takes the file away again.
func (in *intake) discard() error {
	if in.file == nil {
		return nil
	}
	return errors.Join(in.file.Close(), os.Remove(in.file.Name()))
}

// message makes the message of prompt and input. The input follows the prompt.
func (in *intake) message(prompt string) (Input, error) {
	out := Input{Bytes: in.bytes, State: "read"}
	if in.file == nil && !in.binary {
		text := strings.ToValidUTF8(string(in.data), "\uFFFD")
		switch {
		case strings.TrimSpace(text) != "" && strings.TrimSpace(prompt) != "":
			out.Text = prompt + "\n\nStandard input, " + in.counts() + ":\n\n" + text
		case strings.TrimSpace(text) != "":
			out.Text = text
		case strings.TrimSpace(prompt) != "":
			out.Text, out.State = prompt, "none"
		default:
			return Input{}, noPrompt()
		}
		return out, nil
	}
	if in.file == nil {
		if err := in.spill(); err != nil {
			return Input{}, errors.Join(err, in.discard())
		}
	}
	if err := in.file.Close(); err != nil {
		return Input{}, keepError(err)
	}
	out.File, out.State = filepath.Clean(in.file.Name()), "file"
	prompt = cmp.Or(prompt, "The message came on standard input and is long.")
	if in.binary {
		out.Text = fmt.Sprintf("%s\n\nStandard input, %s, is binary. It is in the file %s.", prompt, in.counts(), out.File)
		return out, nil
	}
	out.Text = fmt.Sprintf(
		"%s\n\nStandard input, %s, is in the file %s: read or grep it as needed. It begins:\n\n%s\n\n[…]\n\nand ends:\n\n%s",
		prompt, in.counts(), out.File, clean(in.data), clean(in.tail))
	return out, nil
}

func (in *intake) counts() string {
	lines := in.newlines
	if in.open {
		lines++
	}
	if lines == 1 {
		return fmt.Sprintf("1 line, %d bytes", in.bytes)
	}
	return fmt.Sprintf("%d lines, %d bytes", lines, in.bytes)
}

// keepError is what kept the input from being kept.
func keepError(err error) error {
	if err == nil {
		return nil
	}
	return &agent.Failure{Kind: agent.KindInternal, What: "keeping stdin", Err: err,
		Hint: "free some space, or set XDG_STATE_HOME to a directory that can be written"}
}

// clean makes an excerpt valid text; a rune that was cut at its start is left
// out.
func clean(data []byte) string {
	for len(data) > 0 && !utf8.RuneStart(data[0]) {
		data = data[1:]
	}
	return strings.ToValidUTF8(string(data), "\uFFFD")
}
