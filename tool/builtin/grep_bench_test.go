package builtin

import (
	"encoding/json"
	"go/build"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"artoo/tool"
	"artoo/tool/files"
)

// BenchmarkSearch measures searches of the Go source tree, and where ripgrep is
// found, how long its whole process takes for the same: the two take turns, since
// the machine may be busy with other things. ratio is that of the medians.
func BenchmarkSearch(b *testing.B) {
	root, err := filepath.EvalSymlinks(filepath.Join(build.Default.GOROOT, "src"))
	if err != nil {
		b.Fatal(err)
	}
	files, err := files.Open(files.Config{Root: root})
	if err != nil {
		b.Fatal(err)
	}
	defer files.Close()
	env := &tool.Env{Files: files, Dir: root}
	rg, _ := exec.LookPath("rg")
	for _, test := range []struct {
		name, input string
		tool        tool.Tool
		rg          []string
	}{
		{"literal", `{"pattern":"ErrUnexpectedEOF","limit":1000}`, Grep(), []string{"-n", "ErrUnexpectedEOF"}},
		{"nothing", `{"pattern":"no such words in it"}`, Grep(), []string{"-n", "no such words in it"}},
		{"literalPart", `{"pattern":"func \\(\\w+ \\*?\\w+\\) Close\\(","limit":1000}`, Grep(),
			[]string{"-n", `func \(\w+ \*?\w+\) Close\(`}},
		{"class", `{"pattern":"[A-Z]\\w+Handler\\b","limit":1000}`, Grep(), []string{"-n", `[A-Z]\w+Handler\b`}},
		{"anyCase", `{"pattern":"(?i)todo|fixme","files_only":true,"limit":1000}`, Grep(),
			[]string{"-l", "(?i)todo|fixme"}},
		{"limit", `{"pattern":"ErrUnexpectedEOF","limit":5}`, Grep(), []string{"-n", "-m", "5", "ErrUnexpectedEOF"}},
		{"limitAnyCase", `{"pattern":"(?i)todo|fixme","limit":5}`, Grep(), []string{"-n", "-m", "5", "(?i)todo|fixme"}},
		{"glob", `{"pattern":"**/*.go"}`, Glob(), []string{"--files", "-g", "**/*.go"}},
	} {
		b.Run(test.name, func(b *testing.B) {
			var own, others []time.Duration
			for b.Loop() {
				start := time.Now()
				if _, err := test.tool.Run(b.Context(), env, json.RawMessage(test.input), nil); err != nil {
					b.Fatal(err)
				}
				own = append(own, time.Since(start))
				if rg == "" {
					continue
				}
				start = time.Now()
				cmd := exec.Command(rg, append(test.rg, ".")...)
				cmd.Dir = root
				_, _ = cmd.Output() // 1 when nothing matches
				others = append(others, time.Since(start))
			}
			slices.Sort(own)
			slices.Sort(others)
			b.ReportMetric(float64(own[len(own)/2].Microseconds())/1000, "ms")
			if len(others) > 0 {
				b.ReportMetric(float64(others[len(others)/2].Microseconds())/1000, "rg-ms")
				b.ReportMetric(float64(own[len(own)/2])/float64(others[len(others)/2]), "ratio")
			}
		})
	}
}
