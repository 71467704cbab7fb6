package environ

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"artoo/tool/names"
)

// ShellLocale is the locale of characters that commands with this environment
// get, if it is neither ASCII nor UTF-8; "" otherwise.
func ShellLocale(environ []string) string {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		value := lookup(environ, name)
		if value == "" {
			continue
		}
		folded := strings.ToLower(value)
		switch {
		case folded == "c", folded == "posix", strings.Contains(folded, "utf-8"), strings.Contains(folded, "utf8"):
			return ""
		}
		return value
	}
	return ""
}

// lookup is the last value of a variable, "" where it is not set.
func lookup(environ []string, name string) string {
	value := ""
	for _, kv := range environ {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			value = v
		}
	}
	return value
}

// Variable returns a func that looks up variables of an environment as
// os.Environ gives it.
func Variable(environ []string) func(name string) string {
	return func(name string) string { return lookup(environ, name) }
}

// ProgramOf says why the program that commands with this environment would find
// by this name is not one of the system's: it lies in the project at root, or
// in a directory that depends on where the command runs. With version it must
// not be one that looks into the project to see which program it stands for.
// What is not found is no reason.
func ProgramOf(environ []string, root, name string, version bool) error {
	for _, dir := range filepath.SplitList(lookup(environ, "PATH")) {
		if !filepath.IsAbs(dir) {
			return fmt.Errorf("the PATH holds %q, so which program %s is depends on the directory", dir, name)
		}
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			continue
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return err
		}
		for _, at := range []string{path, real} {
			if _, inside := names.Relative(root, at); inside {
				return fmt.Errorf("%s is a program of the project, %s", name, at)
			}
			if version && shim(at) {
				return errors.New(at + " looks into the project to see which " + name + " it shall be")
			}
		}
		return nil
	}
	return nil
}

// shim reports whether a program is one of those that choose another by what
// stands in the working directory.
func shim(path string) bool {
	for _, part := range strings.Split(filepath.ToSlash(path), "/") {
		switch part {
		case "shims", ".asdf", "asdf", "mise", ".volta", "volta", "volta-shim", ".cargo", "rustup", "corepack", "proto",
			".proto", "direnv", "rtx", ".pkgx", "pkgx":
			return true
		}
	}
	return false
}
