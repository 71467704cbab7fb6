package cli

import (
	"context"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"artoo/config"
	"artoo/conversation"
	"artoo/provider"
	"artoo/ui/sanitize"
)

// newCompletion is `artoo completion SHELL`.
func newCompletion(l commandLine) *cobra.Command {
	c := l.command("completion bash|zsh|fish", "completion script for a shell", noSettings)
	c.RunE = func(*cobra.Command, []string) error {
		return usage("completion", "for which shell?", "artoo completion bash, zsh or fish")
	}
	script := func(shell string, write func(root *cobra.Command, w io.Writer) error) {
		l.verb(c, shell, func(context.Context, []string) error { return write(c.Root(), c.OutOrStdout()) })
	}
	script("bash", func(root *cobra.Command, w io.Writer) error {
		if err := root.GenBashCompletionV2(w, true); err != nil {
			return err
		}
		_, err := io.WriteString(w, bashAlone)
		return err
	})
	script("zsh", (*cobra.Command).GenZshCompletion)
	script("fish", func(root *cobra.Command, w io.Writer) error { return root.GenFishCompletion(w, true) })
	return c
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

// offerKnown makes the shell offer the values of an option for each of the first n words, for
// all words with -1.
func (l commandLine) offerKnown(n int, key string) cobra.CompletionFunc {
	return func(_ *cobra.Command, before []string, begun string) ([]string, cobra.ShellCompDirective) {
		if n >= 0 && len(before) >= n {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return offered(l.known(key), begun)
	}
}

// offerFile makes the shell offer files for the first word.
func offerFile(_ *cobra.Command, before []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(before) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveDefault
}

// completing reports whether a shell asks for completions of a line.
func (l commandLine) completing() bool {
	word := first(l.app.process.Args)
	return word == cobra.ShellCompRequestCmd || word == cobra.ShellCompNoDescRequestCmd
}

func (l commandLine) offer(c *cobra.Command, flag string, f cobra.CompletionFunc) {
	if !l.completing() {
		return
	}
	if err := c.RegisterFlagCompletionFunc(flag, f); err != nil {
		panic(err) // the flag is not there, or has one already
	}
}

// completeValue offers files and directories only where the option takes them.
func (l commandLine) completeValue(o config.Option) cobra.CompletionFunc {
	switch {
	case len(o.Choices) > 0:
		return cobra.FixedCompletions(o.Choices, cobra.ShellCompDirectiveNoFileComp)
	case o.Arg == "FILE":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	case strings.HasPrefix(o.Arg, "DIR"):
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	}
	return l.offerKnown(-1, o.Key)
}

// candidate is a word that the shell may offer, with its meaning, which may be "".
type candidate struct{ word, meaning string }

// Bounds of the completions for a shell: characters of a meaning, newest sessions.
const (
	meaningWidth      = 60
	completedSessions = 50
)

// offered are the candidates that begin so, safe to show.
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

// known are the values of an option, as far as config file, catalogue and the heads
// of session files have them. It asks no server.
func (l commandLine) known(key string) (words []candidate) {
	// Faults of the settings are not reported here: the run that follows reports them.
	cfg, _ := config.Load(config.LoadOptions{Environ: l.app.process.Environ, Dir: l.app.process.Dir, Flags: l.app.flags, System: config.SystemDir})
	if cfg == nil {
		cfg = new(config.Config)
	}
	names := provider.Names()
	switch key {
	case "provider":
		names = slices.AppendSeq(names, maps.Keys(cfg.Providers))
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			words = append(words, candidate{word: name})
		}
	case "profile":
		for _, name := range cfg.Profiles {
			words = append(words, candidate{word: name})
		}
	case "model":
		words = knownModels(cfg, names)
	case "resume":
		dir, err := config.FindPaths(l.app.process.Environ).Sessions()
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

// knownModels are the models of the set provider; else those of all providers, after the provider's name,
// and by themselves where their names say whose they are.
func knownModels(cfg *config.Config, names []string) (words []candidate) {
	if cfg.Provider != "" {
		names = []string{cfg.Provider}
	}
	var alone []candidate
	for _, name := range names {
		for _, m := range modelsOf(nil, cfg, name, nil) {
			if cfg.Provider == "" {
				words = append(words, candidate{word: name + "/" + m.ID})
			}
			if cfg.Provider != "" || !strings.Contains(m.ID, "/") {
				alone = append(alone, candidate{word: m.ID})
			}
		}
	}
	return append(words, alone...)
}
