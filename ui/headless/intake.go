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
	"artoo/tool/text"
)

// inlineLimit is how much input goes to the model whole, in bytes; more goes to a file.
const inlineLimit = 64 << 10

// excerpt is how much of a larger input's head and tail the model sees, bytes.
const excerpt = 4 << 10

// intake takes input in: up to inlineLimit into memory, more straight into a file.
type intake struct {
	dir string // where the file is made

	bytes, newlines int64
	open            bool // the last byte was no newline
	binary          bool // a NUL byte was among it
	data            []byte
	file            *os.File // nil while data holds everything
}

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
	_, err := in.file.Write(chunk)
	return keepError(err)
}

// spill moves the input so far into a file.
func (in *intake) spill() error {
	if err := os.MkdirAll(in.dir, 0o700); err != nil {
		return keepError(err)
	}
	f, err := os.CreateTemp(in.dir, "stdin-*.txt") // 0600
	if err != nil {
		return keepError(err)
	}
	in.file = f
	_, err = f.Write(in.data)
	in.data = in.data[:min(excerpt, len(in.data))]
	return keepError(err)
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
		said := strings.ToValidUTF8(string(in.data), "\uFFFD")
		switch {
		case strings.TrimSpace(said) != "" && strings.TrimSpace(prompt) != "":
			out.Text = prompt + "\n\nStandard input, " + in.counts() + ":\n\n" + said
		case strings.TrimSpace(said) != "":
			out.Text = said
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
	tail := make([]byte, min(excerpt, in.bytes))
	_, err := in.file.ReadAt(tail, in.bytes-int64(len(tail)))
	if err = errors.Join(err, in.file.Close()); err != nil {
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
		prompt, in.counts(), out.File, clean(in.data), clean(tail))
	return out, nil
}

func (in *intake) counts() string {
	lines := in.newlines
	if in.open {
		lines++
	}
	return text.Counted(int(lines), "line", "lines") + ", " + text.Counted(int(in.bytes), "byte", "bytes")
}

func keepError(err error) error {
	if err == nil {
		return nil
	}
	return &agent.Failure{Kind: agent.KindInternal, What: "keeping stdin", Err: err,
		Hint: "free some space, or set XDG_STATE_HOME to a directory that can be written"}
}

// clean makes an excerpt valid text, without the rest of a rune at its start.
func clean(data []byte) string {
	for len(data) > 0 && !utf8.RuneStart(data[0]) {
		data = data[1:]
	}
	return strings.ToValidUTF8(string(data), "\uFFFD")
}
