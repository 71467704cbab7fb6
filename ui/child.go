package ui

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"artoo/ui/screen"
)

// errNoEditor says that no editor is set, or that none can run here.
var errNoEditor = errors.New("no editor: set VISUAL or EDITOR")

// getenv looks up a variable of the user's environment.
func getenv(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(environ[i], name+"="); ok {
			return value
		}
	}
	return ""
}

// shellArgv runs a command line a user configured, which may hold arguments,
// with more arguments added.
func shellArgv(line string, args ...string) []string {
	if runtime.GOOS == "windows" {
		return append(strings.Fields(line), args...)
	}
	return append([]string{"sh", "-c", line + ` "$@"`, line}, args...)
}

// editor is the command line of the user's editor, "" where there is none. A
// simple terminal cannot show a full-screen one: only EDITOR counts there, as
// for git.
func (t *Terminal) editor() string {
	if !t.hasTerminal() {
		return ""
	}
	if visual := getenv(t.opt.Environ, "VISUAL"); visual != "" && t.opt.Profile != screen.Plain {
		return visual
	}
	return getenv(t.opt.Environ, "EDITOR")
}

// pager is the command of the pager, nil where the text has to be printed: on a
// simple terminal, for a screen reader, and when the user wants none.
func (t *Terminal) pager() []string {
	if t.opt.Profile != screen.Rich || !t.hasTerminal() {
		return nil
	}
	line := t.opt.Pager
	if line == "" {
		line = getenv(t.opt.Environ, "PAGER")
	}
	if line == "" {
		line = "less"
	}
	if line == "cat" {
		return nil
	}
	return shellArgv(line)
}

// pagerEnviron makes less leave short texts on the screen and pass colours, if
// the user did not say otherwise.
func pagerEnviron(environ []string) []string {
	environ = append([]string(nil), environ...)
	for _, def := range []string{"LESS=FRX", "LV=-c"} {
		name, _, _ := strings.Cut(def, "=")
		if !hasVariable(environ, name) {
			environ = append(environ, def)
		}
	}
	return environ
}

func hasVariable(environ []string, name string) bool {
	for _, v := range environ {
		if strings.HasPrefix(v, name+"=") {
			return true
		}
	}
	return false
}

// hasTerminal says whether a child could talk to the person.
func (t *Terminal) hasTerminal() bool {
	in, ok := t.opt.In.(*os.File)
	return ok && t.opt.Tty != nil && isTerminal(in) && !t.opt.Lines
}

// editText lets the user's editor change text. An editor that fails, or leaves
// an empty file, changes nothing.
func (t *Terminal) editText(ctx context.Context, text, suffix string) (edited string, err error) {
	command := t.editor()
	if command == "" {
		return "", errNoEditor
	}
	dir, err := os.MkdirTemp("", "artoo-edit-*") // made 0700
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "edit"+suffix)
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		return "", err
	}
	if err := t.child(shellArgv(command, path), t.opt.Environ, nil); err != nil {
		return "", err
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	edited = strings.TrimSuffix(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
	if strings.TrimSpace(edited) == "" {
		return text, nil
	}
	return edited, nil
}

// child runs a program that has the terminal to itself. Its input is the
// terminal unless one is given. While it runs, Ctrl-C is for it alone.
func (t *Terminal) child(argv, environ []string, in io.Reader) error {
	return t.console.yield(func() error {
		command := exec.Command(argv[0], argv[1:]...)
		command.Env = environ
		command.Stdin, command.Stdout, command.Stderr = in, t.opt.Tty, t.opt.Tty
		if in == nil {
			command.Stdin = t.opt.In
		}
		return command.Run()
	})
}
