package tool

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

// planned is what a Plan of a changing call showed, for the Run after it.
type planned struct {
	abs   string            // the file the path led to
	state State             // and what it was like
	after [sha256.Size]byte // hash of what is to be written
}

// plan keeps what was shown for the path as the model wrote it.
func (f *Files) plan(path string, p planned) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.planned[path] = p
}

// takePlan returns what plan kept, once.
func (f *Files) takePlan(path string) (p planned, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, ok = f.planned[path]
	delete(f.planned, path)
	return p, ok
}
