package tool

import (
	"crypto/sha256"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"
)

// maxDifference is how much of what others changed is shown, in bytes.
const maxDifference = 4 << 10

// difference is what others changed in a text since the model saw it, as the lines
// of a diff; "" for nothing. whole says that it is all of it.
func difference(then, now string) (diff string, whole bool) {
	unified, err := udiff.ToUnifiedDiff("as read", "as it is now", then, udiff.Lines(then, now), udiff.DefaultContextLines)
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

// staleEdit is for a file that changed since it was read. Where a command of the
// model's own did that, an edit whose places are as they were, once, is what the
// model meant; for any other it returns the reason with what was changed. lines
// returns those that the edit would change in a text. view is what of a text counts,
// nil for all of it. note is for the result.
func (f *Files) staleEdit(t target, now State, before textFile, view func(string) string,
	lines func(textFile) ([]string, error)) (note string, err error) {
	stale := f.stale(t, now)
	if stale == nil {
		return "", nil
	}
	seen, _ := f.sightOf(t.Abs)
	shown, is := seen.body, before.body
	if view != nil {
		shown, is = view(shown), view(is)
	}
	diff, whole := difference(shown, is)
	if !seen.kept || diff == "" && view == nil {
		return "", stale
	}
	refused := func(how, begins string) error {
		return t.errorf(nil, "has changed%s; read it again before changing it. %s:\n%s", how, begins, diff)
	}
	then, err := lines(textFile{body: seen.body})
	current, nowErr := lines(before)
	switch {
	case !whole:
		return "", refused(" a lot since it was read", "It begins")
	case seen.ours == nil || !seen.ours.Same(now):
		return "", refused(" since it was read, and not by a command of yours", "What has changed")
	case err != nil || nowErr != nil || !slices.Equal(then, current):
		return "", refused(" since it was read", "What has changed")
	}
	if diff == "" {
		return "(a command had changed the file since it was read, but not the source of a cell)\n", nil
	}
	return "(a command had changed the file since it was read, but not there:\n" + diff + ")\n", nil
}

// OwnChanges watches the files that the model has seen while a command of its own
// runs. The func it returns is called once, when the command is done: what then is
// no longer as it was has been changed by the model itself, as far as anybody can
// tell.
func (f *Files) OwnChanges() (done func()) {
	look := func(abs string) State {
		info, err := os.Lstat(abs)
		if err != nil {
			return State{Missing: true}
		}
		return State{ModTime: info.ModTime(), Size: info.Size()}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	known := map[string]State{}
	for abs, s := range f.seen {
		if now := look(abs); now.Same(s.State) || s.ours != nil && now.Same(*s.ours) {
			known[abs] = now
		}
	}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		for abs, before := range known {
			if now := look(abs); !now.Same(before) {
				s := f.seen[abs]
				s.ours = &now
				f.seen[abs] = s
			}
		}
	}
}

// applyEdits returns the lines that the edits would change, as they are before.
func applyEdits(text textFile, edits []replacement) (lines []string, err error) {
	for _, e := range edits {
		places, _, err := text.locate(e)
		if err != nil {
			return nil, err
		}
		lines = append(lines, text.touched(places)...)
		text = text.apply(places)
	}
	return lines, nil
}

// touched are the lines that edits would change, as they are before.
func (t textFile) touched(edits []udiff.Edit) (lines []string) {
	for _, e := range edits {
		from := strings.LastIndexByte(t.body[:e.Start], '\n') + 1
		to := len(t.body)
		if i := strings.IndexByte(t.body[e.End:], '\n'); i >= 0 {
			to = e.End + i
		}
		lines = append(lines, t.body[from:to])
	}
	return lines
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
