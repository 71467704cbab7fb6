package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"sync"
)

// errNoSpace says that the session's limit is reached.
var errNoSpace = errors.New("the limit of what a session may keep is reached")

// storeError says that the journal could not keep something.
type storeError struct{ err error }

func (e storeError) Error() string { return "cannot be kept: " + e.err.Error() }
func (e storeError) Unwrap() error { return e.err }

// digest is the SHA-256 of a content.
type digest = [sha256.Size]byte

// headerSize is what comes before each content: its SHA-256, then its length in
// eight bytes, little-endian.
const headerSize = sha256.Size + 8

// object is where a content lies in the file of objects.
type object struct {
	sum    digest
	offset int64
	size   int64
}

// objects is an append-only file of contents, each of them once. A content is
// named by its number, counted from 1 in the order of the file. Its methods may
// be called from several goroutines.
type objects struct {
	file  *os.File
	limit int64 // bytes
	at    func(point string) error

	written written
	mu      sync.Mutex
	size    int64
	list    []object
	refs    map[digest]uint32
	// recent is the content that was put last: what an edit made of a file is what the
	// next one finds there, and its hash need not be reckoned again.
	recent struct {
		data []byte
		sum  digest
	}
}

// openObjects reads where the contents of the file lie. What a crash left of the
// last one is cut off.
func openObjects(file *os.File, limit int64, at func(string) error) (*objects, error) {
	o := &objects{file: file, limit: limit, at: at, refs: map[digest]uint32{}}
	o.recent.sum = sha256.Sum256(o.recent.data)
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	var header [headerSize]byte
	for o.size+headerSize <= info.Size() {
		if _, err := file.ReadAt(header[:], o.size); err != nil {
			return nil, err
		}
		size := int64(binary.LittleEndian.Uint64(header[sha256.Size:]))
		sum := digest(header[:sha256.Size])
		if size < 0 || size > info.Size()-o.size-headerSize || sum == (digest{}) {
			break
		}
		o.add(sum, size)
	}
	if o.size == info.Size() {
		return o, nil
	}
	return o, file.Truncate(o.size)
}

func (o *objects) add(sum digest, size int64) uint32 {
	o.list = append(o.list, object{sum, o.size + headerSize, size})
	o.size += headerSize + size
	ref := uint32(len(o.list))
	o.refs[sum] = ref
	o.written.add()
	return ref
}

// put keeps data, unless it is kept already, and returns its number. Only force
// goes beyond the limit.
func (o *objects) put(data []byte, force bool) (ref uint32, sum digest, err error) {
	return o.putFramed(append(make([]byte, headerSize, headerSize+len(data)), data...), force)
}

// putFramed is put for data that comes after room for its header, so that it need not
// be copied to be written with it.
func (o *objects) putFramed(framed []byte, force bool) (ref uint32, sum digest, err error) {
	header, data := framed[:headerSize], framed[headerSize:]
	o.mu.Lock()
	sum, again := o.recent.sum, bytes.Equal(data, o.recent.data)
	o.mu.Unlock()
	if !again {
		sum = sha256.Sum256(data)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(data) <= maxFrame {
		o.recent.data, o.recent.sum = append(o.recent.data[:0], data...), sum
	}
	if ref, ok := o.refs[sum]; ok {
		return ref, sum, nil
	}
	size := int64(len(data))
	if !force && o.size+headerSize+size > o.limit {
		return 0, sum, errNoSpace
	}
	if err := o.at("object"); err != nil {
		return 0, sum, storeError{err}
	}
	copy(header, sum[:])
	binary.LittleEndian.PutUint64(header[sha256.Size:], uint64(size))
	if _, err := o.file.WriteAt(framed, o.size); err != nil {
		return 0, sum, storeError{err}
	}
	return o.add(sum, size), sum, nil
}

// copyFrom keeps all that r holds, whatever its size; beyond the limit only with
// force. The header is written last, so that a part is never taken for a whole.
func (o *objects) copyFrom(r io.Reader, force bool) (ref uint32, size int64, sum digest, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var header [headerSize]byte
	if _, err := o.file.WriteAt(header[:], o.size); err != nil {
		return 0, 0, sum, storeError{err}
	}
	h := sha256.New()
	dest := &sectionWriter{o: o, offset: o.size + headerSize, hash: h, force: force}
	size, err = io.Copy(dest, r)
	sum = digest(h.Sum(nil))
	if ref, ok := o.refs[sum]; ok && err == nil || err != nil {
		return ref, size, sum, errors.Join(err, o.file.Truncate(o.size))
	}
	copy(header[:], sum[:])
	binary.LittleEndian.PutUint64(header[sha256.Size:], uint64(size))
	if _, err := o.file.WriteAt(header[:], o.size); err != nil {
		return 0, size, sum, storeError{err}
	}
	return o.add(sum, size), size, sum, nil
}

// sectionWriter appends to the file of objects, within the limit.
type sectionWriter struct {
	o      *objects
	offset int64
	hash   hash.Hash
	force  bool
}

func (w *sectionWriter) Write(p []byte) (int, error) {
	if !w.force && w.offset+int64(len(p)) > w.o.limit {
		return 0, errNoSpace
	}
	if err := w.o.at("object"); err != nil {
		return 0, storeError{err}
	}
	n, err := w.o.file.WriteAt(p, w.offset)
	w.offset += int64(n)
	w.hash.Write(p[:n])
	if err != nil {
		return n, storeError{err}
	}
	return n, nil
}

// find returns the number of the content with the hash, 0 if it is not kept.
func (o *objects) find(hash string) uint32 {
	sum, err := hex.DecodeString(hash)
	if err != nil || len(sum) != sha256.Size {
		return 0
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.refs[digest(sum)]
}

// hash is that of the content with the number, "" if there is none.
func (o *objects) hash(ref uint32) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if ref == 0 || int(ref) > len(o.list) {
		return ""
	}
	return hex.EncodeToString(o.list[ref-1].sum[:])
}

// count is the number of the last content.
func (o *objects) count() uint32 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return uint32(len(o.list))
}

// bytes is how large the file is.
func (o *objects) bytes() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.size
}

// forget cuts off all contents after the one with the number.
func (o *objects) forget(after uint32) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if int(after) >= len(o.list) {
		return nil
	}
	for _, gone := range o.list[after:] {
		delete(o.refs, gone.sum)
	}
	o.size = o.list[after].offset - headerSize
	o.list = o.list[:after]
	defer o.written.add()
	return o.file.Truncate(o.size)
}

// open returns the content with the hash. Its end is an error if the disk gave
// back something else than was written.
func (o *objects) open(hash string) (io.Reader, error) {
	ref := o.find(hash)
	if ref == 0 {
		return nil, fmt.Errorf("content %.12s is not kept", hash)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	obj := o.list[ref-1]
	return &checked{io.NewSectionReader(o.file, obj.offset, obj.size), sha256.New(), obj.sum}, nil
}

// checked compares the hash of what was read at its end.
type checked struct {
	r    io.Reader
	hash hash.Hash
	want digest
}

func (c *checked) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.hash.Write(p[:n])
	if errors.Is(err, io.EOF) && !bytes.Equal(c.hash.Sum(nil), c.want[:]) {
		return n, errors.New("the journal's copy is damaged")
	}
	return n, err
}

// read returns the content with the hash.
func (o *objects) read(hash string) ([]byte, error) {
	r, err := o.open(hash)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
