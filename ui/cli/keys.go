package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"artoo/provider"
	"artoo/ui/doctor"
	"artoo/ui/sanitize"
)

func loginFlags(fs *pflag.FlagSet) {
	fs.Bool("no-check", false, "store the key without trying it")
}

func doctorFlags(fs *pflag.FlagSet) {
	fs.Bool("offline", false, "ask no server")
	fs.Bool("paths", false, "list what artoo wrote, and nothing else")
	fs.Bool("json", false, "as JSON, a line each")
}

// once makes the shell offer words as the first one only.
func once(words cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, before []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(before) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return words(cmd, before, begun)
	}
}

// oneWord is the word a subcommand was given, "" for none.
func oneWord(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

func (p *program) runLogin(ctx context.Context, cmd *cobra.Command, words []string) error {
	return p.deps.Login(ctx, Invocation{Flags: given(cmd.Flags())}, oneWord(words), !cmd.Flags().Changed("no-check"))
}

func (p *program) runLogout(ctx context.Context, cmd *cobra.Command, words []string) error {
	return p.deps.Logout(ctx, Invocation{Flags: given(cmd.Flags())}, oneWord(words))
}

func (p *program) runDoctor(ctx context.Context, cmd *cobra.Command, _ []string) error {
	inv, asJSON := Invocation{Flags: given(cmd.Flags())}, cmd.Flags().Changed("json")
	if cmd.Flags().Changed("paths") {
		places, err := p.deps.Paths(ctx, inv)
		if err != nil {
			return err
		}
		for _, place := range places {
			if err := p.printOr(asJSON, place, fmt.Sprintf("%s  (%s, %s)", sanitize.Text(place.Path, sanitize.Line), place.What, place.Size())); err != nil {
				return err
			}
		}
		return nil
	}
	return p.deps.Doctor(ctx, inv, cmd.Flags().Changed("offline"), func(f doctor.Finding) error {
		text := fmt.Sprintf("%-4s  %-12s  %s", f.Level, f.Topic, sanitize.Text(f.Text, sanitize.Line))
		if f.Fix != "" {
			text += fmt.Sprintf("\n%20stry: %s", "", sanitize.Text(f.Fix, sanitize.Line))
		}
		return p.printOr(asJSON, f, text)
	})
}

// printOr prints a line: v as JSON, or text.
func (p *program) printOr(asJSON bool, v any, text string) error {
	if asJSON {
		data, err := provider.Marshal(v)
		if err != nil {
			return err
		}
		text = string(data)
	}
	_, err := fmt.Fprintln(p.deps.Out, text)
	return err
}
