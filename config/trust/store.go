package trust

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"

	"artoo/tool/atomicfile"
)

// mostAnswers is how many contents of one project are remembered: branches differ,
// and going from one to another should not ask each time.
const mostAnswers = 20

// storeVersion is of the file.
const storeVersion = 1

// Answer is what the user said of what a project brought.
type Answer struct {
	Root    string            `json:"root"`
	Trusted bool              `json:"trusted"`
	Sum     string            `json:"sum"`
	Files   map[string]string `json:"files"` // their sums, by name
	At      time.Time         `json:"at"`
}

// Store is the file of the answers, which lies outside of every project.
type Store struct{ Path string }

type content struct {
	Version int      `json:"v"`
	Answers []Answer `json:"answers"` // the oldest first
}

// Answers are all that were given, the oldest first; none where there is no file.
func (s Store) Answers() ([]Answer, error) {
	data, err := os.ReadFile(s.Path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // no such file either
		return nil, nil
	}
	var c content
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err == nil && c.Version != storeVersion {
		err = fmt.Errorf("its version is %d, and this artoo knows %d", c.Version, storeVersion)
	}
	if err != nil {
		return nil, fmt.Errorf("what is trusted cannot be read: %w", err)
	}
	return c.Answers, nil
}

// Of is the answer to what a project brings now, nil for none, and the newest one
// that trusts what it brought at any time.
func (s Store) Of(b Brought) (now, trusted *Answer, err error) {
	answers, err := s.Answers()
	if err != nil {
		return nil, nil, err
	}
	sum := b.Sum()
	for i := range answers {
		a := &answers[i]
		if a.Root == b.Root && a.Sum == sum {
			now = a
		}
		if a.Root == b.Root && a.Trusted {
			trusted = a
		}
	}
	return now, trusted, nil
}

// Keep remembers an answer to what a project brings.
func (s Store) Keep(b Brought, trusted bool, at time.Time) error {
	answers, err := s.Answers()
	if err != nil {
		return err
	}
	sum, same := b.Sum(), 0
	answers = slices.DeleteFunc(answers, func(a Answer) bool { return a.Root == b.Root && a.Sum == sum })
	for _, a := range answers {
		if a.Root == b.Root {
			same++
		}
	}
	if same >= mostAnswers {
		oldest := slices.IndexFunc(answers, func(a Answer) bool { return a.Root == b.Root })
		answers = slices.Delete(answers, oldest, oldest+1)
	}
	return s.write(append(answers, Answer{Root: b.Root, Trusted: trusted, Sum: sum, Files: b.Sums(), At: at}))
}

// Revoke forgets all answers about a project, and says how many there were.
func (s Store) Revoke(root string) (int, error) {
	answers, err := s.Answers()
	if err != nil {
		return 0, err
	}
	kept := slices.DeleteFunc(slices.Clone(answers), func(a Answer) bool { return a.Root == root })
	if len(kept) == len(answers) {
		return 0, nil
	}
	return len(answers) - len(kept), s.write(kept)
}

// write replaces the file in one step; only its owner can read it.
func (s Store) write(answers []Answer) error {
	data, err := json.MarshalIndent(content{storeVersion, answers}, "", "\t")
	if err != nil {
		return err
	}
	return atomicfile.Write(s.Path, append(data, '\n'), 0o600)
}
