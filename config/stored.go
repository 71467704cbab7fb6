package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/pelletier/go-toml/v2"

	"artoo/provider"
	"artoo/tool/atomicfile"
)

// Keyring is the system's store of passwords. Questions end within seconds, on any goroutine; to delete
// a missing entry is no error.
type Keyring interface {
	Get(ctx context.Context, name string) (string, error)
	Set(ctx context.Context, name, key string) error
	Delete(ctx context.Context, name string) error
}

var errNoKeyring = errors.New("there is no keyring here")

// noKeyring is the keyring of a machine that has none.
type noKeyring struct{}

func (noKeyring) Get(context.Context, string) (string, error) { return "", errNoKeyring }
func (noKeyring) Set(context.Context, string, string) error   { return errNoKeyring }
func (noKeyring) Delete(context.Context, string) error        { return errNoKeyring }

// entry is the entry of `artoo login` for a provider: the key itself, or that it is in the keyring.
type entry struct {
	Key     string `toml:"api_key,omitempty"`
	Keyring bool   `toml:"keyring,omitempty"`
}

// readCredentials reads the file of stored keys, a table for each provider. A missing one is empty; one
// that others can read is refused.
func (c *Config) readCredentials() (map[string]entry, error) {
	path, err := c.Paths.Credentials()
	if err != nil {
		return nil, nil // nowhere to store, nothing stored
	}
	shown := c.Paths.shorten(path)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return map[string]entry{}, nil
	}
	if info, statErr := os.Stat(path); statErr == nil && info.Mode().Perm()&0o077 != 0 {
		return nil, wrong(kindConfig, shown, "others can read the keys in it", "chmod 600 "+shown)
	}
	if err != nil {
		return nil, because(kindConfig, shown, cause(err), err, "check the owner and mode of the file")
	}
	entries := map[string]entry{}
	if err := decode(string(data), &entries); err != nil {
		return nil, unreadable(shown, err)
	}
	return entries, nil
}

// cause is an error of a file's without its path, which is named before it.
func cause(err error) string {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err
	}
	return err.Error()
}

// Stored says where a key went.
type Stored struct {
	Where     string // "the keyring", or the file as it is shown to people
	NoKeyring error  // why it is not in the keyring; nil when it is
}

// StoreKey keeps a provider's key permanently: in the keyring, to which the credentials file then
// points, or in that file, mode 0600. Errors are *Error; after one no further key is stored.
func (c *Config) StoreKey(ctx context.Context, name string, key Secret) (Stored, error) {
	if !c.IsProvider(name) {
		return Stored{}, unknownProvider(name)
	}
	if _, err := checkKey(key.Reveal(), name); err != nil {
		return Stored{}, err
	}
	stored, wasThere := Stored{Where: "the keyring"}, false
	path, err := c.editCredentials(ctx, name, func(old entry) (entry, error) {
		wasThere = old.Keyring
		stored.NoKeyring = c.keyring.Set(ctx, name, key.Reveal())
		if stored.NoKeyring == nil {
			return entry{Keyring: true}, nil
		}
		// An older key may still be in the keyring: logout is to find it.
		return entry{Key: key.Reveal(), Keyring: old.Keyring}, nil
	})
	if err != nil {
		if stored.NoKeyring == nil && !wasThere { // nothing would point to it
			err = errors.Join(err, c.keyring.Delete(ctx, name))
		}
		return Stored{}, err
	}
	if stored.NoKeyring != nil {
		stored.Where = path
	}
	return stored, nil
}

// ForgetKey removes the stored key and says where it was, "" for none. An entry that the keyring
// does not remove stays written down, and is the error.
func (c *Config) ForgetKey(ctx context.Context, name string) (where string, err error) {
	if !c.IsProvider(name) {
		return "", unknownProvider(name)
	}
	entries, err := c.readCredentials()
	old := entries[name]
	if err != nil || old == (entry{}) {
		return "", err
	}
	path, err := c.editCredentials(ctx, name, func(old entry) (entry, error) {
		if !old.Keyring {
			return entry{}, nil
		}
		if err := c.keyring.Delete(ctx, name); err != nil {
			return entry{Keyring: true}, because(kindAuth, "keyring", err.Error(), err, // the key in the file goes
				"unlock the keyring and log out again, or remove the entry "+name+" of artoo there")
		}
		return entry{}, nil
	})
	if old.Key != "" {
		return path, err
	}
	return "the keyring", err
}

// lockWait is how long another login may take to write the file.
const lockWait = 3 * time.Second

// editCredentials changes a provider's entry of the file under a lock, and returns the file as shown. A
// zero entry is removed. An error of change is returned after writing.
func (c *Config) editCredentials(ctx context.Context, name string, change func(old entry) (entry, error)) (string, error) {
	path, err := c.Paths.Credentials()
	if err != nil {
		return "", err
	}
	shown := c.Paths.shorten(path)
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // a link is kept: the data directory may be linked file by file
	}
	cannot := func(err error) (string, error) {
		return "", because(kindConfig, c.Paths.shorten(path), "cannot be written: "+cause(err), err,
			"check the owner and mode of "+filepath.Dir(c.Paths.shorten(path)))
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
	entries, err := c.readCredentials()
	if err != nil {
		return "", err
	}
	now, changed := change(entries[name])
	if entries[name] = now; now == (entry{}) {
		delete(entries, name)
	}
	if len(entries) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return cannot(err)
		}
		return shown, changed
	}
	var text bytes.Buffer
	text.WriteString("# Written by artoo login and logout. Keys are secrets: do not share this file.\n")
	if err := toml.NewEncoder(&text).Encode(entries); err != nil {
		return cannot(err)
	}
	if err := atomicfile.Write(path, text.Bytes(), 0o600); err != nil {
		return cannot(err)
	}
	return shown, changed
}

// removeCutOff removes temporary files of killed writes, with keys in them. The lock is held.
func removeCutOff(path string) error {
	left, err := fs.Glob(os.DirFS(filepath.Dir(path)), atomicfile.Temporary(path))
	for _, name := range left {
		err = errors.Join(err, os.Remove(filepath.Join(filepath.Dir(path), name)))
	}
	return err
}

// UsesStored reports whether the provider uses the stored login, and if not, which source it uses.
func (c *Config) UsesStored(name string) (bool, string) {
	source := c.keySource(name)
	if source == "auto" || source == "keyring" {
		return true, ""
	}
	return false, c.Providers[name].Origin + " takes the key from the source " + source
}

// NeedsKey says whether a key can be stored for the named provider: not for demo, coding CLIs, and where a
// cloud's credentials count.
func (c *Config) NeedsKey(name string) bool {
	f, _ := provider.FactsOf(name)
	return c.IsProvider(name) && f.Key != provider.KeyNever && !c.Form(name).Keyless()
}

// CheckKeyShape reports whether a text can be a key of the named provider: an *Error of kind auth
// where not, or another provider's; a doubt in a line, "" for none. The user's own address may
// take any key.
func (c *Config) CheckKeyShape(name string, key Secret) (doubt string, err error) {
	text := strings.TrimSpace(key.Reveal())
	fail := func(why, hint string) (string, error) {
		return "", wrong(kindAuth, name, why, hint)
	}
	if text == "" {
		return fail("no key was entered",
			"artoo login "+name+", and paste the key; or artoo login "+name+" --stdin < FILE")
	}
	if _, err := checkKey(text, name); err != nil {
		return "", err
	}
	if address, _, err := c.Endpoint(name); err != nil || address != "" {
		return "", err
	}
	for _, quote := range []string{`"`, "'", "Bearer", "export", "="} {
		if strings.HasPrefix(text, quote) {
			return fail("the key begins with "+quote, "only the key itself, without quotes or name")
		}
	}
	own, _ := provider.FactsOf(name)
	for _, no := range own.NotKeys {
		if strings.HasPrefix(text, no.Prefix) {
			return fail(no.Why, no.Hint)
		}
	}
	owner, longest := keyOwner(text)
	switch mine := longestPrefix(text, own.KeyPrefixes); {
	case owner != name && longest > max(mine, len("sk-")): // several providers' keys begin so
		return fail("this looks like a key of "+owner, "artoo login "+owner)
	case mine == 0 && len(own.KeyPrefixes) > 0:
		return name + " keys usually begin with " + own.KeyPrefixes[0], nil
	}
	return "", nil
}

// keyOwner is the provider whose keys begin most like the text, and with how many
// bytes.
func keyOwner(text string) (name string, longest int) {
	for _, f := range provider.Known() {
		if n := longestPrefix(text, f.KeyPrefixes); n > longest {
			name, longest = f.Name, n
		}
	}
	return name, longest
}

func longestPrefix(text string, prefixes []string) (longest int) {
	for _, p := range prefixes {
		if strings.HasPrefix(text, p) {
			longest = max(longest, len(p))
		}
	}
	return longest
}
