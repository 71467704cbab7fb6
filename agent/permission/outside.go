package permission

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"artoo/agent/permission/line"
	"artoo/tool"
	"artoo/tool/names"
	facts "artoo/tool/project"
)

type closedRow struct {
	program, subcommands, options string
	refs                          bool // The plain words are a configured remote and names of refs.
}

// closedCommands are commands that need the user's keys or the network, of which each option that stands here obeys
// fixed files only: a yes to a line of them may last as long as these files stay as they are. docs/outside.md is made
// of the table.
var closedCommands = []closedRow{
	{"git", "push",
		"-u --set-upstream --tags --follow-tags --atomic -n --dry-run -q --quiet -v --verbose --porcelain --progress", true},
	{"git", "fetch pull", `--all --tags -t --no-tags -p --prune --ff-only --no-rebase --depth --unshallow -q --quiet -v --verbose
		--progress`, true},
	{"git", "ls-remote", "--heads --branches --tags -t -h --refs --symref --get-url -q --quiet", true},
	{"git", "commit",
		`-S --gpg-sign -m --message -a --all -s --signoff --amend --no-edit --allow-empty -q --quiet -v --verbose`,
		false},
	{"git", "tag", "-s --sign -a --annotate -m --message", false},
	{"gh", "pr/list pr/view pr/status pr/checks pr/diff issue/list issue/view issue/status", `-L --limit -s --state -l --label -a --assignee
		-A --author -B --base -H --head -S --search --json -c --comments --name-only --required`, false},
	{"gh", "run/list run/view repo/view release/list release/view auth/status", `-L --limit -b --branch -w --workflow -s --status
		--json --log --log-failed -j --job -v --verbose --exit-status`, false},
	{"gh", "pr/create issue/create pr/comment issue/comment",
		"-t --title -b --body -B --base -H --head -d --draft -l --label -f --fill", false},
}

// allowsOutside finds a rule that lets a line run outside, nil for none: one for this very line in its directory, which
// holds only while the line is closed if it was given, or one that the user wrote, whose command stands alone in the
// line, in the project's root or where artoo was started.
func (p *Policy) allowsOutside(l parsed, rules []Rule) *Rule {
	ours := !slices.ContainsFunc(l.parts, func(s *part) bool { return s.Base() == "git" && !p.inProject(s.Command) })
	return findRule(rules, func(r Rule) bool {
		return r.Outside && ours && r.names(l.tool, tool.KindRun) && r.changed() == "" && (!r.HasArg || !r.given &&
			p.coversAlone(r, l) ||
			r.is(l.text) && (l.dir == "" || l.dir == r.seenFrom(p.Root)) &&
				(!r.given || p.closed(l) && p.obeysAsThen(r)))
	})
}

// obeysAsThen reports whether all files that closed commands obey now are as the rule is bound to: also one that was
// not there then.
func (p *Policy) obeysAsThen(r Rule) bool {
	obeyed := p.obeyed()
	return obeyed != nil && !slices.ContainsFunc(obeyed, func(at string) bool { return contentOf(at) != r.bound[at] })
}

// coversAlone reports whether a rule covers the only command of a line. A * in the rule never stands for an option or
// for a setting (make's SHELL=x runs x), and in a command of git's only for a configured remote and refs.
func (p *Policy) coversAlone(r Rule, l parsed) bool {
	if l.problem != "" || len(l.parts) != 1 || l.dir != p.Root && l.dir != p.Dir {
		return false
	}
	s := l.parts[0].Command
	if plain(s) != "" || fed(s) || len(s.Wrappers) > 0 || !r.begins(s.Words, s.Dir, p.Root) {
		return false
	}
	free := s.Words[len(r.fixedWords()):]
	return !slices.ContainsFunc(free, func(w line.Word) bool {
		return !w.Known || w.Glob || line.IsOption(w.Text) || strings.Contains(w.Text, "=")
	}) && (s.Base() != "git" || p.namesRefs(line.Texts(free)))
}

// fed reports whether the line gives a command a text or a file to read, which may say what it does.
func fed(s line.Command) bool {
	return len(s.Texts) > 0 || slices.ContainsFunc(s.Inputs, func(w line.Word) bool { return w.Text != os.DevNull })
}

// closed reports whether each command of a line that does more than read is one of closedCommands, and reads nothing
// but the files that it obeys.
func (p *Policy) closed(l parsed) bool {
	pipes := strings.Contains(strings.ReplaceAll(l.text, "||", ""), "|")
	return l.problem == "" && len(l.parts) > 0 && !pipes && !slices.ContainsFunc(l.parts, func(s *part) bool {
		return !s.reads && !p.closedCommand(s.Command)
	})
}

func (p *Policy) closedCommand(s line.Command) bool {
	if plain(s) != "" || fed(s) || len(s.Wrappers) > 0 || !s.Known() || s.Globs() || len(s.Words) < 2 ||
		s.Name() != s.Base() {
		return false
	}
	words := s.Args()
	sub, next := line.Subcommand(words)
	row, ok := find(closedCommands, func(row closedRow) bool {
		return row.program == s.Name() && (line.In(row.subcommands, sub) && words[0] == sub ||
			line.In(row.subcommands, sub+"/"+next))
	})
	strange := func(w string) bool {
		option, _, _ := strings.Cut(w, "=")
		return line.IsOption(w) && !line.In(row.options, option)
	}
	if !ok || slices.ContainsFunc(words, strange) {
		return false
	}
	// gh runs git.
	return p.gitRuns(s.Dir) == nil && len(p.gitHooks(s.Dir)) == 0 && (row.program != "git" || p.inProject(s)) &&
		(!row.refs || p.namesRefs(slices.DeleteFunc(words, line.IsOption)[1:]))
}

// inProject reports whether git would work on the project's own repository.
func (p *Policy) inProject(s line.Command) bool {
	if p.Files == nil || s.Dir == "" {
		return p.Files == nil
	}
	found, err := p.repository(s.Dir)
	return err == nil && found.Git && found.Root == p.Root && len(s.Git()) > 0 && s.Git()[0].Text == s.Args()[0]
}

// namesRefs reports whether words are a configured remote and then branches, tags or HEAD of the project.
func (p *Policy) namesRefs(words []string) bool {
	if len(words) == 0 || p.Guard == nil {
		return len(words) == 0
	}
	_, remote := find(p.Guard.settings(), func(s facts.GitSetting) bool { return s.Key == "remote."+words[0]+".url" })
	return remote && !slices.ContainsFunc(words[1:], func(w string) bool {
		return !p.Guard.git.HasRef(context.Background(), p.Environ, w)
	})
}

// obeyed are the files that closed commands obey: git's configuration with what it includes, attributes in every
// directory except those of installed packages, and the user's of gh. It is nil where they cannot be found.
func (p *Policy) obeyed() (paths []string) {
	home := p.own().Home()
	for name := range strings.FieldsSeq(".ssh/config .gitconfig .config/git/config .config/gh/config.yml .config/gh/hosts.yml") {
		paths = append(paths, filepath.Join(home, name))
	}
	if p.Guard == nil {
		return paths
	}
	guarded, err := p.Guard.Look()
	if err != nil {
		return nil
	}
	_, common := facts.NamedDirs(p.Root)
	paths = append(paths, filepath.Join(common, "config"), filepath.Join(common, "info", "attributes"))
	paths = append(paths, slices.DeleteFunc(slices.Clone(guarded.Paths), func(at string) bool {
		return !strings.EqualFold(filepath.Base(at), ".gitattributes") || inDependencies(below(p.Root, at))
	})...)
	for _, s := range p.Guard.settings() {
		if s.From != "" {
			paths = append(paths, s.From)
		}
		if s.Includes() {
			paths = append(paths, s.Path(filepath.Dir(s.From)))
		}
	}
	return paths
}

// leaves names what of a line the sandbox does not meet, as the reasons of a question; none for a line that stays
// inside. hosts are what a line that stays inside needs of the network.
func (p *Policy) leaves(l parsed, access tool.Access) (needs []line.Need, reasons []Reason, hosts []hostNeed) {
	if access.Unconfined != "" {
		reasons = []Reason{{Code: Outside, Object: "the model says: " + access.Unconfined}}
	}
	proxy := p.Confinement.Proxy && p.Confinement.Layer && !access.Background
	for _, s := range l.parts {
		need, why := p.needs(s)
		if need == line.Network && proxy {
			more, ok, obstacle := p.fetching(s)
			if ok && obstacle == "" {
				hosts = append(hosts, more...)
				continue
			}
			if obstacle != "" {
				why += ": " + obstacle
			}
		}
		if need != "" {
			needs, reasons = append(needs, need), append(reasons, Reason{Code: Outside, Object: why, Part: s.String()})
		}
	}
	return needs, reasons, hosts
}

// needs names the need of a command that the sandbox does not meet, "" for none, and why in words, by its first two.
func (p *Policy) needs(s *part) (need line.Need, why string) {
	if s.Elevated {
		return line.Service, s.String() + " asks for more privileges than yours"
	}
	if words := line.Texts(s.Git()); len(words) > 0 && !s.reads {
		if program := p.signs(s.Command, words[0], words); program != "" {
			return line.Keys, "git signs with " + program
		}
	}
	need, run := s.Needs()
	switch {
	case need == "", run.Runner != "" && p.installed(s.Command, run.Program):
		return "", ""
	case run.Runner != "":
		return need,
			strings.TrimSpace(run.Runner+" "+run.Program) + " is not installed in the project, so it needs the network"
	}
	return need, strings.Join(line.Texts(s.Words[:min(2, len(s.Words))]), " ") + " needs " + needWords[need]
}

// needWords are the needs as a question words them.
var needWords = map[line.Need]string{line.Network: "the network", line.Keys: "your keys or credentials",
	line.Home: "the machine outside the project", line.Service: "a service of the machine"}

// signs names the program by which a git command would sign, "" for none.
func (p *Policy) signs(s line.Command, sub string, words []string) string {
	if !line.In("commit merge rebase cherry-pick revert am tag stash", sub) || line.HaveOption(words,
		"--no-gpg-sign --no-sign") {
		return ""
	}
	if line.HaveOption(words, "-S --gpg-sign") || sub == "tag" && line.HaveOption(words, "-s -u --sign --local-user") {
		return "gpg"
	}
	if s.Dir == "" {
		return ""
	}
	return facts.GitSigns(p.own(), p.Environ, s.Dir)
}

// installed reports whether a package's program lies in the project, so that nothing is fetched.
func (p *Policy) installed(s line.Command, program string) bool {
	within := program != "" && !strings.ContainsAny(program, "@/")
	for at := s.Dir; within && at != "" && at != filepath.Dir(at); at = filepath.Dir(at) {
		for _, bin := range []string{"node_modules/.bin", ".venv/bin", "venv/bin"} {
			path := filepath.Join(at, filepath.FromSlash(bin), program)
			if names.Exists(path) && p.mayRead(at, path, false) == "" {
				return true
			}
		}
		within = at != p.Root
	}
	return false
}
