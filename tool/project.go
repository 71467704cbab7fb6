package tool

import (
	"os"
	"path/filepath"
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
