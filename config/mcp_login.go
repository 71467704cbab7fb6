package config

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"artoo/tool/atomicfile"
)

// MCPLogins keeps the tokens of logins to MCP servers, as keys are kept: in the keyring, or in files of
// mode 0600. Its methods may be called on any goroutine.
type MCPLogins struct{ c *Config }

// MCPLogins is the store of logins to MCP servers.
func (c *Config) MCPLogins() MCPLogins { return MCPLogins{c} }

// keptLogin is the file of a login: the login itself, or that it is in the keyring.
type keptLogin struct {
	Server  string `json:"server"`
	Keyring bool   `json:"keyring,omitempty"`
	Login   []byte `json:"login,omitempty"`
}

// place is the file for a key, and the key's name in the keyring.
func (l MCPLogins) place(key string) (file, name string, err error) {
	dir, err := l.c.Paths.DataDir()
	sum := sha256.Sum256([]byte(key))
	id := hex.EncodeToString(sum[:8])
	return filepath.Join(dir, "mcp", id+".json"), "mcp-" + id, err
}

// Load is the data kept for a key, nil for none.
func (l MCPLogins) Load(ctx context.Context, key string) ([]byte, error) {
	file, name, err := l.place(key)
	if err != nil {
		return nil, nil // nowhere to keep, nothing kept
	}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	shown := l.c.Paths.shorten(file)
	if err != nil {
		return nil, because(kindConfig, shown, cause(err), err, "check the owner and mode of the file")
	}
	if info, err := os.Stat(file); err == nil && info.Mode().Perm()&0o077 != 0 {
		return nil, wrong(kindConfig, shown, "others can read the login in it", "chmod 600 "+shown)
	}
	var kept keptLogin
	if json.Unmarshal(data, &kept) != nil {
		return nil, nil // it is written again by the next login
	}
	if !kept.Keyring {
		return kept.Login, nil
	}
	text, err := l.c.keyring.Get(ctx, name)
	if err != nil {
		return nil, because(kindAuth, "keyring", err.Error(), err, "unlock the keyring, or log in again")
	}
	return []byte(text), nil
}

// Save keeps data for a key; nil forgets.
func (l MCPLogins) Save(ctx context.Context, key string, data []byte) error {
	file, name, err := l.place(key)
	if err != nil {
		return err
	}
	if data == nil {
		// The keyring may have none; the file decides.
		_ = l.c.keyring.Delete(ctx, name)
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return because(kindConfig, l.c.Paths.shorten(file), cause(err), err, "check the owner and mode of the directory")
		}
		return nil
	}
	kept := keptLogin{Server: key, Keyring: l.c.keyring.Set(ctx, name, string(data)) == nil}
	if !kept.Keyring {
		kept.Login = data
	}
	text, err := json.Marshal(kept)
	if err == nil {
		err = errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), atomicfile.Write(file, text, 0o600))
	}
	if err != nil {
		return because(kindConfig, l.c.Paths.shorten(file), cause(err), err, "check the owner and mode of the directory")
	}
	return nil
}

// loginLockWait is how long another process may take to renew a login.
const loginLockWait = time.Minute

// Lock keeps other processes and goroutines from renewing the login of a key until unlock is called.
func (l MCPLogins) Lock(ctx context.Context, key string) (unlock func(), err error) {
	file, _, err := l.place(key)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, because(kindConfig, l.c.Paths.shorten(filepath.Dir(file)), cause(err), err, "check its owner and mode")
	}
	lock := flock.New(file+".lock", flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(ctx, loginLockWait)
	defer cancel()
	if _, err := lock.TryLockContext(ctx, 20*time.Millisecond); err != nil {
		return nil, because(kindConfig, l.c.Paths.shorten(file)+".lock", "another artoo holds it", err, "end that one")
	}
	return func() { _ = lock.Close() }, nil // its end gives it back in any case
}
