package ui

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"artoo/ui/screen"
)

// copyWait is how long a clipboard tool may take.
const copyWait = 5 * time.Second

// clipboards are the programs that fill the clipboard, in the order in which
// they are tried, and the variable without which one cannot work ("" for none).
func clipboards() []struct {
	needs string
	argv  []string
} {
	return []struct {
		needs string
		argv  []string
	}{
		{"", []string{"pbcopy"}},
		{"WAYLAND_DISPLAY", []string{"wl-copy"}},
		{"DISPLAY", []string{"xclip", "-selection", "clipboard"}},
		{"DISPLAY", []string{"xsel", "--clipboard", "--input"}},
		{"", []string{"clip.exe"}},
	}
}

// runCopy copies an answer: "", a number counted back from the last, and osc52
// for the terminal's own clipboard.
func runCopy(ctx context.Context, t *Terminal, arg string) error {
	n, terminal := 1, false
	for word := range strings.FieldsSeq(arg) {
		switch number, err := strconv.Atoi(word); {
		case word == "osc52":
			terminal = true
		case err == nil && number > 0:
			n = number
		default:
			return fmt.Errorf("%q is neither a number, counted back from the last answer, nor osc52", word)
		}
	}
	text := t.opt.Agent.Answer(n)
	switch {
	case text == "" && n == 1:
		return errors.New("there is no answer yet")
	case text == "":
		return fmt.Errorf("there is no answer %d turns back", n)
	case terminal:
		return t.copyByTerminal(text)
	}
	argv, err := t.clipboard()
	if err != nil {
		return err
	}
	if err := runClipboard(ctx, argv, t.programs(), text); err != nil {
		return fmt.Errorf("%s: %w; /copy osc52 asks the terminal to do it", filepath.Base(argv[0]), err)
	}
	t.Note(fmt.Sprintf("copied %s with %s", byteSize(len(text)), filepath.Base(argv[0])))
	return nil
}

// copyByTerminal has the terminal fill the clipboard of the machine it runs on.
func (t *Terminal) copyByTerminal(text string) error {
	if t.opt.Profile == screen.Plain || !t.hasTerminal() {
		return errors.New("no terminal here to ask")
	}
	if !t.Screen.Clipboard(text) {
		return fmt.Errorf("%s is too much for a terminal clipboard (limit %s)", byteSize(len(text)),
			byteSize(screen.MaxClipboard))
	}
	t.Note(fmt.Sprintf("%s were handed to the terminal; it does not say whether it took them", byteSize(len(text))))
	return nil
}

// clipboard finds the tool for this desktop. Over SSH it would fill a clipboard
// that nobody sees.
func (t *Terminal) clipboard() ([]string, error) {
	env := t.variable
	if env("SSH_TTY") != "" || env("SSH_CONNECTION") != "" {
		return nil, errors.New("over ssh the clipboard is on the other machine; /copy osc52 asks the terminal to fill it")
	}
	for _, c := range clipboards() {
		if c.needs != "" && env(c.needs) == "" {
			continue
		}
		if path := findProgram(c.argv[0], env("PATH")); path != "" {
			return append([]string{path}, c.argv[1:]...), nil
		}
	}
	return nil, errors.New("no clipboard tool here (pbcopy, wl-copy, xclip, xsel, clip.exe); " +
		"/copy osc52 asks the terminal to do it")
}

// findProgram looks a program up in the absolute directories of a PATH.
func findProgram(name, path string) string {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		full := filepath.Join(dir, name)
		info, err := os.Stat(full)
		if err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return full
		}
	}
	return ""
}

// runClipboard hands the text to a tool. Some stay in the background for as long
// as the clipboard is theirs, so they are given nothing that would be waited for.
func runClipboard(ctx context.Context, argv, environ []string, text string) error {
	ctx, cancel := context.WithTimeout(ctx, copyWait)
	defer cancel()
	command := exec.CommandContext(ctx, argv[0], argv[1:]...)
	command.Env = environ
	data := []byte(text)
	if strings.HasSuffix(argv[0], ".exe") { // takes UTF-8 for the system's old code page
		data = utf16Bytes(text)
	}
	command.Stdin = bytes.NewReader(data)
	command.WaitDelay = shellPipeWait // one that stays may hold its end of the pipe and never read it
	ownSession(command)
	if err := command.Run(); !errors.Is(err, exec.ErrWaitDelay) {
		return err
	}
	return nil
}

// utf16Bytes is text in UTF-16, little endian with a byte order mark.
func utf16Bytes(text string) []byte {
	data := []byte{0xff, 0xfe}
	for _, unit := range utf16.Encode([]rune(text)) {
		data = binary.LittleEndian.AppendUint16(data, unit)
	}
	return data
}

// byteSize is a number of bytes for reading.
func byteSize(n int) string {
	if n < 10_000 {
		return screen.Count(n, "byte")
	}
	return strconv.Itoa((n+512)/1024) + " KB"
}
