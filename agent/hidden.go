package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"artoo/agent/confine"
	"artoo/tool/builtin"
	"artoo/tool/environ"
	"artoo/tool/names"
)

// notFound is the status with which shells say that there is no such program.
const notFound = 127

// mostHidden bounds the hidden paths that are named.
const mostHidden = 3

// hiddenTracked lists the hidden files that git tracks in the project, absolute.
func (s *session) hiddenTracked() []string {
	w := s.opt.Workspace
	if w == nil || w.unseen == nil {
		return nil
	}
	hidden, err := s.opt.Policy.World.Denied()
	if err != nil {
		return nil
	}
	return w.unseen.Tracked(hidden, []string{w.Project.Root})
}

// hiddenFrom names files that a command in dir could not see: those of other places in its line; where it
// failed also files of the project and of the end of its output; the program that was not found,
// else links beside it.
func (s *session) hiddenFrom(confined confine.Confined, dir, line, output string, failed bool) (said []string) {
	variable := environ.Vars(s.opt.Env.Environ).Get
	home, path := variable("HOME"), filepath.SplitList(variable("PATH"))
	missed := confined.Exit().Code == notFound
	programs, paths := map[string]bool{}, map[string]bool{}
	look := func(text string) {
		if home != "" {
			text = strings.NewReplacer("${HOME}", home, "$HOME", home).Replace(text)
		}
		for word := range builtin.Words(text) {
			if missed && !strings.Contains(word, "/") && !programs[word] {
				programs[word] = true
				if at := hiddenProgram(confined, path, word); at != "" {
					said = append(said, word+" is hidden here; add "+at+" to [permissions] toolchains or ARTOO_TOOLCHAINS")
				}
			}
			if word = names.InHome(word, home); !filepath.IsAbs(word) {
				word = filepath.Join(dir, word)
			}
			word = filepath.Clean(word)
			inside, err := filepath.Rel(s.opt.Policy.Root, word)
			if paths[word] || len(said) >= mostHidden || !failed && err == nil && filepath.IsLocal(inside) {
				continue
			}
			if paths[word] = true; confined.Hides(word) {
				said = append(said, s.pathShown(word, home)+" is hidden here")
			}
		}
	}
	look(line)
	if failed {
		look(output[max(0, len(output)-builtin.Heard):])
	}
	if missed && len(said) == 0 { // it may lie where a link leads, as node_modules may be one
		for _, dir := range slices.Compact([]string{dir, s.opt.Policy.Root}) {
			entries, _ := os.ReadDir(dir) // A directory that cannot be listed gives no hint.
			for _, entry := range entries {
				at := filepath.Join(dir, entry.Name())
				if entry.Type()&os.ModeSymlink != 0 && len(said) < mostHidden && confined.Hides(at) {
					said = append(said, s.pathShown(at, home)+" is hidden here")
				}
			}
		}
	}
	return said
}

// pathShown is a path as the user knows it.
func (s *session) pathShown(path, home string) string {
	if rel, err := filepath.Rel(home, path); home != "" && err == nil && filepath.IsLocal(rel) {
		return s.masked("~/" + rel)
	}
	return s.namesOf([]string{path})[0]
}

// hiddenProgram is the directory that would show a program of PATH; "" where none is hidden.
func hiddenProgram(c confine.Confined, path []string, name string) (hidden string) {
	for _, dir := range path {
		at := filepath.Join(dir, name)
		if !executable(at) {
			continue
		}
		real, err := filepath.EvalSymlinks(at)
		switch {
		case err == nil && !c.Hides(at):
			return ""
		case hidden == "" && c.Hides(dir):
			hidden = dir
		case hidden == "" && err == nil:
			hidden = filepath.Dir(real)
		}
	}
	return hidden
}
