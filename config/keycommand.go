package config

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
	"unicode"

	"artoo/tool/shell"
)

// keyCommandLimit is the longest a key command may take.
const keyCommandLimit = 10 * time.Second

// runKeyCommand runs the user's key command and takes its first line. It gets
// no input and no provider's key. What it says on stderr is passed on as it
// comes ("touch the token"), and is part of the error when it fails.
func (c *Config) runKeyCommand(ctx context.Context, name string, argv []string) (Key, error) {
	ctx, cancel := context.WithTimeout(ctx, keyCommandLimit)
	defer cancel()
	shown := argv[0]
	if len(argv) == 1 {
		argv = shellCommand(argv[0])
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	out, errs := &head{max: maxKeyLine}, &head{max: 2000, line: c.keySays}
	cmd.Stdout, cmd.Stderr = out, errs
	keys := c.KeyVariables()
	cmd.Env = slices.DeleteFunc(os.Environ(), func(entry string) bool { // a helper fetches a key, it needs none
		name, _, _ := strings.Cut(entry, "=")
		return strings.HasPrefix(name, "ARTOO_") || slices.Contains(keys, name)
	})
	shell.OwnGroup(cmd)
	// A process the command left behind may hold the pipes open.
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	errs.end()
	fail := func(why string) (Key, error) {
		return Key{}, because(kindAuth, name, "api_key_command: "+why, err, "run it by hand: "+clean(c.mask(shown)))
	}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = ctx.Err()
		return fail("took longer than " + keyCommandLimit.String())
	case ctx.Err() != nil:
		return Key{}, ctx.Err()
	case errors.As(err, &exit):
		why := exit.String()
		if said := clean(c.mask(errs.String())); said != "" {
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
	return checkKey(line, placeCommand)
}

// shellCommand is the system's shell running a line.
func shellCommand(line string) []string { return []string{"sh", "-c", line} }

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

// head keeps the first max bytes written to it and accepts the rest; of what it
// keeps, line gets every line that is not empty. The buffer is not embedded: its
// ReadFrom would pass Write by.
type head struct {
	kept     []byte
	max      int
	line     func(string) // may be nil
	reported int          // bytes of kept
}

// Write never fails: a full head drops what comes.
func (h *head) Write(p []byte) (int, error) {
	if room := h.max - len(h.kept); room > 0 {
		h.kept = append(h.kept, p[:min(room, len(p))]...)
	}
	if end := bytes.LastIndexByte(h.kept[h.reported:], '\n'); end >= 0 {
		h.report(h.reported + end + 1)
	}
	return len(p), nil
}

// end reports the last line, which may have no newline.
func (h *head) end() { h.report(len(h.kept)) }

func (h *head) report(end int) {
	lines := string(h.kept[h.reported:end])
	h.reported = end
	if h.line == nil {
		return
	}
	for l := range strings.SplitSeq(lines, "\n") {
		if l = clean(l); l != "" {
			h.line(l)
		}
	}
}

func (h *head) String() string { return string(h.kept) }
