package repo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
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
	head     string   // It is "" when HEAD stays.
	dropped  []string // These entries of the stash go, the oldest first, so that the others keep their numbers.
	pushed   []move   // They are new entries of the stash.
	index    []entryChange
	messages []message
	config   []setting
	stops    bool
	text     string   // Reflogs get it.
	touches  []string // Replay may change these files.
}

// entryChange is a path of the index that changes.
type entryChange struct {
	path string
	now  indexed
}

// touch notes files that Replay may change.
func (j *judge) touch(paths ...string) { j.p.touches = append(j.p.touches, paths...) }

// Touches lists the files of the real git directory that Replay may change, absolute,
// after Effects.
func (v *View) Touches() []string {
	slices.Sort(v.plan.touches)
	return slices.Compact(v.plan.touches)
}

// Replay makes the changes in the real repository, without the rows that are left out.
// Where something there is not as it was in Open, the error is ErrMoved or git's and no
// ref, index or HEAD has changed. An error after that leaves a part; the caller restores
// the files that Touches lists.
func (v *View) Replay(ctx context.Context) error {
	if v.plan.stops {
		return ErrStops
	}
	if v.err = nil; v.Removed() {
		return nil
	}
	for _, step := range []func(context.Context){v.unmoved, v.fetch, v.moveRefs, v.landIndex, v.setHead, v.setStash,
		v.writeMessages, v.setConfig} {
		step(ctx)
	}
	return v.err
}

// unmoved fails where a file that was judged has changed. Git compares refs under their locks.
func (v *View) unmoved(context.Context) {
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
			"--no-write-fetch-head", "--no-auto-maintenance", "--recurse-submodules=no",
			"--upload-pack=git-upload-pack", "--stdin", filepath.Join(v.dir, "git"))
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
				fmt.Fprintf(&text, "option no-deref\x00update %s\x00%s\x00%s\x00", m.name, cmp.Or(m.to, none),
					cmp.Or(m.from, none))
			}
		}
		if text.Len() > 0 {
			v.run(ctx, v.real, strings.NewReader(text.String()), 0, nil, "update-ref", "-m", v.plan.text,
				"--create-reflog", "--stdin", "-z")
		}
	}
}

// landIndex changes the entries of the index under git's own lock.
func (v *View) landIndex(ctx context.Context) {
	if len(v.plan.index) > 0 {
		path := v.own("index")
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

// changeIndex replaces entries of an index. The others keep its stamps of their files.
func (v *View) changeIndex(ctx context.Context, path string) {
	var text strings.Builder
	var later []string
	marked := map[string][]string{} // paths by option
	for _, c := range v.plan.index {
		fmt.Fprintf(&text, "0 %s\t%s\x00", v.format.none(), c.path)
		if c.now.later {
			later = append(later, c.path)
			continue
		}
		for line := range strings.Lines(c.now.entries) {
			fmt.Fprintf(&text, "%s\t%s\x00", strings.TrimRight(line, "\n"), c.path)
		}
		if c.now.skip {
			marked["--skip-worktree"] = append(marked["--skip-worktree"], c.path)
		}
		if c.now.assume {
			marked["--assume-unchanged"] = append(marked["--assume-unchanged"], c.path)
		}
	}
	g := v.onIndex(path)
	v.run(ctx, g, strings.NewReader(text.String()), 0, nil, "update-index", "-z", "--index-info")
	if len(later) > 0 {
		v.run(ctx, g, strings.NewReader(strings.Join(later, "\x00")), 0, nil, "add", "-f", "-N",
			"--pathspec-from-file=-", "--pathspec-file-nul")
	}
	for option, paths := range marked {
		v.run(ctx, g, strings.NewReader(strings.Join(paths, "\x00")), 0, nil, "update-index", option, "-z", "--stdin")
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

// setStash drops and pushes entries of the stash.
func (v *View) setStash(ctx context.Context) {
	for _, name := range v.plan.dropped {
		v.run(ctx, v.real, nil, 0, nil, "stash", "drop", "-q", name)
	}
	for _, m := range v.plan.pushed {
		v.run(ctx, v.real, nil, 0, nil, "stash", "store", "-q", "-m", cmp.Or(m.text, "stash"), m.to)
	}
}

// writeMessages writes or removes the message files of an unfinished merge.
func (v *View) writeMessages(context.Context) {
	for _, m := range v.plan.messages {
		path := v.own(m.name)
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
