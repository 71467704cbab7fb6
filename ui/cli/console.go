package cli

import "strings"

// console is what stands behind a stream that is, or may be, a terminal. Only
// Windows has others than consoleFull and consoleNone.
type console int

const (
	consoleNone   console = iota // no terminal
	consoleFull                  // one that understands escape sequences
	consoleOld                   // a Windows console that does not
	consoleMintty                // a terminal of MSYS2 or Cygwin, which Windows takes for a pipe
)

// tty reports whether somebody is behind it.
func (c console) tty() bool { return c != consoleNone }

// why says why it gets text and nothing else, with a hint; "" where it can have
// more.
func (c console) why() string {
	switch c {
	case consoleOld:
		return "a console without escape sequences; Windows Terminal has them"
	case consoleMintty:
		return "mintty; winpty artoo has line editing"
	}
	return ""
}

// windowsConsole decides what a stream on Windows is: isConsole and understands
// come from the console's modes, pipe is the name of a pipe, "" for none.
func windowsConsole(isConsole, understands bool, pipe string) console {
	switch {
	case isConsole && understands:
		return consoleFull
	case isConsole:
		return consoleOld
	case minttyPipe(pipe):
		return consoleMintty
	}
	return consoleNone
}

// minttyPipe reports whether a pipe's name is one that MSYS2 and Cygwin give the
// ends of their terminals: \msys-1888ae32e00d56aa-pty0-to-master.
func minttyPipe(name string) bool {
	parts := strings.Split(strings.TrimPrefix(name, `\`), "-")
	if len(parts) != 5 || parts[0] != "msys" && parts[0] != "cygwin" || parts[1] == "" {
		return false
	}
	number, ok := strings.CutPrefix(parts[2], "pty")
	return ok && number != "" && strings.Trim(number, "0123456789") == "" &&
		(parts[3] == "to" || parts[3] == "from") && parts[4] == "master"
}
