package repo

import (
	"bytes"
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
	intended []string // These paths are to be added later.
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
	case v.sorted.empty(), v.sorted.gone:
		return nil
	}
	for _, step := range []func(context.Context) error{v.unmoved, v.fetch, v.moveRefs, v.landIndex, v.setHead, v.replayStash,
		v.writeMessages, v.setConfig} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// unmoved is an error where HEAD, the index, the stash or a message is not as it was in Open. Git compares refs under
// their locks.
func (v *View) unmoved(context.Context) error {
	head, err := v.readHead(v.before)
	if err != nil {
		return err
	}
	if head != v.refs.head {
		return fmt.Errorf("HEAD: %w", ErrMoved)
	}
	index := filepath.Join(v.r.GitDir, "index")
	judged := map[string][]byte{}
	for _, m := range v.plan.messages {
		judged[filepath.Join(v.r.GitDir, m.name)] = m.before
	}
	if v.plan.stash != nil {
		judged[v.logPath("refs/stash")] = v.plan.stash.log
	}
	if len(v.plan.index) > 0 {
		judged[index+".lock"] = nil
		if judged[index], err = v.before(filepath.Join(v.dir, indexBefore)); err != nil {
			return err
		}
	}
	for path, was := range judged {
		now, err := v.before(path)
		if err != nil {
			return err
		}
		if !same(now, was) {
			return fmt.Errorf("%s: %w", v.shown(path), ErrMoved)
		}
	}
	return nil
}

// fetch has git fetch the objects that refs and index need from the private git directory. It computes their ids, and
// checks their form and that none is missing.
func (v *View) fetch(ctx context.Context) error {
	if len(v.plan.objects) == 0 {
		return nil
	}
	return v.real.With("GIT_ALLOW_PROTOCOL=file").Run(ctx, lines(v.plan.objects), 0, nil, "fetch", "-q", "--no-tags",
		"--no-write-fetch-head", "--no-auto-maintenance", "--recurse-submodules=no", "--upload-pack=git-upload-pack", "--stdin",
		filepath.Join(v.dir, "git"))
}

// moveRefs has git lock the refs, compare them with their old values and move them. Those that go are first: git does
// not take x/y while x is there.
func (v *View) moveRefs(ctx context.Context) error {
	for _, goes := range []bool{true, false} {
		var text bytes.Buffer
		for _, m := range v.plan.refs {
			if goes == (m.to == "") {
				none := v.format.none()
				fmt.Fprintf(&text, "option no-deref\x00update %s\x00%s\x00%s\x00", m.name, cmp.Or(m.to, none), cmp.Or(m.from, none))
			}
		}
		if text.Len() == 0 {
			continue
		}
		if err := v.real.Run(ctx, &text, 0, nil, "update-ref", "-m", v.plan.text, "--create-reflog", "--stdin", "-z"); err != nil {
			return err
		}
	}
	return nil
}

// landIndex changes the entries of the index under git's own lock.
func (v *View) landIndex(ctx context.Context) error {
	if len(v.plan.index) == 0 {
		return nil
	}
	path := filepath.Join(v.r.GitDir, "index")
	if err := v.changeIndex(ctx, path); err != nil {
		return err
	}
	// The user's git need not read the files again that the line's git has read. An entry may differ from its file.
	_, err := answer(ctx, v.onIndex(path).Do(ctx, "update-index", "-q", "--refresh"))
	return err
}

// onIndex is git without the repository's configuration, on an index and the work tree.
func (v *View) onIndex(path string) git.Git {
	g := v.git.With("GIT_INDEX_FILE="+path, "GIT_WORK_TREE="+v.r.WorkTree)
	g.Dir = v.r.WorkTree
	return g
}

// changeIndex changes entries of an index. Those that stay keep its stamps of their files.
func (v *View) changeIndex(ctx context.Context, path string) error {
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
	g := v.git.With("GIT_INDEX_FILE=" + path)
	if err := g.Run(ctx, &text, '\n', nil, "update-index", "-z", "--index-info"); err != nil {
		return err
	}
	if len(v.plan.intended) > 0 {
		paths := strings.Join(v.plan.intended, "\x00") + "\x00"
		if err := v.onIndex(path).Run(ctx, strings.NewReader(paths), '\n', nil, "add", "-f", "-N",
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

// setHead makes HEAD lead where the line had it lead. Git switch - looks in its log for the branch that it left.
func (v *View) setHead(ctx context.Context) error {
	head, from := v.plan.head, strings.TrimPrefix(v.refs.head, "ref: refs/heads/")
	target, symbolic := strings.CutPrefix(head, "ref: ")
	switch {
	case head == "":
		return nil
	case symbolic:
		return v.real.Do(ctx, "symbolic-ref", "-m", "checkout: moving from "+from+" to "+strings.TrimPrefix(target, "refs/heads/"), "HEAD", target)
	case from != v.refs.head:
		return v.real.Do(ctx, "update-ref", "--no-deref", "-m", "checkout: moving from "+from+" to "+head, "HEAD", head)
	}
	return v.real.Do(ctx, "update-ref", "--no-deref", "-m", v.plan.text, "HEAD", head)
}

// writeMessages writes or removes the message files of an unfinished merge.
func (v *View) writeMessages(context.Context) error {
	for _, m := range v.plan.messages {
		path := filepath.Join(v.r.GitDir, m.name)
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if m.after == nil {
			continue
		}
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666) // It follows no link.
		if err != nil {
			return err
		}
		_, err = f.Write(m.after)
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}
