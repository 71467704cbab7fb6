//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// BenchmarkStart measures the cost to confine a command that does nothing in a
// project of 5,000 files and with the caches that artoo knows, as
// milliseconds over the same command unconfined: the medians of turns taken one by
// one, since the machine may do other things meanwhile.
func BenchmarkStart(b *testing.B) {
	s, root := open(b, func(c *Config) {
		c.Kept, c.IsCache = filepath.Join(c.Temp, "kept"), func(rel string) bool { return filepath.Base(rel) == "__pycache__" }
		for i := range 11 {
			path := filepath.Join(c.Home, "caches", fmt.Sprint(i))
			write(b, path, "a", "text")
			c.Caches = append(c.Caches, Cache{Path: path, Own: filepath.Join(c.Temp, "own", fmt.Sprint(i))})
		}
	})
	for i := range 5000 {
		write(b, root, fmt.Sprintf("d%d/f%d", i/50, i), "text")
	}
	kinds := []struct {
		name    string
		options *Options
	}{{"job", &Options{Job: true}}, {"layer", &Options{Layer: true, Exec: true}}, {"noexec", &Options{Layer: true}},
		{"reading", &Options{ReadOnly: true}}, {"true", nil}}
	took := make([][]time.Duration, len(kinds))
	for b.Loop() {
		for i, kind := range kinds {
			begun := time.Now()
			cmd := exec.Command("/bin/true")
			if kind.options == nil {
				if err := cmd.Run(); err != nil {
					b.Fatal(err)
				}
			} else {
				runTrue(b, s, cmd, *kind.options)
			}
			took[i] = append(took[i], time.Since(begun))
		}
	}
	last := len(kinds) - 1
	for i := range kinds {
		slices.Sort(took[i])
	}
	middle, least := len(took[last])/2, 0
	for i, kind := range kinds[:last] {
		b.ReportMetric((took[i][middle]-took[last][middle]).Seconds()*1e3, kind.name+"-ms")
		b.ReportMetric((took[i][least]-took[last][least]).Seconds()*1e3, kind.name+"-least-ms")
	}
	b.ReportMetric(took[last][middle].Seconds()*1e3, "true-ms")
}

func runTrue(b *testing.B, s *Sandbox, cmd *exec.Cmd, options Options) {
	p, err := s.Start(cmd, options)
	if err != nil {
		b.Fatal(err)
	}
	exit, err := p.Wait()
	if err != nil || exit.Status != 0 {
		b.Fatal(exit, err)
	}
	p.Discard()
}

// BenchmarkLargeTree is BenchmarkStart in a project of 100,000 files, 2,000 of them
// denied, and measures the reading of a layer of 10,000 changed files.
func BenchmarkLargeTree(b *testing.B) {
	var denied []string
	s, root := open(b, func(c *Config) { c.Denied = func() ([]string, error) { return denied, nil } })
	for dir := range 1000 {
		for file := range 100 {
			write(b, root, fmt.Sprintf("d%d/e%d/f%d", dir/30, dir, file), "text")
		}
	}
	took := func(options Options, line string) float64 {
		begun := time.Now()
		cmd := exec.Command("/bin/sh", "-c", line)
		cmd.Env = []string{"PATH=/usr/bin:/bin"}
		p, err := s.Start(cmd, options)
		if err != nil {
			b.Fatal(err)
		}
		exit, err := p.Wait()
		if err != nil || exit.Status != 0 {
			b.Fatal(exit, err)
		}
		ran := time.Now()
		if options.Layer {
			changes, err := p.Changes(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(len(changes.Entries)), "entries")
			if line != ":" {
				begun = ran
			}
			changes.Discard(false)
		}
		return time.Since(begun).Seconds() * 1e3
	}
	for b.Loop() {
		denied = nil
		b.ReportMetric(took(Options{}, ":"), "sandboxed-ms")
		b.ReportMetric(took(Options{Layer: true}, ":"), "layer-ms")
		denied = nil
		for i := range 2000 {
			denied = append(denied, filepath.Join(root, fmt.Sprintf("d%d/e%d/f%d", i%1000/30, i%1000, i/1000)))
		}
		b.ReportMetric(took(Options{}, ":"), "hiding-2000-sandboxed-ms")
		b.ReportMetric(took(Options{Layer: true}, ":"), "hiding-2000-layer-ms")
		b.ReportMetric(took(Options{Layer: true}, ":"), "hiding-2000-again-ms")
		b.ReportMetric(took(Options{Layer: true}, "for d in d0/* d1/* d2/* d3/*; do for f in $d/*; do echo x >> $f; done; done"), "changes-ms")
		b.ReportMetric(took(Options{Layer: true}, "rm -r d0 d1 d2 d3 || true"), "deletions-ms")
	}
}
