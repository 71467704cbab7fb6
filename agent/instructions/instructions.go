// Package instructions finds the files that instruct the model, AGENTS.md and its kin with what they import, and
// reports of each one that is there whether it is used, and why not.
package instructions

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"artoo/tool/files"
	"artoo/tool/names"
)

// Limit bounds the texts of all instruction files together, in bytes, as other agents do.
const Limit = 32 << 10

const (
	mostRead = 256 << 10 // of one file, in bytes
	mostDeep = 5         // imports below an instruction file
)

// Why says what became of a file.
type Why string

// The reasons. Files with the first three are used.
const (
	Used       Why = "used"
	Cut        Why = "cut"        // its beginning is used: with the rest, all would be over Limit
	Damaged    Why = "damaged"    // it is used, and holds bytes that are no UTF-8
	Empty      Why = "empty"      // it holds spaces at most
	Pointer    Why = "pointer"    // it only names other files, which are read in its place
	Copy       Why = "copy"       // it is File.Of, or has the same text
	Full       Why = "full"       // those before it fill Limit
	Cycle      Why = "cycle"      // it imports the file that it is imported by
	Deep       Why = "deep"       // it is more than five imports away
	Missing    Why = "missing"    // it is imported or linked to, and not there
	Outside    Why = "outside"    // it is outside the project and the user's configuration
	Hidden     Why = "hidden"     // it may hold secrets
	Binary     Why = "binary"     // it is not text
	NoFile     Why = "no_file"    // it is a directory, a pipe or the like
	Unreadable Why = "unreadable" // the system does not let artoo read it
	Foreign    Why = "foreign"    // it is another agent's
	Spelling   Why = "spelling"   // its name is that of an instruction file in other letters
	// Waiting is of a rule that is for certain files, before one of them is touched.
	Waiting Why = "waiting"
	// Malformed is of a rule that does not say for which files it is.
	Malformed Why = "malformed"
)

// File is one instruction file that was found. Its texts are unsanitised.
type File struct {
	Path string `json:"path"` // absolute
	Used bool   `json:"used"`
	Why  Why    `json:"why"`
	// Sent is how many bytes of it the model is given, Size how many it has.
	Sent   int    `json:"sent"`
	Size   int64  `json:"bytes"`
	By     string `json:"imported_by,omitempty"` // the file that imports it
	Of     string `json:"of,omitempty"`          // the file whose copy it is
	Text   string `json:"-"`                     // what the model is given
	Name   string `json:"-"`                     // Path as people read it
	Said   string `json:"-"`                     // Why as people read it
	Try    string `json:"-"`                     // the next step; "" where nothing is wrong
	real   string // Path without links
	linked bool   // the text of By is the path of this file, as git writes a link where there are none
	// maybe marks an import that need not be a path, such as @scope/name.
	maybe bool
	// rule is nil for a file outside directories of rules.
	rule *Rule
}

// Wrong reports whether its author most likely believes that a file is in force which is not, or not as it is written.
func (f File) Wrong() bool {
	switch f.Why {
	case Used, Empty, Pointer, Copy, Cycle, Foreign, Waiting:
		return false
	}
	return !f.maybe
}

// Places say where instruction files are looked for.
type Places struct {
	Config    string       // the user's own directory; "" for none
	Home      string       // where ~ leads; "" for nowhere
	Root, Dir string       // the project, and the working directory in it; "" reads none of its files
	Files     *files.Files // the project's files as the model may read them; nil where Root is ""
	// Rules are those of the project; nil for none.
	Rules *Rules
}

// own are the names of instruction files. Each file of a directory is read, in this order.
func own() []string {
	return []string{"AGENTS.md", "AGENT.md", "CLAUDE.md", ".claude/CLAUDE.md", local}
}

// local is what one person adds to the project's instructions.
const local = "CLAUDE.local.md"

// foreign are names of other agents' instructions, which are listed and not read.
func foreign() []string {
	return []string{"AGENTS.override.md", "GEMINI.md", "WARP.md", "QWEN.md", ".cursorrules", ".cursor/rules", ".windsurfrules", ".clinerules",
		".goosehints", ".junie/guidelines.md", ".github/copilot-instructions.md", ".github/instructions"}
}

// misspelled are names that mean an instruction file only where the file system ignores case.
func misspelled() []string {
	return []string{"agents.md", "Agents.md", "AGENTS.MD", "agent.md", "Agent.md", "claude.md", "Claude.md", "CLAUDE.MD"}
}

// ofHome are other agents' instructions for all projects.
func ofHome() []string {
	return []string{".claude/CLAUDE.md", ".codex/AGENTS.md", ".gemini/GEMINI.md", "AGENTS.md", "CLAUDE.md"}
}

// Named reports whether a path is that of an instruction file by its name.
func Named(path string) bool {
	return slices.Contains(own(), filepath.Base(filepath.FromSlash(path)))
}

// Read finds the files that hold for a working directory: the user's own, then the project's from its root down.
func Read(p Places) []File {
	r := newReader(p)
	if p.Config != "" {
		r.directory(p.Config)
	}
	dirs := downTo(p.Root, p.Dir)
	for _, dir := range dirs {
		r.directory(dir)
	}
	r.rules()
	for _, dir := range dirs {
		r.list(dir, misspelled(), Spelling)
		r.list(dir, foreign(), Foreign)
	}
	if p.Home != "" && p.Home != p.Root {
		r.list(p.Home, ofHome(), Foreign)
	}
	return r.found
}

// Nearest is the file that a line of the user's is added to: of the lowest directory that has an instruction file one
// that is used, or else the first that says nothing; "" where there is none.
func Nearest(p Places) string {
	r := newReader(p)
	dirs := downTo(p.Root, p.Dir)
	if p.Config != "" {
		dirs = append([]string{p.Config}, dirs...)
	}
	silent := ""
	for _, dir := range slices.Backward(dirs) {
		r.directory(dir)
		for _, f := range r.found {
			if f.Used && (f.By == "" || f.linked) && filepath.Base(f.Path) != local {
				return f.Path
			}
			if silent == "" && (f.Why == Empty || f.Why == Pointer) {
				silent = f.Path
			}
		}
		if silent != "" {
			return silent
		}
	}
	return ""
}

// downTo lists the directories from root down to dir, both absolute; none for "".
func downTo(root, dir string) []string {
	if root == "" {
		return nil
	}
	dirs := []string{root}
	rel, err := filepath.Rel(root, dir)
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return dirs
	}
	for _, part := range strings.Split(rel, string(filepath.Separator)) {
		dirs = append(dirs, filepath.Join(dirs[len(dirs)-1], part))
	}
	return dirs
}

// Nested finds the files of directories that are touched in the course of a session.
type Nested struct {
	reader
	told map[string]Why // by path; what was returned and is not used
}

// NewNested knows the files that were found at the beginning.
func NewNested(p Places, known []File) *Nested {
	n := &Nested{newReader(p), map[string]Why{}}
	for _, f := range known {
		if f.Why == Waiting {
			continue
		}
		n.real[f.Path], n.told[f.Path] = f.Path, f.Why
		if real, err := filepath.EvalSymlinks(f.Path); err == nil {
			n.real[real] = f.Path
		}
		n.texts[strings.TrimSpace(f.Text)] = f.Path
	}
	return n
}

// Touch returns the files that hold for a path of the project, absolute, and were not returned before.
func (n *Nested) Touch(path string) (found []File) {
	if _, inside := names.Relative(n.Root, path); !inside {
		return nil
	}
	n.found = nil
	for _, dir := range downTo(n.Root, path) { // The last may be a file, which has none below it.
		n.directory(dir)
	}
	n.rulesFor(path)
	for _, f := range n.found {
		if f.Used || n.told[f.Path] != f.Why {
			found = append(found, f)
		}
		n.told[f.Path] = f.Why
	}
	return found
}

// reader finds files one after another, each once.
type reader struct {
	Places
	left  int               // bytes of Limit
	real  map[string]string // paths as they were found, by the path without links
	texts map[string]string // the same by the text
	found []File
}

func newReader(p Places) reader {
	return reader{Places: p, left: Limit, real: map[string]string{}, texts: map[string]string{}}
}

// directory reads the instruction files of a directory.
func (r *reader) directory(dir string) {
	for _, name := range own() {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if _, err := os.Lstat(at); err != nil {
			continue
		}
		r.read(File{Path: at}, nil)
	}
}

// list adds files that are there and are not read.
func (r *reader) list(dir string, these []string, why Why) {
	for _, name := range these {
		at := filepath.Join(dir, filepath.FromSlash(name))
		info, err := os.Stat(at)
		if err != nil {
			continue
		}
		real, err := filepath.EvalSymlinks(at)
		same := func(f File) bool {
			other, err := os.Stat(f.Path)
			return err == nil && os.SameFile(info, other)
		}
		if err != nil || r.real[real] != "" || slices.ContainsFunc(r.found, same) {
			continue
		}
		f := File{Path: at, Why: why}
		if info.Mode().IsRegular() {
			f.Size = info.Size()
		}
		r.add(f)
	}
}

// read reads a file and what it imports, and adds them to those that were found. above are the files, by their paths
// without links, that import it.
func (r *reader) read(f File, above []string) {
	data, real, why := r.load(&f)
	first := r.real[real]
	switch {
	case slices.Contains(above, real):
		why = Cycle
	case why == "" && first != "" && (f.By != "" || first == f.Path):
		return
	case first != "" && (why == "" || why == Outside): // the project's may lead to the user's
		why, f.Of = Copy, first
	}
	text, err := "", error(nil)
	if why == "" {
		if text, err = files.TextOf(data); err != nil {
			why = Binary
		}
	}
	if f.Why = why; why != "" {
		r.add(f)
		return
	}
	f.real = real
	targets, alone := importsOf(text)
	to := linkText(f.Path, text)
	if to != "" {
		targets, alone = []string{to}, true
	}
	if r.give(&f, text, alone); f.Why != Empty {
		r.real[real] = f.Path
	}
	if r.add(f); f.Why == Copy {
		return
	}
	for _, target := range targets {
		r.imported(target, f, append(slices.Clip(above), real), to != "")
	}
}

// give decides how much of a file's text the model is given; alone says that it holds nothing but imports.
func (r *reader) give(f *File, text string, alone bool) {
	bare := strings.TrimSpace(text)
	switch first := r.texts[bare]; {
	case bare == "":
		f.Why = Empty
	case first != "":
		f.Why, f.Of = Copy, first
	case alone:
		f.Why = Pointer
	case r.left == 0:
		f.Why = Full
	default:
		f.Used, f.Why, f.Text = true, Used, strings.ToValidUTF8(text, "\uFFFD")
		if !utf8.ValidString(text) {
			f.Why = Damaged
		}
		if len(text) > r.left || f.Size > mostRead {
			f.Why, f.Text = Cut, strings.ToValidUTF8(text[:min(len(text), r.left)], "")
		}
		f.Sent = len(f.Text)
		r.left -= min(len(text), r.left)
		r.texts[bare] = f.Path
	}
}

// load returns the content of a file, up to mostRead, and its path without links; or why it is not read.
func (r *reader) load(f *File) (data []byte, real string, why Why) {
	for _, rule := range r.Rules.all() {
		if rule.path == f.Path {
			f.Size = int64(len(rule.body))
			return []byte(rule.body), f.Path, ""
		}
	}
	find := r.ofProject
	if r.users(f.Path) {
		find = r.ofUser
	}
	real, info, open, why := find(*f)
	switch {
	case why != "":
		return nil, real, why
	case !info.Mode().IsRegular():
		return nil, real, NoFile
	}
	f.Size = info.Size()
	file, err := open()
	if err != nil {
		return nil, real, whyOf(err)
	}
	defer file.Close()
	if data, err = io.ReadAll(io.LimitReader(file, mostRead)); err != nil {
		return nil, real, Unreadable
	}
	return data, real, ""
}

// ofProject finds a project's file, which leads to none outside the project: a repository must not choose which of
// the user's files go to a provider.
func (r *reader) ofProject(f File) (real string, info fs.FileInfo, open func() (*os.File, error), why Why) {
	if r.Files == nil {
		return "", nil, nil, Outside
	}
	place, err := r.Files.Resolve(f.Path, false)
	switch {
	case err != nil:
		return "", nil, nil, Unreadable
	case place.Outside:
		return place.Abs, nil, nil, Outside
	case place.Denied || place.InGit:
		return "", nil, nil, Hidden
	}
	if info, err = place.Stat(); err != nil {
		return place.Abs, nil, nil, whyOf(err)
	}
	return place.Abs, info, func() (*os.File, error) {
		file, _, err := place.Open()
		return file, err
	}, ""
}

// ofUser finds a file of the user's own directory, which may be a link to wherever it is kept.
func (r *reader) ofUser(f File) (real string, info fs.FileInfo, open func() (*os.File, error), why Why) {
	real, err := filepath.EvalSymlinks(f.Path)
	if err != nil {
		return "", nil, nil, whyOf(err)
	}
	if secret(f.Path) || secret(real) || f.By != "" && !document(f.Path) { // config.toml may hold keys
		return real, nil, nil, Hidden
	}
	if info, err = os.Stat(real); err != nil {
		return real, nil, nil, whyOf(err)
	}
	return real, info, func() (*os.File, error) { return os.Open(real) }, ""
}

func whyOf(err error) Why {
	if errors.Is(err, fs.ErrNotExist) {
		return Missing
	}
	return Unreadable
}

// users reports whether a path is in the user's own directory, which no link is followed to find out.
func (r *reader) users(path string) bool {
	_, inside := names.Relative(r.Config, path)
	return r.Config != "" && inside
}

// secret reports whether a file outside the project may hold secrets, by its name.
func secret(path string) bool {
	folded := filepath.ToSlash(names.Fold(path))
	return files.SecretName(folded, folded) != ""
}
