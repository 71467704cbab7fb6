package files

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"time"
)

// State is what a file was like at one moment.
type State struct {
	Missing bool // there was no file
	ModTime time.Time
	Size    int64
	// Hash is the SHA-256 of the content; zero for a file that was too large to
	// be read whole.
	Hash [sha256.Size]byte
}

// stateOf describes a file by its whole content.
func stateOf(info fs.FileInfo, content []byte) State {
	return State{ModTime: info.ModTime(), Size: info.Size(), Hash: sha256.Sum256(content)}
}

// StateWith describes a file that holds just this content, whenever it was written;
// nil stands for no file.
func StateWith(content []byte) State {
	if content == nil {
		return State{Missing: true}
	}
	return State{Size: int64(len(content)), Hash: sha256.Sum256(content)}
}

// Same reports whether nothing has changed from s to t: by content where both
// were read whole, else by size and modification time.
func (s State) Same(t State) bool {
	if s.Missing || t.Missing {
		return s.Missing == t.Missing
	}
	var unknown [sha256.Size]byte
	if s.Hash != unknown && t.Hash != unknown {
		return s.Hash == t.Hash
	}
	return s.Size == t.Size && s.ModTime.Equal(t.ModTime)
}

// LoadText reads the text file at the target. A file that does not exist is an
// empty textFile with State.Missing.
func (t Place) LoadText() (Text, []byte, State, error) {
	info, err := t.Replaceable()
	if err != nil {
		return Text{}, nil, State{}, err
	}
	if info == nil {
		return Text{}, nil, State{Missing: true}, nil
	}
	raw, info, err := t.ReadFile(MaxEdit)
	if errors.Is(err, ErrTooLarge) {
		return Text{}, nil, State{}, fmt.Errorf("%w; change it with a command", err)
	}
	if err != nil {
		return Text{}, nil, State{}, err
	}
	if kind := BinaryType(raw); kind != "" {
		return Text{}, nil, State{}, t.Errorf(nil, "is a binary file (%s); change it with a command", kind)
	}
	text, err := Decode(raw)
	if err != nil {
		return Text{}, nil, State{}, t.Errorf(err, "")
	}
	return text, raw, stateOf(info, raw), nil
}

// MaxEdit is the size in bytes of the largest file that is changed here; it is
// held in memory a few times over.
const MaxEdit = 10 << 20

// Source is the text of the file at the absolute path, as Open may read it. The error
// says why there is none.
func (f *Files) Source(abs string) (string, error) {
	t, err := f.Resolve(abs, false)
	if err != nil {
		return "", err
	}
	return t.Source()
}

// Source is the text of a file.
func (t Place) Source() (string, error) {
	data, _, err := t.ReadFile(MaxEdit)
	if err != nil {
		return "", err
	}
	file, err := Decode(data)
	if err != nil {
		return "", t.Errorf(err, "")
	}
	return file.Body, nil
}
