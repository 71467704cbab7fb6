package config

import (
	"maps"
	"slices"
	"strings"

	"artoo/tool/shell"
)

// Written are the settings as they were written, a line each: NAME = "value", or NAME = and the words of a command. They are
// searched for credentials, and hold them.
func (c *Config) Written() []string {
	lines := slices.Clone(c.written)
	for _, entry := range c.Environ {
		name, value, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, envPrefix+"_") || strings.HasPrefix(name, "OTEL_") || strings.HasSuffix(strings.ToLower(name), "_proxy") {
			lines = append(lines, name+` = "`+value+`"`)
		}
	}
	for _, s := range c.MCPServers {
		lines = append(lines, "url = "+s.URL, shell.Quote(s.Command...), s.TokenCommand, s.ClientSecretCommand)
		for _, named := range []map[string]string{s.Env, s.Headers} {
			for _, name := range slices.Sorted(maps.Keys(named)) {
				lines = append(lines, name+` = "`+named[name]+`"`)
			}
		}
	}
	for _, h := range c.Hooks {
		lines = append(lines, h.String())
	}
	return lines
}

// writtenIn are the lines of Written for what a file has at a name.
func writtenIn(name string, v any) (lines []string) {
	switch v := v.(type) {
	case string:
		return []string{name + ` = "` + v + `"`}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			lines = append(lines, writtenIn(key, v[key])...)
		}
	case []any:
		if words, ok := stringList(v, true); ok {
			return []string{name + " = " + shell.Quote(words...)}
		}
		for _, element := range v {
			lines = append(lines, writtenIn(name, element)...)
		}
	}
	return lines
}
