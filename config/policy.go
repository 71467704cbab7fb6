package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"artoo/tool/extension"
)

// SystemDir is where the administrator of a machine keeps a policy and defaults for all its users.
// No variable and no flag moves it.
const SystemDir = "/etc/artoo"

// Policy is policy.toml in the system's directory, which overrides all other settings. The zero
// value forbids nothing.
type Policy struct {
	File string // "" where there is none

	Modes     []string // the approval modes that may be chosen besides plan; nil for all
	Providers []string // nil for all
	Models    []string // globs; nil for all
	Hosts     []string // model servers, MCP servers and the web tools may be there; nil for all
	Servers   []string // globs of addresses and command lines of MCP servers; nil for all
	HooksOnly bool     // Hooks of others do not run.
	NoBundles bool
	NoTrust   bool     // No project is trusted.
	Skills    []string // directories, absolute

	rules  []RuleText
	mcp    []extension.Server
	hooks  []extension.Hook
	bounds Settings          // the highest caps, and the least sandbox; zero for none
	at     map[string]string // where each key stands, by key
}

// At is the place of a key, "/etc/artoo/policy.toml line 4"; "" where the policy does not have it.
func (p *Policy) At(key string) string { return p.at[key] }

// String is the file with its settings, "" if there is none.
func (p *Policy) String() string {
	if p.File == "" {
		return ""
	}
	return p.File + " sets " + cmp.Or(strings.Join(slices.Sorted(maps.Keys(p.at)), ", "), "nothing")
}

// caps are the settings that a policy can bound.
func caps() []string {
	return []string{"max_cost", "daily_cost", "max_turns", "max_total_tokens", "max_time", "max_files", "max_lines"}
}

// forbidden is the error for a setting that a key of the policy does not allow.
func (p *Policy) forbidden(key, why, hint string) error {
	return wrong(kindConfig, p.At(key), why, hint)
}

// CheckModel is an error if the model may not be asked, or its provider. own means that the provider
// is a program which chooses the hosts that it connects to.
func (p *Policy) CheckModel(name, model string, own bool) error {
	switch {
	case p.Providers != nil && !slices.Contains(p.Providers, name):
		return p.forbidden("providers", "provider "+name+" is not allowed", orList(p.Providers))
	case p.Hosts != nil && own && !slices.Contains(p.Providers, name):
		return p.forbidden("hosts", name+" connects to hosts of its own choice, which is not allowed", "a provider that artoo itself contacts")
	case p.Models != nil && !matchesAny(p.Models, model) && !matchesAny(p.Models, name+"/"+model):
		return p.forbidden("models", "model "+name+"/"+model+" is not allowed", orList(p.Models))
	}
	return nil
}

// CheckHost is an error if artoo may not connect to a host, with or without its port.
func (p *Policy) CheckHost(host string) error {
	if p.Hosts == nil || slices.ContainsFunc(p.Hosts, func(allowed string) bool { return matchesHost(allowed, host) }) {
		return nil
	}
	return p.forbidden("hosts", "host "+host+" is not allowed", orList(p.Hosts))
}

// CheckServer is an error if an MCP server may not be used.
func (p *Policy) CheckServer(s extension.Server) error {
	if s.Source == extension.SourcePolicy {
		return nil
	}
	if s.URL != "" {
		if u, err := url.Parse(s.URL); err == nil {
			if err := p.CheckHost(u.Host); err != nil {
				return err
			}
		}
	}
	allowed := func(s extension.Server) bool {
		return slices.ContainsFunc(p.Servers, func(allowed string) bool { return matchesServer(allowed, s) })
	}
	if p.Servers == nil || allowed(s) {
		return nil
	}
	why, hint, bare := "MCP server "+s.Name+" is not allowed", orList(p.Servers), s
	if bare.Env, bare.PassEnv, bare.Dir = nil, nil, ""; allowed(bare) {
		why, hint = why+" with variables or a directory of its own", "leave out env, pass_env and cwd"
	}
	return p.forbidden("servers", why, hint)
}

// LeavesOut says in a line that hooks do not run because only those of the policy do, which are the first of them; ""
// where all run.
func (p *Policy) LeavesOut(hooks []extension.Hook) string {
	if !p.HooksOnly || len(hooks) == len(p.hooks) {
		return ""
	}
	return p.At("hooks_only") + ": only the hooks of the policy run, not that of " + hooks[len(p.hooks)].Place
}

// CheckTrust is an error if no project may be trusted.
func (p *Policy) CheckTrust() error {
	if !p.NoTrust {
		return nil
	}
	return p.forbidden("trust", "no project is trusted here", "put the settings in your own config.toml")
}

// CheckBundles is an error if plugin bundles may not be used.
func (p *Policy) CheckBundles() error {
	if !p.NoBundles {
		return nil
	}
	return p.forbidden("no_bundles", "plugin bundles are not allowed", "ask the administrator of this machine to install it")
}

// HighestTurns is the most steps of a turn, 0 for any number.
func (p *Policy) HighestTurns() int { return int(p.bounds.MaxTurns) }

// matchesAny reports whether one of the globs matches all of a text.
func matchesAny(globs []string, text string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool { return matchesGlob(glob, text) })
}

// matchesGlob reports whether a glob, in which * stands for any characters, matches all of a text.
func matchesGlob(glob, text string) bool {
	parts := strings.Split(glob, "*")
	if len(parts) == 1 {
		return glob == text
	}
	first, last := parts[0], parts[len(parts)-1]
	if len(text) < len(first)+len(last) || !strings.HasPrefix(text, first) || !strings.HasSuffix(text, last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		_, rest, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = rest
	}
	return true
}

// matchesHost reports whether a host is the one that is allowed, on its port if one is named, or for
// *.NAME one below it.
func matchesHost(allowed, host string) bool {
	name, port := splitPort(strings.ToLower(host))
	want, wantPort := splitPort(strings.ToLower(allowed))
	if wantPort != "" && wantPort != port {
		return false
	}
	name = strings.TrimSuffix(name, ".")
	if below, ok := strings.CutPrefix(want, "*."); ok {
		return strings.HasSuffix(name, "."+below)
	}
	return name == want
}

func splitPort(host string) (name, port string) {
	if name, port, err := net.SplitHostPort(host); err == nil {
		return name, port
	}
	return strings.Trim(host, "[]"), ""
}

// matchesServer reports whether a glob covers a server: its address, of which scheme and host are compared by
// themselves, or its command, word by word; * as the last word is any further ones. No glob covers an argument that
// becomes another path or text later, or a command with variables or a directory of its own: too many of them change
// the program or its libraries.
func matchesServer(allowed string, s extension.Server) bool {
	if s.URL != "" {
		want, err := url.Parse(allowed)
		at, err2 := url.Parse(s.URL)
		return err == nil && err2 == nil && at.User == nil && want.Host != "" && want.Scheme == at.Scheme &&
			matchesHost(want.Host, at.Host) && (want.Port() == at.Port()) &&
			!shifts(at.Path) && matchesGlob(cmp.Or(want.Path, "/"), cmp.Or(at.Path, "/"))
	}
	if len(s.Env) > 0 || len(s.PassEnv) > 0 || s.Dir != "" || slices.ContainsFunc(s.Command, shifts) {
		return false
	}
	words := strings.Fields(allowed)
	for i, word := range words {
		switch {
		case word == "*" && i == len(words)-1 && i > 0:
			return len(s.Command) >= i
		case i >= len(s.Command) || !matchesGlob(word, s.Command[i]):
			return false
		}
	}
	return len(words) > 0 && len(words) == len(s.Command)
}

// shifts reports whether a text leads upwards as a path, also as a server may read it, or has a
// variable that is replaced at the start.
func shifts(text string) bool {
	return strings.Contains(text, "${") ||
		slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return r == '/' || r == '\\' }), "..")
}

// readSystem reads the policy and the defaults of the system's directory.
func (l loader) readSystem(dir string) error {
	if dir == "" {
		return nil
	}
	l.cfg.Policy.at = map[string]string{}
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err := ownedByRoot(dir); err != nil {
		return err
	}
	for _, file := range []struct {
		name  string
		apply func(*document) error
	}{{"policy.toml", l.cfg.Policy.read}, {"config.toml", l.applyFile}} {
		path := filepath.Join(dir, file.name)
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		data, err := readOwned(path)
		if err != nil {
			return err
		}
		d, err := parseDocument(path, data)
		if e, ok := errors.AsType[*Error](err); ok {
			e.Hint = "fix the line, as root"
		}
		if err != nil {
			return err
		}
		d.rank, d.home = fromSystem, l.cfg.Paths.home
		if err := file.apply(d); err != nil {
			return err
		}
	}
	for _, skills := range l.cfg.Policy.Skills {
		at := skills
		for _, err := os.Lstat(at); errors.Is(err, fs.ErrNotExist); _, err = os.Lstat(at) {
			at = filepath.Dir(at) // A user who may write there could make it.
		}
		if err := ownedByRoot(at); err != nil {
			return err
		}
	}
	return nil
}

// readOwned reads a file of root's.
func readOwned(path string) ([]byte, error) {
	if err := ownedByRoot(path); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, because(kindConfig, path, cause(err), err, "make it readable for everyone, as root: chmod 644 "+path)
	}
	return data, nil
}

// ownedByRoot refuses a file or directory that someone besides root could change, by itself or by
// a directory above it.
func ownedByRoot(path string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return because(kindConfig, path, cause(err), err, "fix or remove it, as root")
	}
	var all []string
	for _, start := range []string{real, path} { // a link is as safe as the directories that hold it
		for at := start; at != filepath.Dir(at); at = filepath.Dir(at) {
			all = append(all, at)
		}
	}
	for _, at := range all {
		info, err := os.Stat(at)
		if err != nil {
			return because(kindConfig, at, cause(err), err, "make it readable for everyone, as root")
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		switch {
		case !ok || stat.Uid != 0:
			return wrong(kindConfig, at, "does not belong to root, so it could loosen the policy of this machine", "chown root "+at)
		case info.Mode().Perm()&0o022 != 0:
			return wrong(kindConfig, at, "can be written by users other than root, so they could loosen the policy of this machine",
				"chmod go-w "+at)
		}
	}
	return nil
}

// read takes over the policy's file.
func (p *Policy) read(d *document) error {
	p.File = d.path
	t := &table{doc: d, m: d.root, asked: map[string]bool{}}
	for _, list := range []string{"deny", "ask", "hide"} {
		for _, rule := range t.rules(list) {
			rule.Fixed = true
			p.rules = append(p.rules, rule)
		}
	}
	for key, into := range map[string]*[]string{"modes": &p.Modes, "providers": &p.Providers, "models": &p.Models,
		"hosts": &p.Hosts, "servers": &p.Servers, "skills": &p.Skills} {
		t.store(key, into)
	}
	mode := fileOption("approval")
	for _, word := range p.Modes {
		if !slices.Contains(mode.Choices, word) {
			d.wrong(t.at("modes"), fmt.Sprintf("modes: %s is not one of %s", asWritten(word), strings.Join(mode.Choices, ", ")), `modes = ["ask"]`)
		}
	}
	for _, dir := range p.Skills {
		if !filepath.IsAbs(dir) {
			d.wrong(t.at("skills"), "skills: "+dir+" is not an absolute path", `skills = ["/usr/share/artoo/skills"]`)
		}
	}
	if v, there := t.get("hooks"); there {
		p.hooks = d.hooks(v, extension.Origin{Source: extension.SourcePolicy})
	}
	p.HooksOnly, p.NoBundles = t.truth("hooks_only"), t.truth("no_bundles")
	p.NoTrust = oneOf(t, "trust", []string{"never"}) != ""
	bounds := loader{&Config{origins: map[string]origin{}}}
	for _, key := range append(caps(), "sandbox") {
		if _, there := t.get(key); there {
			bounds.applyKey(t, key, fileOption(key))
		}
	}
	if p.bounds = bounds.cfg.Settings; p.bounds.Sandbox == "off" {
		d.wrong(t.at("sandbox"), "sandbox: off forbids nothing", `sandbox = "on"`)
	}
	if servers := t.sub("mcp"); servers != nil {
		own := loader{&Config{mask: func(text string) string { return text }}}
		own.applyMCP(servers)
		for _, s := range own.cfg.MCPServers {
			s.Source = extension.SourcePolicy
			p.mcp = append(p.mcp, s)
		}
	}
	known := slices.Sorted(maps.Keys(t.asked))
	for _, key := range t.keys() {
		if p.at[key] = d.where(key); !t.asked[key] {
			d.wrong(t.at(key), "no such key: "+key+didYouMean(key, known), "fix or remove the line: a policy that is not understood protects nothing")
		}
	}
	return d.err()
}

// truth reads true or false.
func (t *table) truth(key string) bool {
	var truth *bool
	return t.store(key, &truth) && *truth
}

// applyPolicy bounds the settings of all other sources.
func (l loader) applyPolicy() error {
	p := &l.cfg.Policy
	l.cfg.Hooks = slices.Concat(p.hooks, l.cfg.Hooks)
	if p.Modes != nil && l.cfg.Approval != "plan" && !slices.Contains(p.Modes, l.cfg.Approval) {
		if l.cfg.IsSet("approval") {
			return p.forbidden("modes", "approval "+l.cfg.Approval+" of "+l.cfg.Origin("approval")+" is not allowed",
				"--approval "+orList(append([]string{"plan"}, p.Modes...)))
		}
		l.cfg.Approval = append(slices.Clone(p.Modes), "plan")[0]
		l.cfg.origins["approval"] = origin{fromPolicy, p.At("modes")}
	}
	if least := p.bounds.Sandbox; least != "" && least != l.cfg.Sandbox && (l.cfg.Sandbox == "off" || l.cfg.Sandbox == "external") {
		return p.forbidden("sandbox", "sandbox "+l.cfg.Sandbox+" of "+l.cfg.Origin("sandbox")+" is not allowed", `sandbox = "`+least+`"`)
	} else if least == "on" {
		l.cfg.Sandbox, l.cfg.origins["sandbox"] = least, origin{fromPolicy, p.At("sandbox")}
	}
	if err := l.boundServers(); err != nil {
		return err
	}
	for _, key := range caps() {
		o := fileOption(key)
		now, highest := l.cfg.field(o), reflect.ValueOf(p.bounds).Field(o.field)
		if highest.IsZero() || !now.IsZero() && !above(now, highest) {
			continue
		}
		if l.cfg.IsSet(key) {
			l.cfg.Warnings = append(l.cfg.Warnings, fmt.Sprintf("%s: %s %v of %s is lowered to %v", p.At(key), key, now, l.cfg.Origin(key), highest))
		}
		now.Set(highest)
		l.cfg.origins[key] = origin{fromPolicy, p.At(key)}
	}
	return nil
}

// boundServers puts the policy's servers in front, and leaves out those that it forbids with a warning. A
// forbidden server that is required is an error.
func (l loader) boundServers() error {
	given := l.cfg.MCPServers
	l.cfg.MCPServers = slices.Clone(l.cfg.Policy.mcp)
	for _, s := range given {
		err := l.cfg.Policy.CheckServer(s)
		if slices.ContainsFunc(l.cfg.Policy.mcp, func(own extension.Server) bool { return own.Name == s.Name }) {
			err = l.cfg.Policy.forbidden("mcp", "MCP server "+s.Name+" of "+s.Place+" is replaced by the policy's", "")
		}
		switch {
		case err == nil:
			l.cfg.MCPServers = append(l.cfg.MCPServers, s)
		case s.Required:
			return err
		default:
			l.cfg.Warnings = append(l.cfg.Warnings, err.Error())
		}
	}
	return nil
}

// above reports whether a number is higher than another of the same type.
func above(a, b reflect.Value) bool {
	if a.CanInt() {
		return a.Int() > b.Int()
	}
	return a.Float() > b.Float()
}
