//go:build unix

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"artoo/provider/providertest"
)

const (
	outputSize = 1 << 30
	outputRuns = 5
)

// output measures a command with very long output, beside cat to a pipe, and whether
// the memory depends on the length.
func (s *suite) output(b *testing.B) {
	dir := b.TempDir()
	big, small := filepath.Join(dir, "big.txt"), filepath.Join(dir, "small.txt")
	writeLines(b, big, outputSize)
	writeLines(b, small, outputSize/4)
	env := func(file string) []string {
		return newModel(b, func(n int, _ providertest.Request) providertest.Reply {
			if n%2 == 1 {
				return providertest.Chat(providertest.Text("Done."))
			}
			return providertest.Chat(providertest.Call("c", "bash", fmt.Sprintf(`{"command":"cat %s"}`, file)))
		}).env(b)
	}
	args := []string{"-p", "--allow", "bash(cat:*)", "show it"}
	in := *s
	in.dir = dir
	all := env("big.txt")
	took := func(env []string, program string, args ...string) func() time.Duration {
		return func() time.Duration {
			began := time.Now()
			in.run(b, env, program, args...)
			return time.Since(began)
		}
	}
	t := repeat(outputRuns, took(all, s.artoo, args...), took(nil, "sh", "-c", "cat big.txt | cat >/dev/null"))
	s.add(row{what: "a command that prints 1 GB, start to exit", value: millis(t[0].least), unit: "ms",
		beside: fmt.Sprintf("cat to a pipe %.0f ms; medians %.0f and %.0f ms", millis(t[1].least), millis(t[0].median), millis(t[1].median)),
		ratio:  float64(t[0].least) / float64(t[1].least), mostRatio: 2})
	whole, quarter := in.used(b, all, s.artoo, args...), in.used(b, env("small.txt"), s.artoo, args...)
	s.add(row{what: "peak of resident memory, a command that prints 1 GB", value: megabytes(whole.RSS), unit: "MB",
		beside: fmt.Sprintf("a quarter of it %.1f MB; CPU %.0f ms", megabytes(quarter.RSS), millis(whole.CPU)),
		ratio:  float64(whole.RSS) / float64(quarter.RSS), mostRatio: 1.1})
}

// writeLines makes a file of a text as logs are.
func writeLines(b *testing.B, file string, size int) {
	b.Helper()
	f, err := os.Create(file)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	var text strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&text, "2026-11-23 01:02:03 step %d of the build took %d ms\n", i, i*7919%1000)
	}
	for left := size; left > 0; left -= text.Len() {
		if _, err := f.WriteString(text.String()[:min(left, text.Len())]); err != nil {
			b.Fatal(err)
		}
	}
}
