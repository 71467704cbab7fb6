package cli

import (
	"bytes"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"artoo/config"
	"artoo/conversation"
	"artoo/provider"
	"artoo/ui/sanitize"
)

// commandTree is the command line as cobra knows it, which makes the scripts for
// shells and answers what they ask.
func commandTree(out io.Writer) (*cobra.Command, error) {
	tree := func(c subcommand, name string) (*cobra.Command, error) {
		cmd := &cobra.Command{
			Use: name, Short: c.short, Run: func(*cobra.Command, []string) {}, SilenceErrors: true, SilenceUsage: true,
			ValidArgsFunction: c.completeWords, CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		}
		cmd.Flags().AddFlagSet(c.flags())
		for _, o := range c.takes() {
			if o.Kind == config.KindBool {
				continue
			}
			if err := cmd.RegisterFlagCompletionFunc(o.Flag, completeValue(o)); err != nil {
				return nil, err
			}
		}
		return cmd, nil
	}
	root, err := tree(root(), "artoo")
	if err != nil {
		return nil, err
	}
	for _, c := range commands() {
		cmd, err := tree(c, c.name)
		if err != nil {
			return nil, err
		}
		if root.AddCommand(cmd); c.name == "help" {
			root.SetHelpCommand(cmd)
		}
	}
	root.SetOut(out)
	root.SetErr(io.Discard)
	return root, nil
}

// offer answers a shell that asks what a line could go on with.
func (l line) offer() (Invocation, error) {
	var out bytes.Buffer
	root, err := commandTree(&out)
	if err != nil {
		return Invocation{}, err
	}
	root.SetArgs(l.args)
	err = root.Execute()
	return Invocation{Command: "completion", Page: out.String()}, err
}

// completionScript is `artoo completion SHELL`.
func completionScript(_ line, inv Invocation) (string, error) {
	var out bytes.Buffer
	root, err := commandTree(&out)
	if err != nil {
		return "", err
	}
	switch inv.Verb {
	case "bash":
		err = root.GenBashCompletionV2(&out, true)
		out.WriteString(bashAlone)
	case "zsh":
		err = root.GenZshCompletion(&out)
	case "fish":
		err = root.GenFishCompletion(&out, true)
	default:
		err = usage("completion", "for which shell?", "artoo completion bash, zsh or fish")
	}
	return out.String(), err
}

// bashAlone takes the place of a func of the generated script, which needs the
// package bash-completion: macOS and small images have none.
const bashAlone = `
__artoo_init_completion()
{
    COMPREPLY=()
    if declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
        _get_comp_words_by_ref "$@" cur prev words cword
    else
        words=("${COMP_WORDS[@]}")
        cword=$COMP_CWORD
        cur=${COMP_WORDS[COMP_CWORD]}
        prev=${COMP_WORDS[COMP_CWORD-1]}
    fi
}
`

// completeWords makes the shell offer the verbs or values of the first word,
// sessions behind a verb that takes one, and no files.
func (c subcommand) completeWords(
	cmd *cobra.Command, before []string, begun string,
) ([]string, cobra.ShellCompDirective) {
	var words []candidate
	switch {
	case len(before) == 0 && c.name == "help":
		words = append(words, candidate{word: "environment"})
		for _, c := range commands() {
			words = append(words, candidate{c.name, c.short})
		}
	case len(before) == 0 && c.of != "":
		words = known(given(cmd), c.of)
	case len(before) == 0:
		for _, v := range c.verbs {
			words = append(words, candidate{word: v.name})
		}
	default:
		at := slices.IndexFunc(c.verbs, func(v verb) bool { return v.name == before[0] })
		switch {
		case at < 0:
		case c.verbs[at].file && len(before) == 1:
			return nil, cobra.ShellCompDirectiveDefault
		case c.verbs[at].session && (len(before) == 1 || c.verbs[at].most < 0):
			words = known(given(cmd), "resume")
		}
	}
	return offered(words, begun)
}

// completeValue makes the shell offer what a flag can be: the words of an enum,
// files and directories where they are wanted, and for the rest what is known,
// never file names.
func completeValue(o config.Option) cobra.CompletionFunc {
	switch {
	case len(o.Choices) > 0:
		return cobra.FixedCompletions(o.Choices, cobra.ShellCompDirectiveNoFileComp)
	case o.Arg == "FILE":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	case strings.HasPrefix(o.Arg, "DIR"):
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	}
	return func(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return offered(known(given(cmd), o.Key), begun)
	}
}

// candidate is a word that the shell may offer, with what it means, which may be
// empty.
type candidate struct{ word, meaning string }

// Bounds of what a shell is offered: characters of a meaning, newest sessions.
const (
	meaningWidth      = 60
	completedSessions = 50
)

// offered are those of the candidates that go on what is begun, safe to show, a
// line each.
func offered(list []candidate, begun string) (words []string, _ cobra.ShellCompDirective) {
	for _, c := range list {
		if !strings.HasPrefix(c.word, begun) || strings.ContainsAny(c.word, "\t\n") {
			continue
		}
		meaning := []rune(strings.Join(strings.Fields(c.meaning), " "))
		if len(meaning) > meaningWidth {
			meaning = append(meaning[:meaningWidth-1], '…')
		}
		word := sanitize.Text(c.word, sanitize.Line)
		if len(meaning) > 0 {
			word += "\t" + sanitize.Text(string(meaning), sanitize.Line)
		}
		words = append(words, word)
	}
	return slices.Compact(words), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// given are the settings whose flags stand in the line so far.
func given(cmd *cobra.Command) *config.Config {
	flags := map[string][]string{}
	for _, o := range config.Options() {
		if f := cmd.Flags().Lookup(o.Flag); f != nil && f.Changed {
			flags[o.Key] = f.Value.(*raw).values
		}
	}
	// What is wrong with the settings is not said here: the run that follows says it.
	cfg, _ := config.Load(config.LoadOptions{Flags: flags})
	if cfg == nil {
		cfg = new(config.Config)
	}
	return cfg
}

// known is what an option can be, as far as config file, catalogue and the heads
// of session files tell. It asks nobody.
func known(cfg *config.Config, key string) (words []candidate) {
	names := provider.Names()
	switch key {
	case "provider":
		names = slices.AppendSeq(names, maps.Keys(cfg.Providers))
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			words = append(words, candidate{word: name})
		}
	case "model": // of the provider that is set; else those of all, with their providers
		prefix := func(name string) string { return name + "/" }
		if cfg.Provider != "" {
			names, prefix = []string{cfg.Provider}, func(string) string { return "" }
		}
		for _, name := range names {
			for _, m := range modelsOf(nil, cfg, name, nil) {
				words = append(words, candidate{word: prefix(name) + m.ID})
			}
		}
	case "resume":
		dir, err := config.FindPaths(os.LookupEnv).Sessions()
		if err != nil {
			return nil
		}
		infos, err := conversation.Store{Dir: dir}.Recent(completedSessions)
		if err != nil {
			return nil
		}
		for _, i := range infos {
			words = append(words, candidate{i.ID, i.First})
			if i.Name != "" {
				words = append(words, candidate{i.Name, i.ID})
			}
		}
	}
	return words
}
