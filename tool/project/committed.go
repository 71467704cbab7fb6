package project

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"artoo/tool/git"
)

// mostRemotes is how many remote-tracking refs are asked for a file.
const mostRemotes = 50

// Committed reports whether each file at or below an absolute path is what HEAD, the
// index or a remote-tracking ref holds at its path: then git, or who committed it, put it
// there. What cannot be told is not.
func (p Project) Committed(ctx context.Context, environ []string, path string) bool {
	rel := p.relative([]string{path})
	if !p.Git || len(rel) == 0 {
		return false
	}
	refs := []string{"HEAD"}
	take := func(piece string) error {
		if ref := strings.TrimSpace(piece); isHash(ref) && len(refs) <= mostRemotes {
			refs = append(refs, ref)
		}
		return nil
	}
	// Without a remote there is nothing to be told.
	_ = git.Run(ctx, environ, p.Root, p.Root, take, "for-each-ref", "--format=%(objectname)%00", "--sort=-committerdate", "refs/remotes")
	lists := [][]string{{"ls-files", "-s"}}
	for _, ref := range refs {
		lists = append(lists, []string{"ls-tree", "-r", ref})
	}
	held := p.held(ctx, environ, rel[:1], lists)
	found := false
	err := filepath.WalkDir(path, func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		same, err := isHeld(ctx, at, d.Type(), held[filepath.Clean(at)])
		if found = true; err == nil && !same {
			err = fs.ErrNotExist
		}
		return err
	})
	return err == nil && found
}

// isHeld is IsBlob for what is at a path.
func isHeld(ctx context.Context, path string, kind fs.FileMode, blobs []string) (bool, error) {
	switch {
	case kind&fs.ModeSymlink != 0:
		to, err := os.Readlink(path)
		if err != nil {
			return false, err
		}
		return isBlob(ctx, strings.NewReader(to), int64(len(to)), blobs)
	case !kind.IsRegular():
		return false, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer file.Close()
	return IsBlob(ctx, file, blobs)
}
