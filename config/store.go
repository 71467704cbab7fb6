package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"github.com/pelletier/go-toml/v2"

	"artoo/tool/atomicfile"
)

// Keyring is the system's store of passwords. A question must end by itself
// after a few seconds; to delete what is not there is no error. Called from any
// goroutine.
type Keyring interface {
	Get(ctx context.Context, name string) (string, error)
	Set(ctx context.Context, name, key string) error
	Delete(ctx context.Context, name string) error
}

// Stored says where a key went.
type Stored struct {
	Where     string // "the keyring", or the file as it is shown to people
	NoKeyring error  // why it is not in the keyring; nil when it is
}

// StoreKey keeps a provider's key for good: in the keyring, which the
// credentials file then points to, or in that file where there is none. The
// file is replaced in one step, mode 0600; what else it holds stays. Errors are
// *Error; after one, no key is stored that was not before.
func (c *Config) StoreKey(ctx context.Context, name string, key Secret) (Stored, error) {
	if !c.IsProvider(name) {
		return Stored{}, unknownProvider(name)
	}
	if _, err := checkKey(key.Reveal(), name); err != nil {
		return Stored{}, err
	}
	var stored Stored
	wasThere := false
	err := c.editCredentials(ctx, func(tables map[string]any, old entry) error {
		wasThere = old.keyring
		if stored.NoKeyring = c.intoKeyring(ctx, name, key); stored.NoKeyring == nil {
			stored.Where = "the keyring"
			tables[name] = map[string]any{"keyring": true}
			return nil
		}
		// An older key may still be in the keyring: logout is to find it.
		table := map[string]any{"api_key": key.Reveal()}
		if old.keyring {
			table["keyring"] = true
		}
		tables[name] = table
		return nil
	}, name)
	if err != nil {
		if stored.Where != "" && !wasThere { // nothing would point to it
			err = errors.Join(err, c.keyring.Delete(ctx, name))
		}
		return Stored{}, err
	}
	if stored.Where == "" {
		path, _ := c.Paths.Credentials() // known: it was written
		stored.Where = shorten(path)
	}
	return stored, nil
}

var errNoKeyring = errors.New("there is no keyring here")

func (c *Config) intoKeyring(ctx context.Context, name string, key Secret) error {
	if c.keyring == nil {
		return errNoKeyring
	}
	return c.keyring.Set(ctx, name, key.Reveal())
}

// ForgetKey removes the key that login stored and says where it was, "" when
// none was stored. An entry of the keyring that cannot be removed stays written
// down, and is the error.
func (c *Config) ForgetKey(ctx context.Context, name string) (where string, err error) {
	if !c.IsProvider(name) {
		return "", unknownProvider(name)
	}
	old, err := c.stored(name)
	if err != nil || old.isZero() {
		return "", err
	}
	err = c.editCredentials(ctx, func(tables map[string]any, old entry) error {
		delete(tables, name)
		if !old.keyring {
			return nil
		}
		where = "the keyring"
		err := errNoKeyring
		if c.keyring != nil {
			err = c.keyring.Delete(ctx, name)
		}
		if err == nil {
			return nil
		}
		tables[name] = map[string]any{"keyring": true} // the key in the file, if there was one, goes
		return because(kindAuth, "keyring", err.Error(), err,
			"unlock the keyring and log out again, or remove the entry "+name+" of artoo there")
	}, name)
	if !old.key.IsZero() {
		path, _ := c.Paths.Credentials() // known: it was read
		where = shorten(path)
	}
	return where, err
}

// lockWait is how long another login may take to write the file.
const lockWait = 3 * time.Second

// editCredentials changes the tables of the file under a lock. An error of
// change's is returned after the tables were written as it left them.
func (c *Config) editCredentials(ctx context.Context, change func(tables map[string]any, old entry) error,
	name string) error {
	path, err := c.Paths.Credentials()
	if err != nil {
		return err
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // a link is kept: the data directory may be linked file by file
	}
	shown := shorten(path)
	cannot := func(err error) error {
		return because(kindConfig, shown, "cannot be written: "+cause(err), err,
			"check the owner and mode of "+filepath.Dir(shown))
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return cannot(err)
	}
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	waiting, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	if ok, err := lock.TryLockContext(waiting, 20*time.Millisecond); !ok {
		return cannot(fmt.Errorf("another artoo is writing it: %w", err))
	}
	defer lock.Unlock() // closing the file, at the latest with the process, frees it too
	if err := removeCutOff(path); err != nil {
		return cannot(err)
	}
	file, err := c.readCredentials()
	if err != nil {
		return err
	}
	old, err := file.entry(name)
	if err != nil {
		return err
	}
	tables := map[string]any{}
	if file.doc != nil {
		tables = file.doc.root
	}
	changed := change(tables, old)
	if len(tables) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return cannot(err)
		}
		return changed
	}
	var text bytes.Buffer
	text.WriteString("# Written by artoo login and logout. Keys are secrets: do not share this file.\n")
	if err := toml.NewEncoder(&text).Encode(tables); err != nil {
		return cannot(err)
	}
	if err := atomicfile.Write(path, text.Bytes(), 0o600); err != nil {
		return cannot(err)
	}
	return changed
}

// removeCutOff takes away what writes left that ended before they were done:
// there are keys in it. The lock is held, so that no write goes on.
func removeCutOff(path string) error {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if left, err := filepath.Match(atomicfile.Temporary(path), e.Name()); err != nil || !left {
			continue // a name that is no pattern has no such files either
		}
		if err := os.Remove(filepath.Join(filepath.Dir(path), e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
