package headless

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/provider"
	"artoo/tool/text"
)

// The lines of `--input jsonl`. docs/events.md explains their fields.

// inputKind is the type of a line.
type inputKind string

const (
	inputUser      inputKind = "user"
	inputAnswer    inputKind = "answer"
	inputInterrupt inputKind = "interrupt"
	inputSet       inputKind = "set"
	inputCommand   inputKind = "command"
	inputEnd       inputKind = "end"
)

// userInput is a message.
type userInput struct {
	Type   string   `json:"type"`
	Text   string   `json:"text"`
	ID     string   `json:"id,omitempty"`
	Attach []string `json:"attach,omitempty"`
	When   string   `json:"when,omitempty"` // now, next; "" is next
}

// setInput changes how the next messages are answered.
type setInput struct {
	Type   string `json:"type"`
	Mode   string `json:"mode,omitempty"`
	Model  string `json:"model,omitempty"`
	Effort string `json:"effort,omitempty"`
}

// commandInput is a slash command.
type commandInput struct {
	Type string `json:"type"`
	Text string `json:"text"`
	ID   string `json:"id,omitempty"`
}

// answerInput answers a question.
type answerInput struct {
	Type string `json:"type"`
	agent.AnswerEvent
}

// bareInput is a line of which the type says all.
type bareInput struct {
	Type string `json:"type"` // interrupt, end
}

// maxInput is the longest line of input, in bytes.
const maxInput = 32 << 20

// lines reads a line at a time, without its end. One that is too long is skipped, and is errTooLong.
type lines struct{ *bufio.Reader }

var errTooLong = errors.New("longer than " + text.Bytes(maxInput))

func (l lines) next() (line []byte, err error) {
	long := false
	for {
		part, err := l.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxInput+1; !long {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil && (len(line) == 0 && !long || !errors.Is(err, io.EOF)):
			return nil, err
		case long:
			return nil, errTooLong
		default:
			return bytes.TrimRight(line, "\r\n"), nil
		}
	}
}

// decode reads a line's object. A field that its type does not have is an error: a caller that
// writes one expects it to count.
func decode[T any](line []byte) (in T, err error) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	err = d.Decode(&in)
	return in, text.Misread(err)
}

// take understands a line and does it, or queues it. The error says why nothing came of it.
func (c *Conversation) take(ctx context.Context, line []byte, number int) (end bool, err error) {
	if key, twice := provider.AmbiguousKey(line); twice {
		return false, fmt.Errorf("it has the key %q twice", key)
	}
	var head struct {
		Type inputKind `json:"type"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		if _, syntax := errors.AsType[*json.SyntaxError](err); syntax {
			return false, fmt.Errorf("not a JSON object: %w", err)
		}
		return false, text.Misread(err)
	}
	switch head.Type {
	case inputUser:
		in, err := decode[userInput](line)
		switch {
		case err != nil:
			return false, err
		case strings.TrimSpace(in.Text) == "" && len(in.Attach) == 0:
			return false, errors.New("text is missing")
		case !slices.Contains([]string{"", "now", "next"}, in.When):
			return false, fmt.Errorf("when is now or next, not %q", text.Clip(in.When, 40))
		}
		c.enqueue(ctx, &task{line: number, id: in.ID, user: &in, now: in.When == "now"})
	case inputAnswer:
		in, err := decode[answerInput](line)
		if err != nil {
			return false, err
		}
		return false, c.answer(in.AnswerEvent, number)
	case inputInterrupt:
		if _, err := decode[bareInput](line); err != nil {
			return false, err
		}
		c.interrupt()
	case inputSet:
		in, err := decode[setInput](line)
		if err == nil && in.Mode == "" && in.Model == "" && in.Effort == "" {
			err = errors.New("mode, model and effort are missing")
		}
		if modes := []permission.Mode{permission.ModeAsk, permission.ModeEdits, permission.ModeAuto, permission.ModePlan, ""}; err == nil &&
			!slices.Contains(modes, permission.Mode(in.Mode)) {
			err = fmt.Errorf("unknown mode %q: use ask, edits, auto or plan", text.Clip(in.Mode, 40))
		}
		if err != nil {
			return false, err
		}
		c.enqueue(ctx, &task{line: number, set: &in})
	case inputCommand:
		in, err := decode[commandInput](line)
		if err == nil && !strings.HasPrefix(in.Text, "/") {
			err = errors.New("text does not begin with a slash")
		}
		if err != nil {
			return false, err
		}
		c.enqueue(ctx, &task{line: number, id: in.ID, command: in.Text})
	case inputEnd:
		_, err := decode[bareInput](line)
		return err == nil, err
	default:
		return false, fmt.Errorf("unknown type %q", text.Clip(string(head.Type), 40))
	}
	return false, nil
}

// read takes lines until the input ends.
func (c *Conversation) read(ctx context.Context, from io.Reader) {
	in := lines{bufio.NewReaderSize(from, 64<<10)}
	for number := 1; ; number++ {
		line, err := in.next()
		end := false
		switch {
		case errors.Is(err, errTooLong):
			c.fault(number, err)
		case err != nil:
			if !errors.Is(err, io.EOF) {
				c.fault(number, err)
			}
			end = true
		case len(bytes.TrimSpace(line)) == 0:
		default:
			if end, err = c.take(ctx, line, number); err != nil {
				c.fault(number, err)
			}
		}
		if end {
			c.close()
			return
		}
	}
}
