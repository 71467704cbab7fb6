// Package confine lets an agent's commands run in the sandbox and on layers: it knows which
// places of this machine they need, and starts the sandbox when the first one comes.
package confine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"artoo/tool/environ"
	"artoo/tool/git"
	"artoo/tool/names"
	"artoo/tool/proxy"
	"artoo/tool/sandbox"
	"artoo/tool/shell"
	"artoo/tool/tempdir"
)

// background is how long processes that a command left in the background may still write, as in
// shell.DefaultWaits.
const background = 200 * time.Millisecond

// Line is how one command runs confined. Paths are absolute.
type Line struct {
	Place sandbox.Place
	Exec  bool // the project's own programs may run
	// Outputs are the project's directories that a background command may write; Whole is all of it, except files that
	// programs run or obey automatically.
	Outputs []string
	Whole   bool
	// Hosts are those that it may reach, through the proxy of Config; nil for no network.
	Hosts []proxy.Host
	// Files are texts of files in the home, by their paths, that tell package managers of registries of the user's.
	Files map[string]string
}

// Confined is a command that runs confined. The methods below hold once it has ended.
type Confined interface {
	shell.Started
	Denials() []sandbox.Denial      // Denials lists refused acts. It may be called while the command runs.
	Hides(path string) bool         // Hides reports whether it could not see an absolute path of the machine.
	Wrote(ctx context.Context) bool // reports whether it changed something on its layer by now
	Protect() error                 // makes files that programs run read-only again: a landing replaced files
	Limit() string                  // the limit that ended it, in words; "" for none
	Network() proxy.Report          // what it did with Line.Hosts, by now
	// Changes are those on its layer; they hold the layer until Discard. An error gives the
	// layer up.
	Changes(ctx context.Context) (Changes, error)
	Discard() error
}

// Changes are those of a command on a layer.
type Changes interface {
	List() []sandbox.Change
	Stays() []string // Stays lists absolute paths that it could not see in directories that it removed.
	// Open opens the new content of the regular file at an absolute path.
	Open(path string) (*os.File, error)
	// Path is where that content lies, if it may be renamed from there; "" has it copied.
	Path(path string) string
	// Discard gives the layer up; with keepCaches, the command's cache files stay for the next one.
	Discard(keepCaches bool) error
}

// Confiner is the sandbox of one session. Make one with New.
type Confiner struct {
	config Config
	given  Config // It is never written, so that any goroutine may read it.
	facts  sandbox.Facts

	start   sync.Once
	temp    *tempdir.Dir // nil before the first command
	sandbox *sandbox.Sandbox
	broken  error // why it could not be started

	// networked confines MCP servers with the whole network, hosted those with hosts.
	networked, hosted apart
}

// New makes a Confiner. facts are the machine's abilities. Nothing is started before the
// first command.
func New(config Config, facts sandbox.Facts) *Confiner {
	return &Confiner{config: config, given: config, facts: facts}
}

// open starts the sandbox.
func (c *Confiner) open() error {
	c.start.Do(func() {
		var err error
		if c.temp, err = tempdir.Make(c.config.Own.TempDir()); err != nil {
			c.broken = err
			return
		}
		c.config.Temp = c.temp.Path
		config, err := c.config.inside()
		if err == nil {
			c.sandbox, err = sandbox.Open(context.Background(), config, c.facts)
		}
		c.broken = err
	})
	return c.broken
}

// Start starts a command in a place other than the host.
func (c *Confiner) Start(cmd *exec.Cmd, line Line) (Confined, error) {
	if err := c.open(); err != nil {
		return nil, fmt.Errorf("the sandbox cannot be started: %w", err)
	}
	return withHint(c.run(cmd, line.Hosts, sandbox.Options{
		Layer:    line.Place == sandbox.PlaceLayer || line.Place == sandbox.PlaceDiscarded,
		ReadOnly: line.Place == sandbox.PlaceReadOnly,
		Job:      line.Place == sandbox.PlaceBackground, Outputs: line.Outputs, Whole: line.Whole,
		Exec: line.Exec, Grace: background, Files: line.Files,
	}))
}

// Share shows a file to all commands, in their directory for temporary files. They may have put a link in its place: it is
// replaced and not followed.
func (c *Confiner) Share(name string, data []byte) (seen string, err error) {
	if err := c.open(); err != nil {
		return "", fmt.Errorf("the sandbox cannot be started: %w", err)
	}
	dir := filepath.Join(c.config.Temp, "tmp")
	file, err := os.CreateTemp(dir, ".artoo-")
	if err != nil {
		return "", err
	}
	_, err = file.Write(data)
	at := filepath.Join(dir, name)
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), at)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(file.Name()))
	}
	if c.facts.Mechanism == sandbox.Namespaces {
		at = filepath.Join("/tmp", name)
	}
	return at, nil
}

// StartServer starts a language server, which runs code of the project and writes only to artoo's caches.
func (c *Confiner) StartServer(cmd *exec.Cmd) (shell.Started, error) {
	if err := c.open(); err != nil {
		return nil, fmt.Errorf("the sandbox cannot be started: %w", err)
	}
	if c.facts.Layer && c.config.Home != "" && c.config.Cache != "" { // caches are mounted
		cmd.Env = append(slices.Clip(cmd.Env), "CARGO_TARGET_DIR="+c.config.cargoTarget())
	}
	return withHint(c.run(cmd, nil, sandbox.Options{Job: true, Exec: true}))
}

// HiddenError says that a file is there, and that the sandbox does not show it.
type HiddenError struct{ Path, Dir string } // Dir shows it, once it is one of the toolchains

// HiddenBy is the error for an absolute path that is hidden.
func HiddenBy(hides func(path string) bool, path string) HiddenError {
	dir := filepath.Dir(path)
	if real, err := filepath.EvalSymlinks(path); err == nil && !hides(dir) {
		dir = filepath.Dir(real) // a link that leads out of sight
	}
	return HiddenError{path, dir}
}

func (e HiddenError) Error() string { return e.Path + " is hidden in the sandbox" }

// Hint says how to show the file.
func (e HiddenError) Hint() string {
	return "add " + e.Dir + " to [permissions] toolchains or ARTOO_TOOLCHAINS"
}

// withHint adds to the error of a hidden program how to show it.
func withHint(confined Confined, err error) (Confined, error) {
	if hidden, ok := errors.AsType[HiddenError](err); ok {
		return nil, fmt.Errorf("%w; %s", err, hidden.Hint())
	}
	return confined, err
}

// run starts a command. The error is a HiddenError where the sandbox does not show its program.
func (c *Confiner) run(cmd *exec.Cmd, hosts []proxy.Host, options sandbox.Options) (Confined, error) {
	program := cmd.Path
	if !filepath.IsAbs(program) {
		program = filepath.Join(cmd.Dir, program)
	}
	if c.sandbox.Hides(program) {
		return nil, HiddenBy(c.sandbox.Hides, program)
	}
	cmd.Env = c.config.environ(cmd.Env)
	var line *proxy.Line
	if len(hosts) > 0 && c.config.Proxy != nil && c.sandbox.ServedAt() != 0 {
		line = c.config.Proxy.Open(hosts)
		address := line.URL(c.sandbox.ServedAt())
		cmd.Env = throughProxy(cmd.Env, address, hosts)
		options.Files = withMaven(options.Files, c.config.Home, address)
	}
	process, err := c.sandbox.Start(cmd, options)
	if err != nil {
		if line != nil {
			line.Close()
		}
		return nil, err
	}
	return follow(process, line), nil
}

// Close ends the sandbox and all that still runs in it.
func (c *Confiner) Close() error {
	c.start.Do(func() { c.broken = errors.New("the session is over") })
	var err error
	for _, of := range []*apart{&c.networked, &c.hosted} {
		of.once.Do(func() { of.broken = errors.New("the session is over") })
		if of.confiner != nil {
			err = errors.Join(err, of.confiner.Close())
		}
	}
	if c.sandbox != nil {
		err = errors.Join(err, c.sandbox.Close())
	}
	if c.temp != nil {
		err = errors.Join(err, c.temp.Remove())
	}
	return err
}

// command is a command in the sandbox.
type command struct {
	*sandbox.Process
	line *proxy.Line // nil without hosts
	done chan struct{}
	exit sandbox.Exit // once done is closed
	err  error
}

// follow waits for the end of a process in a goroutine of its own.
func follow(process *sandbox.Process, line *proxy.Line) *command {
	r := &command{Process: process, line: line, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.exit, r.err = r.Process.Wait()
		if line != nil {
			line.Close()
		}
	}()
	return r
}

func (r *command) Network() (report proxy.Report) {
	if r.line != nil {
		report = r.line.Report()
	}
	return report
}

func (r *command) Done() <-chan struct{} { return r.done }

func (r *command) Exit() shell.Exit {
	switch status := r.exit.Status; {
	case r.err != nil:
		return shell.Exit{Signal: "SIGKILL"} // the sandbox went away, and the command with it
	case status.Signaled():
		return shell.Exit{Code: -1, Signal: shell.SignalName(int(status.Signal()))}
	default:
		return shell.Exit{Code: status.ExitStatus()}
	}
}

// Signal passes a signal on. One that cannot be sent came after the command's end.
func (r *command) Signal(signal syscall.Signal) { _ = r.Process.Signal(signal) }

// Runs reports whether it, or anything that it started, runs.
func (r *command) Runs() bool {
	select {
	case <-r.done:
		return false
	default:
		return true
	}
}

func (r *command) KillAll() (stopped, left int) {
	if r.Runs() {
		_ = r.Process.Kill() // it may have ended meanwhile
		<-r.done
	}
	return r.exit.Stopped, 0
}

// Release frees nothing: a command leaves only its layer.
func (r *command) Release() {}

func (r *command) Limit() string { return r.exit.Limit }

func (r *command) Changes(ctx context.Context) (Changes, error) {
	if r.err != nil {
		return nil, r.err
	}
	found, err := r.Process.Changes(ctx)
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Config lists the places that the commands of one session may reach. Paths are absolute.
type Config struct {
	// Config is that of the user and the project. Temp, Caches and Kept are set when the sandbox starts, and the
	// session's own Read, Toolchains and Denied are added then.
	sandbox.Config
	Cache   string       // artoo's own caches are below it; "" keeps none
	Own     environ.Vars // artoo's own variables, by which git is looked up
	Environ []string     // Commands get a part of it.
	Pass    []string     // variables that commands get though they name a program's socket
	// Servers means that language servers may be started, Trusted that the project's own programs
	// run unasked: each trust has caches of its own.
	Servers, Trusted bool
	// Proxy reaches the hosts of lines; nil opens none.
	Proxy *proxy.Proxy
	// Late lists further directories that commands may read, when the sandbox starts; nil for none.
	Late func() []string
}

// inside is the sandbox's configuration, with the files and caches of the session.
func (c Config) inside() (sandbox.Config, error) {
	config := c.Config
	config.Read = slices.Concat(c.Read, c.certificates(), []string{c.gitConfig()})
	if c.Late != nil {
		config.Read = append(config.Read, c.Late()...)
	}
	config.Toolchains = append(c.toolchains(), c.Toolchains...)
	c.Read = config.Read
	config.Caches, config.Kept, config.Denied = c.caches(), c.kept(), c.denied()
	if c.Proxy != nil {
		config.Served = c.Proxy.Serve
	}
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
		{"programs in your home", append(c.config.toolchains(), c.config.Toolchains...)},
		{"caches, read-only, below artoo's own", caches},
	} {
		if len(row.dirs) > 0 {
			rows = append(rows, row.what+": "+strings.Join(row.dirs, ", "))
		}
	}
	return rows
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
	for _, dir := range filepath.SplitList(environ.Vars(c.Environ).Get("PATH")) {
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
	{"npx", ".npm", "npm_config_cache", "_npx", ""},
	{"yarn", ".cache", "XDG_CACHE_HOME", "yarn", "YARN_CACHE_FOLDER"},
	{"pnpm", ".local/share", "XDG_DATA_HOME", "pnpm/store", "pnpm_config_store_dir"},
	{"bun", ".bun", "BUN_INSTALL", "install/cache", "BUN_INSTALL_CACHE_DIR"},
	{"pip", ".cache", "XDG_CACHE_HOME", "pip", "PIP_CACHE_DIR"},
	{"uv", ".cache", "XDG_CACHE_HOME", "uv", "UV_CACHE_DIR"},
	{"bundle", ".bundle", "BUNDLE_USER_HOME", "cache", "BUNDLE_USER_CACHE"},
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
	variable := environ.Vars(c.Environ).Get
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
	settings, err := git.UserConfig(c.Own, c.Environ, c.Temp, "--global", "--includes", "--list")
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

// certificatesOf calls each for the absolute paths of a variable that names root certificates, and returns the variable
// with the paths that each returned. Other variables stay as they are.
func certificatesOf(kv string, each func(path string) string) string {
	name, value, _ := strings.Cut(kv, "=")
	if !environ.IsCertificates(name) {
		return kv
	}
	paths := filepath.SplitList(value)
	for i, path := range paths {
		if filepath.IsAbs(path) {
			paths[i] = each(path)
		}
	}
	return name + "=" + strings.Join(paths, string(filepath.ListSeparator))
}

// certificates are the files and directories of root certificates that the user's variables name. One that holds the
// home or the project is none.
func (c Config) certificates() (list []string) {
	for _, kv := range c.Environ {
		certificatesOf(kv, func(path string) string {
			real := names.Real(path)
			if !names.Within(real, names.Real(c.Home)) && !names.Within(real, c.Root) {
				list = append(list, real)
			}
			return path
		})
	}
	return list
}

// environ is the environment of a command in the sandbox: git takes the settings above and no
// locks to look, nothing caches beside sources, sockets of other programs are not named, and certificates are by their
// real paths.
func (c Config) environ(variables []string) []string {
	variables = slices.DeleteFunc(slices.Clone(variables), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return environ.IsSocket(name) && !slices.Contains(c.Pass, name)
	})
	for i, kv := range variables {
		variables[i] = certificatesOf(kv, names.Real)
	}
	return append(slices.Clip(variables),
		"GIT_CONFIG_GLOBAL="+c.gitConfig(), "GIT_CONFIG_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0",
		"PYTHONDONTWRITEBYTECODE=1")
}
