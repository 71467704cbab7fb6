package config

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// maxKeyLine bounds what is read of a file or a command for one key.
const maxKeyLine = 64 << 10

// keyFromFile is the key of ARTOO_API_KEY_FILE. A regular file is read each time
// it is asked for: it may hold a new key. What a pipe gives, as with <(pass show
// key), comes only once and is remembered.
func (c *Config) keyFromFile(ctx context.Context) (Key, error) {
	if info, err := os.Stat(c.APIKeyFile); err == nil && !info.Mode().IsRegular() {
		return c.keys.once(ctx, "api_key_file", func() (Key, error) { return c.readKeyFile(ctx) })
	}
	return c.readKeyFile(ctx)
}

// readKeyFile reads the file beside the caller: a pipe that nobody writes to
// cannot be interrupted where it is opened.
func (c *Config) readKeyFile(ctx context.Context) (Key, error) {
	where := c.Origin("api_key_file")
	fail := func(why string, err error) (Key, error) {
		return Key{}, because(kindAuth, where, why, err, "a file whose first line is the key")
	}
	limited, cancel := context.WithTimeout(ctx, keyCommandLimit)
	defer cancel()
	type answer struct {
		line string
		err  error
	}
	came := make(chan answer, 1)
	go func() {
		line, err := firstLineOf(c.APIKeyFile)
		came <- answer{line, err}
	}()
	select {
	case a := <-came:
		switch {
		case a.err != nil:
			return fail(a.err.Error(), a.err)
		case a.line == "":
			return Key{}, wrong(kindAuth, where, "the first line of "+c.APIKeyFile+" is empty", "put the key there")
		}
		return checkKey(a.line, where)
	case <-limited.Done():
		if ctx.Err() != nil {
			return Key{}, context.Cause(ctx)
		}
		return fail(c.APIKeyFile+" gave nothing within "+keyCommandLimit.String(), limited.Err())
	}
}

// firstLineOf reads the first line of a file, trimmed.
func firstLineOf(path string) (string, error) {
	f, err := os.Open(path)
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
