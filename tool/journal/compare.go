package journal

import (
	"context"
	"errors"
	"slices"
	"time"
)

// seen looks again and returns the differences from the snapshot.
func (s *Step) seen() ([]Change, error) {
	j := s.j
	j.looking.Lock()
	defer j.looking.Unlock()
	sc := j.scan(context.Background(), s.ignored)
	pairs, created := s.pairs(sc.next)
	if created {
		ignored := j.askIgnored(j.life)
		pairs = slices.DeleteFunc(pairs, func(p pair) bool { return p.before == nil && isIgnored(ignored, p.path) })
	}
	var changes []Change
	var errs []error
	hashes := map[string]string{}
	was, is := peersIn(s.tree), peersIn(sc.next)
	for _, p := range pairs {
		c, err := s.compare(p)
		c.Before.Peer, c.After.Peer = was.of(p.path, p.before), is.of(p.path, p.after)
		errs = append(errs, err)
		if c.After.Kind == File && j.files.objects.has(c.After.Hash) {
			hashes[p.path] = c.After.Hash
		}
		if !same(c.Before, c.After) {
			changes = append(changes, c)
		}
	}
	sc.next.note(hashes)
	j.tree = sc.withUnseen()
	_, err := j.saveTree(context.Background()) // now, when no command waits for it
	return changes, errors.Join(append(errs, err)...)
}

// pairs are the paths that differ from the snapshot, except for those that
// another step names as its own. created says that some of them are new.
func (s *Step) pairs(after tree) (pairs []pair, created bool) {
	j := s.j
	j.mu.Lock()
	defer j.mu.Unlock()
	named := func(step *Step, path string) bool { _, own := step.before[path]; return own }
	differencesSince(s.tree, after, s.unseen, s.Time, func(p pair) {
		if !named(s, p.path) && !slices.ContainsFunc(j.open, func(other *Step) bool { return named(other, p.path) }) {
			pairs = append(pairs, p)
			created = created || p.before == nil
		}
	})
	return pairs, created
}

// differencesSince hands each the differences between two looks, of which the first did not
// get to see some directories: there, files older than the time are left out.
func differencesSince(before, after tree, unseen map[string]bool, since time.Time, each func(pair)) {
	differences(before, after, "", func(p pair) {
		if !isBelow(unseen, p.path) || !p.olderThan(since, after) {
			each(p)
		}
	})
}

// clockSlack is how far the clock of files may be behind.
const clockSlack = 20 * time.Millisecond

// olderThan reports whether the difference was there before the time: for a path
// that is gone, whether its directory did not change since.
func (p pair) olderThan(begun time.Time, now tree) bool {
	e := p.after
	for path := p.path; e == nil; {
		if path == "" {
			return false
		}
		path, _ = split(path)
		e = now.find(path)
	}
	return e.stat.ctime < begun.Add(-clockSlack).UnixNano()
}

func (s *Step) compare(p pair) (c Change, err error) {
	j := s.j
	c.Path = p.path
	if p.before != nil {
		c.Before = p.before.state()
	}
	j.mu.Lock()
	if made, ok := s.adjusted[p.path]; ok {
		c.Before = made
	}
	j.mu.Unlock()
	if p.after == nil {
		return c, nil
	}
	c.After, err = j.look(j.life, p.path, keepSmall)
	return c, err
}

type inode struct{ dev, inode uint64 }

// peers are the paths of the files in a tree that have several names, in order.
type peers map[inode][]string

func peersIn(t tree) peers {
	all := peers{}
	for dir, f := range t {
		for i := range f.entries {
			if e := &f.entries[i]; e.stat.links > 1 && e.stat.kind() == File {
				file := inode{e.stat.dev, e.stat.inode}
				all[file] = append(all[file], join(dir, e.name))
			}
		}
	}
	for _, paths := range all {
		slices.Sort(paths)
	}
	return all
}

// of is another path of the file at the path, or "".
func (p peers) of(path string, e *entry) string {
	if e == nil {
		return ""
	}
	for _, peer := range p[inode{e.stat.dev, e.stat.inode}] {
		if peer != path {
			return peer
		}
	}
	return ""
}
