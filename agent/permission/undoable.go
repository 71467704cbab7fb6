package permission

import (
	"path"
	"slices"
	"strings"

	"artoo/tool"
)

// undone reports whether a line that is asked whatever the mode need not be, since
// all that it could remove or overwrite can be brought back. why names what could
// not.
func (p *Policy) undone(name string, commands []simple) (ok bool, why string) {
	whole := func(r Rule) bool { return !r.HasArg && r.names(name, tool.KindRun) }
	_, all := find(p.allowing(), whole)
	if p.Unsaved == nil || !all && (p.Mode != ModeAuto || !p.Confinement.Auto) {
		return false, ""
	}
	var paths []string
	for _, s := range commands {
		if _, yes := p.destroys(s); !yes || p.namedExactly(name, s) {
			continue
		}
		if strings.ToLower(path.Base(s.name())) == "git" || s.name() == "" || s.fed || p.writesWhatOthersRun(s) != "" {
			return false, ""
		}
		paths = append(paths, p.losable(s)...)
	}
	if len(paths) == 0 {
		return false, ""
	}
	why = p.Unsaved(paths)
	return why == "", why
}

// losable are the files and directories, absolute, that a command which throws
// work away could remove or overwrite: its operands and what its output goes into,
// the whole project where one of them is not known.
func (p *Policy) losable(s simple) (paths []string) {
	operands := operandsOf(s, "-s --size -n --iterations -S --suffix")
	if path.Base(s.name()) == "find" {
		operands = nil
		for _, w := range s.words[1:] {
			if isOption(w.text) || w.text == "(" || w.text == "!" {
				break
			}
			operands = append(operands, w)
		}
		if len(operands) == 0 {
			operands = []word{{text: ".", known: true}}
		}
	}
	for _, w := range append(slices.Clip(operands), s.overwrites...) {
		if !w.known || w.glob || len(s.dirs) == 0 {
			return []string{p.Root}
		}
		paths = append(paths, p.places(s, w.text)...)
	}
	if path.Base(s.name()) == "mv" {
		for _, w := range moved(operands) {
			paths = append(paths, p.places(s, w.text)...)
		}
	}
	return paths
}
