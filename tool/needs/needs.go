// Package needs skips a test on a machine that lacks something, and says what that is. A test is never passed for want
// of something: it is skipped by name, and make test counts the skipped ones.
package needs

import (
	"os"
	"os/exec"
	"testing"
)

// Mark stands in the message of a skipped test, before the name of the thing that is lacking.
const Mark = "for want of "

// Program returns the path of a program, and skips the test where there is none of this name.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	Thing(t, name, err)
	return path
}

// Programs skips the test where one of the programs is not there.
func Programs(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		Program(t, name)
	}
}

// Git returns the path of git, and skips the test where there is none.
func Git(t testing.TB) string {
	t.Helper()
	return Program(t, "git")
}

// Python returns the path of Python 3, and skips the test where there is none.
func Python(t testing.TB) string {
	t.Helper()
	return Program(t, "python3")
}

// Root skips the test where it does not run as root.
func Root(t testing.TB) {
	t.Helper()
	True(t, "root", os.Geteuid() == 0)
}

// User skips the test where it runs as root, who may do everything.
func User(t testing.TB) {
	t.Helper()
	True(t, "an ordinary user", os.Geteuid() != 0)
}

// True skips the test for want of the thing where it is not there.
func True(t testing.TB, thing string, there bool) {
	t.Helper()
	if !there {
		t.Skip(Mark + thing)
	}
}

// Thing skips the test for want of the thing where there was an error in trying it.
func Thing(t testing.TB, thing string, err error) {
	t.Helper()
	if err != nil {
		t.Skipf("%s%s: %v", Mark, thing, err)
	}
}
