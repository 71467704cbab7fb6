package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/kelseyhightower/envconfig"

	"artoo/provider"
	"artoo/tool/environ"
	"artoo/tool/names"
	"artoo/tool/spelling"
)

// LoadOptions are the inputs of Load.
type LoadOptions struct {
	// Environ are artoo's own variables, as os.Environ gives them.
	Environ environ.Vars
	// Dir is the working directory, absolute, where relative paths start.
	Dir string
	// Flags are the raw values of the given flags in order, by option key; a switch has "true".
	// May be nil.
	Flags map[string][]string
	// System is the directory of the policy and the defaults of this machine, SystemDir; "" reads none.
	System string
	// Keyring is asked for nothing before Key wants a key from it. nil means that there is none.
	Keyring Keyring
	// KeySays gets each printable line of a running key command's stderr, on another goroutine;
	// nil drops it.
	KeySays func(line string)
	// Mask hides text that looks like a key in an error's text; nil hides nothing. Called from any
	// goroutine.
	Mask func(text string) string
}

// Load merges defaults, config files, environment and flags, and bounds them by the system's
// policy. Errors are *Error: of kind usage, or config
// for the file.
func Load(o LoadOptions) (*Config, error) {
	l := loader{&Config{
		Providers:    map[string]ProviderTable{},
		Paths:        FindPaths(o.Environ),
		Environ:      o.Environ,
		dir:          o.Dir,
		origins:      map[string]origin{},
		projectRules: map[string][]RuleText{},
		keyring:      o.Keyring,
		keySays:      o.KeySays,
		mask:         o.Mask,
		keys:         &keyCache{},
		seen:         &seenKeys{},
	}}
	if l.cfg.mask == nil {
		l.cfg.mask = func(text string) string { return text }
	}
	if l.cfg.keyring == nil {
		l.cfg.keyring = noKeyring{}
	}
	if l.cfg.keySays == nil {
		l.cfg.keySays = func(string) {}
	}
	for _, o := range Options() {
		if o.Default == "" {
			continue
		}
		if err := l.assign(&o, []string{o.Default}); err != nil {
			return nil, fmt.Errorf("default of %s: %w", o.Key, err)
		}
	}
	l.cfg.Warnings = l.checkVariables()
	if err := l.readSystem(o.System); err != nil {
		return nil, err
	}
	if err := l.readFile(o); err != nil {
		return nil, err
	}
	if err := l.applyVariables(); err != nil {
		return nil, err
	}
	if err := l.applyFlags(o.Flags); err != nil {
		return nil, err
	}
	if err := l.check(); err != nil {
		return nil, err
	}
	if err := l.loadMCP(); err != nil {
		return nil, err
	}
	if err := l.applyPolicy(); err != nil {
		return nil, err
	}
	return l.cfg, nil
}

// loader fills a Config.
type loader struct{ cfg *Config }

// readFile reads the config file of --config, ARTOO_CONFIG or the default place, where it may be
// missing.
func (l loader) readFile(o LoadOptions) error {
	path, named := o.early("config")
	if path == "" {
		var err error
		if path, err = l.cfg.Paths.ConfigFile(); err != nil {
			return l.applyProfile(nil, o) // no home, no default file
		}
	}
	data, err := os.ReadFile(names.Abs(o.Dir, path))
	if named == "" && errors.Is(err, fs.ErrNotExist) {
		return l.applyProfile(nil, o)
	}
	if err != nil {
		why := cause(err)
		if named != "" {
			why += " (named by " + named + ")"
		}
		return because(kindConfig, path, why, err, "create the file, or name another with --config")
	}
	l.cfg.File = path
	d, err := parseDocument(l.cfg.Paths.shorten(path), data)
	if err != nil {
		return err
	}
	d.home = l.cfg.Paths.home
	if err := l.over(d); err != nil {
		return err
	}
	if err := l.applyProfile(d, o); err != nil {
		return err
	}
	l.warnExposed(path)
	return nil
}

// early is the value of a setting that chooses what is read, and the flag or variable that it is from; "" for none.
func (o LoadOptions) early(key string) (value, named string) {
	if flag := o.Flags[key]; len(flag) > 0 && flag[len(flag)-1] != "" {
		return flag[len(flag)-1], "--" + key
	}
	named = envPrefix + "_" + strings.ToUpper(key)
	if value = o.Environ.Get(named); value == "" {
		named = ""
	}
	return value, named
}

// applyProfile lays the chosen profile over the user's file, which is nil if there is none.
func (l loader) applyProfile(d *document, o LoadOptions) error {
	name, named := o.early("profile")
	if name == "" {
		return nil
	}
	if !slices.Contains(l.cfg.Profiles, name) {
		hint := orList(l.cfg.Profiles)
		if hint == "" {
			hint = "write a table [profile.NAME] in config.toml"
		}
		return wrong(kindUsage, named, "no such profile: "+asWritten(name), hint)
	}
	profiles, _ := d.root["profile"].(map[string]any)
	root, ok := profiles[name].(map[string]any)
	if !ok {
		why := "profile." + name + " must be a table, not " + typeName(profiles[name])
		return wrong(kindConfig, d.where("profile", name), why, "[profile."+name+"]")
	}
	return l.over(d.ofProfile(name, root))
}

// over applies a document over weaker ones: a table of the same name replaces theirs.
func (l loader) over(d *document) error {
	before, providers, agents, checks, hooks := l.chosen(), l.cfg.Providers, l.cfg.Agents, l.cfg.Checks, l.cfg.Hooks
	l.cfg.Providers, l.cfg.Agents, l.cfg.Checks, l.cfg.Hooks = map[string]ProviderTable{}, nil, nil, nil
	if err := l.applyFile(d); err != nil {
		return err
	}
	for name, p := range providers {
		if _, own := l.cfg.Providers[name]; !own {
			l.cfg.Providers[name] = p
		}
	}
	for _, a := range agents {
		if !slices.ContainsFunc(l.cfg.Agents, func(own AgentTable) bool { return own.Name == a.Name }) {
			l.cfg.Agents = append(l.cfg.Agents, a)
		}
	}
	for _, check := range checks {
		if !slices.ContainsFunc(l.cfg.Checks, func(own Check) bool { return own.Glob == check.Glob }) {
			l.cfg.Checks = append(l.cfg.Checks, check)
		}
	}
	l.cfg.Hooks = slices.Concat(hooks, l.cfg.Hooks)
	l.untie(before, d.rank)
	return nil
}

// warnExposed warns of a file with keys that other users can read.
func (l loader) warnExposed(path string) {
	holds := !l.cfg.APIKey.IsZero() || !l.cfg.BraveAPIKey.IsZero() || !l.cfg.TavilyAPIKey.IsZero()
	for _, p := range l.cfg.Providers {
		holds = holds || !p.APIKey.IsZero() || len(p.ExtraHeaders) > 0
	}
	if !holds {
		return
	}
	if info, err := os.Stat(names.Abs(l.cfg.dir, path)); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		l.cfg.Warnings = append(l.cfg.Warnings, fmt.Sprintf("%s: contains keys but is readable by others; run chmod 600",
			l.cfg.Paths.shorten(path)))
	}
}

func (l loader) applyFlags(flags map[string][]string) error {
	before := l.chosen()
	for _, o := range Options() {
		given := flags[o.Key]
		if len(given) == 0 {
			continue
		}
		l.cfg.written = append(l.cfg.written, given...)
		texts := given
		if o.Kind == KindList && !o.unsplit {
			texts = nil
			for _, g := range given {
				texts = append(texts, splitList(g)...)
			}
		}
		if err := l.assign(&o, texts); err != nil {
			hint := "--" + o.Flag
			if o.Kind != KindBool {
				hint += " " + o.example(strings.Join(given, ""))
			}
			return because(kindUsage, "--"+o.Flag, err.Error(), err, hint)
		}
		l.noteOrigin(&o, fromFlag, "--"+o.Flag)
		l.noteRules(&o, texts, "--"+o.Flag)
	}
	l.untie(before, fromFlag)
	l.named()
	return nil
}

// providerAt is the provider a lower place named, and the place's weight.
type providerAt struct {
	name string
	rank rank
}

func (l loader) chosen() providerAt {
	return providerAt{l.cfg.Provider, l.cfg.origins["provider"].rank}
}

// named takes the provider's name off the front of a model of a stronger source than the provider's. A
// model beside its provider, or an address that means one, is taken verbatim.
func (l loader) named() {
	before, now := l.chosen(), l.cfg.origins["model"].rank
	if before.name == "" && l.cfg.BaseURL != "" {
		before = providerAt{provider.Compatible, l.cfg.origins["base_url"].rank}
	}
	named, ok := l.cfg.Named(l.cfg.Model)
	if !ok || before.name == "" || now <= before.rank {
		return
	}
	if named.Provider != before.name {
		l.cfg.switched = fmt.Sprintf("provider %s, because the model %s of %s names it; to ask %[4]s, write %[4]s/%[2]s", named.Provider, l.cfg.Model,
			l.cfg.Origin("model"), before.name, l.cfg.Model, before.name)
	}
	l.cfg.Provider, l.cfg.Model = named.Provider, named.Model
	l.cfg.origins["provider"] = origin{now, l.cfg.Origin("model")}
	l.untie(before, now)
}

// untie drops the model, address and key that a lower place said together with another provider: a key
// would be sent to a stranger.
func (l loader) untie(before providerAt, now rank) {
	if before.name == "" || l.cfg.Provider == before.name || l.cfg.origins["provider"].rank != now {
		return
	}
	if model := l.cfg.origins["model"]; model.rank == before.rank {
		l.cfg.Warnings = append(l.cfg.Warnings, fmt.Sprintf("model %s of %s: left out: it belongs to %s, but %s chooses %s",
			l.cfg.Model, model.text, before.name, l.cfg.Origin("provider"), l.cfg.Provider))
	}
	for _, o := range Options() {
		if slices.Contains([]string{"model", "base_url", "api_key", "api_key_file"}, o.Key) && l.cfg.origins[o.Key].rank == before.rank {
			delete(l.cfg.origins, o.Key)
			l.cfg.field(&o).SetZero()
		}
	}
}

// check finds faults that no single value shows.
func (l loader) check() error {
	if l.cfg.Provider != "" && !l.cfg.IsProvider(l.cfg.Provider) {
		names := l.cfg.ProviderNames()
		hint := orList(names)
		if near := spelling.Nearest(l.cfg.Provider, names); near != "" {
			hint = near
		}
		return l.cfg.blame("provider", "unknown provider "+asWritten(l.cfg.Provider), hint)
	}
	if l.cfg.Continue && l.cfg.Resume != "" {
		return wrong(kindUsage, "--resume", "does not go with --continue", "one of the two")
	}
	if l.cfg.Print && l.cfg.Interactive {
		return wrong(kindUsage, "--interactive", "does not go with --print", "one of the two")
	}
	if l.cfg.Interactive && l.cfg.Output != "text" {
		if l.cfg.origins["output"].rank == fromFlag {
			return wrong(kindUsage, "--output", "a conversation (--interactive) answers in text only",
				"-p -o "+l.cfg.Output+" for one answer")
		}
		l.cfg.Warnings = append(l.cfg.Warnings, l.cfg.Origin("output")+": "+l.cfg.Output+
			" is for headless runs; a conversation (--interactive) answers in text")
	}
	if l.cfg.ShellTimeout > l.cfg.ShellTimeoutMax {
		key := "shell_timeout"
		if l.cfg.origins["shell_timeout_max"].rank > l.cfg.origins[key].rank {
			key = "shell_timeout_max"
		}
		why := fmt.Sprintf("the default time limit of commands, %s, is above the maximum, %s",
			l.cfg.ShellTimeout, l.cfg.ShellTimeoutMax)
		return l.cfg.blame(key, why, "ARTOO_SHELL_TIMEOUT_MAX="+l.cfg.ShellTimeout.String())
	}
	return nil
}

// blame is an error about an option's value, named by where it was set.
func (c *Config) blame(key, why, hint string) error {
	kind := kindUsage
	if c.origins[key].rank < fromEnvironment {
		kind = kindConfig
	}
	return wrong(kind, c.Origin(key), why, hint)
}

// ProviderNames are the known providers, then those of the file alone by name.
func (c *Config) ProviderNames() []string {
	names := provider.Names()
	for _, own := range slices.Sorted(maps.Keys(c.Providers)) {
		if !slices.Contains(names, own) {
			names = append(names, own)
		}
	}
	return names
}

// IsProvider reports whether name is known or defined in the file.
func (c *Config) IsProvider(name string) bool {
	return slices.Contains(c.ProviderNames(), name)
}

// envPrefix is the prefix of artoo's own variables, as envconfig wants it.
const envPrefix = "ARTOO"

// applyVariables lets envconfig decode the variables into the settings. Empty ones count as not set.
func (l loader) applyVariables() error {
	before := l.chosen()
	for _, o := range Options() {
		text := l.cfg.Environ.Get(o.Env)
		if text == "" {
			continue
		}
		field := l.cfg.field(&o)
		err := decodeVariable(field, text)
		if err == nil {
			err = o.check(field, text)
		}
		if err != nil {
			return because(kindUsage, o.Env, err.Error(), err, o.Env+"="+o.example(text))
		}
		l.noteOrigin(&o, fromEnvironment, o.Env)
		l.noteRules(&o, splitList(text), o.Env)
	}
	l.untie(before, fromEnvironment)
	return nil
}

// noVariable is a prefix that no variable has, since none has a = in its name.
const noVariable = "="

// decodeVariable lets envconfig decode the text of a variable into a setting: as the default of a field alone.
func decodeVariable(field reflect.Value, text string) error {
	alone := reflect.New(reflect.StructOf([]reflect.StructField{
		{Name: "Setting", Type: field.Type(), Tag: reflect.StructTag("default:" + strconv.Quote(text))}}))
	value := alone.Elem().Field(0)
	value.Set(field) // a list adds to it
	err := envconfig.Process(noVariable, alone.Interface())
	if failed, ok := errors.AsType[*envconfig.ParseError](err); ok {
		return failed.Err // the text of the other shows the value
	}
	field.Set(value)
	return err
}

// checkVariables warns of those of artoo's variables that no option has.
func (l loader) checkVariables() (warnings []string) {
	var names []string
	for _, o := range Options() {
		if o.Env != "" {
			names = append(names, o.Env)
		}
	}
	for _, entry := range l.cfg.Environ {
		name, value, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, envPrefix+"_") && value != "" && !slices.Contains(names, name) {
			warnings = append(warnings, fmt.Sprintf("%s: no such variable%s", name, didYouMean(name, names)))
		}
	}
	slices.Sort(warnings)
	return warnings
}
