package conversation

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"artoo/provider"
)

// Info describes a session for a list. Its JSON is what artoo sessions --json prints.
type Info struct {
	ID       string    `json:"id"`
	Path     string    `json:"path"`
	CWD      string    `json:"cwd"`     // "" when the header cannot be read
	Started  time.Time `json:"started"` // zero when the header cannot be read
	Updated  time.Time `json:"updated"` // when the file was last written
	First    string    `json:"first"`   // the first words of the user on one line; may be ""
	Messages int       `json:"messages"`
	Provider string    `json:"provider"` // configured name at the start
	Model    string    `json:"model"`    // that answered last, else the one it started with
	ForkOf   string    `json:"fork_of,omitempty"`
}

// Bounds of what List reads of each file.
const (
	peekBytes  = 1 << 20  // at most, to find the header and the first user message
	tailBytes  = 64 << 10 // to find the last turn marker
	firstChars = 80
)

// List describes all sessions, the last written first. It reads the beginning
// and the end of each file, and the whole only where the end does not tell how
// many messages there are. Files that are broken or cannot be read are listed
// with what is known.
func (st Store) List() ([]Info, error) {
	files, err := st.files()
	if err != nil {
		return nil, err
	}
	infos := make([]Info, 0, len(files))
	for _, f := range files {
		info, err := peek(f.path)
		if err == nil {
			err = info.count(f.size)
		}
		if err != nil && errors.Is(err, os.ErrNotExist) {
			continue // removed since the directory was read
		}
		info.Updated = f.modified
		infos = append(infos, info)
	}
	return infos, nil
}

// Recent is the newest n sessions, newest first, without their number of
// messages: no file is read further than its first message. What cannot be read
// is left out.
func (st Store) Recent(n int) ([]Info, error) {
	files, err := st.files()
	if err != nil {
		return nil, err
	}
	var infos []Info
	for _, f := range files[:min(n, len(files))] {
		if info, err := peek(f.path); err == nil {
			info.Updated = f.modified
			infos = append(infos, info)
		}
	}
	return infos, nil
}

// peek reads the header and the first user message.
func peek(path string) (Info, error) {
	info := Info{ID: idOf(path), Path: path}
	f, err := os.Open(path)
	if err != nil {
		return info, err
	}
	defer f.Close()
	in := bufio.NewReader(io.LimitReader(f, peekBytes))
	for {
		line, readErr := in.ReadBytes('\n')
		if e, err := decodeEntry(line); err == nil {
			switch p := e.payload.(type) {
			case *Header:
				if info.Started.IsZero() { // the first counts
					info.CWD, info.Started, info.Provider, info.Model, info.ForkOf = p.CWD, p.Started, p.Provider,
						p.Model, p.ForkOf
				}
			case *messageRecord:
				if p.Message.Role == provider.RoleUser {
					info.First = firstWords(p.Message)
					return info, nil
				}
			}
		}
		if errors.Is(readErr, io.EOF) {
			return info, nil
		}
		if readErr != nil {
			return info, readErr
		}
	}
}

// firstWords is the beginning of a message on one line.
func firstWords(m provider.Message) string {
	for _, p := range m.Parts {
		t, ok := p.(provider.Text)
		if !ok {
			continue
		}
		text := t.Text[:min(len(t.Text), 8*firstChars)] // enough, however long it is
		text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
		if text != "" {
			return clip(text, firstChars, "...")
		}
	}
	return ""
}

// count finds the number of messages and the last model.
func (info *Info) count(size int64) error {
	f, err := os.Open(info.Path)
	if err != nil {
		return err
	}
	defer f.Close()
	from := max(0, size-tailBytes)
	tail := make([]byte, size-from)
	n, err := f.ReadAt(tail, from)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if info.countTail(tail[:n], from == 0) {
		return nil
	}
	whole, err := os.ReadFile(info.Path)
	info.countTail(whole, true)
	return err
}

// countTail looks for the last turn marker in the end of the file, or counts if
// that is all of it. It reports false when neither tells.
func (info *Info) countTail(tail []byte, whole bool) bool {
	if !whole {
		_, tail, _ = bytes.Cut(tail, []byte{'\n'})
	}
	messages, model, known := 0, "", whole
	for line := range bytes.Lines(tail) {
		switch {
		case isType(line, typeTurn):
			e, err := decodeEntry(line)
			if err != nil {
				continue
			}
			turn := e.payload.(*turnRecord)
			messages, model, known = turn.Messages, turn.Model, true
		case isType(line, typeMessage):
			if bytes.HasSuffix(bytes.TrimSpace(line), []byte{'}'}) { // else it broke off
				messages++
			}
		}
	}
	if !known {
		return false
	}
	info.Messages = messages
	if model != "" {
		info.Model = model
	}
	return true
}

// found is a session file in the directory.
type found struct {
	path     string
	modified time.Time
	size     int64
}

// files lists the session files, the last written first.
func (st Store) files() ([]found, error) {
	entries, err := os.ReadDir(st.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fileError(st.Dir, err)
	}
	var files []found
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), fileExt) || e.IsDir() {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue // removed since the directory was read
		}
		files = append(files, found{filepath.Join(st.Dir, e.Name()), info.ModTime(), info.Size()})
	}
	slices.SortStableFunc(files, func(a, b found) int {
		if c := b.modified.Compare(a.modified); c != 0 {
			return c
		}
		return strings.Compare(b.path, a.path)
	})
	return files, nil
}

// find returns the file of the session whose id is asked or begins with it.
func (st Store) find(asked string) (string, error) {
	files, err := st.files()
	if err != nil {
		return "", err
	}
	var paths, ids []string
	for _, f := range files {
		id := idOf(f.path)
		if id == asked {
			return f.path, nil
		}
		if asked != "" && strings.HasPrefix(id, strings.ToLower(asked)) {
			paths, ids = append(paths, f.path), append(ids, id)
		}
	}
	if len(paths) == 1 {
		return paths[0], nil
	}
	slices.Sort(ids)
	if len(ids) > 0 {
		return "", lookupError("session %s: several begin so: %s", asked, strings.Join(ids, ", "))
	}
	return "", lookupError("session %s: there is none with this id", asked)
}

// idOf is the id in a file's name; a name that artoo did not make is its own
// id.
func idOf(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), fileExt)
	if i := len(stamp); len(name) > i+1 && name[i] == '-' {
		if _, err := time.Parse(stamp, name[:i]); err == nil {
			return name[i+1:]
		}
	}
	return name
}
