package permission

import (
	"slices"
	"strings"

	"artoo/agent/permission/line"
	"artoo/tool"
)

// leaves reports whether a line has to run on the host, and notes in the decision why.
func (p *Policy) leaves(d *Decision, l parsed, access tool.Access) bool {
	if access.Unconfined != "" {
		d.Reasons = []Reason{{Code: Outside, Object: "the model says: " + access.Unconfined}}
		return true
	}
	for _, s := range l.sure {
		need, why := p.project().needs(s)
		if need == "" {
			continue
		}
		d.Needs = append(d.Needs, need)
		d.Reasons = append(d.Reasons, Reason{Code: Outside, Object: why, Part: s.String()})
	}
	return len(d.Needs) > 0
}

// needs says what a command needs that the sandbox does not have, "" for nothing, and
// why in words.
func (p project) needs(s *part) (need line.Need, why string) {
	if s.Elevated {
		return line.Service, s.String() + " asks for more rights than yours"
	}
	if words := line.Texts(s.Git()); len(words) > 0 {
		if !s.reads {
			if denied := p.trackedSecret(); denied != "" {
				return line.Home, "git tracks " + denied + ", which is hidden inside"
			}
			if program := p.signs(s.Command, words[0], words); program != "" {
				return line.Keys, "git signs with " + program
			}
		}
	}
	need, run := s.Needs()
	switch {
	case need == "":
		return "", ""
	case run.Runner != "" && p.installed(s.Command, run.Program):
		return "", ""
	case run.Runner != "":
		return need, strings.TrimSpace(run.Runner+" "+run.Program) + " is not installed in the project, so it needs the network"
	}
	return need, "it needs " + needWords[need]
}

// needWords are the needs as a question words them.
var needWords = map[line.Need]string{line.Network: "the network", line.Keys: "your keys or credentials",
	line.Home: "the machine outside the project", line.Service: "a service of the machine"}

// TrackedSecret is a denied file that git in the project could show, "" for none; where
// that is not known, that counts as one.
func (p *Policy) TrackedSecret() string { return p.project().trackedSecret() }

func (p project) trackedSecret() string {
	names, err := p.World.gitSecrets(p.Root)
	switch {
	case err != nil:
		return "an unknown file"
	case len(names) > 0:
		return below(p.Root, names[0])
	}
	return ""
}

// signs names the program by which a git command would sign what it makes, "" for none.
func (p project) signs(s line.Command, sub string, words []string) string {
	if !line.In("commit merge rebase cherry-pick revert am tag stash", sub) || line.HaveOption(words, "--no-gpg-sign --no-sign") {
		return ""
	}
	if line.HaveOption(words, "-S --gpg-sign") || sub == "tag" && line.HaveOption(words, "-s -u --sign --local-user") {
		return "gpg"
	}
	for _, dir := range s.Dirs {
		if program := p.World.gitSigns(dir); program != "" {
			return program
		}
	}
	return ""
}

// coveredOutside reports whether rules for outside cover every command of a line
// that needs a rule.
func (p *Policy) coveredOutside(l parsed) bool {
	rules := slices.DeleteFunc(p.allowing(), func(r Rule) bool { return !r.Outside })
	if len(rules) == 0 {
		return false
	}
	if _, ok := exactly(rules, l, p.Root); ok {
		return true
	}
	if slices.ContainsFunc(rules, func(r Rule) bool { return !r.HasArg && r.names(l.tool, tool.KindRun) }) {
		return true
	}
	return len(l.rest) > 0 && !slices.ContainsFunc(l.rest, func(s *part) bool { return !p.commandCovered(rules, l.tool, s.Command) })
}
