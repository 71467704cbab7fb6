package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// version is that of the log; see docs/undo.md.
const version = 1

// The types of lines.
const (
	lineJournal = "journal" // The first line says whose journal it is.
	lineBegin   = "begin"   // A step begins.
	lineBefore  = "before"  // A path was this before a tool's call.
	lineSaw     = "saw"     // A look at the project found this new in a directory.
	lineWalk    = "walk"    // The whole project was looked at.
	lineIntent  = "intent"  // This is about to be done to a path.
	lineGo      = "go"      // The intents are whole.
	lineChange  = "change"  // A path became this.
	lineEnd     = "end"     // A step is over.
	lineAdded   = "added"   // Paths may lie in this directory outside the project.
	lineLeft    = "left"    // A path that was put back is known by this.
	lineDied    = "died"    // The process of the open steps was last alive then.
)

// The kinds of steps. One of a tool or a command has none.
const (
	kindUndo  = "undo"
	kindRedo  = "redo"
	kindLayer = "layer"
	// kindRun is a program's own run of many steps: the changes of a killed one stay, to be undone.
	kindRun = "run"
	// kindQuarantine is a step that only moves things out of the project.
	kindQuarantine = "quarantine"
)

// line is one line of the log. Which fields are set depends on its type.
type line struct {
	Type   string    `json:"type"`
	V      int       `json:"v,omitempty"`
	Root   string    `json:"root,omitempty"`
	Step   int       `json:"step,omitempty"`
	Turn   int       `json:"turn,omitempty"`
	Kind   string    `json:"kind,omitempty"`
	What   string    `json:"what,omitempty"`
	Head   string    `json:"head,omitempty"`
	Time   time.Time `json:"time,omitzero"`
	Steps  []int     `json:"steps,omitempty"`
	Path   string    `json:"path,omitempty"`
	From   string    `json:"from,omitempty"`
	Before *State    `json:"before,omitempty"`
	After  *State    `json:"after,omitempty"`
	// Entries are the new or different names of a directory, Gone the names that are no longer
	// in it; "." is the directory itself.
	Entries []sawEntry `json:"entries,omitempty"`
	Gone    []string   `json:"gone,omitempty"`
	Unseen  []string   `json:"unseen,omitempty"`
	// Failed says that an undo or redo was not done.
	Failed bool `json:"failed,omitempty"`
	// Open is how many other steps are open where one ends.
	Open int `json:"open,omitempty"`
}

// each calls f with every path of the line: they may be any bytes, and JSON
// strings are not.
func (l *line) each(f func(string) string) {
	for _, s := range []*string{&l.Path, &l.From, &l.Root} {
		*s = f(*s)
	}
	for _, list := range []*[]string{&l.Unseen, &l.Gone} {
		*list = slices.Clone(*list)
		for i, path := range *list {
			(*list)[i] = f(path)
		}
	}
	for i := range l.Entries {
		l.Entries[i].Name, l.Entries[i].Content = f(l.Entries[i].Name), f(l.Entries[i].Content)
	}
	for _, state := range []**State{&l.Before, &l.After} {
		if *state != nil {
			changed := **state
			changed.Target, changed.Peer = f(changed.Target), f(changed.Peer)
			*state = &changed
		}
	}
}

func (l line) change() Change {
	c := Change{Path: l.Path, From: l.From}
	if l.Before != nil {
		c.Before = *l.Before
	}
	if l.After != nil {
		c.After = *l.After
	}
	return c
}

func changeLine(typ string, step int, c Change) line {
	return line{Type: typ, Step: step, Path: c.Path, From: c.From, Before: &c.Before, After: &c.After}
}

// log is the append-only file of lines. Its callers take turns.
type log struct {
	file *os.File
	size int64
	at   func(point string) error
}

// append writes the lines with a single write: all, or after an error none.
func (l *log) append(lines ...line) error {
	var b []byte
	for _, one := range lines {
		text, err := one.text()
		if err != nil {
			return err
		}
		b = append(b, text...)
	}
	return l.write(b)
}

func (l line) text() ([]byte, error) {
	l.each(escape)
	text, err := json.Marshal(l)
	return append(text, '\n'), err
}

func (l *log) write(b []byte) error {
	if err := l.at("log"); err != nil {
		return err
	}
	if _, err := l.file.WriteAt(b, l.size); err != nil {
		// A part may be there, whatever number of bytes is returned with the error.
		if cutErr := l.file.Truncate(l.size); cutErr != nil {
			err = fmt.Errorf("%w; cut back: %w", err, cutErr)
		}
		return err
	}
	l.size += int64(len(b))
	return nil
}

// sawPrefix begins the lines that record a look. Most of a log are such lines, and only
// [readTree] needs them.
var (
	sawPrefix  = []byte(`{"type":"` + lineSaw + `"`)
	walkPrefix = []byte(`{"type":"` + lineWalk + `"`)
)

// readLog hands each whole line to f, except those of looks. An incomplete last line, left by a crash, is cut off.
func readLog(file *os.File, at func(string) error, f func(line)) (*log, error) {
	data, err := io.ReadAll(io.NewSectionReader(file, 0, 1<<62))
	if err != nil {
		return nil, err
	}
	size, err := readLines(data, f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file.Name(), err)
	}
	l := &log{file: file, size: int64(size), at: at}
	if size == len(data) {
		return l, nil
	}
	return l, file.Truncate(l.size)
}

// readLines hands each whole line to f, except those of looks, and returns the size of all. A line that
// cannot be read, before the last, is an error: another line could depend on it.
func readLines(data []byte, f func(line)) (size int, err error) {
	number := 0
	for text := range bytes.Lines(data) {
		number++
		last := size+len(text) == len(data)
		if last && text[len(text)-1] != '\n' {
			break // torn by a crash of the machine, as are others that cannot be read
		}
		if last || !bytes.HasPrefix(text, sawPrefix) {
			var l line
			if err := json.Unmarshal(text, &l); err != nil && !last {
				return size, fmt.Errorf("line %d: %w", number, err)
			} else if err != nil {
				break
			}
			l.each(unescape)
			f(l)
		}
		size += len(text)
	}
	return size, nil
}
