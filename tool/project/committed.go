package project

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"artoo/tool/files"
	"artoo/tool/git"
	"artoo/tool/names"
	"artoo/tool/text"
)

// leadsOut returns an error when a file of git's own is a link out of its directory: git would show files from there.
func leadsOut(dir string) error {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	seen := 0
	return filepath.WalkDir(real, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // Git cannot read it either.
		}
		if seen++; seen > files.ReachLimit {
			return errors.New("git's directory has too many files to be checked")
		}
		if d.Type()&fs.ModeSymlink != 0 {
			to, err := filepath.EvalSymlinks(at)
			if _, inside := names.Relative(real, to); err != nil || !inside {
				return fmt.Errorf("%s is a link out of git's directory", at)
			}
			return nil
		}
		if rel, _ := names.Relative(real, at); d.IsDir() &&
			(rel == "objects" || rel == "modules" || rel == "hooks" || rel == "lfs" || rel == "annex") {
			return fs.SkipDir
		}
		return nil
	})
}

// mostArguments bounds the paths that one git process is given, in bytes: the kernel
// takes 128 KB in one argument and 2 MB in all.
const mostArguments = 256 << 10

// relative are the paths below the project's root as git takes them, with slashes.
func (p Project) relative(paths []string) (rel []string) {
	for _, path := range paths {
		if at, ok := names.Relative(p.Root, path); ok && at != "." {
			rel = append(rel, filepath.ToSlash(at))
		}
	}
	return rel
}

// inParts calls f with the paths in parts that fit on a command line.
func inParts(paths []string, f func(part []string) error) error {
	for len(paths) > 0 {
		n, size := 0, 0
		for n < len(paths) && size < mostArguments {
			size += len(paths[n]) + 1
			n++
		}
		if err := f(paths[:n]); err != nil {
			return err
		}
		paths = paths[n:]
	}
	return nil
}

// IgnoredSince returns those of the absolute paths that git ignores by rules in files which have
// not changed since a time. Files that git does not list are not ignored. environ is the environment
// that git gets.
func (p Project) IgnoredSince(ctx context.Context, environ []string, since time.Time, paths []string) map[string]bool {
	ignored := map[string]bool{}
	if !p.Git || p.GitRuns() != nil {
		return ignored
	}
	asked := map[string]bool{} // has sources as keys
	unchanged := func(source string) bool {
		known, ok := asked[source]
		if !ok {
			changed, err := names.Changed(git.SeenFrom(p.Root, source))
			known = err == nil && changed.Before(since)
			asked[source] = known
		}
		return known
	}
	rel := p.relative(paths)
	if len(rel) == 0 {
		return ignored
	}
	var fields []string // source, line, pattern, path
	run := git.Git{Own: p.Environ, Dir: p.Root, Env: append(git.SafeEnviron(environ), "GIT_WORK_TREE="+p.Root)}
	if err := run.Run(ctx, strings.NewReader(strings.Join(rel, "\x00")+"\x00"), 0, func(field string) error {
		fields = append(fields, field)
		return nil
	}, "check-ignore", "-v", "-z", "--stdin"); err != nil {
		return ignored // it ends 1 where none of the paths is ignored
	}
	for ; len(fields) >= 4; fields = fields[4:] {
		if !strings.HasPrefix(fields[2], "!") && unchanged(fields[0]) {
			ignored[filepath.Join(p.Root, filepath.FromSlash(fields[3]))] = true
		}
	}
	return ignored
}

// held returns the hashes that lists of git's have of paths below the root, by their
// absolute paths.
func (p Project) held(ctx context.Context, environ, rel []string, lists [][]string) map[string][]string {
	blobs := map[string][]string{}
	take := func(piece string) error {
		what, name, _ := strings.Cut(piece, "\t")
		path := filepath.Join(p.Root, filepath.FromSlash(name))
		for field := range strings.FieldsSeq(what) {
			if isHash(field) {
				blobs[path] = append(blobs[path], field)
			}
		}
		return nil
	}
	for _, list := range lists {
		// Without a commit, a ref or an index there is nothing to report.
		_ = inParts(rel, func(part []string) error {
			return git.Run(ctx, p.Environ, environ, p.Root, p.Root, take, slices.Concat([]string{"--literal-pathspecs"}, list, []string{"-z", "--"}, part)...)
		})
	}
	return blobs
}

func isHash(text string) bool {
	return (len(text) == 40 || len(text) == 64) && strings.Trim(text, "0123456789abcdef") == ""
}

// mostHashed is how many bytes of a file are read to compare it with git's content.
const mostHashed = 64 << 20

// isFileOf reports whether git would hold a file's content by one of these names. The error
// says that it is too long to check, or that ctx ended.
func isFileOf(ctx context.Context, file *os.File, blobs []string) (bool, error) {
	info, err := file.Stat()
	if err != nil {
		return false, err
	}
	if info.Size() > mostHashed {
		return false, errors.New("too long to be compared with git's copy")
	}
	return isBlob(ctx, file, info.Size(), blobs)
}

func isBlob(ctx context.Context, content io.Reader, size int64, blobs []string) (bool, error) {
	if len(blobs) == 0 {
		return false, nil
	}
	var sum hash.Hash = sha1.New()
	if len(blobs[0]) == hex.EncodedLen(sha256.Size) {
		sum = sha256.New()
	}
	fmt.Fprintf(sum, "blob %d\x00", size)
	buffer := make([]byte, 1<<20)
	for left := size; left > 0 && ctx.Err() == nil; {
		n, err := content.Read(buffer[:min(left, int64(len(buffer)))])
		if err != nil {
			return false, err
		}
		sum.Write(buffer[:n])
		left -= int64(n)
	}
	return slices.Contains(blobs, hex.EncodeToString(sum.Sum(nil))), ctx.Err()
}

// mostRemotes is how many remote-tracking refs are asked for a file.
const mostRemotes = 50

// Committed reports whether each file at or below an absolute path equals the content of HEAD, the index or a
// remote-tracking ref at its path: then git, or its committer, put it there. A file that cannot be checked is not
// committed.
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
	// Without a remote there is nothing to compare with.
	_ = git.Run(ctx, p.Environ, environ, p.Root, p.Root, take, "for-each-ref", "--format=%(objectname)%00", "--sort=-committerdate", "refs/remotes")
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

// isHeld is isFileOf for the file at a path.
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
	return isFileOf(ctx, file, blobs)
}

// status hands each the two letters and the path, with slashes, of a line of git status;
// of the branch, which --branch asks for, the letters are "##".
func (p Project) status(ctx context.Context, environ []string, each func(letters, path string), args ...string) error {
	from := false // The next piece is where a file was renamed from.
	return git.Run(ctx, p.Environ, environ, p.Root, p.Root, func(piece string) error {
		if from || len(piece) < 4 {
			from = false
			return nil
		}
		from = piece[0] == 'R' || piece[0] == 'C'
		each(piece[:2], piece[3:])
		return nil
	}, slices.Concat([]string{"--literal-pathspecs", "status", "--porcelain", "-z"}, args)...)
}

// gitStateTimeout is how long git may take to report its state: a note is not
// worth a pause that a user feels.
const gitStateTimeout = time.Second

// maxGitState is how many changed files a state names.
const maxGitState = 20

// GitState is the branch of the project's work tree and which files differ from
// the last commit, in a few lines, or why a .git makes no repository; "" outside git, and where git does not say
// in time or would run programs of the repository's. environ is the environment
// git gets.
func (p Project) GitState(ctx context.Context, environ []string) string {
	if !p.Git || p.GitRuns() != nil {
		why, _ := p.GitProblem()
		return text.Printable(why)
	}
	ctx, cancel := context.WithTimeout(ctx, gitStateTimeout)
	defer cancel()
	branch, count := "", 0
	var files []string // "M  path", the first ones
	if err := p.status(ctx, environ, func(letters, path string) {
		if letters == "##" {
			branch = text.Printable(path)
		} else if count++; count <= maxGitState {
			files = append(files, letters+" "+text.Printable(path))
		}
	}, "--branch", "--ignore-submodules=all"); err != nil {
		return ""
	}
	if count == 0 {
		return branch + ", nothing changed"
	}
	if count > maxGitState {
		files = append(files, fmt.Sprintf("and %d more", count-maxGitState))
	}
	return fmt.Sprintf("%s, %s:\n%s", branch, text.Counted(count, "file changed", "files changed"), strings.Join(files, "\n"))
}
