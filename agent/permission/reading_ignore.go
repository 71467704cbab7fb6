package permission

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// mostIgnored is how many entries of a project are looked at for files of
// ignored names; with more, every hidden file counts as brought in.
const mostIgnored = 20000

// unhiddenIn tells which hidden names the files of ignored names in and above a
// project bring into a search: `!.env` in .gitignore makes rg read .env.
func unhiddenIn(root string) func(base string) bool {
	var patterns []string
	collect := func(file string) {
		data, err := os.ReadFile(file)
		if err != nil {
			return // what cannot be read, rg cannot read either
		}
		for line := range strings.Lines(string(data)) {
			if pattern, ok := strings.CutPrefix(strings.TrimSpace(line), "!"); ok {
				patterns = append(patterns, strings.ToLower(path.Base(pattern)))
			}
		}
	}
	for dir := root; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		for _, name := range []string{".gitignore", ".ignore", ".rgignore", ".git/info/exclude"} {
			collect(filepath.Join(dir, name))
		}
	}
	seen := 0
	err := filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		seen++
		switch {
		case err != nil:
			return nil // as above
		case seen > mostIgnored:
			return fs.ErrInvalid
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case d.Name() == ".gitignore", d.Name() == ".ignore", d.Name() == ".rgignore":
			collect(at)
		}
		return nil
	})
	return func(base string) bool {
		return err != nil || anyMatch(patterns, strings.ToLower(base), true)
	}
}
