package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// listing is what lies below a directory and is not ignored.
type listing struct {
	names []string // files and links, relative to the directory, slash-separated, sorted, each once
	cut   bool     // there are more than maxListed
}

const (
	// maxListed bounds a listing: some 20 MB of names.
	maxListed = 200_000
	// maxNested is how deep repositories inside repositories are followed.
	maxNested = 8
	// maxIgnoreFile is where reading a .gitignore stops, in bytes.
	maxIgnoreFile = 1 << 20
)

// listFiles lists the files below the absolute, link-free directory dir as git
// would: tracked ones and those that no ignore rule names. Where git is not
// there, or dir is in no work tree, it walks and applies the .gitignore files
// itself. An ignored directory is listed all the same when it is dir itself:
// whoever asks for it by name wants it.
func listFiles(ctx context.Context, env *Env, dir string) (listing, error) {
	names, err := listNested(ctx, env, dir, 0)
	if err != nil && !errors.Is(err, errTooMany) {
		return listing{}, err
	}
	slices.Sort(names)
	return listing{names: slices.Compact(names), cut: errors.Is(err, errTooMany)}, nil
}

var errTooMany = errors.New("too many files")

func listNested(ctx context.Context, env *Env, dir string, depth int) ([]string, error) {
	top := gitTop(dir)
	if top != "" {
		names, nested, err := gitFiles(ctx, env, top, dir)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, errTooMany):
			return names, err
		case err == nil && (len(names) > 0 || len(nested) > 0):
			return listRepos(ctx, env, dir, names, nested, depth)
		}
		// git cannot say, or the directory is empty, or it is ignored as a
		// whole: the walk tells these apart.
	}
	w := walker{ctx: ctx, files: env.Files, dir: dir}
	rules, err := w.rulesAbove(topFor(env.Files, top, dir))
	if err != nil {
		return nil, err
	}
	err = w.walk("", rules)
	return w.names, err
}

// listRepos adds the files of the repositories that lie below dir to names.
func listRepos(ctx context.Context, env *Env, dir string, names, nested []string, depth int) ([]string, error) {
	for _, repo := range nested {
		if depth >= maxNested {
			break
		}
		abs := filepath.Join(dir, filepath.FromSlash(repo))
		place, err := env.Files.Resolve(abs, false)
		if err != nil || place.Outside || place.Denied || place.Abs != abs {
			continue // a link stands where the repository was
		}
		below, err := listNested(ctx, env, abs, depth+1)
		for _, name := range below {
			names = append(names, path.Join(repo, name))
		}
		if len(names) > maxListed {
			return names[:maxListed], errTooMany
		}
		if err != nil {
			return names, err
		}
	}
	return names, nil
}

// gitTop is the nearest directory at or above dir that has a .git, "" when
// there is none.
func gitTop(dir string) string {
	for at := range gitLooksIn(dir) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
	}
	return ""
}

// topFor is where ignore rules begin to count for dir: its repository, else the
// project root, else dir itself.
func topFor(files *Files, gitTop, dir string) string {
	if gitTop != "" {
		return gitTop
	}
	if _, ok := under(files.Root(), dir); ok {
		return files.Root()
	}
	return dir
}

// walker lists a tree without git. Directories are opened through Files, so
// that a link put in place of one while it walks cannot lead it out.
type walker struct {
	ctx   context.Context
	files *Files
	dir   string // absolute
	top   string // dir relative to the rules' top, slash-separated, "" when they are the same
	names []string
}

// rulesAbove collects the rules of top and of all directories between it and
// w.dir, that one left out. They are dropped when they ignore w.dir itself.
func (w *walker) rulesAbove(top string) (ignoreRules, error) {
	rel, err := filepath.Rel(top, w.dir)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", w.dir, err)
	}
	rules := w.readRules(filepath.Join(top, ".git", "info", "exclude"), "")
	if rel == "." {
		return rules, nil
	}
	w.top = filepath.ToSlash(rel)
	at := ""
	for _, part := range strings.Split(w.top, "/") {
		rules = append(rules, w.readRules(filepath.Join(top, filepath.FromSlash(at), ".gitignore"), at)...)
		at = path.Join(at, part)
	}
	if rules.ignoresAny(w.top) {
		rules = nil
	}
	return rules, nil
}

// readRules reads one ignore file. One that is missing, lies outside what may
// be read, or is no regular file has no rules.
func (w *walker) readRules(abs, dir string) ignoreRules {
	f, _, err := openRegular(w.files, abs)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxIgnoreFile))
	if err != nil {
		return nil
	}
	return parseIgnore(dir, data)
}

// walk lists what lies at rel, relative to w.dir.
func (w *walker) walk(rel string, rules ignoreRules) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	abs := filepath.Join(w.dir, filepath.FromSlash(rel))
	d, err := w.files.Open(abs)
	if err != nil {
		if rel == "" {
			return err
		}
		return nil // not ours to read, or gone since its parent was listed
	}
	entries, err := d.ReadDir(maxListed + 1) // one more, to know that there are more
	d.Close()
	if err != nil && !errors.Is(err, io.EOF) && rel == "" {
		return err
	}
	rules = append(rules[:len(rules):len(rules)], w.readRules(filepath.Join(abs, ".gitignore"), path.Join(w.top, rel))...)
	for _, e := range entries {
		name := path.Join(rel, e.Name())
		if e.Name() == ".git" || rules.ignores(path.Join(w.top, name), e.IsDir()) {
			continue
		}
		switch {
		case e.IsDir():
			if err := w.walk(name, rules); err != nil {
				return err
			}
		case e.Type().IsRegular() || e.Type()&fs.ModeSymlink != 0:
			if len(w.names) >= maxListed {
				return errTooMany
			}
			w.names = append(w.names, name)
		}
	}
	return nil
}

var errNotRegular = errors.New("not a regular file")

// openRegular opens a regular file for reading. It looks before it opens,
// because opening a FIFO would wait for a writer.
func openRegular(files *Files, abs string) (*os.File, fs.FileInfo, error) {
	info, err := os.Lstat(abs)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errNotRegular
	}
	f, err := files.Open(abs)
	if err != nil {
		return nil, nil, err
	}
	info, err = f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}
