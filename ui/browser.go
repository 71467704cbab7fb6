package ui

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"runtime"
	"strings"

	"artoo/tool/environ"
	"artoo/tool/shell"
	"artoo/ui/sanitize"
)

// OpenBrowser opens an address from outside in the browser that BROWSER names, else in an installed one, and returns the
// program. It is looked up by vars, and gets them. Over SSH it opens none: the user sits elsewhere. The
// error says why none was opened.
func OpenBrowser(address string, vars environ.Vars) (program string, err error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || sanitize.Text(address, sanitize.Line) != address {
		return "", errors.New("this is not an address for a browser")
	}
	has := func(name string) bool {
		value, _ := lookup(vars, name)
		return value != ""
	}
	if has("SSH_CONNECTION") || has("SSH_TTY") {
		return "", errors.New("no browser over SSH")
	}
	value, _ := lookup(vars, "BROWSER")
	words := strings.Fields(value)
	switch {
	case len(words) > 0:
	case runtime.GOOS == "darwin":
		words = []string{"open"}
	case has("DISPLAY") || has("WAYLAND_DISPLAY"):
		words = []string{"xdg-open"}
	default:
		return "", errors.New("no browser here")
	}
	filled := false
	for i, word := range words {
		if strings.Contains(word, "%s") {
			words[i], filled = strings.ReplaceAll(word, "%s", address), true
		}
	}
	if !filled {
		words = append(words, address)
	}
	cmd := vars.Command(context.Background(), words[0], words[1:]...)
	shell.OwnGroup(cmd) // Ctrl-C is meant for artoo
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("no browser: %w", err)
	}
	go func() { _ = cmd.Wait() }() // The browser's end says nothing about the address.
	return words[0], nil
}
