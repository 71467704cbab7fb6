package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// errNoSpace says that the session's limit is reached.
var errNoSpace = errors.New("the limit of what a session may keep is reached")

// storeError says that the journal could not keep something.
type storeError struct{ err error }

func (e storeError) Error() string { return "cannot be kept: " + e.err.Error() }
func (e storeError) Unwrap() error { return e.err }

// store is a directory of contents, each in a file that is named by its SHA-256 in
// hexadecimal digits. Its methods may be called from several goroutines.
type store struct {
	dir   *os.File
	limit int64 // It counts bytes.
	at    func(point string) error

	writing sync.Mutex // one content at a time

	mu       sync.Mutex
	sizes    map[string]int64
	used     int64    // It counts bytes, those to be written too.
	added    []string // This process added these, in order.
	unsynced []string
	later    map[string]chan struct{} // These are to be written; each is closed when that is over.
	waiting  int64                    // how many bytes that is
}

// maxWaiting is how many bytes may wait to be written.
const maxWaiting = 8 << 20

// emptyHash is the hash of a content without a byte.
const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// partName is the name of a content that is being written.
const partName = "part"

// openStore learns what is kept. It removes what a crash left of contents.
func openStore(path string, limit int64, at func(string) error) (*store, error) {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	s := &store{dir: dir, limit: limit, at: at, sizes: map[string]int64{}, later: map[string]chan struct{}{}}
	entries, err := dir.ReadDir(-1)
	for _, e := range entries {
		info, infoErr := e.Info()
		if err = errors.Join(err, infoErr); err != nil {
			break
		}
		if info.Size() == 0 && e.Name() != emptyHash || e.Name() == partName {
			err = os.Remove(s.path(e.Name()))
			continue
		}
		s.sizes[e.Name()] = info.Size()
		s.used += info.Size()
	}
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return s, nil
}

func (s *store) path(hash string) string { return filepath.Join(s.dir.Name(), hash) }

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// put keeps data, unless it is kept already, and returns its hash. Only force goes beyond
// the limit.
func (s *store) put(data []byte, force bool) (hash string, err error) {
	hash = hashOf(data)
	if s.written(hash) {
		return hash, nil
	}
	return s.write(bytes.NewReader(data), hash, force)
}

// putFrom is put for all that r holds. It is not read at once.
func (s *store) putFrom(r io.Reader, force bool) (hash string, err error) {
	return s.write(r, "", force)
}

// putLater is put for what nothing has to wait for. While the disk is busy, making a file
// takes a hundred times as long as writing to it.
func (s *store) putLater(data []byte) (hash string, err error) {
	hash = hashOf(data)
	size := int64(len(data))
	s.mu.Lock()
	defer s.mu.Unlock()
	switch _, known := s.sizes[hash]; {
	case known, s.later[hash] != nil:
		return hash, nil
	case s.used+size > s.limit:
		return hash, errNoSpace
	case s.waiting+size > maxWaiting:
		s.mu.Unlock()
		defer s.mu.Lock()
		return s.write(bytes.NewReader(data), hash, false)
	}
	done := make(chan struct{})
	s.later[hash] = done
	s.waiting += size
	s.used += size
	go func() {
		// After an error it is not kept; who needs it tries again, and returns that.
		_, _ = s.write(bytes.NewReader(data), hash, true)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.later, hash)
		s.waiting -= size
		s.used -= size
		close(done)
	}()
	return hash, nil
}

// written waits for a content that is to be written, and reports whether it is there.
func (s *store) written(hash string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if done := s.later[hash]; done != nil {
		s.mu.Unlock()
		<-done
		s.mu.Lock()
	}
	_, ok := s.sizes[hash]
	return ok
}

// wait waits for all contents that are to be written.
func (s *store) wait() {
	s.mu.Lock()
	later := slices.Collect(maps.Values(s.later))
	s.mu.Unlock()
	for _, done := range later {
		<-done
	}
}

// write writes a content under another name first, so that a part is never taken for a
// whole. Where its hash is not known yet it is found on the way.
func (s *store) write(r io.Reader, hash string, force bool) (string, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	f, err := os.OpenFile(s.path(partName), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return hash, storeError{err}
	}
	w := &limitedWriter{file: f, left: s.limit - s.bytes(), force: force, at: s.at}
	if hash == "" {
		w.hash = sha256.New()
	}
	_, err = io.Copy(w, r)
	if err = errors.Join(err, f.Close()); err == nil && w.hash != nil {
		hash = hex.EncodeToString(w.hash.Sum(nil))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.sizes[hash]; known || err != nil {
		return hash, errors.Join(err, os.Remove(f.Name()))
	}
	if err := os.Rename(f.Name(), s.path(hash)); err != nil {
		return hash, storeError{err}
	}
	s.sizes[hash] = w.size
	s.used += w.size
	s.added, s.unsynced = append(s.added, hash), append(s.unsynced, hash)
	return hash, nil
}

func (s *store) close() error {
	s.wait()
	return s.dir.Close()
}

// limitedWriter writes to a file as much as there is space for.
type limitedWriter struct {
	file       *os.File
	left, size int64
	force      bool
	hash       hash.Hash // nil where it is known
	at         func(point string) error
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	if w.size += int64(len(p)); !w.force && w.size > w.left {
		return 0, errNoSpace
	}
	if err := w.at("object"); err != nil {
		return 0, storeError{err}
	}
	if w.hash != nil {
		w.hash.Write(p)
	}
	n, err := w.file.Write(p)
	if err != nil {
		return n, storeError{err}
	}
	return n, nil
}

// has reports whether the content with the hash is kept, or about to be.
func (s *store) has(hash string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.sizes[hash]
	return ok || s.later[hash] != nil
}

// bytes is how large all contents are.
func (s *store) bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// count is how many contents this process has added.
func (s *store) count() int {
	s.wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.added)
}

// forget removes the contents that were added after the first n.
func (s *store) forget(n int) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, hash := range s.added[n:] {
		err = errors.Join(err, os.Remove(s.path(hash)))
		s.used -= s.sizes[hash]
		delete(s.sizes, hash)
	}
	s.added = s.added[:n]
	return err
}

// open opens the content with the hash. Its end is an error if the disk gave back
// something else than was written.
func (s *store) open(hash string) (io.ReadCloser, error) {
	if !s.written(hash) {
		return nil, fmt.Errorf("content %.12s is not kept", hash)
	}
	f, err := os.Open(s.path(hash))
	if err != nil {
		return nil, err
	}
	return &checkedFile{f, sha256.New(), hash}, nil
}

// checkedFile compares the hash of what was read at its end.
type checkedFile struct {
	*os.File
	hash hash.Hash
	want string
}

func (c *checkedFile) Read(p []byte) (int, error) {
	n, err := c.File.Read(p)
	c.hash.Write(p[:n])
	if errors.Is(err, io.EOF) && hex.EncodeToString(c.hash.Sum(nil)) != c.want {
		return n, fmt.Errorf("its copy is damaged: without %s the rest can be restored", c.Name())
	}
	return n, err
}

// WriteTo hides that of the file, which would not compare anything.
func (c *checkedFile) WriteTo(w io.Writer) (int64, error) {
	return io.Copy(w, struct{ io.Reader }{c})
}

// read returns the content with the hash.
func (s *store) read(hash string) ([]byte, error) {
	f, err := s.open(hash)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// sync brings to the disk what was added since the last time: of many files the whole
// file system.
func (s *store) sync() error {
	s.wait()
	s.mu.Lock()
	added := s.unsynced
	s.unsynced = nil
	s.mu.Unlock()
	if len(added) == 0 {
		return nil
	}
	if len(added) > syncFew {
		if done, err := syncAll(s.dir); done || err != nil {
			return err
		}
	}
	for _, hash := range added {
		f, err := os.Open(s.path(hash))
		if errors.Is(err, fs.ErrNotExist) {
			continue // it was forgotten
		}
		if err != nil {
			return err
		}
		if err := errors.Join(syncFile(f), f.Close()); err != nil {
			return err
		}
	}
	return syncFile(s.dir)
}
