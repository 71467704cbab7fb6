package permission

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"artoo/tool"
	"artoo/tool/files"
	facts "artoo/tool/project"
)

// ForSubAgent is the policy of a sub-agent that begins now: the same mode and rules.
// Its permissions do not hold for p.
func (p *Policy) ForSubAgent() *Policy {
	own := *p
	own.session, own.kept = p.SessionRules(), maps.Clone(p.kept)
	own.AllowRules = slices.Clip(p.AllowRules)
	return &own
}

// SessionRules are the rules the user allowed in this session.
func (p *Policy) SessionRules() []Rule { return append([]Rule(nil), p.session...) }

// allowing are all rules that allow, those of this session first.
func (p *Policy) allowing() []Rule { return append(p.SessionRules(), p.AllowRules...) }

// AllowInSession adds an allow rule for the rest of the session, if it allows
// the call it was given for; the error explains why it does not.
func (p *Policy) AllowInSession(rule, name string, access tool.Access) error {
	r, err := p.Covers(rule, name, access)
	if err == nil {
		p.session = append(p.session, r)
	}
	return err
}

// Bind fixes the meaning of the rules from here on: paths are seen from the working directory, and scripts
// are bound to the result of approved for a rule (nil for none; may be nil) or their present content.
func (p *Policy) Bind(approved func(rule string) *Approval) {
	dir := cmp.Or(p.Dir, p.Root)
	for i, r := range p.AllowRules {
		then := &Approval{Dir: dir}
		if approved != nil {
			then = cmp.Or(approved(r.String()), then)
		}
		p.AllowRules[i] = r.bind(then.Dir, then.Scripts)
	}
	for _, rules := range [][]Rule{p.AskRules, p.DenyRules} {
		for i := range rules {
			rules[i].base = dir
		}
	}
}

// Approval is the meaning of a rule when it was approved permanently: the directory
// its paths are seen from, and the contents of the scripts it names, by path.
type Approval struct {
	Dir     string            `json:"dir"`
	Scripts map[string]string `json:"scripts"`
}

// Covers reads a rule that has to allow a call.
func (p *Policy) Covers(rule, name string, access tool.Access) (Rule, error) {
	r, err := ParseRule(rule)
	if err != nil {
		return Rule{}, err
	}
	r.Origin = ofSession
	r = r.bind(cmp.Or(access.Dir, p.Dir, p.Root), nil) // it speaks of the files as the call sees them
	with := *p
	with.session = append(p.SessionRules(), r)
	if d := with.Decide(name, access); d.Verdict != Run {
		if i := slices.IndexFunc(d.Reasons, func(r Reason) bool { return r.Policy != "" }); i >= 0 {
			return Rule{}, fmt.Errorf("the rule %s would not allow this call: %s", r, d.Reasons[i])
		}
		return Rule{}, fmt.Errorf("the rule %s would not allow this call", r)
	}
	return r, nil
}

// DropInSession removes session rules of this text, and reports whether there was one.
func (p *Policy) DropInSession(rule string) bool {
	before := len(p.session)
	p.session = slices.DeleteFunc(p.session, func(r Rule) bool { return r.String() == rule })
	return len(p.session) < before
}

// Where a rule that was given at a question stands.
const (
	ofSession = "this session"
	ofProject = "your config file, for this project"
)

// Keep notes that session rules of this text are written down permanently.
func (p *Policy) Keep(rule string) {
	parsed, err := ParseRule(rule)
	for i, r := range p.session {
		if err == nil && r.String() == parsed.String() {
			p.session[i].Origin = ofProject
		}
	}
}

// Approved is the Approval of a rule that AllowInSession added; nil for another.
func (p *Policy) Approved(rule string) *Approval {
	parsed, err := ParseRule(rule)
	if err != nil {
		return nil
	}
	for _, r := range slices.Backward(p.session) {
		if r.String() == parsed.String() {
			return &Approval{Dir: r.base, Scripts: maps.Clone(r.bound)}
		}
	}
	return nil
}

// ForgetSession removes the rules that AllowInSession and KeepForLine added.
func (p *Policy) ForgetSession() { p.session, p.kept = nil, nil }

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
