package repo

import (
	"bytes"
	"cmp"
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

	"artoo/tool/text"
)

// plan is the plan of Replay.
type plan struct {
	objects  []string
	refs     []move
	head     string // It is "" when HEAD stays.
	stash    *stashMoves
	index    []entryChange
	intended []string // These paths are to be added later.
	messages []message
	config   []setting
	stops    bool
	text     string // Reflogs get it.
	checkout string // HEAD's reflog gets it when HEAD leads elsewhere.
}

// entryChange is a path of the index that changes.
type entryChange struct {
	path     string
	was, now indexed
}

// message is a file that a merge left to be finished; nil is no file.
type message struct {
	name          string
	before, after []byte
}

// Touches lists the files of the real git directory that Replay may change, absolute,
// after Effects.
func (v *View) Touches() []string {
	if v.plan == nil {
		return nil
	}
	list := map[string]bool{}
	ref := func(name string) {
		list[filepath.Join(v.r.Common, filepath.FromSlash(name))] = true
		list[v.logPath(name)] = true
	}
	p := v.plan
	for _, m := range p.refs {
		ref(m.name)
		list[v.logPath("HEAD")] = true // It also has the moves of HEAD's branch.
		if m.to == "" {
			list[filepath.Join(v.r.Common, "packed-refs")] = true
		}
	}
	if p.stash != nil {
		ref("refs/stash")
		list[filepath.Join(v.r.Common, "packed-refs")] = true
	}
	if p.head != "" {
		list[filepath.Join(v.r.GitDir, "HEAD")] = true
		list[v.logPath("HEAD")] = true
	}
	if len(p.index) > 0 {
		list[filepath.Join(v.r.GitDir, "index")] = true
		list[filepath.Join(v.r.GitDir, "index.lock")] = true // A killed artoo may leave it.
	}
	for _, m := range p.messages {
		list[filepath.Join(v.r.GitDir, m.name)] = true
	}
	if len(p.config) > 0 {
		list[filepath.Join(v.r.Common, "config")] = true
	}
	return slices.Sorted(maps.Keys(list))
}

// Replay makes the changes in the real repository, without the rows that are left out.
// Where something there is not as it was in Open, the error is ErrMoved or git's and no
// ref, index or HEAD has changed. An error after that leaves a part; the caller restores
// the files that Touches lists.
func (v *View) Replay(ctx context.Context) error {
	p := v.plan
	switch {
	case p == nil:
		return errors.New("the changes were not judged")
	case p.stops:
		return ErrStops
	case v.sorted.empty(), v.sorted.gone:
		return nil
	}
	if err := v.unmoved(); err != nil {
		return err
	}
	if err := v.storeObjects(ctx); err != nil {
		return err
	}
	index, err := v.lockIndex(ctx)
	if err != nil {
		return err
	}
	for _, refs := range apart(p.refs) {
		if err := v.moveRefs(ctx, refs); err != nil {
			return errors.Join(err, index(false))
		}
	}
	if err := index(true); err != nil {
		return err
	}
	if err := v.setHead(ctx); err != nil {
		return err
	}
	if err := v.replayStash(ctx, p.stash); err != nil {
		return err
	}
	if err := v.writeMessages(); err != nil {
		return err
	}
	for _, s := range p.config {
		if err := v.setConfig(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// unmoved is an error where HEAD or a message is not as it was in Open. Refs and index
// are compared under their locks.
func (v *View) unmoved() error {
	head, err := v.before(filepath.Join(v.r.GitDir, "HEAD"))
	if err != nil {
		return err
	}
	if !same(head, v.refs.headRaw) {
		return fmt.Errorf("HEAD: %w", ErrMoved)
	}
	for _, m := range v.plan.messages {
		now, err := v.before(filepath.Join(v.r.GitDir, m.name))
		if err != nil {
			return err
		}
		if !same(now, m.before) {
			return fmt.Errorf("%s: %w", m.name, ErrMoved)
		}
	}
	return nil
}

// storeObjects has git store the objects that refs and index need.
func (v *View) storeObjects(ctx context.Context) error {
	if len(v.plan.objects) == 0 {
		return nil
	}
	args := []string{"unpack-objects", "-q"}
	if !v.promises() { // Git then checks that the store has all objects that an object names.
		args = append(args, "--strict")
	}
	return v.git.Pipe(ctx, lines(v.plan.objects), func(pack io.Reader) error {
		return v.real.Run(ctx, pack, 0, nil, args...)
	}, "pack-objects", "--stdout", "--window=0", "-q", "--no-reuse-object")
}

// apart parts the refs that must go before another can come, as x before x/y: git does
// not take both at once.
func apart(moves []move) (parts [2][]move) {
	for _, m := range moves {
		inWay := m.to == "" && slices.ContainsFunc(moves, func(n move) bool {
			return n.from == "" && (strings.HasPrefix(n.name, m.name+"/") || strings.HasPrefix(m.name, n.name+"/"))
		})
		if inWay {
			parts[0] = append(parts[0], m)
		} else {
			parts[1] = append(parts[1], m)
		}
	}
	return parts
}

// moveRefs has git lock the refs, compare them with their old values and move them: all or
// none.
func (v *View) moveRefs(ctx context.Context, moves []move) error {
	if len(moves) == 0 {
		return nil
	}
	var text bytes.Buffer
	for _, m := range moves {
		old := cmp.Or(m.from, v.format.none())
		if m.to == "" {
			fmt.Fprintf(&text, "option no-deref\x00delete %s\x00%s\x00", m.name, old)
		} else {
			fmt.Fprintf(&text, "option no-deref\x00update %s\x00%s\x00%s\x00", m.name, m.to, old)
		}
	}
	return v.real.Run(ctx, &text, 0, nil, "update-ref", "-m", v.plan.text, "--create-reflog", "--stdin", "-z")
}

// lockIndex writes the new index into git's lock of it, where it is as it was in Open. The
// func that it returns puts it in place or gives the lock up.
func (v *View) lockIndex(ctx context.Context) (finish func(bool) error, err error) {
	if len(v.plan.index) == 0 {
		return func(bool) error { return nil }, nil
	}
	if err := v.changeIndex(ctx); err != nil {
		return nil, err
	}
	// The user's git need not read the files again that the line's git has read.
	g := v.git.With("GIT_INDEX_FILE="+filepath.Join(v.dir, indexNext), "GIT_WORK_TREE="+v.r.WorkTree)
	g.Dir = v.r.WorkTree
	if err := g.Do(ctx, "update-index", "-q", "--refresh"); err != nil && ctx.Err() != nil {
		return nil, err // else an entry differs from its file, as it may
	}
	path := filepath.Join(v.r.GitDir, "index")
	mode := fs.FileMode(0o666) // Git leaves the rest to the umask.
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	lock, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("index: another git is at work (%s)", path+".lock")
	}
	if err != nil {
		return nil, err
	}
	err = v.fillIndex(ctx, lock, path)
	if err = errors.Join(err, lock.Close()); err != nil {
		return nil, errors.Join(err, os.Remove(lock.Name()))
	}
	return func(put bool) error {
		if put {
			return os.Rename(lock.Name(), path)
		}
		return os.Remove(lock.Name())
	}, nil
}

// fillIndex copies the new index into the lock, unless the index changed since Open.
func (v *View) fillIndex(ctx context.Context, lock *os.File, path string) error {
	now, err := v.before(path)
	if err != nil {
		return err
	}
	judged, err := v.before(filepath.Join(v.dir, indexBefore))
	if err != nil {
		return err
	}
	if !same(now, judged) {
		return fmt.Errorf("index: %w", ErrMoved)
	}
	from, err := os.Open(filepath.Join(v.dir, indexNext))
	if err != nil {
		return err
	}
	defer from.Close()
	if _, err := io.Copy(lock, text.Reader(ctx, from)); err != nil {
		return err
	}
	return lock.Sync()
}

// changeIndex changes a copy of the real index: entries that stay keep its stamps of their files.
func (v *View) changeIndex(ctx context.Context) error {
	if err := v.copyFile(ctx, indexNext, filepath.Join(v.dir, indexBefore), v.openBefore); err != nil {
		return err
	}
	var text bytes.Buffer
	marked := map[string][]string{} // paths by option
	for _, c := range v.plan.index {
		if c.was.entries != c.now.entries {
			fmt.Fprintf(&text, "0 %s\t%s\x00", v.format.none(), c.path)
			for line := range strings.Lines(c.now.entries) {
				fmt.Fprintf(&text, "%s\t%s\x00", strings.TrimRight(line, "\n"), c.path)
			}
		}
		if c.now.entries == "" {
			continue
		}
		// A replaced entry has lost its flags.
		was, now := indexFlags(c.was), indexFlags(c.now)
		if was == now && c.was.entries == c.now.entries {
			continue
		}
		for _, option := range flagOptions(was, now) {
			marked[option] = append(marked[option], c.path)
		}
	}
	g := v.git.With("GIT_INDEX_FILE=" + filepath.Join(v.dir, indexNext))
	if err := g.Run(ctx, &text, '\n', nil, "update-index", "-z", "--index-info"); err != nil {
		return err
	}
	if len(v.plan.intended) > 0 {
		paths := strings.Join(v.plan.intended, "\x00") + "\x00"
		files := g.With("GIT_WORK_TREE=" + v.r.WorkTree)
		files.Dir = v.r.WorkTree
		if err := files.Run(ctx, strings.NewReader(paths), '\n', nil, "add", "-f", "-N",
			"--pathspec-from-file=-", "--pathspec-file-nul"); err != nil {
			return err
		}
	}
	for _, option := range slices.Sorted(maps.Keys(marked)) {
		paths := strings.Join(marked[option], "\x00") + "\x00"
		if err := g.Run(ctx, strings.NewReader(paths), '\n', nil, "update-index", option, "-z", "--stdin"); err != nil {
			return err
		}
	}
	return nil
}

// flagOptions are the options of git update-index that turn flags into others.
func flagOptions(was, now string) (options []string) {
	skip := func(flags string) bool { return strings.EqualFold(flags, "S") }
	assume := func(flags string) bool { return flags == strings.ToLower(flags) }
	for _, option := range []struct {
		name string
		has  func(string) bool
	}{{"skip-worktree", skip}, {"assume-unchanged", assume}} {
		if option.has(now) {
			options = append(options, "--"+option.name)
		} else if option.has(was) {
			options = append(options, "--no-"+option.name)
		}
	}
	return options
}

// setHead makes HEAD lead where the line had it lead.
func (v *View) setHead(ctx context.Context) error {
	head := v.plan.head
	if head == "" {
		return nil
	}
	if target, ok := strings.CutPrefix(head, "ref: "); ok {
		return v.real.Do(ctx, "symbolic-ref", "-m", v.plan.checkout, "HEAD", target)
	}
	return v.real.Do(ctx, "update-ref", "--no-deref", "-m", v.plan.checkout, "HEAD", head)
}

// writeMessages writes or removes the message files of an unfinished merge.
func (v *View) writeMessages() (err error) {
	if len(v.plan.messages) == 0 {
		return nil
	}
	dir, err := os.OpenRoot(v.r.GitDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	for _, m := range v.plan.messages {
		if m.after == nil {
			if err := dir.Remove(m.name); err != nil {
				return err
			}
			continue
		}
		// A new file with the name of git's own lock replaces the file there, a link too.
		lock := m.name + ".lock"
		f, err := dir.OpenFile(lock, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
		if err != nil {
			return err
		}
		_, err = f.Write(m.after)
		if err = errors.Join(err, f.Close()); err == nil {
			err = dir.Rename(lock, m.name)
		}
		if err != nil {
			return errors.Join(err, dir.Remove(lock))
		}
	}
	return nil
}
