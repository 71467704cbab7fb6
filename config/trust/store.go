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

// Programs is a project whose own programs may run in the sandbox without a question.
// It is known by its path alone, so that later versions of it are covered too.
type Programs struct {
	Root string    `json:"root"`
	At   time.Time `json:"at"`
}

// Store is the file of the answers, which lies outside every project.
type Store struct{ Path string }

type content struct {
	Version int        `json:"v"`
	Answers []Answer   `json:"answers"`            // the oldest first
	Runs    []Programs `json:"programs,omitempty"` // the oldest first; an artoo that does not know them drops them
}

// Answers are all that were given about what projects bring, the oldest first; none
// where there is no file.
func (s Store) Answers() ([]Answer, error) {
	c, err := s.read()
	return c.Answers, err
}

// Programs are the projects that may run their own programs, the oldest answer first;
// none where there is no file.
func (s Store) Programs() ([]Programs, error) {
	c, err := s.read()
	return c.Runs, err
}

// TrustsPrograms reports whether the project at root may run its own programs.
func (s Store) TrustsPrograms(root string) (bool, error) {
	c, err := s.read()
	return c.has(root), err
}

// TrustPrograms remembers that the project at root may run its own programs.
func (s Store) TrustPrograms(root string, at time.Time) error {
	c, err := s.read()
	if err != nil || c.has(root) {
		return err
	}
	c.Runs = append(c.Runs, Programs{Root: root, At: at})
	return s.write(c)
}

// RevokePrograms forgets that the project at root may run its own programs, and
// reports whether it might.
func (s Store) RevokePrograms(root string) (bool, error) {
	c, err := s.read()
	if err != nil || !c.has(root) {
		return false, err
	}
	c.Runs = slices.DeleteFunc(c.Runs, func(p Programs) bool { return p.Root == root })
	return true, s.write(c)
}

func (c content) has(root string) bool {
	return slices.ContainsFunc(c.Runs, func(p Programs) bool { return p.Root == root })
}

// read is what the file holds; nothing where there is no file.
func (s Store) read() (content, error) {
	data, err := os.ReadFile(s.Path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // no such file either
		return content{}, nil
	}
	var c content
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err == nil && c.Version != storeVersion {
		err = fmt.Errorf("its version is %d, and this artoo knows %d", c.Version, storeVersion)
	}
	if err != nil {
		return content{}, fmt.Errorf("what is trusted cannot be read: %w", err)
	}
	return c, nil
}

// Of is the answer to what a project brings now, nil for none, and the newest one
// that trusts what it brought at any time.
func (s Store) Of(b Settings) (now, trusted *Answer, err error) {
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
func (s Store) Keep(b Settings, trusted bool, at time.Time) error {
	c, err := s.read()
	if err != nil {
		return err
	}
	answers := c.Answers
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
	c.Answers = append(answers, Answer{Root: b.Root, Trusted: trusted, Sum: sum, Files: b.Sums(), At: at})
	return s.write(c)
}

// Revoke forgets all answers about what a project brings, and says how many there were.
func (s Store) Revoke(root string) (int, error) {
	c, err := s.read()
	if err != nil {
		return 0, err
	}
	all := len(c.Answers)
	c.Answers = slices.DeleteFunc(c.Answers, func(a Answer) bool { return a.Root == root })
	if len(c.Answers) == all {
		return 0, nil
	}
	return all - len(c.Answers), s.write(c)
}

// write replaces the file in one step; only its owner can read it.
func (s Store) write(c content) error {
	c.Version = storeVersion
	data, err := json.MarshalIndent(c, "", "\t")
	if err != nil {
		return err
	}
	return atomicfile.Write(s.Path, append(data, '\n'), 0o600)
}
