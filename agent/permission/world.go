package permission

import (
	"cmp"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"artoo/tool/environ"
	"artoo/tool/files"
	"artoo/tool/names"
	facts "artoo/tool/project"
	"artoo/tool/proxy"
)

// World holds the files and the repositories that calls work on, for a policy to look at.
// The zero value knows of nothing, and nothing in it is out of reach.
type World struct {
	// Files are those that commands may read. nil lets them read everything, and then no
	// repository is looked at.
	Files   *files.Files
	Environ []string // the environment of commands
	Guard   *Guard   // finds guarded files whose names do not show it; may be nil
	// Fetches says where the packages of a set come from. nil opens no host to lines in the sandbox. The error says why
	// that is not known, or that a registry needs a key of the user's.
	Fetches func(set string) (Fetches, error)

	denied func() ([]string, error) // during one decision
}

// Host is a host that a line in the sandbox may reach.
type Host = proxy.Host

// Fetches says where the packages of a set come from.
type Fetches struct {
	Hosts []Host
	// Key says why one of Named needs a key of the user's, which no line in the sandbox has; "" where none does.
	Key string
	// Files are texts of files in the home, by their paths, that tell the package managers of a registry of the user's.
	Files map[string]string
	// Named are hosts that files of the project name besides.
	Named []NamedHost
}

// NamedHost is a host that a file of the project names.
type NamedHost struct {
	Host Host
	File string
}

// Denied lists the files that no command may see, as they are now.
func (w *World) Denied() ([]string, error) {
	if w.Files == nil {
		return nil, nil
	}
	if w.denied != nil {
		return w.denied()
	}
	return w.Files.Denied()
}

// Protected lists the files that programs run or obey automatically, as they are now.
func (w *World) Protected() ([]string, error) {
	if w.Guard == nil {
		return nil, nil
	}
	found, err := w.Guard.Look()
	return slices.Concat(found.Paths, found.Outside), err
}

// own are artoo's own variables.
func (w World) own() environ.Vars {
	if w.Files == nil {
		return nil
	}
	return w.Files.Tracked.Environ
}

// mayRead explains why a command in this directory may not read the files that arg
// names, "" when it may. With recursive it descends into directories.
func (w World) mayRead(dir, arg string, recursive bool) (why string) {
	if arg == "" || w.Files == nil {
		return ""
	}
	if err := w.Files.Reach(dir, arg, recursive); err != nil {
		return err.Error()
	}
	return ""
}

// deniedName reports whether a file at an absolute path would be hidden by its name.
func (w World) deniedName(path string) bool {
	if w.Files == nil {
		return false
	}
	place, err := w.Files.Resolve(path, true)
	return err != nil || place.Denied
}

func slashOf(mode fs.FileMode) string {
	if mode.IsDir() {
		return "/"
	}
	return ""
}

// repository is the one that git would work on in dir, if all of it may be read.
func (w World) repository(dir string) (facts.Project, error) {
	found, err := facts.Repository(dir, w.Files.Tracked.Environ, w.Files.Tracked.Admitted...)
	if err != nil {
		return found, err
	}
	return found, found.WithinGrants(w.Files)
}

// gitRuns explains why git in dir could run configured programs, nil when it runs none. A *facts.LookupError says
// that this is not known.
func (w World) gitRuns(dir string) error {
	if w.Files == nil {
		return nil
	}
	found, err := w.repository(dir)
	if err != nil {
		err = &facts.LookupError{Err: err}
	}
	if found.Git || err == nil {
		err = cmp.Or(found.GitRuns(), err)
	}
	return err
}

// gitHooks names the hooks that git in dir would run.
func (w World) gitHooks(dir string) []string {
	if w.Guard == nil {
		return facts.HooksIn(dir, w.own(), nil, nil)
	}
	project := w.Guard.git
	return facts.HooksIn(dir, project.Environ, project.HookDirs(w.Guard.settings()), project.GitDirs)
}

// autoExecuted is the one list of files that something other than the user runs or obeys, so that the writer of one has
// code run later without a question. A row is a name, or names below each other, with * for any characters; it counts
// at any depth, in either case, and for all beneath it.
var autoExecuted = []autoExecutedRow{
	{"git", `.git git~1 .gitmodules .gitattributes .githooks .husky lefthook* .lefthook* .pre-commit-config.yaml
		.lintstagedrc* lint-staged.config.* .overcommit.yml captainhook.json .simple-git-hooks.* simple-git-hooks.* .hg .jj`},
	{"an editor", `.vscode .vs .idea .fleet .zed .helix .devcontainer .devcontainer.json .gitpod.yml *.code-workspace
		*.sublime-project .exrc .vimrc _vimrc .nvimrc .lvimrc .local.vimrc .vim .nvim .nvim.lua .ycm_extra_conf.py .dir-locals.el
		.dir-locals-2.el .idx .replit`},
	{"a debugger or console", `.gdbinit .lldbinit .pdbrc .irbrc .pryrc .rprofile .ghci .ocamlinit .iex.exs .octaverc
		.erlang`},
	{"the shell or a tool on entering the directory", ".envrc mise.toml mise.*.toml .mise* .tool-versions"},
	{"a package manager or build", `.npmrc .yarnrc* .yarn .pnp.* .pnpmfile.cjs .pnpmfile.mjs .cargo .bazelrc .bundle .mvn
		compose.override.* docker-compose.override.* rust-toolchain*`},
	{"a build service", `.github/workflows .github/actions .gitlab-ci.yml .circleci .cirrus.yml .buildkite .travis.yml
		.semaphore .teamcity azure-pipelines.yml bitbucket-pipelines.yml cloudbuild.yaml jenkinsfile .gitea/workflows
		.forgejo/workflows .woodpecker* .drone.yml appveyor.yml .appveyor.yml
		.readthedocs.yaml .readthedocs.yml netlify.toml .zuul.yaml .zuul.d`},
	{"a coding agent", `.artoo .claude .codex .gemini .cursor .windsurf .clinerules .mcp.json mcp.json opencode.json
		opencode.jsonc .opencode agents.md agents.override.md agent.md claude.md claude.local.md gemini.md warp.md
		crush.json .cursorrules .windsurfrules .aider* .continue .roo* .kiro .kilocode* .junie .qwen .pi .factory .agents
		.goosehints .rules .amazonq .augment* .trae .github/agents .github/instructions .github/prompts .github/skills
		.github/hooks .github/copilot-instructions.md`},
}

type autoExecutedRow struct{ by, names string }

// autoExecutedNames are all names of the list that the path goes through; of a link also those of the entries that a
// directory in its place, such as .github, would have. It does not know the files that git's configuration names; a
// Guard does.
func autoExecutedNames(file string, link bool) (found []autoExecutedRow) {
	plain, others := autoExecutedIndex()
	parts := partsOf(names.Fold(file))
	for i, part := range parts {
		parts[i] = strings.TrimRight(part, " .") // some file systems take "name." and "name " for the same file
	}
	for i, part := range parts {
		if row, ok := plain[part]; ok {
			found = append(found, row)
		}
		for _, row := range others {
			if beginWith(parts[i:], row.names) || link && strings.HasPrefix(row.names, strings.Join(parts[i:],
				"/")+"/") {
				found = append(found, row)
			}
		}
	}
	return found
}

// autoExecutedIndex are the names of the list, each by itself: those without * of one part, by
// name, and the others. Each path that a build writes is looked up.
var autoExecutedIndex = sync.OnceValues(func() (plain map[string]autoExecutedRow, others []autoExecutedRow) {
	plain = map[string]autoExecutedRow{}
	for _, row := range autoExecuted {
		for name := range strings.FieldsSeq(row.names) {
			if one := (autoExecutedRow{row.by, name}); strings.ContainsAny(name, "*/") {
				others = append(others, one)
			} else {
				plain[name] = one
			}
		}
	}
	return plain, others
})

// beginWith reports whether the parts of a path begin with a name of the list.
func beginWith(parts []string, name string) bool {
	for wanted := range strings.SplitSeq(name, "/") {
		before, after, star := strings.Cut(wanted, "*")
		if len(parts) == 0 || !star && parts[0] != wanted || len(parts[0]) < len(before)+len(after) ||
			!strings.HasPrefix(parts[0], before) || !strings.HasSuffix(parts[0], after) {
			return false
		}
		parts = parts[1:]
	}
	return true
}

func partsOf(path string) []string {
	return strings.FieldsFunc(path, func(c rune) bool { return c == '/' || c == '\\' })
}

// Guard finds the auto-executed files of a project, links of such names and their targets. Any
// goroutine may call its methods.
type Guard struct {
	git      facts.Project
	settings func() []facts.GitSetting // git's
	finder   *names.Finder
	links    *names.Finder

	mu     sync.Mutex
	last   GuardedFiles
	at     time.Time
	within map[string]*nestedReferences // by work tree
	// imported are files that instruction files import.
	imported []string
}

// Guards reports whether programs run or obey the file at an absolute path.
func (g *Guard) Guards(path string) bool {
	found, err := g.Recent()
	within := func(at string) bool { return names.Within(at, path) }
	return err != nil || g.is(path) || slices.ContainsFunc(found.Paths, within) || found.Why(path) != ""
}

// Imported tells the guard which files instruction files import, absolute: coding agents obey them as they do
// AGENTS.md.
func (g *Guard) Imported(paths []string) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !slices.Equal(g.imported, paths) {
		g.imported, g.at = slices.Clone(paths), time.Time{}
	}
}

// NewGuard makes a Guard for the files below a project's root.
func NewGuard(project facts.Project) *Guard {
	g := &Guard{git: project, settings: project.SettingsFinder(), within: map[string]*nestedReferences{}}
	g.links = names.New(func(_ string, kind fs.FileMode) (found, descend bool) {
		return kind&fs.ModeSymlink != 0,
			kind.IsDir()
	})
	g.finder = names.New(func(at string, kind fs.FileMode) (found, descend bool) {
		if g.is(at) {
			return true, false
		}
		// To look through a home directory, or the whole machine, takes minutes.
		return isBare(at) || kind.IsRegular() && names.Linked(at), kind.IsDir() && g.git.None == ""
	})
	return g
}

func (g *Guard) is(at string) bool {
	rel, inside := names.Relative(g.git.Root, at)
	return inside && len(autoExecutedNames(rel, false)) > 0
}

// GuardedFiles are the files a Guard found at one time.
type GuardedFiles struct {
	// Paths are the guarded files, links and directories, absolute and sorted.
	Paths []string
	// Outside are files with a name that lies outside the root.
	Outside []string

	nested []reference // repositories within the project name them

	links []string            // symbolic links in directories that a command writes
	leads map[string]string   // guarded links, by the path that each leads to
	ids   map[names.ID]string // files by identity, whatever their names
}

// Look finds the files guarded now, and the links in directories that a command writes.
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
	found.nested = g.nested(slices.DeleteFunc(slices.Clone(found.Paths),
		func(at string) bool { return filepath.Base(at) != ".git" }))
	for _, ref := range slices.Concat(g.references().found, found.nested) {
		if names.Within(g.git.Root, ref.path) && names.Exists(ref.path) {
			found.Paths = append(found.Paths, ref.path)
		}
	}
	found.Paths = slices.Compact(slices.Sorted(slices.Values(found.Paths)))
	for _, at := range slices.Concat(found.links, found.Paths) {
		if id, err := names.Identify(at); err == nil {
			found.ids[id] = at
		}
	}
	for _, at := range found.Paths {
		if real, err := filepath.EvalSymlinks(at); err == nil && real != at {
			found.leads[real] = at
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

// Recent is the result of a Look within the last second, or of one now.
func (g *Guard) Recent() (GuardedFiles, error) {
	g.mu.Lock()
	last, at := g.last, g.at
	g.mu.Unlock()
	if !at.IsZero() && time.Since(at) < recent {
		return last, nil
	}
	return g.Look()
}

// once returns a func that explains why a file is guarded in spite of its name, "" for an
// ordinary one. It looks once. A nil Guard knows of nothing. link says that a link is to be at path: it gives what is
// below that path another content.
func (g *Guard) once() func(path string, link bool) string {
	if g == nil {
		return func(string, bool) string { return "" }
	}
	named, look := sync.OnceValue(g.references), sync.OnceValues(g.Recent)
	return func(path string, link bool) string {
		if why := cmp.Or(g.git.OthersRun(path), named().why(path, link)); why != "" {
			return why
		}
		found, err := look()
		if err != nil {
			return "artoo cannot tell whether programs run it automatically: " + err.Error()
		}
		return cmp.Or((&references{root: g.git.Root, home: g.git.Environ.Home(), found: found.nested}).why(path,
			link), found.Why(path))
	}
}

// Why explains why a file is guarded in spite of its name: a guarded link leads to it or a
// directory above it, or it has another, guarded name. "" for an ordinary file.
func (g GuardedFiles) Why(path string) string {
	for at := path; at != filepath.Dir(at) && len(g.leads) > 0; at = filepath.Dir(at) {
		if link := g.leads[at]; link != "" {
			return "it writes the target of " + filepath.Base(link) + ", which programs run automatically"
		}
	}
	if id, err := names.Identify(path); err == nil && g.ids[id] != "" && g.ids[id] != path {
		return "it writes " + filepath.Base(g.ids[id]) + " under another name, which programs run automatically"
	}
	return ""
}

// Since lists guarded files and links that were not there before under any name.
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

// gathered names the directories of paths, and those above, until there are few enough. Files in the root itself stay.
func (g *Guard) gathered(paths []string) []string {
	for further := true; further && len(paths) > maxOutside; {
		further = false
		for i, path := range paths {
			if dir := filepath.Dir(path); dir != g.git.Root {
				paths[i], further = dir, true
			}
		}
		paths = slices.Compact(slices.Sorted(slices.Values(paths)))
	}
	return paths
}

// references are the files that the project's own settings and hooks name now.
func (g *Guard) references() *references {
	r := &references{root: g.git.Root, home: g.git.Environ.Home()}
	settings := g.settings()
	dir, common := facts.NamedDirs(r.root)
	for _, s := range settings {
		r.setting(s, dir)
	}
	r.hooks(append(g.git.HookDirs(settings), filepath.Join(common, "hooks")))
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, path := range g.imported {
		by := "an instruction file imports, so coding agents obey it"
		r.found = append(r.found, reference{path, by}, reference{names.Real(path), by})
	}
	return r
}

// nested are the files that the settings of repositories within the project name. gits are paths named .git.
func (g *Guard) nested(gits []string) (found []reference) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, at := range gits {
		top := filepath.Dir(at)
		if top == g.git.Root {
			continue
		}
		dir, common := facts.NamedDirs(top)
		config := filepath.Join(common, "config")
		kept, now := g.within[top], names.StampAt(config)
		if kept == nil || kept.config != now {
			r := &references{root: top, home: g.git.Environ.Home()}
			for _, s := range facts.SettingsIn(g.git.Environ, config) {
				r.setting(s, dir)
			}
			kept = &nestedReferences{now, r.found}
			g.within[top] = kept
		}
		found = append(found, kept.found...)
	}
	return found
}

// nestedReferences are those of one repository within the project, as long as its configuration stays the same.
type nestedReferences struct {
	config names.Stamp
	found  []reference
}

// Unread names the settings of git's whose commands cannot be parsed, so that the files that they name are not guarded.
func (g *Guard) Unread() []string {
	return slices.Compact(slices.Sorted(slices.Values(g.references().unread)))
}

// systemDirs hold the system's programs. The sandbox mounts them read-only.
const systemDirs = "/usr /bin /sbin /lib /lib32 /lib64 /libx32 /opt /nix /gnu /snap"

func inSystem(file string) bool {
	return slices.ContainsFunc(strings.Fields(systemDirs), func(dir string) bool { return names.Within(dir, file) })
}
