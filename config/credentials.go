package config

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
)

// storedKey looks the provider up in the credentials file: a TOML file with a
// table per provider that holds api_key. A missing file, or no home to look
// in, is no key; a file others can read is refused.
func (c *Config) storedKey(name string) (Key, error) {
	path, err := c.Paths.Credentials()
	if err != nil {
		return Key{}, nil // nowhere to store, nothing stored
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Key{}, nil
	}
	shown := shorten(path, c.lookup)
	if err != nil {
		return Key{}, &Error{Kind: kindConfig, Where: shown, Why: err.Error(), Err: err, Hint: "check the owner and mode of the file"}
	}
	// Windows has no such bits: a user's profile is closed by its ACL.
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		return Key{}, &Error{Kind: kindConfig, Where: shown, Why: "others can read the keys in it", Hint: "chmod 600 " + shown}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return Key{}, &Error{Kind: kindConfig, Where: shown, Why: err.Error(), Err: err, Hint: "check the owner and mode of the file"}
	}
	d, err := parseDocument(shown, data)
	if err != nil {
		return Key{}, err
	}
	v, ok := d.root[name]
	if !ok {
		return Key{}, nil
	}
	t, ok := d.table(v, name)
	if !ok {
		return Key{}, d.err()
	}
	var text string
	t.text("api_key", &text)
	if err := d.err(); err != nil {
		return Key{}, err
	}
	return checkKey(text, "credentials")
}
