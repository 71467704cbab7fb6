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

const (
	// maxListed bounds a listing: some 20 MB of names.
	maxListed = 200_000
	// maxNested is how deep repositories inside repositories are followed.
	maxNested = 8
	// maxIgnoreFile is where reading a .gitignore stops, in bytes.
	maxIgnoreFile = 1 << 20
)

// List names the files and links below the absolute, link-free directory dir as
// git would: tracked ones and those that no ignore rule names, relative to dir,
// with slashes, sorted, each once; more says that there are more than maxListed.
// Where git is not there, or dir is in no work tree, it walks and applies the
// .gitignore files itself. An ignored directory is listed all the same when it is
// dir itself: whoever asks for it by name wants it.
func List(ctx context.Context, env *Env, dir string) (names []string, more bool, err error) {
	names, err = listNested(ctx, env, dir, 0)
	if more = errors.Is(err, errTooMany); err != nil && !more {
		return nil, false, err
	}
	slices.Sort(names)
	return slices.Compact(names), more, nil
}

var errTooMany = errors.New("too many files")

func listNested(ctx context.Context, env *Env, dir string, depth int) (names []string, err error) {
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
	err = w.walk(rules, func(name string, e fs.DirEntry) error {
		if e.Type().IsRegular() || e.Type()&fs.ModeSymlink != 0 {
			if len(names) >= maxListed {
				return errTooMany
			}
			names = append(names, name)
		}
		return nil
	})
	return names, err
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

// walker goes through a tree without git. Directories are opened through Files,
// so that a link put in place of one while it walks cannot lead it out.
type walker struct {
	ctx   context.Context
	files *Files
	dir   string // absolute
	top   string // dir relative to the rules' top, slash-separated, "" when they are the same
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

// walk calls visit for all that lies below w.dir and is not ignored, by its name
// relative to w.dir, the shallow ones first. visit may return fs.SkipDir for a
// directory that is not to be entered; another error ends the walk. What cannot be
// read is passed over, but for w.dir itself.
func (w *walker) walk(rules ignoreRules, visit func(name string, e fs.DirEntry) error) error {
	type open struct {
		rel   string
		rules ignoreRules
	}
	for queue := []open{{"", rules}}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		abs := filepath.Join(w.dir, filepath.FromSlash(at.rel))
		d, err := w.files.Open(abs)
		if err != nil && at.rel != "" {
			continue
		}
		rules := append(at.rules[:len(at.rules):len(at.rules)],
			w.readRules(filepath.Join(abs, ".gitignore"), path.Join(w.top, at.rel))...)
		for err == nil {
			var entries []fs.DirEntry
			if entries, err = d.ReadDir(nameBatch); w.ctx.Err() != nil {
				d.Close()
				return w.ctx.Err()
			}
			for _, e := range entries {
				name := path.Join(at.rel, e.Name())
				if e.Name() == ".git" || rules.ignores(path.Join(w.top, name), e.IsDir()) {
					continue
				}
				stop := visit(name, e)
				if stop != nil && !errors.Is(stop, fs.SkipDir) {
					d.Close()
					return stop
				}
				if stop == nil && e.IsDir() {
					queue = append(queue, open{name, rules})
				}
			}
		}
		d.Close()
		if at.rel == "" && !errors.Is(err, io.EOF) {
			return err
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
