package permission

import (
	"artoo/agent/permission/line"
)

// destroys names commands that throw work away, and those that write guarded files; they are
// asked in every mode, unless a rule names the very command. "" for others.
func (p project) destroys(s line.Command) (what string) {
	if why := p.writesGuarded(s); why != "" {
		return why
	}
	if s.Name() == "" && len(s.Words) > 1 { // $x -rf: the options show what it may be
		for _, name := range []string{"rm", "git", "find"} {
			named := append([]line.Word{{Text: name, Known: true}}, s.Words[1:]...)
			if what := (line.Command{Words: named}).Destroys(); what != "" {
				return s.Words[0].Text + " may stand for " + what
			}
		}
	}
	if what := s.Destroys(); what != "" && (s.Base() != "mv" || len(s.Words) < 3) {
		return what
	}
	for _, w := range s.Replaces() {
		for _, file := range p.places(s, w.Text) {
			if lost := p.World.loses(file); lost != "" {
				return lost
			}
		}
	}
	return ""
}

// couldLose are the files and directories, absolute, that a command which throws work
// away could remove or overwrite: the whole project where one of them is not known.
func (p project) couldLose(s line.Command) (paths []string) {
	for _, w := range s.Loses() {
		paths = append(paths, p.places(s, w.Text)...)
	}
	if paths == nil {
		return []string{p.Root}
	}
	return paths
}

func (p project) places(s line.Command, to string) (files []string) {
	if len(s.Dirs) == 0 {
		return line.PathsFrom([]string{p.Root}, to)
	}
	return s.Paths(to)
}
