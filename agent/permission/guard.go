package permission

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"artoo/tool/names"
	facts "artoo/tool/project"
)

// Guard finds the auto-executed files of a project, links of such names and what they lead to. Any
// goroutine may call its methods.
type Guard struct {
	git    facts.Project
	hooks  func() []string // directories that git's configuration names
	finder *names.Finder
	links  *names.Finder

	mu   sync.Mutex
	last GuardedFiles
	at   time.Time
}

// NewGuard makes a Guard for what is below a project's root.
func NewGuard(project facts.Project) *Guard {
	g := &Guard{git: project, hooks: project.HookFinder()}
	g.links = names.New(func(_ string, kind fs.FileMode) (found, descend bool) { return kind&fs.ModeSymlink != 0, kind.IsDir() })
	g.finder = names.New(func(at string, kind fs.FileMode) (found, descend bool) {
		if g.is(at) {
			return true, false
		}
		return isBare(at) || kind.IsRegular() && names.Linked(at), kind.IsDir()
	})
	return g
}

func (g *Guard) is(at string) bool {
	rel, inside := names.Relative(g.git.Root, at)
	by, _ := autoExecutedBy(rel)
	return inside && by != ""
}

// GuardedFiles are what a Guard found at one time.
type GuardedFiles struct {
	// Paths are the guarded files, links and directories, absolute and sorted.
	Paths []string
	// Outside are files with a name that lies outside the root.
	Outside []string

	links []string            // symbolic links in directories that a command writes
	leads map[string]string   // guarded links, by the path that each leads to
	ids   map[names.ID]string // files by identity, whatever their names
}

// Look finds what is guarded now, and the links in directories that a command writes.
func (g *Guard) Look(writes ...string) (GuardedFiles, error) {
	all, err := g.finder.Find(g.git.Root)
	links, linkErr := g.links.Find(writes...)
	if err = cmp.Or(err, linkErr); err != nil {
		return GuardedFiles{}, err
	}
	found := GuardedFiles{links: links, leads: map[string]string{}, ids: map[names.ID]string{}}
	for _, at := range all {
		switch {
		case isBare(at):
			found.Paths = append(found.Paths, bareEntries(filepath.Dir(at))...)
		case g.is(at):
			found.Paths = append(found.Paths, at)
		default:
			found.Outside = append(found.Outside, at)
		}
	}
	found.Outside = g.gathered(names.Outside(found.Outside))
	for _, dir := range g.hooks() {
		if root := g.git.Root; dir != root && names.Within(root, dir) && exists(dir) {
			found.Paths = append(found.Paths, dir)
		}
	}
	slices.Sort(found.Paths)
	found.Paths = slices.Compact(found.Paths)
	for _, at := range slices.Concat(found.links, found.Paths) {
		if id, err := names.Identify(at); err == nil {
			found.ids[id] = at
		}
	}
	for _, at := range found.Paths {
		if to, err := os.Readlink(at); err == nil && to != "" {
			if real, err := filepath.EvalSymlinks(at); err == nil {
				found.leads[real] = at
			}
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last, g.at = found, time.Now()
	return found, nil
}

// recent is how long a search serves decisions about single files: meanwhile only the user, or a
// call that was approved, can have made a link.
const recent = time.Second

// Recent is what was found within the last second, or is found now.
func (g *Guard) Recent() (GuardedFiles, error) {
	g.mu.Lock()
	last, at := g.last, g.at
	g.mu.Unlock()
	if !at.IsZero() && time.Since(at) < recent {
		return last, nil
	}
	return g.Look()
}

// guardedOnce looks once for what is guarded though its name does not show it.
type guardedOnce struct {
	guard *Guard // may be nil
	look  sync.Once
	byGit func(path string) string
	found GuardedFiles
	err   error
}

// why says in words why a file is guarded in spite of its name, "" for an ordinary one.
func (o *guardedOnce) why(path string) string {
	if o == nil || o.guard == nil {
		return ""
	}
	o.look.Do(func() {
		hooks := o.guard.hooks()
		o.byGit = func(path string) string { return o.guard.git.OthersRun(path, hooks) }
		o.found, o.err = o.guard.Recent()
	})
	switch why := o.byGit(path); {
	case why != "":
		return why
	case o.err != nil:
		return "it is not known whether programs run it automatically: " + o.err.Error()
	}
	return o.found.Why(path)
}

// Why says in words why a file is guarded in spite of its name: a guarded link leads to it or a
// directory above it, or it has another, guarded name. "" for an ordinary file.
func (g GuardedFiles) Why(path string) string {
	for at := path; len(g.leads) > 0; at = filepath.Dir(at) {
		if link := g.leads[at]; link != "" {
			return "it writes what " + filepath.Base(link) + " leads to, which programs run automatically"
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	if id, err := names.Identify(path); err == nil && g.ids[id] != "" && g.ids[id] != path {
		return "it writes " + filepath.Base(g.ids[id]) + " under another name, which programs run automatically"
	}
	return ""
}

// Since lists what is guarded, or a link, and was not there before under any name.
func (g GuardedFiles) Since(before GuardedFiles) (made []string) {
	for _, path := range slices.Concat(g.Paths, g.links) {
		id, err := names.Identify(path)
		if _, was := before.ids[id]; err == nil && !was {
			made = append(made, path)
		}
	}
	return made
}

// maxOutside bounds the paths that lead outside and become read-only one by one: each costs a mount.
const maxOutside = 500

// gathered names the directories of paths, and those above, until there are few enough. What
// lies in the root itself stays.
func (g *Guard) gathered(paths []string) []string {
	for further := true; further && len(paths) > maxOutside; {
		further = false
		for i, path := range paths {
			if dir := filepath.Dir(path); dir != g.git.Root {
				paths[i], further = dir, true
			}
		}
		slices.Sort(paths)
		paths = slices.Compact(paths)
	}
	return paths
}

// isBare reports whether a path is the HEAD of what git would obey as a bare repository.
func isBare(at string) bool {
	if filepath.Base(at) != "HEAD" {
		return false
	}
	dir := filepath.Dir(at)
	return exists(filepath.Join(dir, "objects")) && exists(filepath.Join(dir, "refs"))
}

// bareEntries are the files and directories of a bare repository that git reads.
func bareEntries(dir string) (found []string) {
	for name := range strings.FieldsSeq("HEAD commondir config config.worktree hooks info objects packed-refs refs") {
		if path := filepath.Join(dir, name); exists(path) {
			found = append(found, path)
		}
	}
	return found
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
