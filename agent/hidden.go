package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"artoo/tool"
	"artoo/tool/builtin"
)

// mostHidden is how many hidden paths are named.
const mostHidden = 3

// notFound is the status with which shells say that there is no such program.
const notFound = 127

// hiddenFrom says what a command named that is there on the machine, and that it could
// not see: files of other places that its line names, and where it failed also files of
// the project and what the end of its output names; where a program was not found, that
// program, else the links beside it that lead to hidden places.
func (t *turn) hiddenFrom(p *pending, result *tool.Result) (said []string) {
	variable := tool.Variable(t.opt.Env.Environ)
	home, path := variable("HOME"), filepath.SplitList(variable("PATH"))
	missed := p.confined.Exit().Code == notFound
	programs, paths := map[string]bool{}, map[string]bool{}
	look := func(text string) {
		if home != "" {
			text = strings.NewReplacer("${HOME}", home, "$HOME", home).Replace(text)
		}
		for word := range builtin.Words(text) {
			if missed && !strings.Contains(word, "/") && !programs[word] {
				programs[word] = true
				if at := hiddenProgram(p.confined, path, word); at != "" {
					said = append(said, word+" is hidden here; [permissions] toolchains or ARTOO_TOOLCHAINS shows its directory "+at)
				}
			}
			if rest, ok := strings.CutPrefix(word, "~/"); ok && home != "" {
				word = filepath.Join(home, rest)
			}
			if !filepath.IsAbs(word) {
				word = filepath.Join(p.call.Access.Dir, word)
			}
			word = filepath.Clean(word)
			inside, err := filepath.Rel(t.opt.Policy.Root, word)
			if paths[word] || len(said) >= mostHidden || !result.IsError && err == nil && filepath.IsLocal(inside) {
				continue
			}
			if paths[word] = true; p.confined.Hides(word) {
				said = append(said, t.shown(word, home)+" is hidden here")
			}
		}
	}
	look(p.call.Access.Command)
	if result.IsError {
		look(result.Text[max(0, len(result.Text)-builtin.Heard):])
	}
	if missed && len(said) == 0 { // it may lie where a link leads, as node_modules may be one
		for _, dir := range slices.Compact([]string{p.call.Access.Dir, t.opt.Policy.Root}) {
			entries, _ := os.ReadDir(dir) // nothing is said of what cannot be listed
			for _, entry := range entries {
				at := filepath.Join(dir, entry.Name())
				if entry.Type()&os.ModeSymlink != 0 && len(said) < mostHidden && p.confined.Hides(at) {
					said = append(said, t.shown(at, home)+" is hidden here")
				}
			}
		}
	}
	return said
}

// shown is a path as the model is shown it.
func (t *turn) shown(path, home string) string {
	if rel, err := filepath.Rel(home, path); home != "" && err == nil && filepath.IsLocal(rel) {
		return t.masked("~/" + rel)
	}
	return t.namesOf([]string{path})[0]
}

// hiddenProgram is the directory that would have to be seen for a program of the user's
// PATH; "" where there is none, or one is seen.
func hiddenProgram(c Confined, path []string, name string) (hidden string) {
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
