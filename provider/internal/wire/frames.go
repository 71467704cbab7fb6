package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"io"
	"iter"

	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
)

// frameType is the content type of AWS's event stream.
const frameType = "application/vnd.amazon.eventstream"

// Frames yields the events of an AWS event stream as JSON: {"TYPE":PAYLOAD}, or {"error":{…}} for an exception. Nothing
// follows an error.
func Frames(src io.Reader) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		in := bufio.NewReader(src)
		decoder := eventstream.NewDecoder()
		for {
			data, err := frame(in)
			if err == io.EOF {
				return
			}
			var event string
			if err == nil {
				var m eventstream.Message
				if m, err = decoder.Decode(bytes.NewReader(data), nil); err != nil {
					err = Nonsense("an event of the reply", err)
				} else {
					event, err = frameEvent(m)
				}
			}
			if !yield(event, err) || err != nil {
				return
			}
		}
	}
}

// frame reads a whole message. Its error is io.EOF only between two messages.
func frame(in *bufio.Reader) ([]byte, error) {
	const least = 16 // bytes of a message without headers and payload
	head, err := in.Peek(4)
	if err == io.EOF && len(head) > 0 {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(head)
	if size > MaxEvent {
		return nil, ErrEventTooLarge
	}
	var data bytes.Buffer // grows with the bytes read: a length alone takes no memory
	_, err = io.CopyN(&data, in, int64(max(size, least)))
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return data.Bytes(), err
}

func frameEvent(m eventstream.Message) (string, error) {
	header := func(name string) string {
		if v := m.Headers.Get(name); v != nil {
			return v.String()
		}
		return ""
	}
	fail := func(kind, message string) (string, error) {
		text, err := json.Marshal(map[string]any{"error": map[string]string{"type": kind, "message": message}})
		return string(text), err
	}
	switch header(":message-type") {
	case "exception":
		var said struct {
			Message string `json:"message"`
		}
		if Decode(m.Payload, &said) != nil {
			said.Message = string(m.Payload)
		}
		return fail(header(":exception-type"), said.Message)
	case "error":
		return fail(header(":error-code"), header(":error-message"))
	}
	name, err := json.Marshal(header(":event-type"))
	return "{" + string(name) + ":" + string(m.Payload) + "}", err
}
