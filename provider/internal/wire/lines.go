package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
)

// Lines yields each line of src that is not blank, without what ends it: a
// stream of JSON objects, one a line. A last line without an end counts if it is
// whole. After an error nothing follows.
func Lines(src io.Reader) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		r := bufio.NewReaderSize(src, 32<<10)
		var long []byte // a line that does not fit into r
		for {
			piece, err := r.ReadSlice('\n')
			if len(long)+len(piece) > MaxEvent {
				yield("", ErrEventTooLarge)
				return
			}
			if errors.Is(err, bufio.ErrBufferFull) {
				long = append(long, piece...)
				continue
			}
			line := piece
			if len(long) > 0 {
				line = append(long, piece...)
				long = nil
			}
			line = bytes.Trim(line, " \t\r\n\ufeff") // a mark of byte order is no part of it
			switch {
			case err != nil && err != io.EOF: // the pending line is incomplete
				yield("", err)
				return
			case err == io.EOF && len(line) > 0 && !json.Valid(line):
				yield("", io.ErrUnexpectedEOF)
				return
			}
			if len(line) > 0 && !yield(string(line), nil) {
				return
			}
			if err != nil {
				return
			}
		}
	}
}
