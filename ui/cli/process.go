package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"os/user"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"artoo/agent"
	"artoo/conversation"
	"artoo/tool/environ"
	"artoo/tool/names"
	"artoo/ui/prompt"
)

// Process holds the streams, arguments and environment of the process: nothing else of artoo asks for them.
type Process struct {
	Args         []string // the program's name is left out
	In, Out, Err *os.File
	Environ      environ.Vars // the variables, as os.Environ gives them
	Dir          string       // the working directory, absolute; "" where there is none
	Version      string       // "" in a build that was not stamped
	Commit, Date string
	// Exit ends the process at once. It is called on the goroutine that crashed,
	// where Main cannot return any more.
	Exit func(code int)
	Docs fs.FS // has the pages of the documentation in docs; nil for none

	openSession func(path string, flags int) (conversation.File, error) // nil but in tests: conversation.Store's own
}

// env is the value of a variable, as os.Getenv.
func (s *session) env(name string) string { return s.process.Environ.Get(name) }

// abs is a path of the user's, seen from the working directory.
func (s *session) abs(path string) string { return names.Abs(s.process.Dir, path) }

// openFile opens a file of the user's to be read. The error names it as the user did.
func (s *session) openFile(path string) (*os.File, error) {
	f, err := os.Open(s.abs(path))
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		failed.Path = path
	}
	return f, err
}

// build says which program this is.
type build struct {
	Version  string `json:"version"`          // 1.2.3, without a v
	Commit   string `json:"commit,omitempty"` // "" where it is not known, as Date
	Date     string `json:"date,omitempty"`
	Go       string `json:"go"`       // go1.26
	Platform string `json:"platform"` // linux/amd64
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
		"\nplatform  " + b.Platform
}

// number is a version that begins with three numbers, as programs that compare
// versions expect: 0.0.0 comes before the version of a build without a tag.
func number(version string) string {
	version = strings.TrimPrefix(version, "v")
	parts := strings.SplitN(version, ".", 3)
	if len(parts) == 3 && !slices.ContainsFunc(parts, func(p string) bool { return p == "" || p[0] < '0' || p[0] > '9' }) {
		return version
	}
	return "0.0.0-" + cmp.Or(strings.Trim(version, "()"), "devel")
}

// withHome gives a process that was started without HOME, as by cron, systemd or a
// container, the home directory of its user in the system's list. artoo and the programs
// it runs then read one variable. If the list has none, HOME stays unset, and the error
// of the directory that needs it says so.
func withHome(vars environ.Vars) environ.Vars {
	if vars.Home() != "" {
		return vars
	}
	if u, err := user.Current(); err == nil && u.HomeDir != "" {
		return vars.With("HOME", u.HomeDir)
	}
	return vars
}

// guarded runs f. A panic of its goroutine becomes its error.
func (s *session) guarded(f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = s.crashed(value, debug.Stack())
		}
	}()
	return f()
}

// crash ends the program after a panic of any goroutine of a conversation. The
// others go on meanwhile, so that nothing they use can be relied on: neither the
// screen nor the session.
func (a *app) crash(value any, stack []byte) {
	a.crashing.Lock() // a second crash waits here for the end
	a.unsign()
	failure := a.crashed(value, stack)
	a.process.Exit(newApp(&session{process: a.process, began: a.began}).exit(failure))
}

// unsign takes the signs of a conversation from a terminal whose screen may hang.
func (a *app) unsign() {
	if a.screen != nil {
		_, _ = io.WriteString(a.process.Err, a.screen.LastSigns()) // the program ends
	}
}

// crashed is the user's message of a panic, whose trace is kept in a file.
func (s *session) crashed(value any, stack []byte) *agent.Failure {
	what := thrown(value)
	return fail(agent.KindInternal, "crashed", errors.New(what), s.traced(what, stack, "report it"))
}

// traced writes a trace and is the hint that leads to it.
func (s *session) traced(what string, stack []byte, do string) string {
	path, err := s.writeTrace(what, stack)
	if err != nil {
		return fmt.Sprintf("again; the trace could not be kept: %v", err)
	}
	return do + " with the trace in " + path
}

// quit ends the program after a SIGQUIT: its stacks are in a file, and two lines
// say so. Nothing that others use is touched, since the program may hang.
func (a *app) quit() {
	stack := make([]byte, maxTrace)
	stack = stack[:runtime.Stack(stack, true)]
	last := &session{process: a.process}
	a.unsign()
	last.show(fail(agent.KindInternal, "stopped", errors.New("quit signal (Ctrl-\\)"),
		a.traced("SIGQUIT", stack, "artoo -c to continue; if it hung, report it")))
	last.show(fail(agent.KindInternal, "quit", prompt.DieOfQuit(), ""))
	a.process.Exit(128 + int(syscall.SIGQUIT))
}

// watchQuit lets a SIGQUIT that is not ignored end a headless run with a trace.
func (a *app) watchQuit() {
	if signal.Ignored(syscall.SIGQUIT) {
		return
	}
	came := make(chan os.Signal, 1)
	signal.Notify(came, syscall.SIGQUIT)
	done := make(chan struct{})
	a.ends = append(a.ends, func() { signal.Stop(came); close(done) })
	go func() {
		select {
		case <-came:
			a.quit()
		case <-done:
		}
	}()
}

// maxTrace bounds the trace of all goroutines, in bytes.
const maxTrace = 1 << 20

// thrown describes the value of a panic. Only the runtime's own errors are given in
// words: any other value may hold a message or a key.
func thrown(value any) string {
	if err, ok := value.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("a value of type %T was thrown", value)
}

// writeTrace writes a trace to a new file that only the user can read.
func (s *session) writeTrace(what string, stack []byte) (path string, err error) {
	dir := s.process.Environ.TempDir()
	if s.cfg != nil {
		if state, err := s.cfg.Paths.StateDir(); err == nil && os.MkdirAll(state, 0o700) == nil {
			dir = state
		}
	}
	b := s.process.build()
	text := fmt.Sprintf("artoo %s %s, %s, %s\n%s\n\n%s\n\n%s", b.Version, b.Commit, b.Go, b.Platform,
		time.Now().UTC().Format(time.RFC3339), what, stack)
	f, err := os.CreateTemp(dir, "crash-"+time.Now().UTC().Format("20060102T150405")+"-*.txt") // made 0600
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	return s.abs(f.Name()), nil
}
