package trust

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// largeTree is a project with as many settings as can be trusted: 19,000 files of skills and a large one.
func largeTree(t testing.TB) string {
	root := t.TempDir()
	for dir := range 100 {
		at := filepath.Join(root, ".claude", "skills", fmt.Sprint("s", dir))
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		for i := range 190 {
			if err := os.WriteFile(filepath.Join(at, fmt.Sprint("f", i)), []byte("text"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(root, ".claude", "big"), bytes.Repeat([]byte("x"), mostBytes), 0o644); err != nil {
		t.Fatal(err)
	}
	return root
}

// A large directory of skills can be trusted, and is read in the time that a start may take.
func TestALargeDirectoryOfSkillsIsRead(t *testing.T) {
	t.Parallel()
	root := largeTree(t)
	began := time.Now()
	found, err := Find(root, root, nil, []string{".claude"})
	took := time.Since(began)
	if err != nil || len(found.Files) != 19_001 {
		t.Fatalf("%d files, %v", len(found.Files), err)
	}
	if !testing.Short() && took > 10*time.Second { // The race detector takes many times longer.
		t.Errorf("it took %v", took)
	}
	if big := found.Files[0]; big.Size != mostBytes || big.Data != nil || big.Sum == "" {
		t.Errorf("the large file is %d bytes, %d of them kept", big.Size, len(big.Data))
	}
}

// A start of artoo in a project with settings that are trusted takes these steps.
func BenchmarkLargeSettings(b *testing.B) {
	root, store := largeTree(b), Store{filepath.Join(b.TempDir(), "trust.json")}
	find := func() Settings {
		found, err := Find(root, root, nil, []string{".claude"})
		if err != nil {
			b.Fatal(err)
		}
		return found
	}
	found := find()
	for i := range mostAnswers {
		found.Files[0].Sum = fmt.Sprint(i)
		if err := store.Keep(found, true, time.Now()); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("find", func(b *testing.B) {
		for b.Loop() {
			find()
		}
	})
	b.Run("answer", func(b *testing.B) {
		for b.Loop() {
			answers, err := store.Read()
			if now, _ := answers.Of(found); now == nil || err != nil {
				b.Fatal(now, err)
			}
		}
	})
}

// However many contents of a large directory are trusted, the names of one of them are kept.
func TestAnswersKeepTheNamesOfOneContent(t *testing.T) {
	t.Parallel()
	store := Store{filepath.Join(t.TempDir(), "trust.json")}
	b := Settings{Root: "/p", Files: []File{{Name: ".claude/x"}}}
	for i := range mostNamed {
		b.Files = append(b.Files, File{Name: fmt.Sprint(".claude/y", i)})
	}
	for i, trusted := range []bool{true, true, false, true, false} {
		b.Files[0].Sum = fmt.Sprint(i)
		if err := store.Keep(b, trusted, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	answers, err := store.Read()
	var with []int
	for i, a := range answers.Settings {
		if a.Files != nil {
			with = append(with, i)
		}
	}
	if _, last := answers.Of(b); err != nil || len(answers.Settings) != 5 || !slices.Equal(with, []int{3}) || last == nil || last.Files[".claude/x"] != "3" {
		t.Errorf("%v: names in %v of %d answers, the last trusted is %+v", err, with, len(answers.Settings), last)
	}
}
