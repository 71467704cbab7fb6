// Package testlog shortens what a test program tells go test of the files and variables that it looked at.
package testlog

import (
	"bytes"
	"flag"
	"os"
)

// Run runs the tests of a TestMain and returns their exit status. The log for Go's cache of test results, which go test
// asks for by the flag test.testlogfile, then has each line once. go test looks at the file of each line. The tests of
// ui/cli run artoo in their own process, and look at 70,000 files two million times: that took go test 20 s of CPU,
// after the last test. Run panics if it cannot read or write the log.
func Run(m interface{ Run() int }) int {
	code := m.Run()
	log := flag.Lookup("test.testlogfile")
	if log == nil || log.Value.String() == "" {
		return code
	}
	name := log.Value.String()
	lines, err := os.ReadFile(name)
	if err == nil {
		err = os.WriteFile(name, shortened(lines), 0o666)
	}
	if err != nil {
		panic(err)
	}
	return code
}

// shortened leaves out each line that stands further above already. A name that is no absolute path belongs to the
// directory that the last chdir named, so that after each of these all lines count again.
func shortened(lines []byte) []byte {
	kept, seen := make([]byte, 0, len(lines)/16), map[string]bool{}
	for line := range bytes.Lines(lines) {
		if seen[string(line)] {
			continue
		}
		if bytes.HasPrefix(line, []byte("chdir ")) {
			clear(seen)
		}
		seen[string(line)] = true
		kept = append(kept, line...)
	}
	return kept
}
