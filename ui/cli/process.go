package cli

import (
	"cmp"
	"io/fs"
	"os"
	"os/user"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"artoo/conversation"
)

// Process is what the process brings: nothing else of artoo asks for it.
type Process struct {
	Args         []string // the program's name is left out
	In, Out, Err *os.File
	Version      string // "" in a build that was not stamped
	Commit, Date string
	// Exit ends the process at once. It is called on the goroutine that crashed,
	// where Main cannot return any more.
	Exit func(code int)
	Docs fs.FS // has the pages of the documentation in docs; nil for none

	openSession func(path string, flags int) (conversation.File, error) // nil but in tests: conversation.Store's own
}

// build says which program this is.
type build struct {
	Version      string // 1.2.3, without a v
	Commit, Date string // "" where they are not known
	Go, Platform string // go1.26, linux/amd64
}

func (p Process) build() build {
	version := p.Version
	if info, ok := debug.ReadBuildInfo(); ok && version == "" {
		version = info.Main.Version
	}
	return build{number(version), p.Commit, p.Date, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
}

// String is all that is known of the build, a line each.
func (b build) String() string {
	return "artoo " + b.Version +
		"\ncommit    " + cmp.Or(b.Commit, "unknown") +
		"\ndate      " + cmp.Or(b.Date, "unknown") +
		"\ngo        " + b.Go +
		"\nplatform  " + b.Platform + "\n"
}

// number is a version that begins with three numbers, as those who compare
// versions expect: what a build without a tag says of itself comes behind 0.0.0.
func number(version string) string {
	version = strings.TrimPrefix(version, "v")
	parts := strings.SplitN(version, ".", 3)
	if len(parts) == 3 && !slices.ContainsFunc(parts, func(p string) bool { return p == "" || p[0] < '0' || p[0] > '9' }) {
		return version
	}
	return "0.0.0-" + cmp.Or(strings.Trim(version, "()"), "devel")
}

// setHome gives a process that was started without HOME, as by cron, systemd or a
// container, the home directory of its user in the system's list. artoo and what it
// runs then read one variable. Where the list has none, HOME stays unset, and the
// directory that needs it says so.
func setHome() {
	if os.Getenv("HOME") != "" {
		return
	}
	if u, err := user.Current(); err == nil && u.HomeDir != "" {
		// It fails only for a name or value that no variable can have.
		_ = os.Setenv("HOME", u.HomeDir)
	}
}
