package confine

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool/environ"
	"artoo/tool/git"
	"artoo/tool/names"
	"artoo/tool/sandbox"
)

// Config lists the places that the commands of one session may reach. Paths are absolute.
type Config struct {
	// Config is that of the user and the project. Temp, Caches and Kept are set when the sandbox starts, and the
	// session's own Read, Toolchains and Denied are added then.
	sandbox.Config
	Cache   string // artoo's own caches are below it; "" keeps none
	Environ []string
	Pass    []string // variables that commands get though they name a program's socket
	// Servers means that language servers may be started, Trusted that the project's own programs
	// run unasked: each trust has caches of its own.
	Servers, Trusted bool
	// Late lists further directories that commands may read, when the sandbox starts; nil for none.
	Late func() []string
}

// inside is the sandbox's configuration, with the files and caches of the session.
func (c Config) inside() (sandbox.Config, error) {
	config := c.Config
	config.Read = append(slices.Clone(c.Read), c.gitConfig())
	if c.Late != nil {
		config.Read = append(config.Read, c.Late()...)
	}
	config.Toolchains = append(c.toolchains(), c.Toolchains...)
	config.Caches, config.Kept, config.Denied = c.caches(), c.kept(), c.denied
	return config, c.writeGitConfig()
}

// Places lists the places of this machine that commands reach besides the system, one kind a row.
func (c *Confiner) Places() (rows []string) {
	var caches []string
	for _, cache := range c.config.caches() {
		if _, err := os.Stat(cache.Path); err == nil {
			caches = append(caches, cache.Path)
		}
	}
	read := c.config.Read
	if c.config.Common != "" {
		read = append(slices.Clone(read), c.config.Common)
	}
	for _, row := range []struct {
		what string
		dirs []string
	}{
		{"commands write to", append([]string{c.config.Root}, c.config.Write...)},
		{"commands read", read},
		{"programs of the home", append(c.config.toolchains(), c.config.Toolchains...)},
		{"caches, read below artoo's own", caches},
	} {
		if len(row.dirs) > 0 {
			rows = append(rows, row.what+": "+strings.Join(row.dirs, ", "))
		}
	}
	return rows
}

// systemSecrets are files of the system's that root alone can read: artoo may be root.
var systemSecrets = []string{"/etc/shadow*", "/etc/gshadow*", "/etc/ssh/ssh_host_*_key", "/etc/ssl/private",
	"/etc/sudoers*", "/etc/krb5.keytab", "/etc/NetworkManager/system-connections", "/etc/wireguard"}

// denied lists the present paths that no command may see.
func (c Config) denied() (all []string, err error) {
	if c.Denied != nil {
		all, err = c.Denied()
	}
	if os.Geteuid() == 0 {
		for _, pattern := range systemSecrets {
			found, globErr := filepath.Glob(pattern)
			all, err = append(all, found...), errors.Join(err, globErr)
		}
	}
	return all, err
}

// managers are the directories, below the home, of programs that bring several versions of
// others, without credentials.
const managers = `.nvm/versions .volta .asdf/installs .asdf/shims .local/share/mise/installs .local/share/mise/shims
	.pyenv/versions .pyenv/shims .pyenv/libexec .rbenv/versions .rbenv/shims .sdkman/candidates .rustup/toolchains
	.rustup/settings.toml .local/share/fnm .fnm .goenv/versions .gvm .jenv/versions .deno/bin .bun/bin
	.linuxbrew .local/share/pnpm .local/share/uv/python .local/share/uv/tools .local/lib .local/pipx .local/share/pipx
	.nix-profile miniconda3 anaconda3 miniforge3 sdk go/sdk .dotnet/dotnet .dotnet/host .dotnet/sdk .dotnet/shared
	.dotnet/packs .dotnet/tools .ghcup/bin .ghcup/ghc .juliaup .zvm .opam`

// toolchains are the places in the home from which the user's PATH takes programs.
func (c Config) toolchains() (dirs []string) {
	if c.Home == "" {
		return nil
	}
	home, err := filepath.EvalSymlinks(c.Home)
	if err != nil {
		return nil // it is not there
	}
	add := func(dir string) {
		dir = filepath.Clean(dir)
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || names.Within(real, home) { // the home itself, however it is spelled, is no place of programs
			return
		}
		if !slices.Contains(dirs, dir) && (names.Within(c.Home, dir) || names.Within(home, dir)) {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range filepath.SplitList(environ.Variable(c.Environ)("PATH")) {
		if !filepath.IsAbs(dir) || names.Within(c.Root, dir) {
			continue
		}
		add(dir)
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			add(real)
		}
	}
	if len(dirs) > 0 {
		for name := range strings.FieldsSeq(managers) {
			add(filepath.Join(c.Home, name))
		}
	}
	return dirs
}

// userCaches are the caches that programs share between projects: below a directory of the home,
// or the one that a variable names for it, unless a variable of their own names it. None of
// them holds credentials.
var userCaches = []struct{ name, home, moved, below, variable string }{
	{"go-build", ".cache", "XDG_CACHE_HOME", "go-build", "GOCACHE"},
	{"go-mod", "go", "GOPATH", "pkg/mod", "GOMODCACHE"},
	{"cargo-registry", ".cargo", "CARGO_HOME", "registry", ""},
	{"cargo-git", ".cargo", "CARGO_HOME", "git", ""},
	{"npm", ".npm", "npm_config_cache", "_cacache", ""},
	{"yarn", ".cache", "XDG_CACHE_HOME", "yarn", "YARN_CACHE_FOLDER"},
	{"pnpm", ".local/share", "XDG_DATA_HOME", "pnpm/store", ""},
	{"pip", ".cache", "XDG_CACHE_HOME", "pip", "PIP_CACHE_DIR"},
	{"uv", ".cache", "XDG_CACHE_HOME", "uv", "UV_CACHE_DIR"},
	{"ccache", ".cache", "XDG_CACHE_HOME", "ccache", "CCACHE_DIR"},
	{"sccache", ".cache", "XDG_CACHE_HOME", "sccache", "SCCACHE_DIR"},
	{"gradle", ".gradle", "GRADLE_USER_HOME", "caches", ""},
	{"maven", ".m2", "", "repository", ""},
}

// caches are those that commands see: the user's to read, below artoo's own, by project and trust.
func (c Config) caches() (list []sandbox.Cache) {
	if c.Home == "" || c.Cache == "" {
		return nil
	}
	own := c.own()
	variable := environ.Variable(c.Environ)
	for _, row := range userCaches {
		home, _, _ := strings.Cut(variable(row.moved), string(filepath.ListSeparator))
		if !filepath.IsAbs(home) {
			home = filepath.Join(c.Home, filepath.FromSlash(row.home))
		}
		at := filepath.Join(home, filepath.FromSlash(row.below))
		if filepath.IsAbs(variable(row.variable)) {
			at = filepath.Clean(variable(row.variable))
		}
		list = append(list, sandbox.Cache{Path: at, Own: filepath.Join(own, row.name), Env: row.variable})
	}
	if c.Servers {
		list = append(list, sandbox.Cache{Path: c.cargoTarget(), Own: filepath.Join(own, "cargo-target")})
	}
	return list
}

// own is where artoo's own caches for the project lie, apart for each kind of trust.
func (c Config) own() string {
	trust := map[bool]string{true: "trusted", false: "untrusted"}[c.Trusted]
	key := sha256.Sum256([]byte(c.Root))
	return filepath.Join(c.Cache, "sandbox", filepath.Base(c.Root)+"-"+hex.EncodeToString(key[:6]), trust)
}

// kept is the directory for files that commands leave in the project's caches; "" keeps none.
func (c Config) kept() string {
	if c.Cache == "" {
		return ""
	}
	return filepath.Join(c.own(), "project")
}

// cargoTarget is where language servers see cargo's build for them: rust-analyzer's cargo
// check would write to the project.
func (c Config) cargoTarget() string { return filepath.Join(c.Home, ".cache", "artoo-cargo-target") }

// gitConfig is the file with the user's git settings that confined commands see.
func (c Config) gitConfig() string { return filepath.Join(c.Temp, "gitconfig") }

// gitSections are the user's settings for how git shows and names things, and run nothing.
const gitSections = `user core.autocrlf core.eol core.quotepath core.abbrev core.whitespace init color column log
	diff.algorithm diff.renames diff.context diff.mnemonicprefix diff.noprefix diff.colormoved status branch
	merge.conflictstyle push.default pull.rebase rebase.autostash commit.verbose blame format.pretty tag.sort
	versionsort safe fetch.prune advice`

// unwanted is a key of these sections that names a key of the user all the same.
const unwanted = "user.signingkey"

// writeGitConfig writes the user's git settings without programs and credentials, for git in the
// sandbox.
func (c Config) writeGitConfig() error {
	var text bytes.Buffer
	settings, err := git.UserConfig(c.Environ, c.Temp, "--global", "--includes", "--list")
	if err != nil {
		settings = nil // there is no git, or no such file
	}
	for _, setting := range settings {
		key, value, _ := strings.Cut(setting, "\n")
		if wantedSetting(strings.ToLower(key)) {
			writeSetting(&text, key, value)
		}
	}
	return os.WriteFile(c.gitConfig(), text.Bytes(), 0o600)
}

func wantedSetting(key string) bool {
	section, _, _ := strings.Cut(key, ".")
	list := strings.Fields(gitSections)
	return key != unwanted && (slices.Contains(list, section) || slices.Contains(list, key))
}

// writeSetting writes section.sub.name = value as git reads it.
func writeSetting(b *bytes.Buffer, key, value string) {
	section, rest, _ := strings.Cut(key, ".")
	name := rest
	if i := strings.LastIndexByte(rest, '.'); i >= 0 {
		section, name = fmt.Sprintf("%s %q", section, rest[:i]), rest[i+1:]
	}
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(value)
	fmt.Fprintf(b, "[%s]\n\t%s = \"%s\"\n", section, name, quoted)
}

// environ is the environment of a command in the sandbox: git takes the settings above and no
// locks to look, nothing caches beside sources, and sockets of other programs are not named.
func (c Config) environ(variables []string) []string {
	variables = slices.DeleteFunc(slices.Clone(variables), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return environ.IsSocket(name) && !slices.Contains(c.Pass, name)
	})
	return append(slices.Clip(variables),
		"GIT_CONFIG_GLOBAL="+c.gitConfig(), "GIT_CONFIG_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0",
		"PYTHONDONTWRITEBYTECODE=1")
}
