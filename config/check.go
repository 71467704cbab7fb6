package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"artoo/provider"
	"artoo/tool/spelling"
)

// check looks at what no single value shows.
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
