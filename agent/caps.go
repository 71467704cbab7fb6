package agent

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"artoo/agent/permission"
	"artoo/tool"
	"artoo/tool/environ"
	"artoo/tool/files"
	"artoo/tool/sandbox"
)

// tally counts the changes of a run with its sub-agents. One call that changes something runs at a time.
type tally struct {
	caps EffectCaps
	only [][]permission.Rule
	root string
	home string // ~ in a pattern
	seed maphash.Seed
	// landing holds a value from the counting of changes until they are made: else two sub-agents' changes that each
	// fit alone would pass a cap together.
	landing chan struct{}

	mu        sync.Mutex
	originals map[string]original // The key is the path of something that the run has changed.
	over      error               // The present turn ends with it; nil as long as no cap is passed.
}

// original is the content of a path before the run changed it.
type original struct {
	content
	built bool // It is build output that git ignores, which counts only for --no-delete.
	// committed means that a commit of the run's has it; apart are lines of such commits that the work tree does not have.
	committed bool
	apart     int
}

// newTally makes the tally of a run with caps, and tells the policy of them; it is nil for a run without. The error
// names a pattern of --only that is not valid, or says that commands could pass the caps.
func newTally(opt Options) (*tally, error) {
	caps := opt.Limits.Effects
	if !caps.Any() {
		return nil, nil
	}
	opt.Policy.Confinement.Capped = true
	if can := opt.Policy.Confinement; (opt.Sandbox == nil || !can.Layer) && slices.ContainsFunc(opt.Tools, func(t tool.Tool) bool {
		return t.Kind == tool.KindRun
	}) {
		return nil, &Failure{Kind: KindUsage, What: caps.String(), Err: errors.New("this machine has no layers, so commands could exceed the cap"),
			Hint: "leave out the tools that run commands"}
	}
	t := &tally{caps: caps, root: opt.Policy.Root, home: environ.Vars(opt.Env.Environ).Home(), seed: maphash.MakeSeed(), landing: make(chan struct{}, 1), originals: map[string]original{}}
	for _, list := range caps.Only {
		var rules []permission.Rule
		for _, glob := range list {
			r, err := permission.FileRule(glob, opt.Env.Dir)
			if err != nil {
				return nil, &Failure{Kind: KindUsage, What: "--only " + glob, Err: err, Hint: "--only 'docs/**'"}
			}
			rules = append(rules, r)
		}
		t.only = append(t.only, rules)
	}
	return t, nil
}

// effect is the coming state of a path. read is called once at most.
type effect struct {
	path  string // absolute
	built bool   // It is build output that git ignores.
	// commits is not nil where a commit has the path. read then is nil: the content of the path does
	// not change.
	commits *committed
	read    func(ctx context.Context, t *tally, now content) (content, error)
}

// effectsOf are those of a call of a file tool; the error says that the call does not report them.
func effectsOf(access tool.Access) (list []effect, err error) {
	if len(access.Outcomes) == 0 {
		return nil, errors.New("the tool does not say in advance which files it writes")
	}
	for _, o := range access.Outcomes {
		list = append(list, effect{path: o.Path, read: func(ctx context.Context, t *tally, now content) (content, error) {
			if o.Gone {
				return content{}, nil
			}
			mode := fs.FileMode(0o644)
			if now.exists {
				mode = now.mode.Perm()
			}
			return t.content(ctx, mode, int64(len(o.Data)), "", func() (io.ReadCloser, error) {
				return io.NopCloser(bytes.NewReader(o.Data)), nil
			})
		}})
	}
	return list, nil
}

// landing are the effects of a layer: the changes that are to land, and the paths of new commits.
func (e layerEffects) landing() (list []effect) {
	for _, c := range e.Effects.Apply {
		list = append(list, effect{path: c.Path, built: c.Output != "", read: func(ctx context.Context, t *tally, _ content) (content, error) {
			if c.Kind == sandbox.Deleted {
				return content{}, nil
			}
			if c.Kind == sandbox.Mode {
				now, err := t.at(ctx, c.Path)
				now.mode = c.Mode
				return now, err
			}
			return t.content(ctx, c.Mode, c.Size, c.Target, func() (io.ReadCloser, error) { return e.open(c.Path) })
		}})
	}
	for path, does := range e.git.committed {
		list = append(list, effect{path: path, commits: &does})
	}
	return list
}

// content reads a content, its lines only where these count.
func (t *tally) content(ctx context.Context, mode fs.FileMode, size int64, target string, open func() (io.ReadCloser, error)) (c content, err error) {
	c = content{exists: true, mode: mode, size: size}
	switch mode.Type() {
	case fs.ModeSymlink:
		c.size, c.sum = int64(len(target)), maphash.String(t.seed, target)
		c.lines = []uint64{c.sum}
		return c, nil
	case 0:
	default:
		c.size = 0
		return c, nil
	}
	file, err := open()
	if err != nil {
		return c, err
	}
	defer file.Close()
	var all, line maphash.Hash
	all.SetSeed(t.seed)
	line.SetSeed(t.seed)
	in := bufio.NewReaderSize(file, 64<<10)
	head, err := in.Peek(int(min(size, files.HeadSize)))
	if err != nil && !errors.Is(err, io.EOF) {
		return c, err
	}
	c.binary = size > longestText || files.BinaryType(head) != ""
	counts := !c.binary && t.caps.MaxLines > 0
	c.size = 0
	for begun := false; ; {
		if ctx.Err() != nil {
			return c, context.Cause(ctx)
		}
		part, err := in.ReadSlice('\n')
		c.size += int64(len(part))
		all.Write(part)
		if begun = begun || len(part) > 0; counts {
			line.Write(part)
		}
		if begun && counts && !errors.Is(err, bufio.ErrBufferFull) {
			c.lines = append(c.lines, line.Sum64())
			line.Reset()
			begun = false
		}
		switch {
		case errors.Is(err, io.EOF):
			c.sum = all.Sum64()
			return c, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return c, err
		}
	}
}

// at reads the present content of a path of the project.
func (t *tally) at(ctx context.Context, path string) (content, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return content{}, nil
	}
	if err != nil {
		return content{}, err
	}
	target := ""
	if info.Mode().Type() == fs.ModeSymlink {
		if target, err = os.Readlink(path); err != nil {
			return content{}, err
		}
	}
	return t.content(ctx, info.Mode(), info.Size(), target, func() (io.ReadCloser, error) { return os.Open(path) })
}

// admit reports whether changes may land: nil, or the cap that they would pass, which ends the turn. A passed cap stays
// passed until the next turn. A nil tally admits all.
func (t *tally) admit(ctx context.Context, list []effect) error {
	if t == nil {
		return nil
	}
	_, err := t.count(ctx, list)
	return err
}

// land is admit for changes that the caller makes next and that count from now on. Until the caller, on any goroutine,
// calls landed, when they are made or not to come, others wait.
func (t *tally) land(ctx context.Context, list []effect) error {
	if t == nil {
		return nil
	}
	select {
	case t.landing <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	originals, err := t.count(ctx, list)
	if err != nil {
		t.landed()
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.originals = originals
	return nil
}

// landed ends what a land without an error began.
func (t *tally) landed() {
	if t != nil {
		<-t.landing
	}
}

// count returns the originals with those of a list that passes no cap.
func (t *tally) count(ctx context.Context, list []effect) (map[string]original, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	originals, why, err := t.passed(ctx, list)
	switch {
	case err != nil:
		return nil, fmt.Errorf("its changes cannot be counted: %w", err)
	case why != "":
		t.over = capFailure(why, "ask for less, or remove the cap on effects")
		return nil, t.over
	}
	return originals, nil
}

// end is the error with which a turn ends since a cap was passed, nil for none. A nil tally has none.
func (t *tally) end() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.over
}

// begin begins a turn.
func (t *tally) begin() {
	if t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.over = nil
	}
}

// passed names the cap that would be passed, "" for none. originals are those with the paths of the list; mu is held.
func (t *tally) passed(ctx context.Context, list []effect) (originals map[string]original, why string, err error) {
	originals = maps.Clone(t.originals)
	after := map[string]content{}
	for _, e := range list {
		if ctx.Err() != nil {
			return nil, "", context.Cause(ctx)
		}
		now, err := t.at(ctx, e.path)
		if err != nil {
			return nil, "", err
		}
		was, known := originals[e.path]
		if !known {
			was = original{content: now, built: e.built}
		}
		if e.commits != nil {
			if why := t.outside(e.path); why != "" {
				return nil, t.name(e.path) + " would be committed: " + why, nil
			}
			if e.commits.gone && t.caps.NoDelete && was.exists {
				return nil, t.name(e.path) + " was there at the start, and a commit would remove it: --no-delete", nil
			}
			was.committed, was.apart = true, min(was.apart+e.commits.lines, 1<<30)
			originals[e.path] = was
			continue
		}
		is, err := e.read(ctx, t, now)
		if err != nil {
			return nil, "", err
		}
		switch {
		case !t.caps.NoDelete || !was.exists || now.same(is):
		case !is.exists:
			return nil, t.name(e.path) + " was there at the start, and would be removed or renamed: --no-delete", nil
		case is.mode.Type() != was.mode.Type():
			return nil, t.name(e.path) + " was there at the start, and would be replaced: --no-delete", nil
		case is.mode.IsRegular() && was.size > 0 && is.size == 0:
			return nil, t.name(e.path) + " was there at the start, and would be emptied: --no-delete", nil
		}
		was.built = was.built && e.built
		originals[e.path], after[e.path] = was, is
	}
	changed, lines := []string(nil), 0
	for _, path := range slices.Sorted(maps.Keys(originals)) {
		is, proposed := after[path]
		if !proposed {
			if is, err = t.at(ctx, path); err != nil {
				return nil, "", err
			}
		}
		was := originals[path]
		if !was.committed && (was.built || was.same(is)) {
			continue
		}
		changed = append(changed, path)
		if t.caps.MaxLines > 0 {
			lines += was.apart + was.linesTo(is, t.caps.MaxLines-lines)
		}
		if lines > t.caps.MaxLines {
			return nil, fmt.Sprintf("changed lines would exceed %d: --max-lines %[1]d", t.caps.MaxLines), nil
		}
	}
	// A directory that appears or disappears with its content is not counted itself.
	changed = slices.DeleteFunc(slices.Clone(changed), func(path string) bool {
		was, is := originals[path], after[path]
		if _, proposed := after[path]; !proposed {
			is, _ = t.at(ctx, path) // It was read above.
		}
		dir := (was.exists || is.exists) && (!was.exists || was.mode.IsDir()) && (!is.exists || is.mode.IsDir())
		at, _ := slices.BinarySearch(changed, path+string(filepath.Separator))
		return dir && was.exists != is.exists && at < len(changed) && strings.HasPrefix(changed[at], path+string(filepath.Separator))
	})
	for _, path := range changed {
		if _, proposed := after[path]; !proposed {
			continue
		}
		if why := t.outside(path); why != "" {
			return nil, t.name(path) + " would be changed: " + why, nil
		}
	}
	if t.caps.MaxFiles > 0 && len(changed) > t.caps.MaxFiles {
		return nil, fmt.Sprintf("changed paths would reach %d: --max-files %d", len(changed), t.caps.MaxFiles), nil
	}
	return originals, "", nil
}

// outside is the list of patterns that a path does not match, as the user would write it; "" for none.
func (t *tally) outside(path string) string {
	for i, rules := range t.only {
		if !slices.ContainsFunc(rules, func(r permission.Rule) bool { return r.MatchesPath(t.root, t.home, path) }) {
			return "--only " + strings.Join(t.caps.Only[i], " --only ")
		}
	}
	return ""
}

// name is a path as seen from the project.
func (t *tally) name(path string) string {
	if rel, err := filepath.Rel(t.root, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}
