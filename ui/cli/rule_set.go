package cli

// The rules: where they stand, what they come to, and those that are kept.

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"artoo/agent"
	"artoo/agent/permission"
	lines "artoo/agent/permission/line"
	"artoo/config"
	"artoo/tool"
	"artoo/tool/environ"
	"artoo/tool/files"
	"artoo/tool/project"
	"artoo/tool/shell"
)

// ruleSet are the rules that hold in this project.
type ruleSet struct {
	allow, ask, deny []permission.Rule
	reopen           []permission.Rule // those of ask that stand in the user's file
	withheld         []string          // those kept for the project that loosen, while they are out of force
}

// reopens reports whether a rule of the user's file asks about a file by its name.
func (s ruleSet) reopens(root, file string) bool {
	return slices.ContainsFunc(s.reopen, func(r permission.Rule) bool { return r.Reopens(root, file) })
}

// readRules reads the rules that hold in the project; the error names where the
// first one stands that can match nothing. What is kept for a project that was
// trusted loosens nothing while it brings something else.
func (a *app) readRules() (s ruleSet, err error) {
	changed := a.repoSettings.changed()
	for _, text := range a.cfg.AllRules(a.project.Root) {
		r, err := permission.ParseRule(text.Text)
		var wrong *permission.RuleError
		switch {
		case errors.As(err, &wrong):
			return ruleSet{}, text.Wrong(wrong.Error(), wrong.Try)
		case err != nil:
			return ruleSet{}, err
		}
		r.Origin = text.Origin
		withheld := changed && text.OfProject
		switch {
		case text.List == "allow" && withheld:
			s.withheld = append(s.withheld, r.String())
		case text.List == "allow":
			s.allow = append(s.allow, r)
		case text.List == "ask":
			s.ask = append(s.ask, r)
			switch {
			case withheld && r.ReopensSome():
				s.withheld = append(s.withheld, r.String())
			case text.InFile():
				s.reopen = append(s.reopen, r)
			}
		default:
			s.deny = append(s.deny, r)
		}
	}
	return s, nil
}

func (a *app) policy(env *tool.Env) (*permission.Policy, error) {
	p := &permission.Policy{
		Mode: permission.Mode(a.cfg.Approval), NoProject: a.project.None != "", Root: a.project.Root, Dir: a.project.Dir,
		Shell: lines.Shell{Name: filepath.Base(shell.Find()), Locale: environ.ShellLocale(env.Environ)},
		World: permission.World{Files: env.Files, Environ: env.Environ, Guard: permission.NewGuard(a.project), Secrets: new(project.Histories)},
	}
	var err error
	if p.TrustsPrograms, err = a.trustsPrograms(); err != nil {
		return nil, err
	}
	if err := a.setRules(p); err != nil {
		return nil, err
	}
	return p, p.CheckMode()
}

// setRules puts the rules in force, each that allows bound to what was approved.
func (a *app) setRules(p *permission.Policy) (broken error) {
	p.AllowRules, p.AskRules, p.DenyRules = a.rules.allow, a.rules.ask, a.rules.deny
	p.Bind(func(rule string) *permission.Approval {
		known, err := a.cfg.Approved(a.project.Root, rule)
		if known == nil || err != nil {
			broken = errors.Join(broken, err)
			return nil
		}
		return (*permission.Approval)(known)
	})
	return broken
}

// saveRule keeps an allow rule for good, for this project, with what the scripts
// that it names are now.
func (a *app) saveRule(rule string) error {
	path, err := a.cfg.Paths.ConfigFile()
	if err != nil {
		return err
	}
	if a.cfg.File != "" {
		path = a.cfg.File
	}
	parsed, err := permission.ParseRule(rule)
	if err != nil {
		return err
	}
	if approved := a.agent.Policy().Approved(rule); approved != nil {
		if err := a.cfg.Approve(a.project.Root, parsed.String(), config.Approval(*approved)); err != nil {
			return err
		}
	}
	return config.AddRule(path, a.project.Root, "allow", parsed.String())
}

// reopened reports whether the user's file asks about a file that is denied else.
func (a *app) reopened(abs string) bool { return a.rules.reopens(a.project.Root, abs) }

// explain is `artoo rules explain`. It runs nothing and asks no provider.
func (a *app) explain(ctx context.Context, call string) (e permission.Explanation, err error) {
	files, err := files.Open(files.Config{Root: a.project.Root, Dir: a.project.Dir, Asked: a.reopened})
	if err != nil {
		return e, err
	}
	defer files.Close()
	environ, _ := a.childEnviron()
	policy, err := a.policy(&tool.Env{Files: files, Environ: environ})
	if err != nil {
		return e, err
	}
	if a.facts, err = a.findSandbox(ctx); err != nil {
		return e, err
	}
	policy.Confinement = a.workspace().Confinement(a.facts, a.cfg.Sandbox == "on")
	name, access, err := permission.CallFor(call, files)
	if err != nil {
		return e, fail(agent.KindUsage, "rules explain", err, "artoo rules explain 'read(PATH)'")
	}
	return policy.Explain(name, access), nil
}
