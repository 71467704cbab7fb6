package tool

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Project is where the tools are at home.
type Project struct {
	Root string // absolute, links resolved
	Dir  string // the working directory, absolute, links resolved
	Git  bool   // Root has a .git
	// None says why there is no project to speak of: "/", the home directory,
	// or root outside a container. "" otherwise.
	None string
}

// FindProject finds the project that dir belongs to: the nearest ancestor with
// a .git, else dir itself. home may be "". superuser says that the process runs
// as root; a container is where that is usual.
func FindProject(dir, home string, superuser bool) (Project, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return Project{}, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return Project{}, err
	}
	p := Project{Root: dir, Dir: dir}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			p.Root, p.Git = at, true
			break
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	if home != "" {
		if resolved, err := filepath.EvalSymlinks(home); err == nil {
			home = resolved
		}
	}
	switch {
	case p.Root == filepath.Dir(p.Root):
		p.None = "this is the root of the file system"
	case p.Root == home:
		p.None = "this is the home directory"
	case superuser && !inContainer():
		p.None = "artoo runs as root"
	}
	return p, nil
}

// inContainer looks for the marks container engines leave. Reading them needs
// no rights.
func inContainer() bool {
	for _, mark := range []string{"/.dockerenv", "/run/.containerenv", "/run/systemd/container"} {
		if _, err := os.Stat(mark); err == nil {
			return true
		}
	}
	return os.Getenv("container") != "" || os.Getenv("KUBERNETES_SERVICE_HOST") != ""
}

// GitRuns returns an error when git in the project's working directory would
// run programs that the repository's own configuration names: file system
// monitors, external diffs, filters. A repository that came from elsewhere
// could run anything through them. The user's own configuration is the user's
// affair.
func (p Project) GitRuns() error {
	for at := p.Dir; ; at = filepath.Dir(at) {
		// git takes a directory that looks like a bare repository for one.
		if _, err := os.Lstat(filepath.Join(at, "HEAD")); err == nil {
			return errors.New(at + " looks like a bare repository, whose configuration git would use")
		}
		if at == p.Root || at == filepath.Dir(at) {
			break
		}
	}
	if !p.Git {
		return nil
	}
	dir := filepath.Join(p.Root, ".git")
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return errors.New("git's directory is elsewhere, its configuration was not looked at")
	}
	for _, name := range []string{"config", "config.worktree"} {
		f, err := os.Open(filepath.Join(dir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		data, err := io.ReadAll(io.LimitReader(f, 1<<20))
		f.Close()
		if err != nil {
			return err
		}
		if key := runningKey(string(data)); key != "" {
			return errors.New("the repository's own .git/" + name + " sets " + key + ", which can run programs")
		}
	}
	return nil
}

// runningKey finds a section or key of a git configuration that names a program
// or brings in another file. It errs on the side of finding one.
func runningKey(config string) string {
	for line := range strings.Lines(strings.ToLower(config)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			for _, section := range []string{"[include", "[filter", "[alias"} {
				if strings.HasPrefix(line, section) {
					return strings.TrimPrefix(section, "[")
				}
			}
			if _, after, ok := strings.Cut(line, "]"); ok {
				line = strings.TrimSpace(after)
			}
		}
		key, _, _ := strings.Cut(line, "=")
		for _, word := range []string{"fsmonitor", "textconv", "external", "command", "pager", "program", "hookspath", "askpass", "editor"} {
			if strings.Contains(key, word) {
				return strings.TrimSpace(key)
			}
		}
	}
	return ""
}

// Branch is the branch that is checked out, as .git/HEAD says; "" when that
// does not tell, or there is no git. It runs nothing.
func (p Project) Branch() string {
	data, err := os.ReadFile(filepath.Join(p.Root, ".git", "HEAD"))
	if !p.Git || err != nil || len(data) > 4096 {
		return ""
	}
	name, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "ref: refs/heads/")
	if !ok {
		return ""
	}
	return name
}
