package confine

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"artoo/tool/names"
)

// systemSecrets hold secrets of the system in files that others may be allowed to read.
var systemSecrets = []string{"/etc/kubernetes", "/etc/rancher", "/opt/containerd"}

// closedTo lists what other users may not read below a directory of the system: root is a user like others. open are
// directories that commands may see all the same.
func closedTo(dir string, open []string) (list []string) {
	// A directory that even root cannot list shows nothing.
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&^fs.ModeDir != 0 {
			return nil
		}
		if slices.ContainsFunc(open, func(shown string) bool { return names.Within(shown, path) && !names.Within(shown, dir) }) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		switch {
		case err != nil: // It has gone since.
		case d.IsDir() && info.Mode().Perm()&0o5 != 0o5:
			list = append(list, path)
			return fs.SkipDir
		case !d.IsDir() && info.Mode().Perm()&0o4 == 0:
			list = append(list, path)
		}
		return nil
	})
	return list
}

// denied lists the present paths that no command may see. It is asked for each command.
func (c Config) denied() func() ([]string, error) {
	var closed []string
	if os.Geteuid() == 0 {
		closed = append(closedTo("/etc", slices.Concat([]string{c.Root}, c.Write, c.Read)), systemSecrets...)
	}
	return func() (all []string, err error) {
		if c.Denied != nil {
			all, err = c.Denied()
		}
		for _, path := range closed {
			if _, missing := os.Lstat(path); missing == nil {
				all = append(all, path)
			}
		}
		return all, err
	}
}
