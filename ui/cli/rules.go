package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"artoo/agent/permission"
	"artoo/tool/shell"
	"artoo/ui/sanitize"
)

// rulesCommand is `artoo rules`.
type rulesCommand struct {
	*app
	json *bool
}

func newRules(a *app) *cobra.Command {
	c := a.command("rules [list|explain 'COMMAND']", "list the rules, and explain which applies to a call",
		common("approval", "allow", "ask", "deny", "no_project"))
	r := rulesCommand{a, jsonFlag(c)}
	list := func(*cobra.Command, []string) error { return r.list() }
	c.RunE = list
	a.verb(c, "list", nil).RunE = list
	a.verb(c, "explain 'git push'", r.explainLine).Args = a.words(1, -1, "which command?")
	return c
}

// open reads the settings, and warns of a project's that are ignored.
func (a rulesCommand) open() error {
	if err := a.load(false, true); err != nil {
		return err
	}
	if line := a.ignored(); line != "" {
		a.warn(line)
	}
	return nil
}

func (a rulesCommand) explainLine(ctx context.Context, words []string) error {
	if err := a.open(); err != nil {
		return err
	}
	e, err := a.explain(ctx, strings.Join(words, " "))
	if err != nil {
		return err
	}
	return printOne(a.process.Out, e, *a.json, explanation)
}

func (a rulesCommand) list() error {
	if err := a.open(); err != nil {
		return err
	}
	p := permission.Policy{AllowRules: a.rules.allow, AskRules: a.rules.ask, DenyRules: a.rules.deny}
	return printRules(a.process.Out, p.InForce(), *a.json)
}

// printRules prints the rules, a line each.
func printRules(w io.Writer, rules []permission.RuleInForce, asJSON bool) error {
	if len(rules) == 0 && !asJSON {
		_, err := fmt.Fprintln(w, "no rules; --allow, --ask and --deny give some, or [permissions] in config.toml")
		return err
	}
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

// explanation is the decision, what each part came to, and the rules that would do.
func explanation(e permission.Explanation) string {
	var b strings.Builder
	safe := func(text string) string { return sanitize.Text(text, sanitize.Line) }
	fmt.Fprintf(&b, "%s: %s\n", e.Verdict, safe(e.Reason))
	if where := whereItRuns[e.Place]; where != "" {
		fmt.Fprintf(&b, "  runs   %s\n", where)
	}
	missed := func(list []permission.MissedRule) {
		for _, m := range list {
			fmt.Fprintf(&b, "         not by %s%s: %s\n", safe(m.Rule), origin(safe(m.Origin)), safe(m.Why))
		}
	}
	for _, part := range e.Parts {
		fmt.Fprintf(&b, "  %-5s  %s\n", part.Verdict, safe(part.Text))
		why := part.Why
		if part.Rule != "" {
			why += ", " + part.Rule + origin(part.Origin)
		}
		fmt.Fprintf(&b, "         %s\n", safe(why))
		missed(part.Missed)
	}
	missed(e.Missed)
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
	"sandbox":    "in the sandbox: what it writes in the project stays",
	"layer":      "on a throwaway layer: its changes are judged afterwards",
	"background": "in the sandbox, beside the conversation: it writes only where builds put results",
	"read-only":  "in the sandbox, where it can write nothing",
}

func origin(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}
