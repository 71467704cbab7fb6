package environ

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Vars are the variables that artoo was started with, as os.Environ gives them. Of two with one name the last one
// counts. A program that is started with nil has those of the process, as with os/exec.
type Vars []string

// Lookup is the value of a variable, and whether it is set.
func (v Vars) Lookup(name string) (value string, ok bool) {
	for _, kv := range slices.Backward(v) {
		if len(kv) > len(name) && kv[len(name)] == '=' && kv[:len(name)] == name {
			return kv[len(name)+1:], true
		}
	}
	return "", false
}

// Get is the value of a variable, "" where it is not set.
func (v Vars) Get(name string) string {
	value, _ := v.Lookup(name)
	return value
}

// Home is the user's home directory, "" where none is named.
func (v Vars) Home() string { return v.Get("HOME") }

// TempDir is the directory for temporary files.
func (v Vars) TempDir() string {
	if v == nil {
		return os.TempDir()
	}
	if dir := v.Get("TMPDIR"); dir != "" {
		return dir
	}
	return "/tmp"
}

// With is v with a variable of that value, in the place of others of that name.
func (v Vars) With(name, value string) Vars {
	kept := slices.DeleteFunc(slices.Clone(v), func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	return append(kept, name+"="+value)
}

// LookPath is exec.LookPath on the absolute directories of PATH. Without PATH it is exec.LookPath. A path is seen from
// PWD, the working directory of a run.
func (v Vars) LookPath(name string) (string, error) {
	path, ok := v.Lookup("PATH")
	if dir := v.Get("PWD"); dir != "" && strings.Contains(name, "/") && !filepath.IsAbs(name) {
		return exec.LookPath(filepath.Join(dir, name))
	}
	if !ok || strings.Contains(name, "/") {
		return exec.LookPath(name)
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) || name == "" {
			continue
		}
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return found, nil
		}
	}
	return "", &exec.Error{Name: name, Err: exec.ErrNotFound}
}

// Command is exec.CommandContext for a program on PATH, which gets these variables and starts in PWD.
func (v Vars) Command(ctx context.Context, name string, args ...string) *exec.Cmd {
	path, err := name, error(nil)
	if !strings.Contains(name, "/") {
		if path, err = v.LookPath(name); err != nil {
			path = "/" // It has a slash, so that it is not looked up elsewhere.
		}
	}
	cmd := exec.CommandContext(ctx, path, args...)
	if cmd.Args[0], cmd.Env, cmd.Dir = name, v, v.Get("PWD"); err != nil {
		cmd.Path, cmd.Err = name, err
	}
	return cmd
}
