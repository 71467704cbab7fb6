package cli

// What confines commands: the sandbox, and what of it this machine has.

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sourcegraph/conc/panics"

	"artoo/agent"
	"artoo/agent/confine"
	"artoo/agent/permission"
	"artoo/tool"
	"artoo/tool/journal"
	"artoo/tool/repo"
	"artoo/tool/sandbox"
)

// findSandbox finds out what this machine can confine in the project; nothing where the
// sandbox is switched off.
func (a *app) findSandbox(ctx context.Context) (sandbox.Facts, error) {
	if a.cfg.Sandbox == "off" || a.project.None != "" {
		return sandbox.Facts{Mechanism: sandbox.None}, nil
	}
	cache := ""
	if dir, err := a.cfg.Paths.CacheDir(); err == nil { // without one it is found out each time
		cache = filepath.Join(dir, "sandbox.json")
	}
	facts := sandbox.Probe(ctx, cache).For(a.project.Root)
	if a.cfg.Sandbox == "on" && facts.Mechanism == sandbox.None {
		why, cure := "nothing here can", "ARTOO_SANDBOX=auto runs commands as they are, after a question"
		for _, lack := range facts.Missing {
			if lack.What == "sandbox" {
				why = lack.Why
				if lack.Cure != "" {
					cure = lack.Cure
				}
			}
		}
		return facts, fail(agent.KindConfig, "ARTOO_SANDBOX=on: commands cannot be confined", fmt.Errorf("%s", why), cure)
	}
	return facts, nil
}

// confine sets what confines the commands of a session.
func (a *app) confine(env *tool.Env, policy *permission.Policy) (agent.Sandbox, error) {
	if a.facts.Mechanism == sandbox.None {
		return nil, nil
	}
	config := confine.Config{
		Root: a.project.Root, Common: a.project.Common, Environ: env.Environ, Pass: a.cfg.PassEnv,
		Servers: a.cfg.Servers != nil, Trusted: policy.TrustsPrograms,
		Denied: func() ([]string, error) { return env.Files.Denied() },
		Protected: func() ([]string, error) {
			found, err := a.guard.Look()
			return slices.Concat(found.Paths, found.Outside), err
		},
	}
	if dir, err := a.cfg.Paths.StateDir(); err == nil {
		config.Layers = filepath.Join(dir, "layers")
	}
	if home, err := os.UserHomeDir(); err == nil {
		config.Home = home
	}
	if dir, err := a.cfg.Paths.CacheDir(); err == nil {
		config.Cache = dir
	}
	config.Toolchains = homeDirs(a.cfg.Toolchains, config.Home)
	var err error
	if config.Loopback, err = a.loopback(); err != nil {
		return nil, err
	}
	if config.Read, config.Write, err = a.workspace().AddedDirs(); err != nil {
		return nil, err
	}
	config.Read = append(config.Read, goSettings(tool.Variable(env.Environ), config.Home)...)
	policy.Confinement = a.confinement()
	confiner := confine.New(config, a.facts)
	// The first command finds less to do. What fails here, or crashes, does so for it too.
	go func() { _ = panics.Try(func() { _, _ = a.guard.Look() }) }()
	a.found.reached = confiner.Places
	a.found.closers = append(a.found.closers, func() {
		if err := confiner.Close(); err != nil {
			a.warn("the sandbox did not end well: " + err.Error())
		}
	})
	return confiner, nil
}

// confinement is what can hold the project's commands.
func (a *app) confinement() permission.Confinement {
	if a.facts.Mechanism == sandbox.None {
		return permission.Confinement{}
	}
	f := a.facts
	return permission.Confinement{Sandbox: true, Layer: f.Layer, First: f.Still, Shows: !f.HidesFiles, Network: !f.Network,
		Auto:     f.Mechanism == sandbox.Namespaces || f.Mechanism == sandbox.Landlock && !a.project.Git,
		Required: a.cfg.Sandbox == "on"}
}

// journal opens what keeps the project's files as they were, for a session; "" is
// one that is not kept. from is the session it is a copy of.
func (a *app) journal(session, from string, env *tool.Env) (*journal.Journal, error) {
	if session == "" {
		dir, err := a.ephemeralJournal()
		if err != nil {
			return nil, err
		}
		return journal.Open(a.journalConfig(dir, env))
	}
	state, err := a.cfg.Paths.StateDir()
	if err != nil {
		return nil, err
	}
	dir := journal.Dir(state, a.project.Root, session)
	if from != "" {
		if err := journal.Copy(journal.Dir(state, a.project.Root, from), dir); err != nil {
			a.warn("what was changed before cannot be undone in this session: " + err.Error())
		}
	}
	return journal.Open(a.journalConfig(dir, env))
}

// ephemeralJournal makes a directory, until the end, for the journal of a session that
// is not kept: among the others, where the next artoo finds it after a kill, or for
// temporary files where that cannot be. What the project holds is not kept in it.
func (a *app) ephemeralJournal() (dir string, err error) {
	outside := func(dir string) bool {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return false
		}
		rel, err := filepath.Rel(a.project.Root, real)
		return err != nil || !filepath.IsLocal(rel)
	}
	if state, stateErr := a.cfg.Paths.StateDir(); stateErr == nil {
		project := journal.Dir(state, a.project.Root, "")
		if os.MkdirAll(project, 0o700) == nil && outside(project) {
			dir, _ = os.MkdirTemp(project, journal.Ephemeral) // else below
		}
	}
	if dir == "" {
		if dir, err = os.MkdirTemp("", "artoo-undo-"); err != nil {
			return "", err
		}
	}
	a.found.closers = append(a.found.closers, func() {
		if err := journal.Remove(dir); err != nil {
			a.warn(err.Error())
		}
	})
	return dir, nil
}

func (a *app) journalConfig(dir string, env *tool.Env) journal.Config {
	root := a.project.Root
	config := journal.Config{Dir: dir, Root: root, Denied: func(path string) bool {
		place, err := env.Files.Resolve(journal.Abs(root, path), false)
		return err != nil || place.Denied
	}}
	if state, err := a.cfg.Paths.StateDir(); err == nil {
		config.Locks = filepath.Join(state, "landing")
	}
	_, config.Added, _ = a.workspace().AddedDirs() // opening the files fails for one that cannot be named
	home, _ := os.UserHomeDir()
	config.Added = append(config.Added, homeDirs(a.cfg.Writable, home)...)
	if a.project.Common != "" {
		config.Added = append(config.Added, a.project.Common)
	}
	for i, dir := range config.Added {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			config.Added[i] = real
		}
	}
	config.Merges = repo.IsIndex
	config.Merge = func(ctx context.Context, path string, from, to, now []byte) ([]byte, []string, error) {
		return repo.MergeIndex(ctx, filepath.Dir(path), env.Environ, from, to, now)
	}
	if a.project.Git {
		config.Ignored = func(ctx context.Context) ([]string, error) { return a.project.Ignored(ctx, env.Environ) }
		config.Head = a.project.Head
	}
	return config
}

// homeDirs are directories as the settings have them, absolute.
func homeDirs(dirs []string, home string) (list []string) {
	for _, dir := range dirs {
		if rest, ok := strings.CutPrefix(dir, "~"); ok && (rest == "" || rest[0] == '/') {
			dir = home + rest
		}
		if abs, err := filepath.Abs(dir); err == nil {
			list = append(list, abs)
		}
	}
	return list
}

// goSettings is the file of go env -w, which commands read; none where an address in it may
// hold credentials, or there is no such file.
func goSettings(variable func(string) string, home string) []string {
	config := cmp.Or(variable("XDG_CONFIG_HOME"), filepath.Join(home, ".config"))
	file := cmp.Or(variable("GOENV"), filepath.Join(config, "go", "env"))
	data, err := os.ReadFile(file)
	if err != nil || !filepath.IsAbs(file) || bytes.ContainsRune(data, '@') {
		return nil
	}
	return []string{file}
}

// loopback are the ports of the machine that are let in.
func (a *app) loopback() (ports []int, err error) {
	for _, text := range a.cfg.Loopback {
		port, err := strconv.Atoi(text)
		if err != nil || port < 1 || port > 65535 {
			return nil, fail(agent.KindConfig, a.cfg.Origin("loopback"), fmt.Errorf("%q is no port", text), "loopback = [5432]")
		}
		ports = append(ports, port)
	}
	return ports, nil
}
