package testlog

import (
	"os"
	"testing"
)

func TestMain(m *testing.M) { os.Exit(Run(m)) }

func TestALineIsKeptOnce(t *testing.T) {
	const log = "# test log\ngetenv HOME\nstat a\nopen a\nstat a\n"
	if got, want := string(shortened([]byte(log))), "# test log\ngetenv HOME\nstat a\nopen a\n"; got != want {
		t.Errorf("kept %q, want %q", got, want)
	}
}

// The same name may be another file in another directory.
func TestALineCountsAgainInAnotherDirectory(t *testing.T) {
	const log = "# test log\nchdir /one\nstat a\nchdir /two\nstat a\nstat a\n"
	const want = "# test log\nchdir /one\nstat a\nchdir /two\nstat a\n"
	if got := string(shortened([]byte(log))); got != want {
		t.Errorf("kept %q, want %q", got, want)
	}
}
