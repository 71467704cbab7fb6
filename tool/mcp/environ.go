package mcp

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"artoo/tool/environ"
	"artoo/tool/extension"
)

// environOf is the environment of a server: that of environ.OfExtension, and the variables that its
// settings set.
func environOf(all, pass []string, set map[string]string, expand func(string) (string, error)) ([]string, error) {
	env := slices.DeleteFunc(environ.OfExtension(all, pass...), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		_, replaced := set[name]
		return replaced
	})
	for _, name := range sortedKeys(set) {
		value, err := expand(set[name])
		if err != nil {
			return nil, fmt.Errorf("variable %s: %w", name, err)
		}
		env = append(env, name+"="+value)
	}
	return env, nil
}

// lookupIn looks up a variable of an environment.
func lookupIn(environ []string) func(name string) (string, bool) {
	return func(name string) (value string, found bool) {
		for _, kv := range environ {
			if v, ok := strings.CutPrefix(kv, name+"="); ok {
				value, found = v, true
			}
		}
		return value, found
	}
}

// projectNames are the names by which programs put the project's directory into the settings of a server.
func projectNames() []string {
	return []string{"CLAUDE_PROJECT_DIR", "workspaceFolder", "workspacePath"}
}

// expand is a text of the server's settings with its variables replaced; an editor's is literal.
func (s *server) expand(text string) (string, error) {
	if s.Source == extension.SourceEditor {
		return text, nil
	}
	environ := lookupIn(s.m.config.Environ)
	return Expand(text, func(name string) (string, bool) {
		switch {
		case slices.Contains(projectNames(), name):
			return s.m.config.Root, true
		case name == "/" || name == "pathSeparator": // Gemini's
			return "/", true
		}
		return environ(name)
	})
}

// Expand replaces ${VAR} and ${VAR:-default}. A variable that is not set and has no default is an
// error: a server would get an empty password and say nothing of it.
func Expand(text string, lookup func(name string) (string, bool)) (string, error) {
	var missing []string
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		b.WriteString(before)
		if !found {
			break
		}
		inner, after, closed := strings.Cut(rest, "}")
		if !closed {
			b.WriteString("${" + rest)
			break
		}
		name, fallback, hasDefault := strings.Cut(inner, ":-")
		value, set := lookup(name)
		switch {
		case set && value != "":
			b.WriteString(value)
		case hasDefault:
			b.WriteString(fallback)
		case !set:
			missing = append(missing, name)
		}
		text = after
	}
	if missing != nil {
		return "", fmt.Errorf("%s: %w", strings.Join(missing, ", "), errUnset)
	}
	return b.String(), nil
}

var errUnset = errors.New("not set")
