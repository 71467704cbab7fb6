package journal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A session that is a copy of another can take back what was changed before, and
// what it does then is its own.
func TestACopyTakesBackWhatItsSourceChanged(t *testing.T) {
	root, state := t.TempDir(), t.TempDir()
	from, to := filepath.Join(state, "one"), filepath.Join(state, "two")
	open := func(dir string) *Journal {
		j, err := Open(Config{Dir: dir, Root: root})
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	file := filepath.Join(root, "a")
	j := open(from)
	s := j.Begin(1, "write a")
	if _, err := s.Before("a"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("new"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.End(); err != nil {
		t.Fatal(err)
	}
	if err := Copy(from, to); !errors.Is(err, ErrInUse) {
		t.Errorf("a journal in use was copied: %v", err)
	}
	if err := errors.Join(j.Close(), Copy(from, to), Copy(filepath.Join(state, "none"), filepath.Join(state, "three"))); err != nil {
		t.Fatal(err)
	}
	j = open(to)
	p, err := j.Plan(context.Background(), 1, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Apply(context.Background(), p); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a is still there: %v", err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = open(from)
	if turns := j.Turns(); len(turns) != 1 {
		t.Errorf("the source knows of turns %v", turns)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}
