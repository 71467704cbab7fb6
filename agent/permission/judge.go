package permission

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool"
	"artoo/tool/files"
	"artoo/tool/names"
	facts "artoo/tool/project"
	"artoo/tool/sandbox"
	"artoo/tool/text"
)

// Facts are answers about the project that Judge looks up once. A nil func knows of nothing.
type Facts struct {
	// Ignored returns those absolute paths that git ignores, by rules older than the session.
	Ignored func(paths []string) map[string]bool
	// Made reports whether the session made the file at the path, and it is unchanged.
	Made func(c sandbox.Change) bool
	// Kept reports whether the journal can hold these originals, in bytes together.
	Kept func(size int64) bool
	// Git are the effects of the changes below git's directories, and Repository those
	// directories: the rows of Git stand for the changes in them.
	Git        []GitRow
	Repository func(path string) bool
}

// GitRow is one thing that a line changed in a repository, as git sees it.
type GitRow struct {
	Class        Class
	Text, Object string // one line for people; the file, ref or setting that changed
	Diff         string // shown where a commit differs from the work tree; may be ""
	// Left means that a yes leaves it out. Stops means that nothing of the line may land then.
	Left, Stops bool
	// Files are those of a removed repository, which this change represents: they land with it.
	Files []sandbox.Change
}

// Judgement is a policy's decision on a line's changes on a layer.
type Judgement struct {
	// Verdict is Run where the effects land, Refuse where they are discarded.
	Verdict Verdict
	Class   Class // the strictest of the effects that can land
	Reasons []Reason
	Effects Effects
	Rule    string // the narrowest rule that would let them land; "" where none can
	// Without names the effects for whose sake the others do not land unasked; nil where there are no others.
	Without []string
}

// Reason is all reasons in words.
func (j Judgement) Reason() string { return words(j.Reasons) }

// Judge decides about a line's changes on a layer. The strictest class of its effects
// decides; forbidden ones are left out and named. Where ctx ends first, nothing lands.
func (p *Policy) Judge(ctx context.Context, d Decision, changes []sandbox.Change, facts Facts) Judgement {
	p = p.deciding()
	j := Judgement{Effects: Effects{By: map[What][]Entry{}, Files: Counts{}, Built: Counts{},
		Installs: d.Installs != "", Apply: make([]sandbox.Change, 0, len(changes))}}
	w := weigher{p: p, d: d, facts: facts, effects: &j.Effects}
	w.denies, w.asks = p.forWriting(p.DenyRules), p.forWriting(p.AskRules)
	w.lookUp(changes)
	sort := sorted{lands: p.lands(d)}
	for _, c := range changes {
		if ctx.Err() != nil {
			break
		}
		if facts.Repository != nil && facts.Repository(c.Path) {
			continue // its row stands for it
		}
		sort.add(w.add(c), false, below(p.Root, c.Path))
	}
	for _, row := range facts.Git {
		sort.add(w.addGit(row), row.Stops, row.Object)
	}
	if j.Class = sort.strictest; !sort.others {
		sort.stop = nil
	}
	none := len(j.Effects.Apply) == 0 && j.Effects.Git == 0
	stops := slices.IndexFunc(facts.Git, func(row GitRow) bool { return row.Stops })
	switch {
	case ctx.Err() != nil:
		return j.because(Refuse, Reason{Code: TookTooLong, Object: fmt.Sprintf("entries: %d", len(changes))})
	case none && len(j.Effects.By[Never]) == 0:
		return j.because(Run, Reason{Code: ChangedNothing})
	case p.Mode == ModePlan:
		return j.because(Refuse, Reason{Code: PlanMode})
	case stops >= 0:
		j.Without = sort.stop
		return j.because(Refuse, Reason{Code: NotReplayed, Object: facts.Git[stops].Text})
	case none:
		return j.because(Refuse, Reason{Code: NeverApplied, Object: j.Effects.By[Never][0].Path})
	case j.Class <= sort.lands:
		return j.because(Run, d.Reasons...)
	}
	j.Without = sort.stop
	if j.Class <= Content && !d.Has(NeedsHosts) { // One for hosts lets nothing land.
		j.Rule = d.Narrow
	}
	return j.because(Ask, Reason{Code: EffectsAsked, Object: j.Effects.Short()[0]})
}

// sorted are the classes of a line's effects.
type sorted struct {
	lands, strictest Class
	others           bool // Files or commits would land.
	stop             []string
}

func (s *sorted) add(class Class, stops bool, name string) {
	s.strictest = max(s.strictest, class)
	switch {
	case stops || class > s.lands:
		s.stop = append(slices.DeleteFunc(s.stop, func(other string) bool { return other == name }), name)
	case class >= Content:
		s.others = true
	}
}

func (j Judgement) because(v Verdict, reasons ...Reason) Judgement {
	j.Verdict, j.Reasons = v, reasons
	return j
}

// lands is the strictest class that lands unasked, by the mode or a rule for the line.
func (p *Policy) lands(d Decision) Class {
	most := Bookkeeping
	switch {
	case p.Mode == ModePlan:
		return Nothing
	case p.Confinement.Layered:
		most = Loss
	case p.Mode == ModeEdits, p.Mode == ModeAuto:
		most = Content
	}
	return max(most, d.Covers)
}

type weigher struct {
	p            *Policy
	d            Decision
	facts        Facts
	effects      *Effects
	denies, asks writeRules
	ignored      map[string]bool
	original     int64             // bytes of the originals so far
	links        map[string]string // where changed links lead; "" for other changes
}

func (w *weigher) lookUp(changes []sandbox.Change) {
	all := make([]string, 0, len(changes))
	w.links = make(map[string]string, len(changes))
	for _, c := range changes {
		w.links[c.Path] = c.Target
		all = append(all, c.Path+slashOf(c.Mode)) // git ignores some names as directories only
	}
	if w.facts.Ignored != nil && len(all) > 0 {
		w.ignored = w.facts.Ignored(all)
	}
}

// mostName bounds the name of a change that is left out, in characters.
const mostName = 80

// add sorts one change, and returns its class; Nothing for one that is forbidden.
func (w *weigher) add(c sandbox.Change) Class {
	e, name, what := w.effects, below(w.p.Root, c.Path), became(c)
	if why := w.forbidden(c); why != "" {
		e.note(Never, text.Clip(name, mostName), "("+why+")")
		return Nothing
	}
	asks := w.asked(c)
	switch dir := w.p.installedAt(w.d, c, w.target); {
	case asks != "":
	case dir != "" && w.ignored[c.Path]:
		c.Output = dir
	case w.output(c, name):
		c.Output = cmp.Or(resultsOf(name), path.Dir(filepath.ToSlash(name)))
	}
	c.Checked = w.p.Files != nil
	counted := what
	if what == Deleted && c.Mode.IsDir() {
		counted = goneDirectory
	}
	e.Apply = append(e.Apply, c)
	if c.Output != "" {
		e.Built[counted]++
		return Output
	}
	e.Files[counted]++
	if w.ignored[c.Path] {
		e.Ignored++
	}
	now, before := c.Mode.Perm(), c.Before.Mode.Perm()
	switch {
	case what == Deleted:
	case c.Mode.IsRegular() && now&0o111 != 0 && (before&0o111 == 0 || !c.Before.Mode.IsRegular()):
		e.note(Executable, name, "")
	case c.Kind != sandbox.Created && c.Before.Exists() && now != before:
		e.note(OtherMode, name, fmt.Sprintf("%04o → %04o", before, now))
	}
	class := Content
	if w.loses(c, name) {
		e.note(CannotUndo, name, "")
		class = Loss
	}
	if why := w.guarded(c); why != "" {
		e.note(RunsAutomatically, name, leads(c)+"("+why+")")
		return Guarded
	}
	if asks != "" {
		e.note(RuleAsked, name+slashOf(c.Mode), leads(c)+"("+asks+")")
		return Guarded
	}
	if class == Content && what != OtherMode {
		e.note(what, name+slashOf(c.Mode), leads(c))
	}
	return class
}

func (e *Effects) note(what What, name, detail string) {
	e.By[what] = append(e.By[what], Entry{name, detail})
}

// leads returns where a link leads; "" of anything else.
func leads(c sandbox.Change) string {
	if became(c) != Linked {
		return ""
	}
	return "→ " + c.Target + " "
}

// mostPath is the longest path that lands, in bytes: the kernel takes 4,095, and landing makes a name of its own beside
// it.
const mostPath = 4000

// forbidden explains why a change is never applied, "" when it may be.
func (w *weigher) forbidden(c sandbox.Change) string {
	switch {
	case len(c.Path) > mostPath:
		return "its path is too long"
	case c.Special && c.Mode&(fs.ModeSetuid|fs.ModeSetgid) != 0:
		return "setuid or setgid"
	case c.Special:
		return "a device, FIFO or socket"
	case w.p.fixed(c.Path):
		return "read-only here"
	case w.p.World.deniedName(c.Path):
		return "hidden by its name"
	case c.Hidden:
		return "hidden here"
	case facts.GitData(filepath.ToSlash(below(w.p.Root, c.Path))) && !c.Mode.IsDir() && !c.Mode.IsRegular():
		return "not a regular file, in git's data"
	}
	if r := w.denies.cover(filepath.ToSlash(c.Path)); r != nil {
		return Decision{}.by(Refuse, RuleDenies, *r).Reason()
	}
	return ""
}

// asked names the rule that asks about a change, "" for none. The user's permission in this session beats it, except
// one of the system's policy.
func (w *weigher) asked(c sandbox.Change) string {
	r := w.asks.cover(filepath.ToSlash(c.Path))
	if r == nil || !r.Fixed && (w.d.Has(SessionAllows) || slices.ContainsFunc(w.p.session, func(allowed Rule) bool {
		return allowed.names("write", tool.KindWrite) && allowed.matchesPath(w.p.Root, w.p.own().Home(), c.Path, false)
	})) {
		return ""
	}
	return Decision{}.by(Ask, RuleAsks, *r).Reason()
}

// writeRules are the deny or ask rules for writing, for many paths.
type writeRules struct {
	rules []Rule
	globs [][]string       // one list per rule
	found map[string]*Rule // the rule that covers a path, as far as paths were looked at
}

func (p *Policy) forWriting(rules []Rule) writeRules {
	w := writeRules{found: map[string]*Rule{}}
	for _, r := range rules {
		if !r.namesWidely("write", tool.KindWrite) {
			continue
		}
		globs := []string{"/"}
		if r.HasArg {
			globs = r.globs(p.Root, p.own().Home(), true)
		}
		w.rules, w.globs = append(w.rules, r), append(w.globs, globs)
	}
	return w
}

// cover finds a rule that covers a path, nil for none: as matchesPath does, but each directory is looked at once.
func (w writeRules) cover(file string) *Rule {
	found, known := w.found[file]
	if known || len(w.rules) == 0 {
		return found
	}
	if dir := path.Dir(file); dir != file && dir != "." {
		found = w.cover(dir)
	}
	for i, globs := range w.globs {
		if found == nil && files.MatchesGlob(globs, file, true) {
			found = &w.rules[i]
		}
	}
	w.found[file] = found
	return found
}

// guarded names the program that runs or obeys a new or changed file, "" for none: by its names, by
// where a link leads, or by links that lead to it. A deleted file runs no more.
func (w *weigher) guarded(c sandbox.Change) string {
	if c.Kind == sandbox.Deleted {
		return ""
	}
	link := c.Mode&fs.ModeSymlink != 0
	why := w.p.whyGuarded(c.Path, link)
	if why != "" || !link {
		return why
	}
	to := w.target(c)
	if why := w.p.whyGuarded(to, true); why != "" {
		return "a link: " + why
	}
	if !names.Within(w.p.Root, to) && !inSystem(to) {
		return "a link out of the project"
	}
	return ""
}

// target is where a link leads once the line has landed.
func (w *weigher) target(c sandbox.Change) string {
	at, rest := filepath.Dir(c.Path), c.Target
	if filepath.IsAbs(rest) {
		at = "/"
	}
	for left := maxLinks; rest != ""; {
		part, after, _ := strings.Cut(rest, "/")
		rest = after
		next := filepath.Join(at, part)
		if next == "/proc" {
			return next // its content depends on the process that looks
		}
		to, changed := w.links[next]
		if !changed && part != ".." {
			to, _ = os.Readlink(next) // another file leads to itself
		}
		switch {
		case to == "":
			at = next
			continue
		case left == 0:
			return at // nothing can be opened there
		case filepath.IsAbs(to):
			at = "/"
		}
		left--
		rest = to + "/" + rest
	}
	return at
}

const maxLinks = 40

// output reports whether a change is build output: ignored, made by own and read-only programs in a place for results
// or by this session. Whatever line deletes what this session made in such a place leaves less output.
func (w *weigher) output(c sandbox.Change, name string) bool {
	plain := (c.Mode.IsRegular() || c.Mode.IsDir()) && (c.Before.Mode.IsRegular() || c.Before.Mode.IsDir() ||
		!c.Before.Exists())
	listed, made := resultsOf(name) != "", w.facts.Made != nil && (!c.Before.Exists() || w.facts.Made(c))
	return plain && w.ignored[c.Path] && !inDependencies(name) && w.guarded(c) == "" &&
		(w.d.Builds && (listed || made) || c.Kind == sandbox.Deleted && listed && (made || c.Mode.IsDir()))
}

// loses reports whether the journal cannot hold the original, or refs go with a bare repository.
// Ignored files that can be made again do not count.
func (w *weigher) loses(c sandbox.Change, name string) bool {
	if dir, _, in := strings.Cut(c.Path, "/refs"); in && c.Kind == sandbox.Deleted && isBare(dir+"/HEAD") {
		return true
	}
	if !c.Before.Mode.IsRegular() || !c.Before.Exists() || c.Kind == sandbox.Mode {
		return false
	}
	if w.ignored[c.Path] && (resultsOf(name) != "" || inDependencies(name)) {
		return false
	}
	w.original += c.Before.Size
	return w.facts.Kept != nil && !w.facts.Kept(w.original)
}

// addGit notes a row of git's. An effect left out decides about the line where it is loss.
func (w *weigher) addGit(row GitRow) Class {
	e := w.effects
	e.Apply = append(e.Apply, row.Files...)
	if row.Left || row.Class == Forbidden {
		e.note(Never, row.Text, "")
		if row.Class == Loss {
			return Loss
		}
		return Nothing
	}
	e.note(cmp.Or(map[Class]What{Guarded: GitItself, Loss: GitLoses}[row.Class], OfGit), row.Text, "")
	e.Git++
	return row.Class
}

// MadeGuarded are the effects of a command on the project itself that made these guarded files and
// links, absolute; Apply lists them without links that lead to nothing guarded.
func (p *Policy) MadeGuarded(paths []string) Effects {
	e := Effects{There: true, By: map[What][]Entry{}}
	w := weigher{p: p.deciding()}
	for _, path := range paths {
		c := sandbox.Change{Path: path, Kind: sandbox.Created}
		if to, err := os.Readlink(path); err == nil {
			c.Mode, c.Target = fs.ModeSymlink, to
		}
		why := w.guarded(c)
		if why == "" && c.Target != "" {
			continue
		}
		e.note(RunsAutomatically, below(p.Root, path), leads(c)+"("+cmp.Or(why, "git runs or obeys it")+")")
		e.Apply = append(e.Apply, c)
	}
	return e
}

// IsGuarded reports whether programs run or obey the file at an absolute path.
func (p *Policy) IsGuarded(path string) bool { return p.deciding().whyGuarded(path, false) != "" }

// fixed reports whether nothing may write a path: git's data where artoo works on a layer.
func (p *Policy) fixed(path string) bool {
	return p.Confinement.Layered && strings.Contains("/"+filepath.ToSlash(below(p.Root, path))+"/", "/.git/")
}

// trimLine is a command without the spaces around it that a shell ignores.
func trimLine(command string) string {
	if text := strings.Trim(command, " \t\n"); !strings.HasSuffix(text, `\`) {
		return text
	}
	return strings.TrimLeft(command, " \t\n")
}

// Changes of a path or a ref, in the words of questions and reports.
type What string

// The kinds of effects, the strictest first.
const (
	RunsAutomatically What = "runs automatically" // the detail names the program
	GitItself         What = "git itself"         // configuration, flags, refs of its own
	RuleAsked         What = "needs your yes"     // the detail is the rule
	CannotUndo        What = "cannot be undone"   // the journal cannot hold the original
	GitLoses          What = "lost from git"
	Never             What = "cannot be applied" // the detail is the reason
	Deleted           What = "deleted"
	Linked            What = "linked" // the detail is its target
	Executable        What = "executable now"
	OtherMode         What = "with new permissions"
	OfGit             What = "git"
	Modified          What = "modified"
	Created           What = "created"
	NewDirectory      What = "new directory"
	goneDirectory     What = "directory deleted"
)

// Effects are a line's changes on a layer. Paths below the project's root are relative to it.
type Effects struct {
	// By names the effects of each kind, each once: one that is guarded or lost is not among the kinds of content.
	By map[What][]Entry
	// Files and Built count the files that land, except git's data; Built is build output, or, as Installs says,
	// installed packages.
	Files, Built Counts
	Installs     bool
	Ignored      int              // how many of Files git ignores
	Git          int              // how many rows of git's land
	There        bool             // they are in the project already, where no layer was
	Apply        []sandbox.Change // the changes that a yes applies, except git's data
}

// Entry is a path, and its change.
type Entry struct{ Path, Detail string }

// String is path and detail in words.
func (e Entry) String() string { return strings.TrimSpace(e.Path + " " + e.Detail) }

// Counts are how many paths there are of some kinds.
type Counts map[What]int

func (c Counts) String() string {
	var parts []string
	for _, what := range []What{Deleted, goneDirectory, Created, Modified, Linked, OtherMode, NewDirectory, "changed"} {
		if n := c[what]; n > 0 {
			words := strings.Replace(string(what), "directory", "directories", min(n-1, 1))
			parts = append(parts, fmt.Sprintf("%d %s", n, words))
		}
	}
	return strings.Join(parts, ", ")
}

func became(c sandbox.Change) What {
	switch {
	case c.Kind == sandbox.Deleted:
		return Deleted
	case c.Kind == sandbox.Mode:
		return OtherMode
	case c.Mode&fs.ModeSymlink != 0:
		return Linked
	case c.Mode.IsDir():
		return NewDirectory
	case c.Kind == sandbox.Created:
		return Created
	}
	return Modified
}

// Matters are the kinds that a question shows last and never cuts, the strictest first.
func Matters() []What {
	return []What{RunsAutomatically, GitItself, RuleAsked, CannotUndo, GitLoses, Never, Deleted, Linked, Executable,
		OtherMode}
}

// Others are the other kinds. Build output is only counted.
func Others() []What { return []What{OfGit, Modified, Created, NewDirectory} }

// Rows name effects, one a row. In short, more than MostNames are summed up by directory where not each has to be seen.
func (e Effects) Rows(short bool, kinds ...What) (rows []string) {
	names := 0
	for _, what := range kinds {
		names += len(e.By[what])
	}
	for _, what := range kinds {
		entries := e.By[what]
		whole := slices.Contains([]What{RunsAutomatically, GitItself, RuleAsked, CannotUndo, GitLoses, Never,
			OfGit}, what)
		if short && !whole && names > MostNames && len(entries) > mostDirRows {
			entries = ByDirectory(entries)
		}
		for _, entry := range entries {
			rows = append(rows, fmt.Sprintf("%s: %s", what, entry))
		}
	}
	return rows
}

// More names than MostNames are summed up by directory, with at most mostDirRows for one kind.
const (
	MostNames   = 60
	mostDirRows = 10
)

// ByDirectory makes at most ten entries of many: directories, each with its number of paths.
func ByDirectory(entries []Entry) []Entry { return byDirectory(entries, mostDirRows) }

// byDirectory is ByDirectory for at most so many entries, 1 at least.
func byDirectory(entries []Entry, most int) (dirs []Entry) {
	deepest, counts := 0, map[string]int{}
	for _, e := range entries {
		deepest = max(deepest, strings.Count(e.Path, "/"))
	}
	for depth := deepest; depth == deepest || len(counts) > most && depth >= 0; depth-- {
		clear(counts)
		for _, e := range entries {
			counts[directoryOf(e.Path, depth)]++
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(counts)) {
		dirs = append(dirs, Entry{Path: dir, Detail: "(" + text.Counted(counts[dir], "path", "paths") + ")"})
	}
	return dirs
}

// directoryOf is the directory of a path, or the one above it at that depth.
func directoryOf(p string, depth int) string {
	parts := strings.Split(path.Dir(path.Clean(p)), "/")
	if parts[0] == "." || depth <= 0 {
		if path.IsAbs(p) {
			return "/"
		}
		return "./"
	}
	return strings.Join(parts[:min(depth, len(parts))], "/") + "/"
}

// Short names all effects in short, the strictest first.
func (e Effects) Short() []string {
	rows := e.Rows(true, append(Matters(), Others()...)...)
	if len(e.Built) > 0 {
		rows = append(rows, e.Output())
	}
	return rows
}

// Output counts the build output, or the installed packages, in words; "" for none.
func (e Effects) Output() string {
	text := e.Built.String()
	switch {
	case text == "":
	case e.Installs:
		text = "installed packages: " + text
	default:
		text = "build output: " + text
	}
	return text
}

// Summary counts the effects in words, such as "files: 2 modified, 1 deleted".
func (e Effects) Summary() string {
	var all []string
	if text := e.Files.String(); text != "" {
		all = append(all, "files: "+text)
		if e.Ignored > 0 {
			all[0] += fmt.Sprintf(" (%d ignored by git)", e.Ignored)
		}
	}
	if text := (Counts{"changed": e.Git}).String(); text != "" {
		all = append(all, "git: "+text)
	}
	if text := e.Output(); text != "" {
		all = append(all, text)
	}
	return cmp.Or(strings.Join(all, "; "), "nothing that can be applied")
}

// Builds put output, which git ignores, into resultDirs and resultNames; dependencyDirs hold installed packages.
const (
	resultDirs = `dist build out target coverage .nyc_output htmlcov .next .nuxt .svelte-kit .output bin obj
		cmake-build-debug cmake-build-release _build .dart_tool .vite storybook-static test-results playwright-report
		.parcel-cache .eggs *.egg-info .coverage_html`
	resultNames = `*.o *.a *.so *.obj *.class *.pyc *.log *.tsbuildinfo *.out *.test *.prof *.exe *.gcda *.gcno .coverage
		coverage.xml junit.xml`
	dependencyDirs = "node_modules .venv venv vendor site-packages Pods"
)

// resultsOf is the directory of results that a path lies in, "" for none.
func resultsOf(name string) string {
	parts := partsOf(name)
	for i, part := range parts {
		if matchesAny(resultDirs, part) {
			return path.Join(parts[:i+1]...)
		}
	}
	if matchesAny(resultNames, path.Base(name)) {
		return path.Dir(name)
	}
	return ""
}

func inDependencies(name string) bool {
	return slices.ContainsFunc(partsOf(name), func(part string) bool { return matchesAny(dependencyDirs, part) })
}

// ResultDirs are the names of directories for build output, without patterns.
func ResultDirs() []string {
	return slices.DeleteFunc(strings.Fields(resultDirs), func(name string) bool { return strings.Contains(name, "*") })
}

// caches are directories and files in which tools keep files they can make again. A line's writes there never land:
// artoo keeps it, and the next line sees it.
const caches = `__pycache__ .pytest_cache .mypy_cache .ruff_cache .eslintcache .stylelintcache .cache .parcel-cache
	.phpunit.cache .rubocop_cache .gopls .gradle .turbo .next/cache node_modules/.vite*`

// IsCache reports whether a path, relative to a project's root, lies in a tool's cache.
func IsCache(rel string) bool {
	parts, target := partsOf(filepath.ToSlash(rel)), false
	for i, part := range parts {
		if matchesAny(caches, part) || i > 0 && matchesAny(caches, parts[i-1]+"/"+part) ||
			target && matchesAny("build deps incremental .fingerprint", part) {
			return true
		}
		target = target || part == "target"
	}
	return false
}

func matchesAny(list, name string) bool {
	for pattern := range strings.FieldsSeq(list) {
		if pattern == name {
			return true
		}
		if !strings.ContainsAny(pattern, `*?[\`) {
			continue
		}
		if ok, err := path.Match(pattern, name); ok && err == nil {
			return true
		}
	}
	return false
}
