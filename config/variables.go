package config

import (
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"

	"github.com/kelseyhightower/envconfig"
)

// envPrefix is the prefix of artoo's own variables, as envconfig wants it.
const envPrefix = "ARTOO"

// dropEmptyVariables removes artoo's own variables that are empty, since those count as not
// set, and envconfig would decode them.
func dropEmptyVariables() {
	for _, entry := range os.Environ() {
		if name, value, _ := strings.Cut(entry, "="); value == "" && strings.HasPrefix(name, envPrefix+"_") {
			_ = os.Unsetenv(name) // it was set, so its name is valid
		}
	}
}

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

// unknownVariables warns of ARTOO_* variables that no option has; they are
// most often misspelt.
func unknownVariables() []string {
	known := map[string]bool{}
	var names []string
	for _, o := range Options() {
		if o.Env != "" {
			known[o.Env] = true
			names = append(names, o.Env)
		}
	}
	var warnings []string
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, envPrefix+"_") || value == "" || known[name] {
			continue
		}
		warnings = append(warnings, fmt.Sprintf("%s: no such variable%s", name, didYouMean(name, names)))
	}
	sort.Strings(warnings)
	return warnings
}
