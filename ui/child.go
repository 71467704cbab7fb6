package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"artoo/tool/environ"
	"artoo/ui/prompt"
	"artoo/ui/screen"
)

// shellPipeWait is how long the output of a command's background processes is waited for.
const shellPipeWait = 500 * time.Millisecond

var errNoEditor = errors.New("no editor: set VISUAL or EDITOR")

// lookup finds a variable, and whether it is set: an empty PAGER means something.
func lookup(environ []string, name string) (value string, set bool) {
	for i := len(environ) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(environ[i], name+"="); ok {
			return value, true
		}
	}
	return "", false
}

func (c *children) variable(name string) string {
	value, _ := lookup(c.opt.Environ, name)
	return value
}

func (c *children) withPath(environ []string) []string {
	if c.opt.Path == "" {
		return environ
	}
	return append(slices.Clip(environ), "PATH="+c.opt.Path)
}

// programs is the environment of the programs that artoo starts by itself.
func (c *children) programs() []string {
	return environ.WithoutKeys(c.opt.Environ, c.opt.KeyVariables...)
}

// shellArgv runs a configured command line, with more arguments.
func shellArgv(line string, args ...string) []string {
	return append([]string{"sh", "-c", line + ` "$@"`, line}, args...)
}

// editor is the command line of the user's editor, "" where none is set or none can run. A
// simple terminal shows only EDITOR, as for git.
func (c *children) editor() string {
	if !c.hasTerminal() {
		return ""
	}
	if visual := c.variable("VISUAL"); visual != "" && c.opt.Profile != screen.Plain {
		return visual
	}
	return c.variable("EDITOR")
}

// pager is the command of the pager, nil where the text has to be printed, or the user wants
// none.
func (c *children) pager() []string {
	if c.opt.Profile != screen.Rich || c.opt.Piped || !c.hasTerminal() {
		return nil
	}
	return c.opt.pagerArgv()
}

func (c Children) pagerArgv() []string {
	line, set := c.Pager, c.Pager != ""
	if !set {
		line, set = lookup(c.Environ, "PAGER")
	}
	if !set {
		line = "less"
	}
	if line = strings.TrimSpace(line); line == "" || line == "cat" {
		return nil
	}
	return shellArgv(line)
}

// pagerEnviron makes less leave short texts on the screen and pass colours.
func pagerEnviron(environ []string) []string {
	environ = append([]string(nil), environ...)
	for _, def := range []string{"LESS=FRX", "LV=-c"} {
		name, _, _ := strings.Cut(def, "=")
		if _, set := lookup(environ, name); !set {
			environ = append(environ, def)
		}
	}
	return environ
}

// page shows safe text in the pager, or prints it where none can run.
func (c *children) page(text string) error {
	argv := c.pager()
	if argv == nil {
		c.opt.Screen.Block(text)
		return nil
	}
	err := c.child(argv, pagerEnviron(c.programs()), strings.NewReader(text))
	if err == nil || leftEarly(err) {
		return nil
	}
	c.opt.Screen.Block(text)
	return fmt.Errorf("%s: %w", argv[len(argv)-1], err)
}

// Page shows safe text in the user's pager on a terminal; false where the user wants none, or it
// failed. An interrupt is for the pager.
func (c Children) Page(terminal *os.File, text string) (shown bool, err error) {
	argv := c.pagerArgv()
	if argv == nil {
		return false, nil
	}
	cmd := c.Environ.Command(context.Background(), argv[0], argv[1:]...)
	cmd.Env = pagerEnviron(environ.WithoutKeys(c.Environ, c.KeyVariables...))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), terminal, terminal
	if err := cmd.Run(); err != nil && !leftEarly(err) {
		return false, fmt.Errorf("%s: %w", argv[len(argv)-1], err)
	}
	return true, nil
}

// leftEarly says whether a pager ended because the user had seen enough. A shell reports its
// child's signal as 128 and the number.
func leftEarly(err error) bool {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return false
	}
	signal := syscall.Signal(exit.ExitCode() - 128)
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		signal = status.Signal()
	}
	return slices.Contains([]syscall.Signal{syscall.SIGINT, syscall.SIGQUIT, syscall.SIGPIPE}, signal)
}

// ownSession lets a program run apart from the terminal and its keys.
func ownSession(command *exec.Cmd) { command.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// stopCommand asks a command, or its group, to end, or kills it. One that shares the terminal
// gets Ctrl-C by itself.
func stopCommand(command *exec.Cmd, kill bool) error {
	pid, sig := command.Process.Pid, syscall.SIGTERM
	if command.SysProcAttr != nil && command.SysProcAttr.Setsid {
		pid, sig = -pid, syscall.SIGINT
	}
	if kill {
		sig = syscall.SIGKILL
	}
	if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

func (c *children) hasTerminal() bool {
	in, ok := c.opt.In.(*os.File)
	return ok && c.opt.Tty != nil && prompt.IsTerminal(in) && !c.opt.Lines
}

// editText lets the user's editor change text, which stays as it was when the editor left it
// empty or did not write. Without an editor the error is errNoEditor.
func (c *children) editText(ctx context.Context, text, suffix string) (edited string, err error) {
	command := c.editor()
	if command == "" {
		return "", errNoEditor
	}
	edited, saved, err := c.edit(ctx, command, text, suffix)
	if err == nil && (!saved || strings.TrimSpace(edited) == "") {
		edited = text
	}
	return edited, err
}

// composeText lets the user write a message in VISUAL, EDITOR or vi, beginning with text. saved
// is false when the editor wrote nothing.
func (c *children) composeText(ctx context.Context, text string) (edited string, saved bool, err error) {
	command := c.editor()
	switch {
	case command != "":
	case !c.hasTerminal():
		return "", false, errors.New("no terminal to edit on: write the message on lines between \"\"\"")
	case c.opt.Profile == screen.Plain:
		return "", false, errors.New("no editor for a simple terminal: " +
			"set EDITOR to one that needs no full screen, such as ed or emacsclient")
	default:
		command = "vi"
	}
	return c.edit(ctx, command, text, ".md")
}

func (c *children) edit(ctx context.Context, command, text, suffix string) (edited string, saved bool, err error) {
	dir, err := os.MkdirTemp(c.opt.Environ.TempDir(), "artoo-edit-*") // made 0700
	if err != nil {
		return "", false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "edit"+suffix)
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		return "", false, err
	}
	// An old time, so that even a write in the same moment can be told.
	old := time.Unix(1, 0)
	if err := os.Chtimes(path, old, old); err != nil {
		return "", false, err
	}
	if err := c.child(shellArgv(command, path), c.withPath(c.programs()), nil); err != nil {
		return "", false, fmt.Errorf("%s: %w; VISUAL or EDITOR names another", command, err)
	}
	if ctx.Err() != nil {
		return "", false, context.Cause(ctx)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", false, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", false, err
	}
	edited = strings.TrimSuffix(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n")
	return edited, !info.ModTime().Equal(old), nil
}

// child runs a program that has the terminal to itself; in is its input, nil for the terminal.
func (c *children) child(argv, environ []string, in io.Reader) error {
	command := c.opt.Environ.Command(context.Background(), argv[0], argv[1:]...)
	command.Env, command.Stdin = environ, in
	command.WaitDelay = shellPipeWait // a process left behind may hold its input and never read it
	return c.prompt.Run(command)
}

// giveBack puts text into the next prompt, as no command, or shows it.
func (t *Terminal) giveBack(text string) {
	switch {
	case strings.TrimSpace(text) == "":
	case t.prompt.Edits():
		t.initial = prompt.Literal(text)
	default:
		t.screen.Note("not sent: " + text)
	}
}
