//go:build unix

package config

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// pipeAsKeyFile makes a named pipe ARTOO_API_KEY_FILE.
func pipeAsKeyFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(world(t), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ARTOO_API_KEY_FILE", path)
	return path
}

// TestAKeyFileThatNobodyWritesToIsGivenUp: opening a pipe waits for its writer.
func TestAKeyFileThatNobodyWritesToIsGivenUp(t *testing.T) {
	pipeAsKeyFile(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := mustLoad(t, LoadOptions{}).Key(ctx, "openai"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestAKeyThatComesThroughAPipeIsReadOnce: <(pass show key) gives it only once,
// and a switch of models asks for it again.
func TestAKeyThatComesThroughAPipeIsReadOnce(t *testing.T) {
	path := pipeAsKeyFile(t)
	wrote := make(chan error, 1)
	go func() { wrote <- os.WriteFile(path, []byte("from-pipe\nmore\n"), 0) }()
	c := mustLoad(t, LoadOptions{})
	wantKey(t, c, "openai", "from-pipe", "ARTOO_API_KEY_FILE")
	if err := <-wrote; err != nil {
		t.Error(err)
	}
	wantKey(t, c.With(Choice{Provider: "openai"}), "openai", "from-pipe", "ARTOO_API_KEY_FILE")
}
