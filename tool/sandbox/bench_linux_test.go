//go:build amd64 || arm64

package sandbox

import (
	"os/exec"
	"testing"
)

func BenchmarkTrue(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

func benchmark(b *testing.B, options Options) {
	s, _ := open(b, nil)
	for b.Loop() {
		p, err := s.Start(exec.Command("/bin/true"), options)
		if err != nil {
			b.Fatal(err)
		}
		if exit, err := p.Wait(); err != nil || exit.Status != 0 {
			b.Fatal(exit, err)
		}
		if p.layer != nil {
			p.layer.Close()
		}
	}
}

func BenchmarkSandboxed(b *testing.B) { benchmark(b, Options{}) }
func BenchmarkLayer(b *testing.B)     { benchmark(b, Options{Layer: true}) }
func BenchmarkReadOnly(b *testing.B)  { benchmark(b, Options{ReadOnly: true}) }
