package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// reported is what is printed of a package with this test file, by go test itself and without what differs by machine.
func reported(t *testing.T, tests string) (string, []string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module x\ngo 1.26\n", "x_test.go": "package x\n" + tests} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	r := newReport(&out)
	if err := r.of([]string{"go", "-C", dir, "test", "-json", "-vet=off", "./..."}); (err != nil) != strings.Contains(tests, "fails") {
		t.Fatalf("%v\n%s", err, &out)
	}
	return out.String(), r.lines
}

const some = `import "testing"
func TestOne(t *testing.T) { t.Log("tried 3 of 4, seed 5: [0 1 2]") }
func TestTwo(t *testing.T) { t.Skip("for want of git: not found") }
func TestThree(t *testing.T) { t.Run("sub", func(t *testing.T) { t.Skip("no reason") }) }
`

func TestSkippedTestsAreCountedByWhatTheyLack(t *testing.T) {
	t.Parallel()
	out, lines := reported(t, some)
	if !strings.HasPrefix(out, "ok  \tx\t") || strings.Count(out, "\n") != 1 {
		t.Errorf("it prints %q", out)
	}
	if diff := cmp.Diff([]string{"skipped for want of git\tx.TestTwo", "skipped without saying what it lacks\tx.TestThree/sub",
		"swept, seed 5\tx.TestOne\t3\t4"}, slices.Sorted(slices.Values(lines))); diff != "" {
		t.Error(diff)
	}
}

func TestAFailureIsPrintedAsGoTestPrintsIt(t *testing.T) {
	t.Parallel()
	out, _ := reported(t, some+`func TestFails(t *testing.T) { t.Error("fails") }`)
	before, after, _ := strings.Cut(out, "x_test.go:6: fails\n")
	if !strings.HasPrefix(before, "--- FAIL: TestFails (") || !strings.HasPrefix(after, "FAIL\nFAIL\tx\t") || strings.Contains(out, "tried") {
		t.Errorf("it prints %q", out)
	}
}

func TestWhatDoesNotCompileIsPrinted(t *testing.T) {
	t.Parallel()
	if out, _ := reported(t, "fails"); !strings.Contains(out, "expected declaration") || !strings.HasSuffix(out, "FAIL\tx [setup failed]\n") {
		t.Errorf("it prints %q", out)
	}
}

func TestThePartsOfASuiteAreCountedTogether(t *testing.T) {
	t.Parallel()
	one, two := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")
	for file, lines := range map[string][]string{one: {"a\tx", "b\ty\t1\t10"}, two: {"a\tz", "b\tz\t2\t5"}} {
		if err := (&report{lines: lines}).keep(file); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	if err := sumUp(&out, []string{one, two, two + "none"}); err != nil || out.String() != "2 tests a\n2 tests b: 3 of 15 cases\n" {
		t.Errorf("%q %v", &out, err)
	}
}
