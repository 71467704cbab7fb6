package search

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"artoo/tool/files"
	"artoo/tool/git/gittest"
)

// The searched file must be the one that may be shown: in between, another file may have come
// to have its name.
func TestAFileThatWasExchangedIsNotShown(t *testing.T) {
	t.Parallel()
	env := treeEnv(t, map[string]string{"a": "needle\n", "b": "needle\n"})
	top, err := env.Files.Resolve(env.Dir, false)
	if err != nil {
		t.Fatal(err)
	}
	s := fileSearch{files: env.Files, chain: dirChain{at: top}}
	defer s.chain.close()
	dir, err := s.chain.dir("")
	if err != nil {
		t.Fatal(err)
	}
	f, err := dir.file("a")
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	if err := s.refused(filepath.Join(env.Dir, "a"), &f); err != nil {
		t.Error(err)
	}
	if err := os.Rename(filepath.Join(env.Dir, "b"), filepath.Join(env.Dir, "a")); err != nil {
		t.Fatal(err)
	}
	if err := s.refused(filepath.Join(env.Dir, "a"), &f); !errors.Is(err, files.ErrReplaced) {
		t.Errorf("%v", err)
	}
}

func TestASearchEndsWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	env := treeEnv(t, map[string]string{"a": "x\n"})
	q, err := NewQuery("x", QueryOptions{Limit: 5})
	if err != nil {
		t.Fatal(err)
	}
	search := treeSearch{Query: q, files: env.Files, top: env.top(t), timeout: 1}
	if all, err := search.search(t.Context(), []File{{Name: "a"}}); err != nil || !all.TimedOut {
		t.Errorf("%+v: %v", all, err)
	}
}

func TestTheClockIsLookedAtOften(t *testing.T) {
	t.Parallel()
	p, err := compilePattern(strings.Repeat("(a|b)", 2000), false, false)
	if err != nil {
		t.Fatal(err)
	}
	if work := p.piece() * p.size; work > 4*maxPieceWork {
		t.Errorf("%d steps between two looks at the clock", work)
	}
}

// Whatever stands under git's name, files are listed, and none outside.
func TestListFilesWithAStrangeGit(t *testing.T) {
	for name, script := range map[string]string{
		"fails": "echo x >&2; exit 128", "leads out": `printf 'a\0../../etc/passwd\0'`,
		"absolute": `printf '/etc/passwd\0'`, "killed": "kill -9 $$",
	} {
		t.Run(name, func(t *testing.T) {
			env := treeEnv(t, map[string]string{".gitignore": "*.o\n", "a.go": "", "b.o": ""})
			gittest.Repo(t, env.Dir)
			bin := t.TempDir()
			if err := os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", bin)
			sameListing(t, env, env.Dir, []string{".gitignore", "a.go"})
		})
	}
}

// With enough found, the rest is not read: a pipe behind it would never end.
func TestASearchStopsAtItsLimit(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"x", "x|y", "(?i)X"} {
		q, err := NewQuery(pattern, QueryOptions{Context: 1, Limit: 3})
		if err != nil {
			t.Fatal(err)
		}
		s := q.fileSearch(nil).lines
		endless := io.MultiReader(strings.NewReader(strings.Repeat("x\n", 10)), neverEnding{})
		hits, err := searchIn(t.Context(), &s, endless, 3)
		if err != nil || hits.count != 3 || !hits.more || len(hits.lines) != 4 {
			t.Errorf("%s: %+v %v", pattern, hits, err)
		}
	}
}

// neverEnding gives lines without end.
type neverEnding struct{}

func (neverEnding) Read(p []byte) (int, error) {
	return copy(p, strings.Repeat("no\n", len(p)/3+1)), nil
}
