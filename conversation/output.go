package conversation

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// maxOutput is the most of one output that is kept in a file, in bytes.
const maxOutput = 50 << 20

// outputs writes what is too long for the history to files of its own.
type outputs struct {
	dir  string // "" keeps nothing
	next int    // number of the next file
}

// location is where an output was kept.
type location struct {
	path string // "" when it was not
	why  string // then why not, else what the file holds; a sentence, or its beginning before the path
	// again says that the text was cut before: what is left out now is not all
	// that is missing.
	again bool
}

// keep writes data to a new file whose name begins with what made it.
func (o *outputs) keep(name, ext, data string) location {
	if o.dir == "" {
		return location{why: "The rest is not kept."}
	}
	why := "The whole is in"
	if len(data) > maxOutput {
		cut := maxOutput
		for cut > 0 && ext == ".txt" && !utf8.RuneStart(data[cut]) {
			cut--
		}
		data = data[:cut]
		why = "The first 50 MB are in"
	}
	path, err := o.write(fileName(name), ext, data)
	if err != nil {
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			err = e.Err
		}
		return location{why: fmt.Sprintf("The rest could not be kept: %v.", err)}
	}
	return location{path: path, why: why}
}

// write makes the directory and the file. An existing file is never touched:
// sub-agents and earlier runs write into the same directory.
func (o *outputs) write(name, ext, data string) (string, error) {
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return "", err
	}
	for {
		o.next++
		path := filepath.Join(o.dir, fmt.Sprintf("%s-%d%s", name, o.next, ext))
		if err := createFile(path, data); !errors.Is(err, os.ErrExist) {
			return path, err
		}
	}
}

// createFile makes a file for its user only. One that is there is never touched,
// and one that cannot be written whole does not stay.
func createFile(path, data string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// fileName makes a name of letters, digits, _ and -.
func fileName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, s)
	if s == "" {
		return "output"
	}
	return s[:min(len(s), 40)]
}

// saltExt ends the name of the file beside a session that its marks are made with.
const saltExt = ".salt"

// saltMax is more bytes than any salt has.
const saltMax = 1 << 10

// Salt is what KeepSalt kept for the session, or for the one it was forked from;
// nil if there is none. No export holds it.
func (s *Session) Salt() ([]byte, error) {
	for _, dir := range s.OutputDirs() {
		path := strings.TrimSuffix(dir, outputExt) + saltExt
		switch info, err := os.Stat(path); {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, err
		case info.Size() > saltMax:
			return nil, fileError(path, errors.New("is no salt"))
		}
		return os.ReadFile(path)
	}
	return nil, nil
}

// KeepSalt writes the salt beside the session, for its user only.
func (s *Session) KeepSalt(salt []byte) error {
	path := strings.TrimSuffix(s.path, fileExt) + saltExt
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return createFile(path, string(salt))
}
