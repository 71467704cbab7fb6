//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"artoo/ui/screen"
)

// desktop is a directory of clipboard tools that write their input and their
// arguments to a file.
func desktop(t *testing.T, tools ...string) (dir, out string) {
	t.Helper()
	dir, out = t.TempDir(), filepath.Join(t.TempDir(), "clipboard")
	for _, name := range tools {
		body := "#!/bin/sh\nPATH=/usr/bin:/bin\n{ echo \"" + name + " $*\"; cat; } >" + out + "\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(body), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir, out
}

func TestCopyTakesTheToolOfTheDesktop(t *testing.T) {
	t.Parallel()
	all := []string{"wl-copy", "xclip", "xsel", "clip.exe"}
	for _, test := range []struct {
		name  string
		tools []string
		env   []string
		typed string
		want  string // "" for none
		says  string
	}{
		{"wayland", all, []string{"WAYLAND_DISPLAY=wayland-0", "DISPLAY=:0"}, "/copy", "wl-copy \nthe last",
			"copied 8 bytes with wl-copy"},
		{"x11", all, []string{"DISPLAY=:0"}, "/copy 1", "xclip -selection clipboard\nthe last", "with xclip"},
		{"xsel", []string{"xsel", "wl-copy"}, []string{"DISPLAY=:0"}, "/copy 2",
			"xsel --clipboard --input\nthe one before", "with xsel"},
		{"wsl", all, nil, "/copy", "clip.exe \n\xff\xfet\x00h\x00e\x00 \x00l\x00a\x00s\x00t\x00", "with clip.exe"},
		{"mac", []string{"pbcopy", "xclip"}, []string{"DISPLAY=:0"}, "/copy", "pbcopy \nthe last", "with pbcopy"},
		{"no tool", nil, []string{"DISPLAY=:0"}, "/copy", "", "no clipboard tool here"},
		{"no display", []string{"xclip", "wl-copy"}, nil, "/copy", "", "/copy osc52"},
		{"ssh", all, []string{"WAYLAND_DISPLAY=wayland-0", "SSH_TTY=/dev/pts/1"}, "/copy",
			"", "over ssh the clipboard is on the other machine; /copy osc52"},
		{"no such answer", all, []string{"DISPLAY=:0"}, "/copy 3", "", "there is no answer 3 turns back"},
		{"no number", all, []string{"DISPLAY=:0"}, "/copy all", "", `unknown word "all": use osc52`},
		{"pipes have no terminal to ask", all, nil, "/copy osc52", "", "no terminal here to ask"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir, out := desktop(t, test.tools...)
			shown, _ := say(t, func(o *Options) {
				o.Agent = answered(t, "the one before", "the last")
				o.Environ = append(test.env, "PATH=relative:"+dir)
			}, test.typed)
			if !strings.Contains(strings.Join(strings.Fields(shown), " "), test.says) {
				t.Errorf("shown %q", shown)
			}
			got, err := os.ReadFile(out)
			if string(got) != test.want || (err == nil) != (test.want != "") {
				t.Errorf("the clipboard holds %q, %v", got, err)
			}
			if strings.Contains(shown, "\x1b") {
				t.Errorf("an escape was sent: %q", shown)
			}
		})
	}
}

func TestCopyToolThatFails(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "xclip"), []byte("#!/bin/sh\nexit 4\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	shown, _ := say(t, func(o *Options) {
		o.Agent, o.Environ = answered(t, "the last"), []string{"DISPLAY=:0", "PATH=" + dir}
	}, "/copy")
	if !strings.Contains(shown, "xclip: exit status 4; /copy osc52") {
		t.Errorf("shown %q", shown)
	}
}

// The terminal is asked only when the user says so, and no text of the answer can end
// the sequence.
func TestCopyByTheTerminal(t *testing.T) {
	t.Parallel()
	answer := "code\x1b]0;title\a \x1b\\ end"
	start := func(answer string) *talk {
		k := startPTY(t, &sender{}, func(o *Options) {
			o.Agent = answered(t, answer)
		})
		k.expect("you: ")
		return k
	}
	k := start(answer)
	k.enter("/copy")
	k.expect("no clipboard tool here")
	k.expect(pasteOn + "you: ")
	if strings.Contains(k.status.String(), "\x1b]52") {
		t.Error("the terminal was asked without a word")
	}
	k.enter("/copy osc52")
	k.expect("\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(answer)) + "\a")
	k.expect("to the terminal")
	if strings.Contains(k.status.String(), "\x1b]0;") {
		t.Error("the answer reached the terminal raw")
	}
	k.expect(pasteOn + "you: ")
	k = start(strings.Repeat("x", screen.MaxClipboard+1))
	k.enter("/copy osc52")
	k.expect("too much for a terminal")
	if strings.Contains(k.status.String(), "\x1b]52") {
		t.Error("a text that is too long was sent")
	}
}
