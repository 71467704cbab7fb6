package permission

import (
	"slices"

	"artoo/agent/permission/line"
	"artoo/tool/files"
	facts "artoo/tool/project"
)

// World holds the files and the repositories that calls work on, for a policy to look at.
// The zero value knows of nothing, and nothing in it is out of reach.
type World struct {
	// Files are those that commands may read. nil lets them read everything, and then no
	// repository is looked at.
	Files   *files.Files
	Environ []string // the environment of commands
	Guard   *Guard   // finds guarded files whose names do not show it; may be nil
	Secrets *facts.Histories

	denied func() ([]string, error) // during one decision
}

// Denied lists the files that no command may see, as they are now.
func (w *World) Denied() ([]string, error) {
	switch {
	case w.Files == nil:
		return nil, nil
	case w.denied != nil:
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

// mayRead explains why a command in any of these directories may not read the files that arg
// names, "" when it may. With recursive it descends into directories.
func (w World) mayRead(dirs []string, arg string, recursive bool) (why string) {
	if arg == "" || w.Files == nil {
		return ""
	}
	for _, dir := range dirs {
		if err := w.Files.Reach(dir, arg, recursive); err != nil {
			return err.Error()
		}
	}
	return ""
}

// deniedName reports whether a file at an absolute path would be on the deny list.
func (w World) deniedName(path string) bool {
	if w.Files == nil {
		return false
	}
	place, err := w.Files.Resolve(path, true)
	return err != nil || place.Denied
}

// repository is the one that git would work on in dir, if all of it may be read.
func (w World) repository(dir string) (facts.Project, error) {
	found, err := facts.Repository(dir)
	if err != nil {
		return found, err
	}
	return found, found.WithinGrants(w.Files)
}

// gitRuns explains why git in dir could run configured programs, "" when it runs none.
func (w World) gitRuns(dir string) (why string) {
	if w.Files == nil {
		return ""
	}
	found, err := w.repository(dir)
	if err == nil {
		err = found.GitRuns()
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// gitSecrets lists the denied files, absolute, that git in dir tracks, did track or has stored.
func (w World) gitSecrets(dir string) ([]string, error) {
	if w.Files == nil || w.Secrets == nil {
		return nil, nil
	}
	found, err := w.repository(dir)
	if err != nil {
		return nil, err
	}
	denied, err := w.Denied()
	if err != nil {
		return nil, err
	}
	return w.Secrets.Secrets(found, w.Environ, denied)
}

// gitHooks names the hooks that git in dir would run.
func (w World) gitHooks(dir string) []string {
	var dirs []string
	if w.Guard != nil {
		dirs = w.Guard.hooks()
	}
	return facts.HooksIn(dir, dirs)
}

// inspector finds out whether a command only reads.
type inspector struct {
	*World
	Root  string
	Shell line.Shell
}
