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
	"artoo/tool/files"
	"artoo/tool/repo"
	"artoo/tool/sandbox"
	"artoo/tool/text"
)

// Any reports whether there is a cap.
func (e EffectCaps) Any() bool {
	return e.MaxFiles > 0 || e.MaxLines > 0 || len(e.Only) > 0 || e.NoDelete
}

// String is the caps as the user would write them.
func (e EffectCaps) String() string {
	var words []string
	if e.MaxFiles > 0 {
		words = append(words, fmt.Sprintf("--max-files %d", e.MaxFiles))
	}
	if e.MaxLines > 0 {
		words = append(words, fmt.Sprintf("--max-lines %d", e.MaxLines))
	}
	for _, list := range e.Only {
		words = append(words, "--only "+strings.Join(list, " --only "))
	}
	if e.NoDelete {
		words = append(words, "--no-delete")
	}
	return strings.Join(words, " ")
}

// tally counts the changes of a run with its sub-agents. One call that changes something runs at a time.
type tally struct {
	caps EffectCaps
	only [][]permission.Rule
	root string
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

// newTally is nil without caps, to which it binds the policy. The error names a pattern that is none, or says
// that commands could pass the caps.
func newTally(opt Options) (*tally, error) {
	caps := opt.Limits.Effects
	if !caps.Any() {
		return nil, nil
	}
	opt.Policy.Confinement.Capped = true
	if can := opt.Policy.Confinement; (opt.Sandbox == nil || !can.Layer) && slices.ContainsFunc(opt.Tools, func(t tool.Tool) bool {
		return t.Kind == tool.KindRun
	}) {
		return nil, &Failure{Kind: KindUsage, What: caps.String(), Err: errors.New("nothing makes layers here, and commands could change more"),
			Hint: "leave out the tools that run commands"}
	}
	t := &tally{caps: caps, root: opt.Policy.Root, seed: maphash.MakeSeed(), landing: make(chan struct{}, 1), originals: map[string]original{}}
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

// content is the state of a path. The zero value means that nothing is there.
type content struct {
	exists bool
	mode   fs.FileMode // type and permission bits
	size   int64
	sum    uint64
	binary bool
	lines  []uint64 // hashes of a text's lines, where these count
}

// perLine is how many bytes of a binary file count as a line. Longer texts than longestText bytes count as
// binary, too.
const (
	perLine     = 80
	longestText = 32 << 20
)

func (c content) count() int {
	if c.binary {
		return int((c.size + perLine - 1) / perLine)
	}
	return len(c.lines)
}

// same reports whether two contents are equal; of directories only the mode counts.
func (c content) same(d content) bool {
	if !c.exists || !d.exists {
		return c.exists == d.exists
	}
	return c.mode == d.mode && (c.mode.IsDir() || c.size == d.size && c.sum == d.sum)
}

// linesTo is how many lines are removed and added on the way from one content to another; more than most
// need not be exact.
func (c content) linesTo(d content, most int) int {
	switch {
	case c.exists && d.exists && c.mode.Type() == d.mode.Type() && c.size == d.size && c.sum == d.sum:
		return 0
	case c.binary || d.binary:
		return c.count() + d.count()
	}
	return distance(c.lines, d.lines, most)
}

// mostSteps bounds the search for the shortest way from one text to another: beyond it all lines count.
const mostSteps = 20_000

// distance is how many elements have to be removed and added to make b of a: Myers' greedy algorithm
// without the way itself. Beyond most it is any higher number. The diff that is shown gives up the shortest way after
// 100 changes, and would count most lines of a file with more.
func distance(a, b []uint64, most int) int {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	all := len(a) + len(b)
	if len(a) == 0 || len(b) == 0 {
		return all
	}
	limit := min(all, most, mostSteps)
	furthest := make([]int, 2*limit+3) // the furthest place in a, by the diagonal
	for steps := 0; steps <= limit; steps++ {
		for k := -steps; k <= steps; k += 2 {
			at := limit + 1 + k
			x := furthest[at-1] + 1
			if k == -steps || k != steps && furthest[at-1] < furthest[at+1] {
				x = furthest[at+1]
			}
			for x < len(a) && x-k >= 0 && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			if furthest[at] = x; x >= len(a) && x-k >= len(b) {
				return steps
			}
		}
	}
	return all
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
		return nil, errors.New("it does not name the files it writes in advance")
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

// effectsOn are the changes of a layer that are to land.
func effectsOn(changes []sandbox.Change, open func(path string) (*os.File, error)) (list []effect) {
	for _, c := range changes {
		list = append(list, effect{path: c.Path, built: c.Output != "", read: func(ctx context.Context, t *tally, _ content) (content, error) {
			if c.Kind == sandbox.Deleted {
				return content{}, nil
			}
			if c.Kind == sandbox.Mode {
				now, err := t.at(ctx, c.Path)
				now.mode = c.Mode
				return now, err
			}
			return t.content(ctx, c.Mode, c.Size, c.Target, func() (io.ReadCloser, error) { return open(c.Path) })
		}})
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

// gitEffects are a line's changes to the repositories of a project, as git sees them.
type gitEffects struct {
	views     []*repo.View
	dirs      []string // the git directories that the views stand for, absolute
	rows      []permission.GitRow
	committed map[string]committed // The key is the absolute path of a file of new commits.
	temp      string               // holds the views; "" for none
}

// committed is the effect of new commits on a path.
type committed struct {
	gone bool // One of them removes it.
	// lines are those that the commits, of which this is the first path, add and remove apart from the work tree.
	lines int
}

// effectsIn are the paths of a line's new commits.
func effectsIn(git *gitEffects) (list []effect) {
	for path, does := range git.committed {
		list = append(list, effect{path: path, commits: &does})
	}
	return list
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

// land is admit for changes that the caller makes next and that count from now on. It calls landed once, on any
// goroutine, when they are made or not to come; until then others wait.
func (t *tally) land(ctx context.Context, list []effect) (landed func(), err error) {
	if t == nil {
		return func() {}, nil
	}
	select {
	case t.landing <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	landed = func() { <-t.landing }
	originals, err := t.count(ctx, list)
	if err != nil {
		landed()
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.originals = originals
	return landed, nil
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
		t.over = capFailure(why, "a message that asks for less, or without the cap on effects")
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
			return nil, fmt.Sprintf("more than %s would be added and removed since the start: --max-lines %d",
				text.Count(t.caps.MaxLines, "line"), t.caps.MaxLines), nil
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
		return nil, fmt.Sprintf("%s would be changed since the start: --max-files %d", text.Count(len(changed), "path"), t.caps.MaxFiles), nil
	}
	return originals, "", nil
}

// outside is the list of patterns that a path does not match, as the user would write it; "" for none.
func (t *tally) outside(path string) string {
	for i, rules := range t.only {
		if !slices.ContainsFunc(rules, func(r permission.Rule) bool { return r.MatchesPath(t.root, path) }) {
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
