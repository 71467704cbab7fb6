//go:build unix

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"artoo/provider/providertest"
	"artoo/tool/environ"
	"artoo/tool/journal"
)

const (
	editCalls = 100
	editSize  = 10 << 10
	treeFiles = 200_000
)

// took is how long artoo takes for a run in a directory.
func (s *suite) took(b *testing.B, dir string, env []string, args ...string) time.Duration {
	b.Helper()
	in := *s
	in.dir = dir
	began := time.Now()
	in.run(b, env, s.artoo, args...)
	return time.Since(began)
}

// edits measures the cost of keeping the original of each edited file: runs of a hundred
// edits with a journal, and with a file in the place of its directory, which prevents
// one.
func (s *suite) edits(b *testing.B) {
	m := newModel(b, func(n int, _ providertest.Request) providertest.Reply {
		if n = n % (editCalls + 1); n == editCalls {
			return providertest.Chat(providertest.Text("Done."))
		}
		return providertest.Chat(providertest.Call(fmt.Sprint("c", n), "edit",
			fmt.Sprintf(`{"path":"main.go","old_string":"step %d;","new_string":"step %d;"}`, n, n+1)))
	})
	kept, none := m.env(b), m.env(b)
	state := filepath.Join(environ.Vars(none).Get("HOME"), ".local", "state", "artoo")
	if err := os.MkdirAll(state, 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(state, "journal"), nil, 0o600); err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(b.TempDir(), "main.go")
	run := func(env []string) func() time.Duration {
		return func() time.Duration {
			text := "step 0;\n" + strings.Repeat("a line of the program\n", editSize/22)
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				b.Fatal(err)
			}
			return s.took(b, filepath.Dir(file), env, "-p", "--approval", "edits", "--max-turns", "200", "edit it")
		}
	}
	t := repeat(editRuns, run(kept), run(none))
	journals, err := filepath.Glob(filepath.Join(environ.Vars(kept).Get("HOME"), ".local/state/artoo/journal/*/*/journal.jsonl"))
	if err != nil || len(journals) != editRuns {
		b.Fatalf("%d journals were kept, %v", len(journals), err)
	}
	s.add(row{what: fmt.Sprintf("%d edits of a file of %d KB, kept for undo", editCalls, editSize>>10),
		value: millis(t[0].least), unit: "ms",
		beside: fmt.Sprintf("not kept %.0f ms; medians %.0f and %.0f ms", millis(t[1].least), millis(t[0].median), millis(t[1].median)),
		ratio:  pairRatio(t[0], t[1]), mostRatio: 1.05})
}

// looks is how long a command waits while the project is looked at, in a large one.
func (s *suite) looks(b *testing.B) {
	root := b.TempDir()
	for i := range treeFiles / 20 {
		dir := filepath.Join(root, fmt.Sprint("area", i%50), fmt.Sprint("package", i))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		for k := range 20 {
			text := fmt.Appendf(nil, "package p%d\n%0*d\n", i, 200+k*90, k)
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("file", k, ".go")), text, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	j, err := journal.Open(journal.Config{Dir: filepath.Join(b.TempDir(), "journal"), Root: root})
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	var lacks []journal.Lack
	look := func() (took time.Duration) {
		step := j.Begin(1, "run")
		began := time.Now()
		if lacks, err = step.Snapshot(b.Context()); err != nil {
			b.Fatal(err)
		}
		took = time.Since(began)
		if _, err := step.End(); err != nil {
			b.Fatal(err)
		}
		return took
	}
	add := func(when string, took time.Duration) {
		s.add(row{what: fmt.Sprintf("before a command in a project of %d files, %s", treeFiles, when), value: millis(took),
			unit: "ms", most: 300})
	}
	add("the first one", look())
	late := func(l journal.Lack) bool { return l.Why == journal.NoTime }
	for n := 0; slices.ContainsFunc(lacks, late) && n < 50; n++ {
		look()
	}
	t := repeat(loopRuns, look)
	add("once all is kept", t[0].least)
}

// sandboxed measures the time that confining adds to a step of a long task: a command
// that only reads, and one of the project's own.
func (s *suite) sandboxed(b *testing.B) {
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "step.sh"), []byte("#!/bin/sh\necho step\n"), 0o755); err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct{ line, what string }{{"echo step", "`echo`"}, {"./step.sh", "a script of the project's"}} {
		loop := newModel(b, func(n int, _ providertest.Request) providertest.Reply {
			if n%(loopCalls+1) == loopCalls {
				return providertest.Chat(providertest.Text("Done."))
			}
			return providertest.Chat(providertest.Call(fmt.Sprint("c", n), "bash", `{"command":"`+c.line+`"}`))
		})
		none := newModel(b, always(providertest.Chat(providertest.Text("Done."))))
		open, confined := loop.env(b), loop.env(b, "ARTOO_SANDBOX=auto", "container=bench")
		needsLayers(b, s.artoo, confined)
		run := func(env []string) func() time.Duration {
			return func() time.Duration {
				return s.took(b, dir, env, "-p", "--allow", "bash("+c.line+")", "--max-turns", "100", "begin")
			}
		}
		t := repeat(loopRuns, run(confined), run(open), run(none.env(b)))
		step := func(all time.Duration) float64 { return millis(all-t[2].least) / loopCalls }
		there, here := step(t[1].least), step(t[0].least)
		s.add(row{what: fmt.Sprintf("a step of a loop of %d calls of %s, confined", loopCalls, c.what), value: here, unit: "ms",
			beside: fmt.Sprintf("not confined %.2f ms", there), ratio: here / there, most: max(2*there, there+3)})
	}
}
