package repo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The names of indexes in the view.
const (
	indexBefore = "before.index"
	indexAfter  = "after.index"
	indexNext   = "next.index" // Replay puts it in place.
)

// copyIndexes puts both indexes into the view, where the line changed it.
func (v *View) copyIndexes(ctx context.Context) error {
	if !v.sorted.index {
		return nil
	}
	path := filepath.Join(v.r.GitDir, "index")
	if err := v.copyFile(ctx, indexBefore, path, v.openBefore); err != nil {
		return err
	}
	if err := v.copyFile(ctx, indexAfter, path, v.openAfter); err != nil {
		return err
	}
	// A split index refers to others by a hash of what they hold.
	shared, err := filepath.Glob(filepath.Join(escapeGlob(v.r.GitDir), "sharedindex.*"))
	if err != nil {
		return err
	}
	for _, path := range shared {
		if err := v.copyFile(ctx, "git/"+filepath.Base(path), path, v.openBefore); err != nil {
			return err
		}
	}
	for path, c := range v.changed {
		if name, ok := below(v.r.GitDir, path); ok && strings.HasPrefix(name, "sharedindex.") && !c.Gone && !exists(path) {
			if err := v.copyFile(ctx, "git/"+name, path, v.open); err != nil {
				return err
			}
		}
	}
	return nil
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// copyFile copies a file into the view; one that is not there is left out.
func (v *View) copyFile(ctx context.Context, name, path string, open func(string) (io.ReadCloser, error)) error {
	from, err := open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(filepath.Join(v.dir, filepath.FromSlash(name)), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, reader{ctx, from})
	return errors.Join(err, to.Close())
}

// indexed is the place of a path in an index.
type indexed struct {
	flags   string // Git ls-files -v says S for skip-worktree, else H; a small letter means assume-unchanged.
	entries string // Each is "MODE ID STAGE"; a newline separates several.
}

// plain is the mode and id of an entry that is not in conflict.
func (i indexed) plain() (mode, id string, ok bool) {
	parts := strings.Fields(i.entries)
	if len(parts) != 3 || parts[2] != "0" {
		return "", "", false
	}
	return parts[0], parts[1], true
}

// listIndex reads an index of the view.
func (v *View) listIndex(ctx context.Context, name string) (map[string]indexed, error) {
	list := map[string]indexed{}
	g := v.git.With("GIT_INDEX_FILE=" + filepath.Join(v.dir, name))
	err := g.Run(ctx, nil, 0, func(piece string) error {
		what, path, ok := strings.Cut(piece, "\t")
		if !ok || len(what) < 3 {
			return fmt.Errorf("git ls-files says %q", piece)
		}
		flags, place := what[:1], what[2:]
		if flags == "M" { // The path is in conflict.
			flags = "H"
		} else if flags == "m" {
			flags = "h"
		}
		if old, there := list[path]; there {
			place = old.entries + "\n" + place
		}
		list[path] = indexed{flags, place}
		return nil
	}, "ls-files", "-s", "-v", "-z")
	return list, err
}

// mostNamed is how many paths git is given as arguments.
const mostNamed = 200

// tree lists the files of a commit, nothing for "": those named at least.
func (v *View) tree(ctx context.Context, commit string, names map[string]bool) (map[string]indexed, error) {
	list := map[string]indexed{}
	if commit == "" {
		return list, nil
	}
	args := []string{"ls-tree", "-r", "-z", "--full-tree", commit}
	if len(names) <= mostNamed {
		args = append(append(args, "--"), slices.Sorted(maps.Keys(names))...)
	}
	err := v.git.Run(ctx, nil, 0, func(piece string) error {
		what, path, _ := strings.Cut(piece, "\t")
		fields := strings.Fields(what)
		if len(fields) != 3 {
			return fmt.Errorf("git ls-tree says %q", piece)
		}
		list[path] = indexed{"H", fields[0] + " " + fields[2] + " 0"}
		return nil
	}, args...)
	return list, err
}

// validPath reports whether git takes a path into an index.
func validPath(path string) bool {
	return path != "" && !slices.ContainsFunc(strings.Split(path, "/"), func(part string) bool {
		folded := strings.TrimRight(strings.ToLower(part), ". ")
		return part == "" || part == "." || part == ".." || folded == ".git" || folded == "git~1"
	})
}
