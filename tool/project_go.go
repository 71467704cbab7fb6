package tool

import (
	"errors"
	"fmt"
	"go/version"
	"os"
	"path/filepath"
	"strings"
	"unicode"
)

// GoFetches returns an error when `go sub` in dir could fetch a toolchain or a
// module, change go.mod, or run programs that the project names: as far as that
// cannot be told, it could. environ is the environment the command gets.
func GoFetches(environ []string, dir, sub string) error {
	if flags := lookup(environ, "GOFLAGS") + goSetting(environ, "GOFLAGS"); strings.TrimSpace(flags) != "" {
		return errors.New("GOFLAGS is set, which can make go do more than read")
	}
	mod, work := "", ""
	for at := dir; ; at = filepath.Dir(at) {
		if path := filepath.Join(at, "go.mod"); mod == "" && exists(path) {
			mod = path
		}
		if path := filepath.Join(at, "go.work"); work == "" && exists(path) {
			work = path
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	installed := goInstalled(environ)
	for _, path := range []string{mod, work} {
		if path == "" {
			continue
		}
		text, err := readSome(path)
		if err != nil {
			return err
		}
		if err := goNewer(path, text, installed); err != nil {
			return err
		}
		if path == mod && (sub == "list" || sub == "doc") {
			if err := goHas(environ, path, text); err != nil {
				return err
			}
		}
	}
	if work != "" && (sub == "list" || sub == "doc") {
		return errors.New(work + " brings in other modules, which go might have to fetch")
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// goInstalled is the version of the go command on the PATH, "" when that cannot
// be told.
func goInstalled(environ []string) string {
	for _, dir := range filepath.SplitList(lookup(environ, "PATH")) {
		path := filepath.Join(dir, "go")
		if !exists(path) {
			continue
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return ""
		}
		text, err := readSome(filepath.Join(filepath.Dir(filepath.Dir(real)), "VERSION"))
		if err != nil {
			return ""
		}
		first, _, _ := strings.Cut(text, "\n")
		return strings.TrimSpace(first)
	}
	return ""
}

// goNewer returns an error when a go.mod or go.work asks for a newer go.
func goNewer(path, text, installed string) error {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "go" && words[0] != "toolchain" {
			continue
		}
		asked := "go" + strings.TrimPrefix(words[1], "go")
		if installed == "" || !version.IsValid(asked) || version.Compare(asked, installed) > 0 {
			return fmt.Errorf("%s asks for %s, which go might have to fetch", path, asked)
		}
	}
	return nil
}

// goHas returns an error when a module that a go.mod requires might have to be
// fetched.
func goHas(environ []string, path, text string) error {
	cache := lookup(environ, "GOMODCACHE") + goSetting(environ, "GOMODCACHE")
	if cache == "" {
		gopath := lookup(environ, "GOPATH") + goSetting(environ, "GOPATH")
		if gopath == "" {
			gopath = filepath.Join(lookup(environ, "HOME"), "go")
		}
		cache = filepath.Join(filepath.SplitList(gopath)[0], "pkg", "mod")
	}
	inside := false
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "//")
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
			continue
		case words[0] == "require" && len(words) > 1 && words[1] == "(":
			inside = true
			continue
		case words[0] == ")":
			inside = false
			continue
		case words[0] == "require":
			words = words[1:]
		case words[0] == "replace", words[0] == "tool", words[0] == "ignore":
			return fmt.Errorf("%s holds %s, which can lead elsewhere", path, words[0])
		case !inside:
			continue
		}
		if len(words) < 2 {
			return fmt.Errorf("%s could not be understood", path)
		}
		if !exists(filepath.Join(cache, escapeModule(words[0])+"@"+escapeModule(words[1]))) {
			return fmt.Errorf("go might have to fetch %s", words[0])
		}
	}
	return nil
}

// escapeModule writes a module's path as the module cache does: capitals behind
// exclamation marks.
func escapeModule(path string) string {
	var b strings.Builder
	for _, c := range path {
		if unicode.IsUpper(c) {
			b.WriteByte('!')
			c = unicode.ToLower(c)
		}
		b.WriteRune(c)
	}
	return filepath.FromSlash(b.String())
}

// goSetting is what `go env -w` has set, "" for nothing.
func goSetting(environ []string, name string) string {
	if lookup(environ, name) != "" {
		return ""
	}
	path := lookup(environ, "GOENV")
	if path == "off" {
		return ""
	}
	if path == "" {
		home := lookup(environ, "XDG_CONFIG_HOME")
		if home == "" {
			home = filepath.Join(lookup(environ, "HOME"), ".config")
		}
		path = filepath.Join(home, "go", "env")
	}
	text, err := readSome(path)
	if err != nil {
		return ""
	}
	return lookup(strings.Split(text, "\n"), name)
}
