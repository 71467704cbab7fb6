//go:build amd64 || arm64

package sandbox

import (
	"os/exec"
	"slices"
	"testing"
	"time"
)

// BenchmarkStart tells what it costs to confine a command that does nothing, as
// milliseconds over the same command unconfined: the medians of turns taken one by
// one, since the machine may do other things meanwhile.
func BenchmarkStart(b *testing.B) {
	s, _ := open(b, nil)
	kinds := []struct {
		name    string
		options *Options
	}{{"sandboxed", &Options{}}, {"layer", &Options{Layer: true}}, {"reading", &Options{ReadOnly: true}}, {"true", nil}}
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
	if p.layer != nil {
		p.layer.Close()
	}
}
