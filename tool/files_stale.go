package tool

import (
	"crypto/sha256"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"
)

// maxDifference is how much of what others changed is shown, in bytes.
const maxDifference = 4 << 10

// difference is what others changed in a file since the model saw it, as the lines
// of a diff; "" where that is not known. whole says that it is all of it.
func (s sight) difference(now textFile) (diff string, whole bool) {
	if !s.kept {
		return "", false
	}
	unified, err := udiff.ToUnifiedDiff("as read", "as it is now", s.body, udiff.Lines(s.body, now.body),
		udiff.DefaultContextLines)
	if err != nil {
		return "", false
	}
	text := strings.ToValidUTF8(unified.String(), "�")
	if len(text) <= maxDifference {
		return text, true
	}
	cut := strings.LastIndexByte(text[:maxDifference], '\n') + 1
	return text[:cut] + "[more was changed further down]\n", false
}

// staleEdit is for a file that others changed since it was read: an edit whose
// places are as they were, once, is what the model meant; for any other it returns
// the reason with what was changed. note is for the result.
func (f *Files) staleEdit(t target, now State, before textFile, edits []replacement) (note string, err error) {
	stale := f.stale(t, now)
	if stale == nil {
		return "", nil
	}
	seen, _ := f.sightOf(t.Abs)
	diff, whole := seen.difference(before)
	if diff == "" {
		return "", stale
	}
	then, err := applyEdits(textFile{body: seen.body}, edits)
	current, nowErr := applyEdits(before, edits)
	if err != nil || nowErr != nil || !slices.Equal(then, current) {
		return "",
			t.errorf(nil, "has changed since it was read; read it again before changing it. What has changed:\n%s", diff)
	}
	if !whole {
		return "",
			t.errorf(nil, "has changed a lot since it was read; read it again before changing it. It begins:\n%s", diff)
	}
	return "(the file had changed since it was read, but not there:\n" + diff + ")\n", nil
}

// applyEdits returns the lines that the edits would change, as they are before.
func applyEdits(text textFile, edits []replacement) (lines []string, err error) {
	for _, e := range edits {
		next, _, err := text.replace(e)
		if err != nil {
			return nil, err
		}
		old := text.adopt(*e.OldString)
		for _, at := range occurrences(text.body, old, false) {
			from := strings.LastIndexByte(text.body[:at], '\n') + 1
			to := len(text.body)
			if i := strings.IndexByte(text.body[at+len(old):], '\n'); i >= 0 {
				to = at + len(old) + i
			}
			lines = append(lines, text.body[from:to])
		}
		text = next
	}
	return lines, nil
}

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
