//go:build macos

package main_test

import (
	"os"
	"testing"

	"golang.org/x/tools/go/packages"
)

// TestMacOS checks the types of every package, tests included, as they are for macOS. It reads the sources alone: go
// vet would compile the standard library and all others for that, which takes ten times as long.
func TestMacOS(t *testing.T) {
	t.Setenv("GOOS", "darwin")
	list, err := packages.Load(&packages.Config{Mode: packages.LoadAllSyntax &^ packages.NeedTypesInfo, Tests: true, Env: os.Environ()}, "./...")
	if err != nil || len(list) < 100 {
		t.Fatalf("%d packages: %v", len(list), err)
	}
	for _, p := range list {
		for _, e := range p.Errors {
			t.Error(e)
		}
	}
}
