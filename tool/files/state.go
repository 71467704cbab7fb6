package files

import (
	"crypto/sha256"
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
