package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"artoo/config"
	"artoo/ui/sanitize"
)

// Candidate is a word that the shell may offer, with what it means; Meaning
// may be empty.
type Candidate struct{ Word, Meaning string }

// meaningWidth is how much of a meaning a shell shows beside a word.
const meaningWidth = 60

// completeFlags makes the shell offer what a flag can be: the words of an enum,
// files and directories where they are wanted, and for the rest what the
// program knows, never file names.
func (p *program) completeFlags(cmd *cobra.Command) error {
	for _, o := range p.deps.Options {
		if o.Flag == "" || o.Kind == config.KindBool || cmd.Flags().Lookup(o.Flag) == nil {
			continue
		}
		complete := p.known(o.Key)
		switch {
		case len(o.Choices) > 0:
			complete = cobra.FixedCompletions(o.Choices, cobra.ShellCompDirectiveNoFileComp)
		case o.Arg == "FILE":
			complete = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
		case strings.HasPrefix(o.Arg, "DIR"):
			complete = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
		}
		if err := cmd.RegisterFlagCompletionFunc(o.Flag, complete); err != nil {
			return err
		}
	}
	if cmd.Flags().Lookup("format") == nil {
		return nil
	}
	return cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"md", "json", "html"}, cobra.ShellCompDirectiveNoFileComp))
}

// known asks the program for the values of an option.
func (p *program) known(key string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		if p.deps.Complete == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var words []string
		for _, c := range p.deps.Complete(Invocation{Flags: given(cmd.Flags())}, key) {
			if !strings.HasPrefix(c.Word, begun) || strings.ContainsAny(c.Word, "\t\n") {
				continue
			}
			word := sanitize.Text(c.Word, sanitize.Line)
			if meaning := sanitize.Text(shorten(c.Meaning), sanitize.Line); meaning != "" {
				word += "\t" + meaning
			}
			words = append(words, word)
		}
		return slices.Compact(words), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	}
}

// shorten makes one line of a text and cuts it.
func shorten(text string) string {
	text = joinWords(strings.Fields(text))
	if runes := []rune(text); len(runes) > meaningWidth {
		return string(runes[:meaningWidth-1]) + "…"
	}
	return text
}
