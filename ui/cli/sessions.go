package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Export is a session that is to be written.
type Export struct {
	ID     string // or the beginning of it
	File   string // "" is stdout
	Format string // md, json, html; "" where the file's name decides
	Brief  bool   // without what the tool calls came to
}

func sessionFlags(fs *pflag.FlagSet) {
	fs.Bool("json", false, "as JSON")
	fs.String("format", "", "of export to stdout: md, json or html")
}

// verbTakesWords reports whether the words begin with a verb that judges the
// others itself, or will once it is there.
func (p *program) verbTakesWords(c subcommand, words []string) bool {
	return c.name == "sessions" && len(words) > 0 && words[0] != "list" && slices.Contains(c.verbs, words[0])
}

func (p *program) runSessions(ctx context.Context, cmd *cobra.Command, words []string) error {
	verb := "list"
	if len(words) > 0 {
		verb = words[0]
	}
	asJSON := cmd.Flags().Changed("json")
	format, err := cmd.Flags().GetString("format")
	if err != nil {
		return err
	}
	switch {
	case (verb == "export" || verb == "show") && p.deps.Export != nil:
		return p.runExport(ctx, cmd, verb, words[1:], asJSON, format)
	case verb != "list":
		return notYet("sessions "+verb, "artoo sessions list, and artoo -r ID")
	case format != "":
		return &UsageError{Where: "sessions list", Why: "does not take --format", Hint: "artoo sessions list --json"}
	}
	list, err := p.deps.Sessions(ctx, Invocation{Flags: given(cmd.Flags())})
	if err != nil {
		return err
	}
	return p.printSessions(list, asJSON)
}

// runExport is `artoo sessions export ID [FILE]` and `artoo sessions show ID`.
func (p *program) runExport(ctx context.Context, cmd *cobra.Command, verb string, words []string, asJSON bool, format string) error {
	most, hint := 2, "artoo sessions export ID [FILE]"
	if verb == "show" {
		most, hint = 1, "artoo sessions show ID"
	}
	e := Export{Brief: verb == "show" && !asJSON, Format: format}
	usage := func(why string) error { return &UsageError{Where: "sessions " + verb, Why: why, Hint: hint} }
	switch {
	case len(words) == 0:
		return usage("which session?")
	case len(words) > most:
		return p.cannotTake(subcommand{name: "sessions " + verb}, words[most:])
	case verb == "show" && format != "":
		return usage("does not take --format")
	case format != "" && asJSON:
		return usage("takes --json or --format, not both")
	case asJSON:
		e.Format = "json"
	}
	e.ID = words[0]
	if len(words) == 2 {
		if e.File = words[1]; e.Format != "" {
			return usage("the end of the file's name decides the format")
		}
	}
	return p.deps.Export(ctx, Invocation{Flags: given(cmd.Flags())}, e)
}
