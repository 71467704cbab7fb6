package config

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
	"unicode"

	"artoo/tool/names"
	"artoo/tool/shell"
)

const (
	maxKeyLine      = 64 << 10         // bounds the bytes read of a file or a command for one key
	keyCommandLimit = 10 * time.Second // the longest a key command or a key file may take
)

// runKeyCommand takes the first line of the user's key command.
func (c *Config) runKeyCommand(ctx context.Context, name string, argv []string) (Key, error) {
	shown := argv[0]
	if len(argv) == 1 {
		argv = []string{"sh", "-c", argv[0]}
	}
	out, err := c.keyOutput(ctx, "api_key_command", argv)
	line, _, _ := strings.Cut(out, "\n")
	if err == nil && strings.TrimSpace(line) == "" {
		err = errors.New("its first line is empty")
	}
	switch {
	case errors.Is(err, context.Canceled):
		return Key{}, err
	case err != nil:
		return Key{}, because(kindAuth, name, "api_key_command: "+err.Error(), err, "run it by hand: "+clean(c.mask(shown)))
	}
	return checkKey(line, placeCommand)
}

// RunCredentials is the output of a command of the user's that gives credentials, run as a key command is.
func (c *Config) RunCredentials(ctx context.Context, command string) (string, error) {
	return c.keyOutput(ctx, "credential_process", []string{"sh", "-c", command})
}

// program is the name of a program, or its path as seen from the working directory.
func (c *Config) program(name string) string {
	if strings.Contains(name, "/") {
		return names.Abs(c.dir, name)
	}
	return name
}

// keyOutput runs a program that a setting names, which gets no input and no provider's key. Its stderr is passed on as it
// comes ("touch the token"), and is part of the error.
func (c *Config) keyOutput(ctx context.Context, setting string, argv []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, keyCommandLimit)
	defer cancel()
	cmd := c.Environ.Command(ctx, c.program(argv[0]), argv[1:]...)
	out, errs := &head{max: maxKeyLine, line: func(string) {}}, &head{max: 2000, line: func(line string) { c.keySays(setting + ": " + line) }}
	cmd.Stdout, cmd.Stderr = out, errs
	keys := c.KeyVariables()
	cmd.Dir, cmd.Args[0] = c.dir, argv[0]
	cmd.Env = slices.DeleteFunc(slices.Clone(cmd.Env), func(entry string) bool { // a helper fetches a key, it needs none
		name, _, _ := strings.Cut(entry, "=")
		return strings.HasPrefix(name, envPrefix+"_") || slices.Contains(keys, name)
	})
	shell.OwnGroup(cmd)
	// A process the command left behind may hold the pipes open.
	cmd.WaitDelay = time.Second
	err := cmd.Run()
	errs.say(errs.kept[errs.reported:])
	exit, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "", tooSlow{ctx.Err()}
	case ctx.Err() != nil:
		return "", ctx.Err()
	case exited:
		if said := clean(c.mask(string(errs.kept))); said != "" {
			return "", fmt.Errorf("%w: %s", exit, said)
		}
		return "", exit
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return "", err
	}
	return string(out.kept), nil
}

// tooSlow is the error of a program that took too long.
type tooSlow struct{ error }

func (tooSlow) Error() string   { return "took longer than " + keyCommandLimit.String() }
func (t tooSlow) Unwrap() error { return t.error }

// clean is the first line of a command's output, printable and short.
func clean(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	runes := slices.DeleteFunc([]rune(text), func(r rune) bool { return !unicode.IsPrint(r) })
	if len(runes) > 200 {
		runes = append(runes[:200], '…')
	}
	return string(runes)
}

// head keeps the first max bytes written to it; line gets every line of them that is not empty. The
// slice is no embedded buffer, whose ReadFrom would bypass Write.
type head struct {
	kept     []byte
	max      int
	line     func(string)
	reported int // bytes of kept
}

// Write never fails.
func (h *head) Write(p []byte) (int, error) {
	h.kept = append(h.kept, p[:min(h.max-len(h.kept), len(p))]...)
	for line := range bytes.Lines(h.kept[h.reported:]) {
		if line[len(line)-1] == '\n' {
			h.reported += len(line)
			h.say(line)
		}
	}
	return len(p), nil
}

func (h *head) say(line []byte) {
	if text := clean(string(line)); text != "" {
		h.line(text)
	}
}

// keyFromFile is the key of ARTOO_API_KEY_FILE. A regular file is read each time, since it may change;
// a pipe, as with <(pass show key), can be read only once, so its content is remembered.
func (c *Config) keyFromFile(ctx context.Context) (Key, error) {
	if info, err := os.Stat(names.Abs(c.dir, c.APIKeyFile)); err == nil && !info.Mode().IsRegular() {
		return c.keys.once(ctx, "api_key_file", func() (Key, error) { return c.readKeyFile(ctx) })
	}
	return c.readKeyFile(ctx)
}

// readKeyFile reads beside the caller: opening a pipe without writer cannot be interrupted.
func (c *Config) readKeyFile(ctx context.Context) (Key, error) {
	where := c.Origin("api_key_file")
	limited, cancel := context.WithTimeout(ctx, keyCommandLimit)
	defer cancel()
	var line string
	var err error
	came := make(chan struct{})
	go func() {
		line, err = c.firstLineOf(c.APIKeyFile)
		close(came)
	}()
	why := ""
	select {
	case <-came:
		switch {
		case err != nil:
			return Key{}, because(kindAuth, where, err.Error(), err, "a file whose first line is the key")
		case line != "":
			return checkKey(line, where)
		}
		why = "the first line of " + c.APIKeyFile + " is empty"
	case <-limited.Done():
		if ctx.Err() != nil {
			return Key{}, context.Cause(ctx)
		}
		why = c.APIKeyFile + " gave nothing within " + keyCommandLimit.String()
	}
	return Key{}, because(kindAuth, where, why, limited.Err(), "put the key into its first line")
}

// firstLineOf reads the first line of a file, trimmed.
func (c *Config) firstLineOf(path string) (string, error) {
	f, err := os.Open(names.Abs(c.dir, path))
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		failed.Path = path
	}
	if err != nil {
		return "", err
	}
	defer f.Close() // only read from
	line, err := bufio.NewReader(io.LimitReader(f, maxKeyLine)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("reading the key: %s", cause(err))
	}
	return strings.TrimSpace(line), nil
}
