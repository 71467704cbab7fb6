package journal

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// bigTree makes a project of so many files, twenty in each directory.
func bigTree(b *testing.B, files int) (root, state string) {
	b.Helper()
	dir, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	root = filepath.Join(dir, "project")
	for i := range files / 20 {
		sub := filepath.Join(root, fmt.Sprintf("area%02d", i%50), fmt.Sprintf("package%05d", i))
		if err := os.MkdirAll(sub, 0o755); err != nil {
			b.Fatal(err)
		}
		for k := range 20 {
			content := fmt.Appendf(nil, "package p%d\n\n// File %d of %d.\n%0*d\n", i, k, files, 200+k*90, 0)
			if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("file%02d.go", k)), content, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	return root, filepath.Join(dir, "state", "s1")
}

// BenchmarkSnapshot measures the wait of a shell command in a project of 200,000 files: the first time, and when all is
// kept.
func BenchmarkSnapshot(b *testing.B) {
	root, dir := bigTree(b, 200_000)
	j, err := Open(Config{Dir: dir, Root: root})
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	run := func(b *testing.B) (before, after time.Duration, lacks []Lack) {
		s := j.Begin(1, "run")
		start := time.Now()
		lacks, err := s.Snapshot(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		before = time.Since(start)
		start = time.Now()
		if _, err := s.End(); err != nil {
			b.Fatal(err)
		}
		return before, time.Since(start), lacks
	}
	first, end, lacks := run(b)
	b.Logf("first: %v before, %v after, %d not covered", first, end, len(lacks))
	commands := 1
	late := func(l Lack) bool { return l.Why == NoTime }
	for ; slices.ContainsFunc(lacks, late) && commands < 50; commands++ {
		_, _, lacks = run(b)
	}
	b.Logf("%d not covered after %d commands", len(lacks), commands)
	b.Run("kept", func(b *testing.B) {
		for b.Loop() {
			before, after, lacks := run(b)
			b.ReportMetric(float64(before.Milliseconds()), "ms-before")
			b.ReportMetric(float64(after.Milliseconds()), "ms-after")
			b.ReportMetric(float64(len(lacks)), "not-covered")
		}
	})
}

// BenchmarkEdits measures the journal's share of editing a file of 10 KB,
// as a part of the least that an edit takes: an atomic write.
func BenchmarkEdits(b *testing.B) {
	root := b.TempDir()
	j, err := Open(Config{Dir: filepath.Join(b.TempDir(), "s1"), Root: root})
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	path := filepath.Join(root, "main.go")
	n := 0
	var own, all time.Duration
	for b.Loop() {
		n++
		start := time.Now()
		s := j.Begin(1, "edit main.go")
		if _, err := s.Before(path); err != nil {
			b.Fatal(err)
		}
		begun := time.Now()
		writeAtomic(b, path, fmt.Appendf(nil, "package main // %d\n%010000d\n", n, 0))
		written := time.Now()
		if _, err := s.End(); err != nil {
			b.Fatal(err)
		}
		own += begun.Sub(start) + time.Since(written)
		all += time.Since(start)
	}
	b.ReportMetric(float64(own.Microseconds())/float64(n), "µs-journal")
	b.ReportMetric(100*float64(own)/float64(all-own), "%-of-the-write")
}

func writeAtomic(b *testing.B, path string, data []byte) {
	b.Helper()
	f, err := os.Create(path + ".tmp")
	if err != nil {
		b.Fatal(err)
	}
	if _, err := f.Write(data); err != nil {
		b.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	if err := os.Rename(path+".tmp", path); err != nil {
		b.Fatal(err)
	}
}
