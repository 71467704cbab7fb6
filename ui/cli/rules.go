package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"artoo/agent/permission"
	"artoo/provider"
	"artoo/ui/sanitize"
)

func ruleFlags(fs *pflag.FlagSet) { fs.Bool("json", false, "as JSON, a line each") }

func (p *program) runRules(ctx context.Context, cmd *cobra.Command, words []string) error {
	asJSON := cmd.Flags().Changed("json")
	inv := Invocation{Flags: given(cmd.Flags())}
	switch {
	case len(words) == 0 || words[0] == "list" && len(words) == 1:
		rules, err := p.deps.Rules(ctx, inv)
		if err != nil {
			return err
		}
		return p.printRules(rules, asJSON)
	case words[0] == "list":
		return &UsageError{Where: "rules list", Why: fmt.Sprintf("cannot take %q", joinWords(words[1:])), Hint: p.asPrompt()}
	case words[0] != "explain":
		return notYet("rules "+words[0], "--allow RULE, or allow = [\"RULE\"] under [permissions] in config.toml")
	}
	call := joinWords(words[1:])
	if strings.TrimSpace(call) == "" {
		return &UsageError{Where: "rules explain", Why: "which command?", Hint: "artoo rules explain 'git push'"}
	}
	e, err := p.deps.Explain(ctx, inv, call)
	if err != nil {
		return err
	}
	if asJSON {
		return p.printJSON(e)
	}
	return p.printExplanation(e)
}

func (p *program) printJSON(v any) error {
	data, err := provider.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(p.deps.Out, string(data))
	return err
}

func (p *program) printRules(rules []permission.RuleInForce, asJSON bool) error {
	wide := 0
	for _, r := range rules {
		wide = max(wide, len(r.Rule))
	}
	for _, r := range rules {
		if asJSON {
			if err := p.printJSON(r); err != nil {
				return err
			}
			continue
		}
		line := fmt.Sprintf("%-5s  %-*s  %s", r.Effect, min(wide, 40), sanitize.Text(r.Rule, sanitize.Line), sanitize.Text(r.Origin, sanitize.Line))
		if r.Remark != "" {
			line += "; covers also " + r.Remark
		}
		if _, err := fmt.Fprintln(p.deps.Out, line); err != nil {
			return err
		}
	}
	if len(rules) > 0 || asJSON {
		return nil
	}
	_, err := fmt.Fprintln(p.deps.Out, "no rules; --allow, --ask and --deny give some, or [permissions] in config.toml")
	return err
}

// printExplanation writes the decision, what each part came to, and the rules
// that would do.
func (p *program) printExplanation(e permission.Explanation) error {
	var b strings.Builder
	safe := func(text string) string { return sanitize.Text(text, sanitize.Line) }
	fmt.Fprintf(&b, "%s: %s\n", e.Effect, safe(e.Reason))
	missed := func(list []permission.MissedRule) {
		for _, m := range list {
			fmt.Fprintf(&b, "         not by %s%s: %s\n", safe(m.Rule), origin(safe(m.Origin)), safe(m.Why))
		}
	}
	for _, part := range e.Parts {
		fmt.Fprintf(&b, "  %-5s  %s\n", part.Effect, safe(part.Text))
		why := part.Why
		if part.Rule != "" {
			why += ", " + part.Rule + origin(part.Origin)
		}
		fmt.Fprintf(&b, "         %s\n", safe(why))
		missed(part.Missed)
	}
	missed(e.Missed)
	if e.Effect != permission.Allow && e.Narrow != "" {
		fmt.Fprintf(&b, "to allow just this: --allow %s\n", quoteWord(safe(e.Narrow)))
		if e.Suggested != e.Narrow {
			fmt.Fprintf(&b, "a wider rule: --allow %s\n", quoteWord(safe(e.Suggested)))
			if r, err := permission.ParseRule(e.Suggested); err == nil && r.Remark() != "" {
				fmt.Fprintf(&b, "which covers also %s\n", r.Remark())
			}
		}
	}
	_, err := fmt.Fprint(p.deps.Out, b.String())
	return err
}

func origin(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}
