package files

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"time"
)

// Seen holds the lines of files that the model knows: those it was shown, and those it wrote. The zero Seen is
// ready; it is safe for concurrent use.
type Seen struct {
	mu    sync.Mutex
	files map[string]ReadState
	kept  int // bytes of the texts in files
}

// Aside returns a func that restores the model's present knowledge of the files, whatever it is shown until then.
func (s *Seen) Aside() (restore func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	files, kept := maps.Clone(s.files), s.kept
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.files, s.kept = files, kept
	}
}

// ReadState is the state of a file when the model was shown it, and the lines shown.
type ReadState struct {
	State
	Whole bool
	Lines []Span // those shown of a file that is not whole; in order, apart
	Of    int    // lines the file has, 0 when unknown
	Cells []Span // those shown of a notebook, by their numbers; in order, apart
	// Body is the text as it was shown, "" when it was not Kept.
	Body string
	Kept bool
	// ours is the state in which a command of the model's own left the file since, nil for none.
	ours *State
}

// Span is a run of lines, counted from 1, to excluded.
type Span struct{ From, To int }

// JoinSpans puts spans in order and joins those that touch.
func JoinSpans(spans []Span) []Span {
	slices.SortStableFunc(spans, func(a, b Span) int { return a.From - b.From })
	var joined []Span
	for _, s := range spans {
		if last := len(joined) - 1; last >= 0 && s.From <= joined[last].To {
			joined[last].To = max(joined[last].To, s.To)
		} else {
			joined = append(joined, s)
		}
	}
	return joined
}

// Replaced is where spans are after n new items took the place of those from one to another, excluded.
func Replaced(spans []Span, from, to, n int) []Span {
	now := []Span{{from, from + n}}
	shift := n - (to - from)
	for _, s := range spans {
		now = append(now, Span{s.From, min(s.To, from)}, Span{max(s.From, to) + shift, s.To + shift})
	}
	return JoinSpans(slices.DeleteFunc(now, func(s Span) bool { return s.From >= s.To }))
}

// ShowsCell reports whether the model has seen the source of a notebook's cell.
func (s ReadState) ShowsCell(number int) bool {
	return s.Whole || slices.ContainsFunc(s.Cells, func(c Span) bool { return c.From <= number && number < c.To })
}

// Unseen says why the file may not be replaced as a whole, "" where it may.
func (s ReadState) Unseen() string {
	if s.Whole {
		return ""
	}
	next, to := 1, s.Of
	if len(s.Lines) > 0 && s.Lines[0].From == 1 {
		next = s.Lines[0].To
		if len(s.Lines) > 1 {
			to = s.Lines[1].From - 1
		}
	} else if len(s.Lines) > 0 {
		to = s.Lines[0].From - 1
	}
	if s.Of == 0 {
		return "was not shown as the text it is; change a part of it with edit"
	}
	if next == to {
		return fmt.Sprintf("line %d of %d was not shown whole, and would be lost; read it first (offset=%d), or "+
			"change a part with edit, which also works on lines too long to show",
			next, s.Of, next)
	}
	return fmt.Sprintf("lines %d-%d of %d were not shown whole, and would be lost; read them first (offset=%d), or "+
		"change a part with edit", next, to, s.Of, next)
}

// ChangedByCommand reports whether a command of the model's own made the file's present state.
func (s ReadState) ChangedByCommand(now State) bool { return s.ours != nil && s.ours.Same(now) }

// Of is the model's state of the file at a Place.Abs; ok is false for an unknown file.
func (s *Seen) Of(abs string) (known ReadState, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok = s.files[abs]
	return known, ok
}

// Bounds of the texts that are kept to show the changes of others, in bytes.
const (
	MaxKeptText  = 256 << 10
	maxKeptTexts = 8 << 20
)

// Keep replaces the model's state of a file.
func (s *Seen) Keep(abs string, known ReadState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files == nil {
		s.files = map[string]ReadState{}
	}
	s.kept -= len(s.files[abs].Body)
	if len(known.Body) > MaxKeptText || s.kept+len(known.Body) > maxKeptTexts {
		known.Body, known.Kept = "", false
	}
	s.kept += len(known.Body)
	s.files[abs] = known
}

// AddPage adds lines shown of a file to those shown before of the same content.
func (s *Seen) AddPage(abs string, now ReadState) {
	if old, ok := s.Of(abs); ok && !now.Whole && old.Same(now.State) {
		if now.Whole = old.Whole; !now.Whole {
			now.Lines = JoinSpans(append(slices.Clone(old.Lines), now.Lines...))
			now.Cells = JoinSpans(append(slices.Clone(old.Cells), now.Cells...))
		}
		if !now.Kept {
			now.Body, now.Kept = old.Body, old.Kept
		}
	}
	if one := now.Lines; now.Of > 0 && len(one) == 1 && one[0] == (Span{1, now.Of + 1}) {
		now.Whole = true
	}
	s.Keep(abs, now)
}

// Forget drops the model's state of a file that is gone.
func (s *Seen) Forget(abs string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept -= len(s.files[abs].Body)
	delete(s.files, abs)
}

// State describes a file at one moment.
type State struct {
	Missing bool // there was no file
	ModTime time.Time
	Size    int64
	// Hash is the SHA-256 of the content, zero for a file too large to be read.
	Hash [sha256.Size]byte
}

// stateOf describes a file by its whole content.
func stateOf(info fs.FileInfo, content []byte) State {
	return State{ModTime: info.ModTime(), Size: int64(len(content)), Hash: sha256.Sum256(content)}
}

// StateWith describes a file that holds just this content; nil stands for no file.
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

// LoadText reads the text file at the target; one that does not exist is empty, with State.Missing.
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
	raw = t.AsEdited(raw)
	text, err := Decode(raw)
	if err != nil {
		return Text{}, nil, State{}, t.Errorf(err, "")
	}
	return text, raw, stateOf(info, raw), nil
}

// MaxEdit is the size in bytes of the largest file that is changed here.
const MaxEdit = 10 << 20

// Source is the text of the file at an absolute path that Open may read.
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
