package config

import (
	"os"
	"path/filepath"
	"strings"
)

// Paths says where artoo's files live: in XDG base directories, on every system. Only the method
// that needs an unknown one fails.
type Paths struct {
	config, data, state, cache string // "" when unknown
}

// FindPaths derives the paths from the environment. As XDG says, only absolute variables count.
func FindPaths() Paths {
	home, _ := homeDir()
	base := func(variable string, below ...string) string {
		if dir := os.Getenv(variable); filepath.IsAbs(dir) {
			return filepath.Join(dir, "artoo")
		}
		if home == "" {
			return ""
		}
		return filepath.Join(append(append([]string{home}, below...), "artoo")...)
	}
	return Paths{
		config: base("XDG_CONFIG_HOME", ".config"),
		data:   base("XDG_DATA_HOME", ".local", "share"),
		state:  base("XDG_STATE_HOME", ".local", "state"),
		cache:  base("XDG_CACHE_HOME", ".cache"),
	}
}

// homeDir is the user's home directory, if the environment names one.
func homeDir() (string, bool) {
	if dir := os.Getenv("HOME"); filepath.IsAbs(dir) {
		return filepath.Clean(dir), true
	}
	return "", false
}

// ConfigDir holds the config file, the user's own AGENTS.md and commands.
func (p Paths) ConfigDir() (string, error) { return known(p.config, "config", "XDG_CONFIG_HOME") }

// DataDir holds the credentials.
func (p Paths) DataDir() (string, error) { return known(p.data, "data", "XDG_DATA_HOME") }

// StateDir holds sessions, journal, history and ledger.
func (p Paths) StateDir() (string, error) { return known(p.state, "state", "XDG_STATE_HOME") }

// CacheDir holds what can be made again.
func (p Paths) CacheDir() (string, error) { return known(p.cache, "cache", "XDG_CACHE_HOME") }

// ConfigFile is the config file's default place.
func (p Paths) ConfigFile() (string, error) {
	return known(p.config, "config", "XDG_CONFIG_HOME", "config.toml")
}

// Credentials is the file of stored keys.
func (p Paths) Credentials() (string, error) {
	return known(p.data, "data", "XDG_DATA_HOME", "credentials.toml")
}

// Sessions is the directory of the session files.
func (p Paths) Sessions() (string, error) {
	return known(p.state, "state", "XDG_STATE_HOME", "sessions")
}

// Ledger is the directory of what all runs spent.
func (p Paths) Ledger() (string, error) { return known(p.state, "state", "XDG_STATE_HOME", "ledger") }

// Approved is the file of the scripts that rules were allowed for.
func (p Paths) Approved() (string, error) {
	return known(p.state, "state", "XDG_STATE_HOME", "approved.json")
}

// Trust is the file of the projects that are trusted.
func (p Paths) Trust() (string, error) {
	return known(p.state, "state", "XDG_STATE_HOME", "trust.json")
}

// History is the file of what was typed at the prompt.
func (p Paths) History() (string, error) { return known(p.state, "state", "XDG_STATE_HOME", "history") }

func known(dir, what, variable string, below ...string) (string, error) {
	if dir == "" {
		return "", wrong(kindConfig, what+" directory", "neither "+variable+" nor HOME is an absolute path",
			"set HOME, or "+variable+", to an absolute path")
	}
	return filepath.Join(append([]string{dir}, below...)...), nil
}

// shorten writes a path below the home directory with ~.
func shorten(path string) string {
	home, ok := homeDir()
	if !ok || home == string(filepath.Separator) {
		return path
	}
	if rest, found := strings.CutPrefix(path, home+string(filepath.Separator)); found {
		return "~" + string(filepath.Separator) + rest
	}
	return path
}
