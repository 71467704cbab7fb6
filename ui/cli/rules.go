package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"artoo/agent"
	"artoo/agent/permission"
	lines "artoo/agent/permission/line"
	"artoo/config"
	"artoo/tool"
	"artoo/tool/environ"
	"artoo/tool/files"
	"artoo/tool/names"
	"artoo/tool/shell"
	"artoo/ui/sanitize"
)

// rulesCommand is `artoo rules`.
type rulesCommand struct {
	app       *app
	json, yes *bool
	days      *string
}

func newRules(l commandLine) *cobra.Command {
	c := l.command("rules [list|explain 'COMMAND'|suggest]", "list the rules, explain which applies to a call, suggest some",
		common("approval", "allow", "ask", "deny", "hide", "hosts", "no_project"))
	r := rulesCommand{app: l.app, json: jsonFlag(c),
		days: l.textFlag(c, "days", "", "N", "suggest: from sessions of the last N days (default: 30)"),
		yes:  c.PersistentFlags().Bool("yes", false, "suggest: save the rules without asking")}
	list := func(*cobra.Command, []string) error { return r.list() }
	c.RunE = list
	l.verb(c, "list", nil).RunE = list
	l.verb(c, "explain 'COMMAND'", r.explainLine).Args = l.words(1, -1, "which command?")
	l.verb(c, "suggest", func(ctx context.Context, _ []string) error { return r.suggest(ctx) })
	return c
}

// open reads the settings, and warns of a project's that are ignored.
func (c rulesCommand) open() error {
	if err := c.app.load(false, true); err != nil {
		return err
	}
	if line := c.app.extensions.ignored(); line != "" {
		c.app.warn(line)
	}
	return nil
}

func (c rulesCommand) explainLine(ctx context.Context, words []string) error {
	if err := c.open(); err != nil {
		return err
	}
	e, err := c.explain(ctx, strings.Join(words, " "))
	if err != nil {
		return err
	}
	return printOne(c.app.process.Out, e, *c.json, func(e permission.Explanation) string { return c.app.shown(explanation(e)) })
}

func (c rulesCommand) list() error {
	if err := c.open(); err != nil {
		return err
	}
	p := permission.Policy{AllowRules: c.app.extensions.rules.allow, AskRules: c.app.extensions.rules.ask, DenyRules: c.app.extensions.rules.deny}
	rules := p.InForce()
	for _, text := range c.app.cfg.AllRules(c.app.project.Root) {
		shown := slices.ContainsFunc(c.app.extensions.rules.show, func(p files.Pattern) bool { return p.Glob == text.Text })
		if text.List == "hide" || text.List == "show" && shown {
			rules = append(rules, permission.RuleInForce{Verdict: permission.Verdict(text.List), Rule: text.Text, Origin: text.Origin})
		}
	}
	for i := range rules {
		rules[i].Rule = c.app.shown(rules[i].Rule)
	}
	if len(rules) == 0 && !*c.json {
		c.app.screen.Note("no rules; add some with --allow, --ask and --deny, or under [permissions] in config.toml")
	}
	return printRules(c.app.process.Out, rules, *c.json)
}

func printRules(w io.Writer, rules []permission.RuleInForce, asJSON bool) error {
	wide := 0
	for _, r := range rules {
		wide = max(wide, len(r.Rule))
	}
	return printEach(w, rules, asJSON, func(r permission.RuleInForce) string {
		line := fmt.Sprintf("%-5s  %-*s  %s", r.Verdict, min(wide, 40), sanitize.Text(r.Rule, sanitize.Line),
			sanitize.Text(r.Origin, sanitize.Line))
		if r.Remark != "" {
			line += "; also covers " + r.Remark
		}
		return line
	})
}

// explanation is the decision, the verdict on each part, and the rules that would allow the call.
func explanation(e permission.Explanation) string {
	var b strings.Builder
	safe := func(text string) string { return sanitize.Text(text, sanitize.Line) }
	fmt.Fprintf(&b, "%s: %s\n", e.Verdict, safe(e.Reason))
	if where := whereItRuns[e.Place]; where != "" {
		fmt.Fprintf(&b, "  runs   %s\n", where)
	}
	for _, part := range e.Parts {
		fmt.Fprintf(&b, "  %-5s  %s\n", part.Verdict, safe(part.Text))
		why := part.Why
		if part.Rule != "" {
			why += ", " + part.Rule + origin(part.Origin)
		}
		fmt.Fprintf(&b, "         %s\n", safe(why))
	}
	for _, hook := range e.Hooks {
		fmt.Fprintf(&b, "  hook   %s runs first\n", safe(hook))
	}
	if e.Verdict != permission.Run && e.Narrow != "" && safe(e.Narrow) == e.Narrow {
		fmt.Fprintf(&b, "to allow just this: --allow %s\n", shell.Quote(safe(e.Narrow)))
		if e.Suggested != e.Narrow {
			fmt.Fprintf(&b, "a wider rule: --allow %s\n", shell.Quote(safe(e.Suggested)))
			if r, err := permission.ParseRule(e.Suggested); err == nil && r.Remark() != "" {
				fmt.Fprintf(&b, "this also covers %s\n", r.Remark())
			}
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// whereItRuns are the places of a line in words.
var whereItRuns = map[string]string{
	"host":       "on the machine itself, with network, keys and home",
	"sandbox":    "in the sandbox: its writes in the project are kept",
	"layer":      "on a throwaway copy: artoo checks its changes afterwards",
	"background": "in the sandbox, in the background: it writes only build output",
	"read-only":  "in the sandbox, where it can write nothing",
}

func origin(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// ruleSet are the rules that hold in this project.
type ruleSet struct {
	allow, ask, deny []permission.Rule
	hide, show       []files.Pattern // files that are hidden besides the built-in ones, or shown after all
	withheld         []string        // those kept for the project that loosen, while they are out of force
}

// readRules reads the rules that hold in the project; the error names the place of the
// first one that can match nothing. Rules kept for a trusted project allow and show nothing
// once its settings have changed.
func (x *extensions) readRules() (s ruleSet, err error) {
	changed := x.repoSettings.changed()
	var asks []config.RuleText
	for _, text := range x.cfg.AllRules(x.project.Root) {
		files := text.List == "hide" || text.List == "show"
		r, err := permission.ParseRule(text.Rule())
		if wrong, ok := errors.AsType[*permission.RuleError](err); ok && files {
			return ruleSet{}, text.Wrong(text.List+" "+text.Text+": "+wrong.Why, strings.TrimSuffix(strings.TrimPrefix(wrong.Try, "read("), ")"))
		} else if ok && text.List == "hosts" {
			return ruleSet{}, text.Wrong("hosts "+text.Text+": "+wrong.Why, strings.TrimSuffix(strings.TrimPrefix(wrong.Try, "hosts("), ")"))
		} else if ok {
			return ruleSet{}, text.Wrong(wrong.Error(), wrong.Try)
		}
		if err != nil {
			return ruleSet{}, err
		}
		r.Origin, r.Fixed = text.Origin, text.Fixed
		switch withheld := changed && text.OfProject; text.List {
		case "allow", "show", "hosts":
			switch {
			case withheld:
				s.withheld = append(s.withheld, strings.TrimPrefix(text.List+" ", "allow ")+text.Text)
			case files:
				s.show = append(s.show, patternOf(text, text.Text))
			default:
				s.allow = append(s.allow, r)
			}
		case "ask":
			s.ask, asks = append(s.ask, r), append(asks, text)
		case "hide":
			s.hide = append(s.hide, patternOf(text, text.Text))
		default:
			if s.deny = append(s.deny, r); r.Hides() != "" {
				s.hide = append(s.hide, patternOf(text, r.Hides()))
			}
		}
	}
	return s, s.asksOfHidden(asks)
}

// patternOf is the pattern of the files that a rule hides or shows.
func patternOf(text config.RuleText, glob string) files.Pattern {
	return files.Pattern{Glob: glob, Origin: text.List + " " + text.Text + origin(text.Origin), Repository: text.OfRepository(),
		Firm: text.Fixed || !text.InFile() && !text.OfRepository()}
}

// asksOfHidden is the error for a rule of the user's file that asks about a file by a hidden name: no tool reads it, until show
// names it.
func (s ruleSet) asksOfHidden(asks []config.RuleText) error {
	for _, text := range asks {
		r, err := permission.ParseRule(text.Text)
		if err != nil || !text.InFile() || r.Tool != "read" || files.HasMeta(r.Arg) {
			continue
		}
		name := strings.TrimPrefix(names.Fold(r.Arg), "./")
		shown := slices.ContainsFunc(s.show, func(p files.Pattern) bool { return p.Glob == r.Arg || files.HasMeta(p.Glob) })
		if files.SecretName(name, "/"+name) == "" || shown {
			continue
		}
		wrong := text.Wrong("the file is hidden, so there is nothing to ask about", "")
		if e, ok := errors.AsType[*config.Error](wrong); ok {
			e.Hint = fmt.Sprintf("show = [%q] in [permissions]", r.Arg)
		}
		return wrong
	}
	return nil
}

func (x *extensions) policy(env *tool.Env) (*permission.Policy, error) {
	p := &permission.Policy{
		Mode: permission.Mode(x.cfg.Approval), NoProject: x.project.None, Root: x.project.Root, Dir: x.project.Dir,
		Shell: lines.Shell{Name: filepath.Base(shell.Find(x.process.Environ)), Locale: environ.ShellLocale(env.Environ)},
		World: permission.World{Files: env.Files, Environ: env.Environ, Guard: permission.NewGuard(x.project)},
	}
	for _, mode := range x.cfg.Policy.Modes {
		p.Modes = append(p.Modes, permission.Mode(mode))
	}
	if p.ModesAt = x.cfg.Policy.At("modes"); p.ModesAt != "" && p.Modes == nil {
		p.Modes = []permission.Mode{}
	}
	if x.cfg.Policy.NoTrust {
		p.NoTrust = x.cfg.Policy.At("trust")
	}
	var err error
	if p.TrustsPrograms, err = x.trustsPrograms(); err != nil {
		return nil, err
	}
	if err := x.setRules(p); err != nil {
		return nil, err
	}
	return p, p.CheckMode()
}

// setRules puts the rules in force, and binds each that allows a program to the approved content of that program.
func (x *extensions) setRules(p *permission.Policy) (broken error) {
	p.AllowRules, p.AskRules, p.DenyRules = x.rules.allow, x.rules.ask, x.rules.deny
	p.Bind(func(rule string) *permission.Approval {
		known, err := x.cfg.Approved(x.project.Root, rule)
		if known == nil || err != nil {
			broken = errors.Join(broken, err)
			return nil
		}
		return (*permission.Approval)(known)
	})
	return broken
}

func (x *extensions) saveRule(rule string) error { return x.keepRule(x.agent.Policy(), rule) }

// keepRule keeps an allow rule of the policy's session for this project, with the present state of its scripts.
func (x *extensions) keepRule(policy *permission.Policy, rule string) error {
	path, err := x.configFile()
	if err != nil {
		return err
	}
	parsed, err := permission.ParseRule(rule)
	if err != nil {
		return err
	}
	if approved := policy.Approved(rule); approved != nil {
		if err := x.cfg.Approve(x.project.Root, parsed.String(), config.Approval(*approved)); err != nil {
			return err
		}
	}
	return config.AddRule(path, x.project.Root, "allow", parsed.String())
}

// policy is the policy of a run that would begin now; done closes its files.
func (c rulesCommand) policy(ctx context.Context) (p *permission.Policy, done func(), err error) {
	opt, err := c.app.workspace.options(ctx)
	if err != nil {
		return nil, nil, err
	}
	files, err := opt.Workspace.OpenFiles(nil)
	if err != nil {
		return nil, nil, err
	}
	opt.CompletePolicy()
	opt.Policy.World.Files = files
	return opt.Policy, func() { files.Close() }, nil
}

// explain is `artoo rules explain`. It runs nothing and asks no provider.
func (c rulesCommand) explain(ctx context.Context, call string) (e permission.Explanation, err error) {
	policy, done, err := c.policy(ctx)
	if err != nil {
		return e, err
	}
	defer done()
	name, access, err := permission.CallFor(call, policy.World.Files)
	if err != nil {
		return e, fail(agent.KindUsage, "rules explain", err, "artoo rules explain 'read(PATH)'")
	}
	e = policy.Explain(name, access)
	asked, err := agent.HooksBefore(c.app.extensions.hooks().List, policy, name, access)
	for _, h := range asked {
		e.Hooks = append(e.Hooks, h.String()+" ("+h.Place+")")
	}
	return e, err
}
