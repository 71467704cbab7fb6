package repo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool/git"
)

// plan is the plan of Replay.
type plan struct {
	objects  []string // They are fetched, with all that they reach.
	refs     []move
	head     string // It is "" when HEAD stays.
	stash    *stashMoves
	index    []entryChange
	messages []message
	config   []setting
	stops    bool
	text     string // Reflogs get it.
}

// entryChange is a path of the index that changes.
type entryChange struct {
	path     string
	was, now indexed
}

// Touches lists the files of the real git directory that Replay may change, absolute,
// after Effects.
func (v *View) Touches() (list []string) {
	p := v.plan
	if p == nil {
		return nil
	}
	add := func(dir string, names ...string) {
		for _, name := range names {
			list = append(list, filepath.Join(dir, filepath.FromSlash(name)))
		}
	}
	for _, m := range p.refs {
		add(v.r.Common, m.name, "logs/"+m.name, "packed-refs")
		add(v.r.GitDir, "logs/HEAD") // It also has the moves of HEAD's branch.
	}
	if p.stash != nil {
		add(v.r.Common, "refs/stash", "logs/refs/stash", "packed-refs")
	}
	if p.head != "" {
		add(v.r.GitDir, "HEAD", "logs/HEAD")
	}
	if len(p.index) > 0 {
		add(v.r.GitDir, "index", "index.lock") // A killed artoo may leave the lock.
	}
	for _, m := range p.messages {
		add(v.r.GitDir, m.name)
	}
	if len(p.config) > 0 {
		add(v.r.Common, "config")
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Replay makes the changes in the real repository, without the rows that are left out.
// Where something there is not as it was in Open, the error is ErrMoved or git's and no
// ref, index or HEAD has changed. An error after that leaves a part; the caller restores
// the files that Touches lists.
func (v *View) Replay(ctx context.Context) error {
	switch {
	case v.plan == nil:
		return errors.New("the changes were not judged")
	case v.plan.stops:
		return ErrStops
	case v.empty(), v.Removed():
		return nil
	}
	v.err = nil
	v.unmoved()
	v.fetch(ctx)
	v.moveRefs(ctx)
	v.landIndex(ctx)
	v.setHead(ctx)
	v.replayStash(ctx)
	v.writeMessages()
	v.setConfig(ctx)
	return v.err
}

// unmoved fails where a file that was judged has changed. Git compares refs under their locks.
func (v *View) unmoved() {
	for path, was := range v.judged {
		if now := v.read(path, false); v.err == nil && !same(now, was) {
			v.err = fmt.Errorf("%s: %w", v.shown(path), ErrMoved)
		}
	}
}

// fetch has git fetch the objects that refs and index need from the private git directory. It computes their ids, and
// checks their form and that none is missing.
func (v *View) fetch(ctx context.Context) {
	if len(v.plan.objects) > 0 {
		v.run(ctx, v.real.With("GIT_ALLOW_PROTOCOL=file"), lines(v.plan.objects), 0, nil, "fetch", "-q", "--no-tags",
			"--no-write-fetch-head", "--no-auto-maintenance", "--recurse-submodules=no", "--upload-pack=git-upload-pack", "--stdin",
			filepath.Join(v.dir, "git"))
	}
}

// moveRefs has git lock the refs, compare them with their old values and move them. Those that go are first: git does
// not take x/y while x is there.
func (v *View) moveRefs(ctx context.Context) {
	none := v.format.none()
	for _, goes := range []bool{true, false} {
		var text strings.Builder
		for _, m := range v.plan.refs {
			if goes == (m.to == "") {
				fmt.Fprintf(&text, "option no-deref\x00update %s\x00%s\x00%s\x00", m.name, cmp.Or(m.to, none), cmp.Or(m.from, none))
			}
		}
		if text.Len() > 0 {
			v.run(ctx, v.real, strings.NewReader(text.String()), 0, nil, "update-ref", "-m", v.plan.text, "--create-reflog", "--stdin", "-z")
		}
	}
}

// landIndex changes the entries of the index under git's own lock.
func (v *View) landIndex(ctx context.Context) {
	if len(v.plan.index) > 0 {
		path := filepath.Join(v.r.GitDir, "index")
		v.changeIndex(ctx, path)
		// The user's git need not read the files again that the line's git has read. An entry may differ from its file.
		v.ask(ctx, v.onIndex(path), nil, 0, nil, "update-index", "-q", "--refresh")
	}
}

// onIndex is git without the repository's configuration, on an index and the work tree.
func (v *View) onIndex(path string) git.Git {
	g := v.git.With("GIT_INDEX_FILE="+path, "GIT_WORK_TREE="+v.r.WorkTree)
	g.Dir = v.r.WorkTree
	return g
}

// changeIndex changes entries of an index. Those that stay keep its stamps of their files.
func (v *View) changeIndex(ctx context.Context, path string) {
	var text strings.Builder
	var later []string
	marked := map[string][]string{} // paths by option
	for _, c := range v.plan.index {
		was, now := c.was, c.now
		if now.later {
			now.entries, later = "", append(later, c.path)
		}
		if was.entries != now.entries {
			fmt.Fprintf(&text, "0 %s\t%s\x00", v.format.none(), c.path)
			for line := range strings.Lines(now.entries) {
				fmt.Fprintf(&text, "%s\t%s\x00", strings.TrimRight(line, "\n"), c.path)
			}
			was.skip, was.assume = false, false // A replaced entry has lost them.
		}
		for option, flag := range map[string][2]bool{"skip-worktree": {was.skip, now.skip}, "assume-unchanged": {was.assume, now.assume}} {
			switch {
			case now.entries == "" || flag[0] == flag[1]:
			case flag[1]:
				marked["--"+option] = append(marked["--"+option], c.path)
			default:
				marked["--no-"+option] = append(marked["--no-"+option], c.path)
			}
		}
	}
	g := v.onIndex(path)
	v.run(ctx, g, strings.NewReader(text.String()), 0, nil, "update-index", "-z", "--index-info")
	if len(later) > 0 {
		v.run(ctx, g, strings.NewReader(strings.Join(later, "\x00")), 0, nil, "add", "-f", "-N", "--pathspec-from-file=-", "--pathspec-file-nul")
	}
	for _, option := range slices.Sorted(maps.Keys(marked)) {
		v.run(ctx, g, strings.NewReader(strings.Join(marked[option], "\x00")), 0, nil, "update-index", option, "-z", "--stdin")
	}
}

// setHead makes HEAD lead where the line had it lead. Git switch - looks in its log for the branch that it left.
func (v *View) setHead(ctx context.Context) {
	from, wasBranch := strings.CutPrefix(v.refs.head, "ref: refs/heads/")
	to, isBranch := strings.CutPrefix(v.plan.head, "ref: refs/heads/")
	text := v.plan.text
	if wasBranch || isBranch {
		text = "checkout: moving from " + from + " to " + to
	}
	if isBranch {
		v.run(ctx, v.real, nil, 0, nil, "symbolic-ref", "-m", text, "HEAD", "refs/heads/"+to)
	} else if to != "" {
		v.run(ctx, v.real, nil, 0, nil, "update-ref", "--no-deref", "-m", text, "HEAD", to)
	}
}

// writeMessages writes or removes the message files of an unfinished merge.
func (v *View) writeMessages() {
	for _, m := range v.plan.messages {
		path := filepath.Join(v.r.GitDir, m.name)
		if v.err != nil {
			return
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			v.err = err
		} else if m.after != nil {
			v.err = os.WriteFile(path, m.after, 0o666) // It is new, so that a link is not followed.
		}
	}
}
