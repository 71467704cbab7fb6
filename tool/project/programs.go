package project

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"artoo/tool/environ"
	"artoo/tool/names"
)

// ProgramOf says why the program that commands with this environment would find by this name is not one of
// the system's: it lies in the project at root, or in a directory that depends on where the command runs.
// With version it must not be one that looks into the project to see which program it stands for. A program
// that is not found gives no reason.
func ProgramOf(environment []string, root, name string, version bool) error {
	for _, dir := range filepath.SplitList(environ.Variable(environment)("PATH")) {
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

// shim reports whether a program chooses another by files in the working directory.
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
