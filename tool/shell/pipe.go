package shell

import (
	"errors"
	"os"
	"time"
)

// pipeRest is how long the rest of a pipe is waited for after the end of the process that it was made for.
const pipeRest = 200 * time.Millisecond

// PipeReader reads a pipe until it is closed, or until End and what lay in it then. It is for one goroutine.
type PipeReader struct {
	pipe *os.File
	over bool
}

// NewPipeReader returns the reader of a pipe, which its caller closes.
func NewPipeReader(pipe *os.File) *PipeReader { return &PipeReader{pipe: pipe} }

// Read implements io.Reader. After the deadline it waits once more: on a busy machine that may be the first time that
// this goroutine runs since the process wrote, and a read that comes too late reads nothing.
func (r *PipeReader) Read(p []byte) (int, error) {
	n, err := r.pipe.Read(p)
	if r.over || !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	r.over = true
	if err := r.pipe.SetReadDeadline(time.Now().Add(pipeRest)); err != nil {
		return 0, err
	}
	return r.pipe.Read(p)
}

// EndPipe has the reader of a pipe end soon. The process has ended, and another that it left behind may hold the pipe
// open for ever. Any goroutine may call it.
func EndPipe(pipe *os.File) {
	// It fails where the reader closed it at its end.
	_ = pipe.SetReadDeadline(time.Now().Add(pipeRest))
}
