package config

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"strings"
	"time"
	"unicode"
)

// keyCommandLimit is the longest a key command may take: long enough to type
// a passphrase.
const keyCommandLimit = 30 * time.Second

// runKeyCommand runs the user's key command and takes its first line. It gets
// no input; what it says on stderr is part of the error when it fails.
func runKeyCommand(ctx context.Context, name string, argv []string) (Key, error) {
	ctx, cancel := context.WithTimeout(ctx, keyCommandLimit)
	defer cancel()
	shown := argv[0]
	if len(argv) == 1 {
		argv = shellCommand(argv[0])
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	out, errs := &head{max: maxKeyLine}, &head{max: 2000}
	cmd.Stdout, cmd.Stderr = out, errs
	// A process the command left behind may hold the pipes open.
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	fail := func(why string) (Key, error) {
		return Key{}, &Error{
			Kind: kindAuth, Where: name, Why: "api_key_command: " + why, Err: err,
			Hint: "run it by hand: " + clean(shown),
		}
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = ctx.Err()
		return fail("took longer than " + formatDuration(keyCommandLimit))
	case ctx.Err() != nil:
		return Key{}, ctx.Err()
	case errors.As(err, &exit):
		why := exit.String()
		if said := clean(errs.String()); said != "" {
			why += ": " + said
		}
		return fail(why)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return fail(err.Error())
	}
	line, _, _ := strings.Cut(out.String(), "\n")
	if strings.TrimSpace(line) == "" {
		return fail("its first line is empty")
	}
	return checkKey(line, "api_key_command")
}

// shellCommand is the system's shell running a line.
func shellCommand(line string) []string {
	if runtime.GOOS == "windows" {
		return []string{"cmd", "/c", line}
	}
	return []string{"sh", "-c", line}
}

// clean is the first line of what a command said, printable and short.
func clean(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	runes := []rune(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, text))
	if len(runes) > 200 {
		runes = append(runes[:200], '…')
	}
	return string(runes)
}

// head keeps the first max bytes written to it and accepts the rest. The
// buffer is not embedded: its ReadFrom would pass Write by.
type head struct {
	kept []byte
	max  int
}

// Write never fails: a full head drops what comes.
func (h *head) Write(p []byte) (int, error) {
	if room := h.max - len(h.kept); room > 0 {
		h.kept = append(h.kept, p[:min(room, len(p))]...)
	}
	return len(p), nil
}

func (h *head) String() string { return string(h.kept) }
