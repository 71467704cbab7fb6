package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/kelseyhightower/envconfig"

	"artoo/provider"
	"artoo/tool/spelling"
)

// LoadOptions are the inputs of Load besides the environment.
type LoadOptions struct {
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
	c := loader{&Config{
		Providers:    map[string]ProviderTable{},
		Paths:        FindPaths(),
		origins:      map[string]origin{},
		projectRules: map[string][]RuleText{},
		keyring:      o.Keyring,
		keySays:      o.KeySays,
		mask:         o.Mask,
		keys:         &keyCache{},
		seen:         &seenKeys{},
	}}
	if c.mask == nil {
		c.mask = func(text string) string { return text }
	}
	if c.keyring == nil {
		c.keyring = noKeyring{}
	}
	if c.keySays == nil {
		c.keySays = func(string) {}
	}
	for _, o := range Options() {
		if o.Default == "" {
			continue
		}
		if err := c.assign(&o, []string{o.Default}); err != nil {
			return nil, fmt.Errorf("default of %s: %w", o.Key, err)
		}
	}
	c.Warnings = checkVariables()
	if err := c.readSystem(o.System); err != nil {
		return nil, err
	}
	if err := c.readFile(o); err != nil {
		return nil, err
	}
	if err := c.applyVariables(); err != nil {
		return nil, err
	}
	if err := c.applyFlags(o.Flags); err != nil {
		return nil, err
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	if err := c.loadMCP(); err != nil {
		return nil, err
	}
	if err := c.applyPolicy(); err != nil {
		return nil, err
	}
	return c.Config, nil
}

// loader fills a Config.
type loader struct{ *Config }

// readFile reads the config file of --config, ARTOO_CONFIG or the default place, where it may be
// missing.
func (c loader) readFile(o LoadOptions) error {
	named := envPrefix + "_CONFIG"
	path, _ := os.LookupEnv(named)
	if flag := o.Flags["config"]; len(flag) > 0 && flag[len(flag)-1] != "" {
		path, named = flag[len(flag)-1], "--config"
	}
	if path == "" {
		var err error
		if path, err = c.Paths.ConfigFile(); err != nil {
			return nil // no home, no default file
		}
		named = ""
	}
	data, err := os.ReadFile(path)
	if named == "" && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		why := cause(err)
		if named != "" {
			why += " (named by " + named + ")"
		}
		return because(kindConfig, path, why, err, "create the file, or name another with --config")
	}
	c.File = path
	d, err := parseDocument(shorten(path), data)
	if err != nil {
		return err
	}
	if err := c.over(d); err != nil {
		return err
	}
	c.warnExposed(path)
	return nil
}

// over applies the user's file over the system's defaults: a table of the same name replaces theirs.
func (c loader) over(d *document) error {
	before, providers, agents, checks, hooks := c.chosen(), c.Providers, c.Agents, c.Checks, c.Hooks
	c.Providers, c.Agents, c.Checks, c.Hooks = map[string]ProviderTable{}, nil, nil, nil
	if err := c.applyFile(d); err != nil {
		return err
	}
	for name, p := range providers {
		if _, own := c.Providers[name]; !own {
			c.Providers[name] = p
		}
	}
	for _, a := range agents {
		if !slices.ContainsFunc(c.Agents, func(own AgentTable) bool { return own.Name == a.Name }) {
			c.Agents = append(c.Agents, a)
		}
	}
	for _, check := range checks {
		if !slices.ContainsFunc(c.Checks, func(own Check) bool { return own.Glob == check.Glob }) {
			c.Checks = append(c.Checks, check)
		}
	}
	c.Hooks = slices.Concat(hooks, c.Hooks)
	c.untie(before, fromFile)
	return nil
}

// warnExposed warns of a file with keys that other users can read.
func (c loader) warnExposed(path string) {
	holds := !c.APIKey.IsZero() || !c.BraveAPIKey.IsZero() || !c.TavilyAPIKey.IsZero()
	for _, p := range c.Providers {
		holds = holds || !p.APIKey.IsZero() || len(p.ExtraHeaders) > 0
	}
	if !holds {
		return
	}
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		c.Warnings = append(c.Warnings, fmt.Sprintf("%s: contains keys but is readable by others; run chmod 600",
			shorten(path)))
	}
}

func (c loader) applyFlags(flags map[string][]string) error {
	before := c.chosen()
	for _, o := range Options() {
		given := flags[o.Key]
		if len(given) == 0 {
			continue
		}
		texts := given
		if o.Kind == KindList && !o.unsplit {
			texts = nil
			for _, g := range given {
				texts = append(texts, splitList(g)...)
			}
		}
		if err := c.assign(&o, texts); err != nil {
			hint := "--" + o.Flag
			if o.Kind != KindBool {
				hint += " " + o.example(strings.Join(given, ""))
			}
			return because(kindUsage, "--"+o.Flag, err.Error(), err, hint)
		}
		c.noteOrigin(&o, fromFlag, "--"+o.Flag)
		c.noteRules(&o, texts, "--"+o.Flag)
	}
	c.untie(before, fromFlag)
	c.named()
	return nil
}

// providerAt is the provider a lower place named, and the place's weight.
type providerAt struct {
	name string
	rank rank
}

func (c loader) chosen() providerAt { return providerAt{c.Provider, c.origins["provider"].rank} }

// named takes the provider's name off the front of a model of a stronger source than the provider's. A
// model beside its provider, or an address that means one, is taken verbatim.
func (c loader) named() {
	before, now := c.chosen(), c.origins["model"].rank
	if before.name == "" && c.BaseURL != "" {
		before = providerAt{provider.Compatible, c.origins["base_url"].rank}
	}
	name, model, ok := c.splitModel(c.Model)
	if !ok || before.name == "" || now <= before.rank {
		return
	}
	if name != before.name {
		c.switched = fmt.Sprintf("provider %s, named by the model %s of %s; %s/%s is asked of %s", name, c.Model,
			c.Origin("model"), before.name, c.Model, before.name)
	}
	c.Provider, c.Model = name, model
	c.origins["provider"] = origin{now, c.Origin("model")}
	c.untie(before, now)
}

// splitModel splits a model that begins with a provider's name; a router's ids begin with a vendor.
func (c *Config) splitModel(id string) (name, model string, ok bool) {
	name, model, ok = strings.Cut(id, "/")
	ok = ok && model != "" && c.IsProvider(name)
	if f, _ := provider.FactsOf(name); f.VendorModels && !strings.Contains(model, "/") {
		ok = false
	}
	return name, model, ok
}

// untie drops the model, address and key that a lower place said together with another provider: a key
// would be sent to a stranger.
func (c loader) untie(before providerAt, now rank) {
	if before.name == "" || c.Provider == before.name || c.origins["provider"].rank != now {
		return
	}
	if model := c.origins["model"]; model.rank == before.rank {
		c.Warnings = append(c.Warnings, fmt.Sprintf("model %s of %s: left out, since it goes with %s and %s asks for %s",
			c.Model, model.text, before.name, c.Origin("provider"), c.Provider))
	}
	for _, o := range Options() {
		if slices.Contains([]string{"model", "base_url", "api_key", "api_key_file"}, o.Key) && c.origins[o.Key].rank == before.rank {
			delete(c.origins, o.Key)
			c.field(&o).SetZero()
		}
	}
}

// check finds faults that no single value shows.
func (c loader) check() error {
	if c.Provider != "" && !c.IsProvider(c.Provider) {
		names := c.ProviderNames()
		hint := orList(names)
		if near := spelling.Nearest(c.Provider, names); near != "" {
			hint = near
		}
		return c.blame("provider", "unknown provider "+strconv.Quote(c.Provider), hint)
	}
	if c.Continue && c.Resume != "" {
		return wrong(kindUsage, "--resume", "does not go with --continue", "one of the two")
	}
	if c.Print && c.Interactive {
		return wrong(kindUsage, "--interactive", "does not go with --print", "one of the two")
	}
	if c.Interactive && c.Output != "text" {
		if c.origins["output"].rank == fromFlag {
			return wrong(kindUsage, "--output", "a conversation (--interactive) answers in text only",
				"-p -o "+c.Output+" for one answer")
		}
		c.Warnings = append(c.Warnings, c.Origin("output")+": "+c.Output+
			" is for headless runs; a conversation (--interactive) answers in text")
	}
	if c.ShellTimeout > c.ShellTimeoutMax {
		key := "shell_timeout"
		if c.origins["shell_timeout_max"].rank > c.origins[key].rank {
			key = "shell_timeout_max"
		}
		why := fmt.Sprintf("the default of a command, %s, is more than the most it may get, %s",
			c.ShellTimeout, c.ShellTimeoutMax)
		return c.blame(key, why, "ARTOO_SHELL_TIMEOUT_MAX="+c.ShellTimeout.String())
	}
	return nil
}

// blame is an error about an option's value, named by where it was set.
func (c *Config) blame(key, why, hint string) error {
	kind := kindUsage
	if c.origins[key].rank <= fromFile {
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

// applyVariables lets envconfig decode the variables into the settings.
func (c loader) applyVariables() error {
	before := c.chosen()
	err := envconfig.Process(envPrefix, &c.Settings)
	failed := (*envconfig.ParseError)(nil) // its text shows the value, so it is never printed
	if err != nil && !errors.As(err, &failed) {
		return err
	}
	for _, o := range Options() {
		text, set := os.LookupEnv(o.Env)
		if !set {
			continue
		}
		err := o.check(c.field(&o), text)
		if failed != nil {
			if err = nil; failed.KeyName == o.Env {
				err = failed.Err
			}
		}
		if err != nil {
			return because(kindUsage, o.Env, err.Error(), err, o.Env+"="+o.example(text))
		}
		c.noteOrigin(&o, fromEnvironment, o.Env)
		c.noteRules(&o, splitList(text), o.Env)
	}
	c.untie(before, fromEnvironment)
	return nil
}

// checkVariables removes artoo's empty variables, which count as not set but envconfig would
// decode, and warns of those that no option has.
func checkVariables() (warnings []string) {
	var names []string
	for _, o := range Options() {
		if o.Env != "" {
			names = append(names, o.Env)
		}
	}
	for _, entry := range os.Environ() {
		switch name, value, _ := strings.Cut(entry, "="); {
		case !strings.HasPrefix(name, envPrefix+"_"):
		case value == "":
			_ = os.Unsetenv(name) // it was set, so its name is valid
		case !slices.Contains(names, name):
			warnings = append(warnings, fmt.Sprintf("%s: no such variable%s", name, didYouMean(name, names)))
		}
	}
	slices.Sort(warnings)
	return warnings
}
