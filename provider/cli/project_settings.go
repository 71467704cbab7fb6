package cli

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"artoo/provider"
	"artoo/tool/environ"
	"artoo/tool/names"
)

// upTo are the directories from dir up to root; dir alone where root is not above it.
func upTo(dir, root string) []string {
	dirs := []string{dir}
	for dir != root && strings.HasPrefix(dir, strings.TrimSuffix(root, "/")+"/") {
		dir = filepath.Dir(dir)
		dirs = append(dirs, dir)
	}
	return dirs
}

// repository are the directories of the project without the user's own home directory, which is not a repository.
func (r *run) repository() []string {
	home := r.Environ.Home()
	return slices.DeleteFunc(upTo(r.Dir, r.root()), func(dir string) bool {
		return home != "" && names.Real(dir) == names.Real(home)
	})
}

// trustLevel is the override by which codex takes all of a project's settings, or none.
func trustLevel(dir, root string, trusted bool) string {
	level := "untrusted"
	if trusted {
		level = "trusted"
	}
	var entries []string
	for _, dir := range upTo(dir, root) {
		for _, name := range []string{dir, names.Real(dir)} {
			entry := tomlString(name) + "={trust_level=" + tomlString(level) + "}"
			if !slices.Contains(entries, entry) {
				entries = append(entries, entry)
			}
		}
	}
	return "projects={" + strings.Join(entries, ",") + "}"
}

// tomlString is a basic string of TOML, which is one of JSON except for DEL.
func tomlString(text string) string {
	// No string fails.
	data, _ := json.Marshal(text)
	return strings.ReplaceAll(string(data), "\x7f", `\u007F`)
}

// mostEnv is the size of an .env file, in bytes, that is looked into.
const mostEnv = 1 << 20

// assigned are the names that dotenv may take out of a line, and some more.
var assigned = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`([A-Za-z0-9_.-]+)\s*[=:]`)
})

// alone is the environment of a run. The error names a file of an untrusted repository.
func (r *run) alone() (environ.Vars, error) {
	// It is never nil, which would mean artoo's own environment.
	variables, found := append(environ.Vars{}, r.Environ...), ""
	if r.terms.Trusted {
		variables = append(variables, r.trusts...)
	} else if r.obeys != "" {
		found = r.obeyed()
	}
	if r.dotenv && found == "" {
		variables, found = r.withoutDotenv(variables)
	}
	if found == "" {
		return variables, nil
	}
	return nil, r.fault(provider.KindConfig, r.program+" would run or obey files of the project: "+found,
		"artoo trust, once you have looked; or another provider", nil)
}

// obeyed names a file of the repository that the tool would run or obey, a directory that cannot be read, or "".
func (r *run) obeyed() string {
	for _, dir := range r.repository() {
		dir = filepath.Join(dir, r.obeys)
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return dir
		}
		for _, e := range entries {
			if !slices.Contains(r.ignores, e.Name()) {
				return filepath.Join(dir, e.Name())
			}
		}
	}
	return ""
}

// withoutDotenv gives an empty value to each variable that an .env file would set. It names a file that cannot be read.
func (r *run) withoutDotenv(variables environ.Vars) (_ environ.Vars, unread string) {
	for _, dir := range r.repository() {
		path := filepath.Join(dir, ".env")
		info, err := os.Stat(path)
		// The tool can read none then, either.
		if err != nil || info.IsDir() {
			continue
		}
		if !info.Mode().IsRegular() || info.Size() > mostEnv {
			return nil, path
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, path
		}
		for _, m := range assigned().FindAllSubmatch(data, -1) {
			if _, set := variables.Lookup(string(m[1])); !set {
				variables = variables.With(string(m[1]), "")
			}
		}
	}
	return variables, ""
}
