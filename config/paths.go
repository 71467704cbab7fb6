package config

import (
	"path/filepath"
	"strings"

	"artoo/tool/environ"
	"artoo/tool/names"
)

// Paths says where artoo's files live: in XDG base directories, on every system. Only the method
// that needs an unknown one fails.
type Paths struct {
	home                       string // "" when unknown
	config, data, state, cache base
}

// base is an XDG base directory of artoo's.
type base struct {
	dir            string // "" when unknown
	what, variable string // name it in errors
}

// FindPaths derives the paths from variables. As XDG says, only absolute ones count.
func FindPaths(vars environ.Vars) Paths {
	home := ""
	if dir := vars.Home(); filepath.IsAbs(dir) {
		home = filepath.Clean(dir)
	}
	find := func(what string, below ...string) base {
		b := base{what: what, variable: "XDG_" + strings.ToUpper(what) + "_HOME"}
		if dir := vars.Get(b.variable); filepath.IsAbs(dir) {
			b.dir = filepath.Join(dir, "artoo")
		} else if home != "" {
			b.dir = filepath.Join(home, filepath.Join(below...), "artoo")
		}
		return b
	}
	return Paths{
		home:   home,
		config: find("config", ".config"),
		data:   find("data", ".local", "share"),
		state:  find("state", ".local", "state"),
		cache:  find("cache", ".cache"),
	}
}

// path is a path below the directory.
func (b base) path(below ...string) (string, error) {
	if b.dir == "" {
		return "", wrong(kindConfig, b.what+" directory", "neither "+b.variable+" nor HOME is an absolute path",
			"set HOME, or "+b.variable+", to an absolute path")
	}
	return filepath.Join(append([]string{b.dir}, below...)...), nil
}

// ConfigDir holds the config file, the user's own AGENTS.md and commands.
func (p Paths) ConfigDir() (string, error) { return p.config.path() }

// DataDir holds the credentials, the plugin bundles and the memory of projects.
func (p Paths) DataDir() (string, error) { return p.data.path() }

// StateDir holds sessions, journal, history and ledger.
func (p Paths) StateDir() (string, error) { return p.state.path() }

// CacheDir holds files that can be made again.
func (p Paths) CacheDir() (string, error) { return p.cache.path() }

// ConfigFile is the config file's default place.
func (p Paths) ConfigFile() (string, error) { return p.config.path("config.toml") }

// Credentials is the file of stored keys.
func (p Paths) Credentials() (string, error) { return p.data.path("credentials.toml") }

// Bundles is the directory of the plugin bundles.
func (p Paths) Bundles() (string, error) { return p.data.path("bundles") }

// Memory is the directory of the memory of projects.
func (p Paths) Memory() (string, error) { return p.data.path("memory") }

// Sessions is the directory of the session files.
func (p Paths) Sessions() (string, error) { return p.state.path("sessions") }

// Ledger is the directory of the ledger of all runs.
func (p Paths) Ledger() (string, error) { return p.state.path("ledger") }

// Approved is the file of the scripts that rules were allowed for.
func (p Paths) Approved() (string, error) { return p.state.path("approved.json") }

// Trust is the file of the projects that are trusted.
func (p Paths) Trust() (string, error) { return p.state.path("trust.json") }

// History is the file of lines typed at the prompt.
func (p Paths) History() (string, error) { return p.state.path("history") }

// shorten writes a path below the home directory with ~.
func (p Paths) shorten(path string) string {
	if p.home == "" || p.home == string(filepath.Separator) {
		return path
	}
	if rest, found := strings.CutPrefix(path, p.home+string(filepath.Separator)); found {
		return "~" + string(filepath.Separator) + rest
	}
	return path
}

// inHome is a path with the home directory in place of ~.
func (p Paths) inHome(path string) string { return names.InHome(path, p.home) }
