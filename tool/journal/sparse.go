package journal

import (
	"context"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// maxRead is how many bytes of a file are read to learn what it holds. A larger file
// is known by what the file system says of it; so nothing ever reads 900 GB of hole.
const maxRead = 64 << 20

// reader ends with the context.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// copySparse copies the first size bytes of a file to an empty one, and leaves the
// holes of the one holes of the other.
func copySparse(ctx context.Context, to, from *os.File, size int64) error {
	if err := to.Truncate(size); err != nil {
		return err
	}
	for at := int64(0); at < size; {
		start, end, err := nextData(from, at, size)
		if err != nil {
			return err
		}
		part := reader{ctx, io.NewSectionReader(from, start, end-start)}
		if n, err := io.Copy(io.NewOffsetWriter(to, start), part); err != nil {
			return err
		} else if n < end-start {
			return io.ErrUnexpectedEOF
		}
		at = end
	}
	return nil
}

// nextData is the next part of a file that is no hole, from at on; empty at the size
// where a hole is all that is left. A file system that knows no holes has one part.
func nextData(f *os.File, at, size int64) (start, end int64, err error) {
	start, err = f.Seek(at, unix.SEEK_DATA)
	switch {
	case errors.Is(err, unix.ENXIO):
		return size, size, nil
	case errors.Is(err, unix.EINVAL), errors.Is(err, errors.ErrUnsupported):
		return at, size, nil
	case err != nil:
		return 0, 0, err
	}
	end, err = f.Seek(start, unix.SEEK_HOLE)
	return min(start, size), min(end, size), err
}
