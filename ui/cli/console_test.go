package cli

import (
	"strings"
	"testing"
)

// What a stream on Windows is, by what the system tells of it.
func TestWindowsConsolesAreSetUp(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		isConsole, understands bool
		pipe                   string
		want                   console
		hint                   string
	}{
		{isConsole: true, understands: true, want: consoleFull},
		{isConsole: true, want: consoleOld, hint: "Windows Terminal"},
		{pipe: `\msys-1888ae32e00d56aa-pty0-to-master`, want: consoleMintty, hint: "winpty artoo"},
		{pipe: `\msys-1888ae32e00d56aa-pty12-from-master`, want: consoleMintty, hint: "winpty artoo"},
		{pipe: `\cygwin-e022582115c10879-pty4-from-master`, want: consoleMintty, hint: "winpty artoo"},
		{pipe: `\msys-1888ae32e00d56aa-12345-pipe-0x1`, want: consoleNone},
		{pipe: `\msys-1888ae32e00d56aa-ptyx-to-master`, want: consoleNone},
		{pipe: `\msys-1888ae32e00d56aa-pty-to-master`, want: consoleNone},
		{pipe: `\other-1888ae32e00d56aa-pty0-to-master`, want: consoleNone},
		{pipe: `\Winsock2\CatalogChangeListener-1-0`, want: consoleNone},
		{pipe: "", want: consoleNone},
	} {
		got := windowsConsole(test.isConsole, test.understands, test.pipe)
		if got != test.want || got.tty() != (test.want != consoleNone) {
			t.Errorf("%+v is %v", test, got)
		}
		if why := got.why(); (why == "") != (test.hint == "") || !strings.Contains(why, test.hint) {
			t.Errorf("%+v: it says %q", test, why)
		}
	}
}
