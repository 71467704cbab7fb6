package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// errNoSpace says that the session's limit is reached.
var errNoSpace = errors.New("the journal's limit for a session is reached")

// storeError says that the journal could not keep something.
type storeError struct{ err error }

func (e storeError) Error() string { return "cannot be kept: " + e.err.Error() }
func (e storeError) Unwrap() error { return e.err }

// store is a directory of contents, each in a file that is named by its SHA-256 in
// hexadecimal digits. Its methods may be called from several goroutines.
type store struct {
	place *place
	limit int64 // It counts bytes.
	at    func(point string) error

	writing sync.Mutex // one content at a time

	mu       sync.Mutex
	sizes    map[string]int64
	used     int64             // It counts bytes, those to be written too.
	unsynced []string          // This process added these contents.
	later    map[string][]byte // These are to be written.
	waiting  int64             // how many bytes that is

	flushing sync.Mutex
}

// maxWaiting is how many bytes may wait to be written.
const maxWaiting = 8 << 20

// emptyHash is the hash of a content without a byte.
const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// partName is the name of a content that is being written.
const partName = "part"

// openStore lists the kept contents. It removes parts of contents that a crash left.
func openStore(path string, limit int64, at func(string) error) (*store, error) {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	place, err := openPlace(path)
	if err != nil {
		return nil, err
	}
	s := &store{place: place, limit: limit, at: at, sizes: map[string]int64{}, later: map[string][]byte{}}
	entries, err := place.dir.ReadDir(-1)
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
		return nil, errors.Join(err, place.close())
	}
	return s, nil
}

func (s *store) path(hash string) string { return filepath.Join(s.place.dir.Name(), hash) }

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

// putLater is put for content that nothing waits for: on a busy disk making a file takes long, and
// many new files land in a third of the time.
func (s *store) putLater(data []byte) (hash string, err error) {
	hash = hashOf(data)
	size := int64(len(data))
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.hasLocked(hash):
		return hash, nil
	case s.used+size > s.limit:
		return hash, errNoSpace
	case s.waiting+size > maxWaiting:
		s.mu.Unlock()
		defer s.mu.Lock()
		return s.write(bytes.NewReader(data), hash, false)
	}
	s.later[hash] = data
	s.waiting += size
	s.used += size
	go s.flush()
	return hash, nil
}

// flush writes the contents that wait. After an error a content is not kept.
func (s *store) flush() {
	s.flushing.Lock()
	defer s.flushing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	for hash, data := range s.later {
		s.mu.Unlock()
		_, _ = s.write(bytes.NewReader(data), hash, true)
		s.mu.Lock()
		delete(s.later, hash)
		s.waiting -= int64(len(data))
		s.used -= int64(len(data))
	}
}

// written reports whether a content is there, once it is written.
func (s *store) written(hash string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.later[hash] != nil {
		s.mu.Unlock()
		s.flush()
		s.mu.Lock()
	}
	_, ok := s.sizes[hash]
	return ok
}

// write keeps all that r holds. It is written under another name first, so that a part is
// never taken for a whole. Where its hash is not known yet it is found on the way.
func (s *store) write(r io.Reader, hash string, force bool) (string, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	dir := int(s.place.dir.Fd())
	fd, err := uninterrupted(func() (int, error) {
		return unix.Openat(dir, partName, unix.O_WRONLY|unix.O_CREAT|unix.O_TRUNC|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	})
	if err != nil {
		return hash, storeError{err}
	}
	f := os.NewFile(uintptr(fd), s.path(partName))
	sum := sha256.New()
	if hash == "" {
		r = io.TeeReader(r, sum)
	}
	w := &partWriter{file: f, at: s.at, left: s.limit - s.bytes()}
	if force {
		w.left = math.MaxInt64
	}
	size, err := io.Copy(w, r)
	if err = errors.Join(err, f.Close()); hash == "" {
		hash = hex.EncodeToString(sum.Sum(nil))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.sizes[hash]; known || err != nil {
		return hash, errors.Join(err, os.Remove(f.Name()))
	}
	if err := unix.Renameat(dir, partName, dir, hash); err != nil {
		return hash, storeError{err}
	}
	s.sizes[hash] = size
	s.used += size
	s.unsynced = append(s.unsynced, hash)
	return hash, nil
}

func (s *store) close() error {
	s.flush()
	return s.place.close()
}

// partWriter writes up to the free space, and separates the errors of the store from those of its source.
type partWriter struct {
	file *os.File
	at   func(point string) error
	left int64
}

func (w *partWriter) Write(p []byte) (n int, err error) {
	if w.left -= int64(len(p)); w.left < 0 {
		return 0, errNoSpace
	}
	if err = w.at("object"); err == nil {
		n, err = w.file.Write(p)
	}
	if err != nil {
		err = storeError{err}
	}
	return n, err
}

// has reports whether the content with the hash is kept, or about to be.
func (s *store) has(hash string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hasLocked(hash)
}

func (s *store) hasLocked(hash string) bool {
	_, ok := s.sizes[hash]
	return ok || s.later[hash] != nil
}

func (s *store) bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.used
}

// forget removes a content, if it is kept.
func (s *store) forget(hash string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	size, kept := s.sizes[hash]
	if !kept {
		return nil
	}
	s.used -= size
	delete(s.sizes, hash)
	return os.Remove(s.path(hash))
}

// open opens the content with the hash. Its reader compares that with the bytes it reads.
func (s *store) open(hash string) (*os.File, error) {
	if !s.written(hash) {
		return nil, fmt.Errorf("content %.12s is not kept", hash)
	}
	return os.Open(s.path(hash))
}

// sync brings to the disk the contents added since the last time.
func (s *store) sync() error {
	s.flush()
	s.mu.Lock()
	added := s.unsynced
	s.unsynced = nil
	s.mu.Unlock()
	return s.place.sync(added)
}
