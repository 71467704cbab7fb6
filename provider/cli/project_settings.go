package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"artoo/tool/names"
)

type place struct {
	dir  string // the working directory
	root string // the project's root: dir, or above it
}

func (p place) up() []string {
	dirs := []string{p.dir}
	for at := p.dir; at != p.root; {
		next := filepath.Dir(at)
		if next == at { // root is not above dir
			return []string{p.dir}
		}
		at = next
		dirs = append(dirs, at)
	}
	return dirs
}

// repository is up without the user's own home directory, which is not a repository.
func (p place) repository(home string) []string {
	return slices.DeleteFunc(p.up(), func(dir string) bool { return home != "" && names.Real(dir) == names.Real(home) })
}

// resolved are the place's directories, also with links resolved.
func (p place) resolved() []string {
	var dirs []string
	for _, dir := range p.up() {
		for _, name := range []string{dir, names.Real(dir)} {
			if !slices.Contains(dirs, name) {
				dirs = append(dirs, name)
			}
		}
	}
	return dirs
}

// trustLevel is the override by which codex takes all of a project's settings, or none.
func trustLevel(p place, trusted bool) string {
	level := "untrusted"
	if trusted {
		level = "trusted"
	}
	var entries []string
	for _, dir := range p.resolved() {
		entries = append(entries, tomlString(dir)+"={trust_level="+tomlString(level)+"}")
	}
	return "projects={" + strings.Join(entries, ",") + "}"
}

// tomlString is a basic string of TOML, which is one of JSON except for DEL.
func tomlString(text string) string {
	data, _ := json.Marshal(text) // no string fails
	return strings.ReplaceAll(string(data), "\x7f", `\u007F`)
}

// geminiIgnores are names in a .gemini directory that gemini itself does not read.
var geminiIgnores = []string{"config.yaml", "styleguide.md", "GEMINI.md"}

// geminiProjectSettings names the files of the repository that gemini would run or obey.
func geminiProjectSettings(p place, home string) (found string, err error) {
	for _, dir := range p.repository(home) {
		entries, err := os.ReadDir(filepath.Join(dir, ".gemini"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		for _, e := range entries {
			if !slices.Contains(geminiIgnores, e.Name()) {
				return filepath.Join(dir, ".gemini", e.Name()), nil
			}
		}
	}
	return "", nil
}

// mostEnv is the size of an .env file, in bytes, that is looked into.
const mostEnv = 1 << 20

// assigned are the names that dotenv may take out of a line, and some more.
var assigned = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`([A-Za-z0-9_.-]+)\s*[=:]`)
})

// geminiEnviron gives an empty value to each variable that an .env file would set.
func geminiEnviron(p place, home string, environ []string) ([]string, error) {
	there := map[string]bool{}
	for _, kv := range environ {
		name, _, _ := strings.Cut(kv, "=")
		there[name] = true
	}
	environ = slices.Clone(environ)
	for _, dir := range p.repository(home) {
		names, err := envNames(filepath.Join(dir, ".env"))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if !there[name] {
				there[name] = true
				environ = append(environ, name+"=")
			}
		}
	}
	return environ, nil
}

// envNames are the names that an .env file may set; none where there is no file.
func envNames(path string) ([]string, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && info.IsDir():
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular() || info.Size() > mostEnv:
		return nil, fmt.Errorf("%s is no file of at most 1 MiB", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range assigned().FindAllSubmatch(data, -1) {
		names = append(names, string(m[1]))
	}
	return names, nil
}
