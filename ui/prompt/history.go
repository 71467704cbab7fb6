package prompt

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"artoo/provider/redact"
	"artoo/tool/atomicfile"
)

// historyFile keeps the lines the user sent, one JSON string per line. Several artoo may use
// one file: each line is one write at the end, under a lock.
type historyFile struct {
	path   string // "" keeps nothing
	warn   func(text string)
	warned bool
	wait   time.Duration // for another artoo that has the file; 0 means historyWait
}

const trimFactor = 2

// historyWait is how long another artoo may take with the file.
const historyWait = 500 * time.Millisecond

const historyRetry = 10 * time.Millisecond

// keeps reports whether there is a file to keep the lines in. A path that is no regular file is
// left alone; a missing file is made.
func (h *historyFile) keeps() bool {
	if h.path == "" {
		return false
	}
	info, err := os.Stat(h.path)
	if err != nil || info.Mode().IsRegular() {
		return true
	}
	if info.Mode()&fs.ModeDevice == 0 {
		h.complain(fmt.Errorf("%s is not a file", h.path))
	}
	return false
}

// load returns the newest entries, oldest first. A torn line is passed over.
func (h *historyFile) load() []string {
	if !h.keeps() {
		return nil
	}
	data, err := os.ReadFile(h.path)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			h.complain(err)
		}
		return nil
	}
	entries, lines := parseHistory(data)
	if lines > trimFactor*historyEntries {
		if err := h.trim(); err != nil {
			h.complain(err)
		}
	}
	return entries
}

func parseHistory(data []byte) (entries []string, lines int) {
	for line := range bytes.Lines(data) {
		lines++
		var entry string
		if json.Unmarshal(line, &entry) == nil && entry != "" {
			entries = append(entries, entry)
		}
	}
	return entries[max(len(entries)-historyEntries, 0):], lines
}

func (h *historyFile) add(entry string) {
	if !keepsHistory(entry) || !h.keeps() {
		return
	}
	if err := h.locked(func() error { return h.write(entry) }); err != nil {
		h.complain(err)
	}
}

// keepsHistory says whether a line is remembered: no blank ones, none that begin with a space,
// none with a key in them.
func keepsHistory(entry string) bool {
	return strings.TrimSpace(entry) != "" && entry[0] != ' ' && !redact.Holds(entry)
}

func (h *historyFile) write(entry string) (err error) {
	line, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(h.path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.Chmod(0o600); err != nil {
		return err
	}
	line = append(line, '\n')
	// A torn last line must not swallow this one.
	if info, err := f.Stat(); err == nil && info.Size() > 0 {
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, info.Size()-1); err == nil && last[0] != '\n' {
			line = append([]byte{'\n'}, line...)
		}
	}
	n, err := f.Write(line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	return err
}

// trim keeps the newest entries. It reads the file again under the lock.
func (h *historyFile) trim() error {
	return h.locked(func() error {
		data, err := os.ReadFile(h.path)
		if err != nil {
			return err
		}
		entries, _ := parseHistory(data)
		var b bytes.Buffer
		for _, entry := range entries {
			line, err := json.Marshal(entry)
			if err != nil {
				return err
			}
			b.Write(append(line, '\n'))
		}
		return atomicfile.Write(h.path, b.Bytes(), 0o600)
	})
}

// locked runs f while no other artoo writes the file, or fails after its wait. The lock is a
// file of its own, because trimming replaces the other one.
func (h *historyFile) locked(f func() error) (err error) {
	if err := os.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
		return err
	}
	lock := flock.New(h.path+".lock", flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(h.wait, historyWait))
	defer cancel()
	if _, err := lock.TryLockContext(ctx, historyRetry); errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("another artoo holds %s.lock", h.path)
	} else if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	return f()
}

func (h *historyFile) complain(err error) {
	if !h.warned && h.warn != nil {
		h.warned = true
		h.warn(fmt.Sprintf("history: %v", err))
	}
}
