package config

import (
	"errors"
	"io/fs"
	"os"
)

// entry is what `artoo login` wrote down for a provider: the key itself, or
// that it is in the keyring.
type entry struct {
	key     Secret
	keyring bool
}

func (e entry) isZero() bool { return e.key.IsZero() && !e.keyring }

// credentials is the file of stored keys: a TOML file with a table per provider,
// which holds api_key, or keyring = true. Zero when there is none.
type credentials struct {
	path, shown string
	doc         *document // nil when there is no file
}

// readCredentials reads the file. A missing one, or no home to look in, is
// empty; one that others can read is refused, since the keys in it may be known.
func (c *Config) readCredentials() (credentials, error) {
	path, err := c.Paths.Credentials()
	if err != nil {
		return credentials{}, nil // nowhere to store, nothing stored
	}
	file := credentials{path: path, shown: shorten(path)}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return file, nil
	}
	fail := func(err error) error {
		return because(kindConfig, file.shown, cause(err), err, "check the owner and mode of the file")
	}
	if err != nil {
		return file, fail(err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return file, wrong(kindConfig, file.shown, "others can read the keys in it", "chmod 600 "+file.shown)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return file, fail(err)
	}
	file.doc, err = parseDocument(file.shown, data)
	return file, err
}

// cause is an error of a file's without its path, which is named before it.
func cause(err error) string {
	if pathErr := (*fs.PathError)(nil); errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return err.Error()
}

// entry is the named provider's.
func (f credentials) entry(name string) (entry, error) {
	if f.doc == nil {
		return entry{}, nil
	}
	v, ok := f.doc.root[name]
	if !ok {
		return entry{}, nil
	}
	t, ok := f.doc.table(v, name)
	if !ok {
		return entry{}, f.doc.err()
	}
	var text string
	t.text("api_key", &text)
	ring, _ := t.get("keyring")
	if err := f.doc.err(); err != nil {
		return entry{}, err
	}
	e := entry{keyring: ring == true}
	if text != "" {
		key, err := checkKey(text, f.shown)
		if err != nil {
			return entry{}, err
		}
		e.key = key.Value
	}
	return e, nil
}

// stored is what login wrote down for the provider.
func (c *Config) stored(name string) (entry, error) {
	file, err := c.readCredentials()
	if err != nil {
		return entry{}, err
	}
	return file.entry(name)
}
