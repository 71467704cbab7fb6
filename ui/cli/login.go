package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"artoo/agent"
	"artoo/config"
	"artoo/provider/redact"
	"artoo/ui"
	"artoo/ui/doctor"
	"artoo/ui/prompt"
)

// keySays shows the output of a key command while it runs.
func (a *app) keySays(line string) {
	if a.screen != nil {
		a.screen.Note(redact.Mask(line))
	}
}

// loginCommand is `artoo login` and `artoo logout`.
type loginCommand struct {
	*app
	untried, piped *bool // nil in logout
}

func newLogin(a *app) *cobra.Command {
	c := a.command("login [provider] [--stdin]", "enter and store an API key", common())
	l := loginCommand{a, c.Flags().Bool("no-check", false, "store the key without trying it"),
		c.Flags().Bool("stdin", false, "the key is the first line of a pipe or file")}
	c.Args, c.ValidArgsFunction = a.words(0, 1, ""), a.offerKnown(1, "provider")
	c.RunE = func(c *cobra.Command, words []string) error { return l.login(c.Context(), first(words)) }
	return c
}

func newLogout(a *app) *cobra.Command {
	c := a.command("logout [provider]", "forget a stored key", common())
	c.Args, c.ValidArgsFunction = a.words(0, 1, ""), a.offerKnown(1, "provider")
	c.RunE = func(c *cobra.Command, words []string) error {
		return loginCommand{app: a}.logout(c.Context(), first(words))
	}
	return c
}

func (a loginCommand) login(ctx context.Context, name string) error {
	name, err := a.keyOwner(ctx, name, "login")
	if err != nil {
		return err
	}
	text, err := a.readKey(ctx, name, *a.piped)
	if err != nil {
		return err
	}
	key := config.NewSecret(strings.TrimSpace(text))
	doubt, err := a.cfg.CheckKeyShape(name, key)
	if err != nil {
		return err
	}
	if doubt != "" {
		a.warn(doubt)
	}
	if !*a.untried && !isLocalServer(name) { // a local server accepts any key
		if err := a.tryKey(ctx, name, key); err != nil {
			return err
		}
	}
	stored, err := a.cfg.StoreKey(ctx, name, key)
	if err != nil {
		return err
	}
	note := "the key of " + name + " is stored in " + stored.Where
	if stored.NoKeyring != nil {
		note += ", for you alone to read (" + stored.NoKeyring.Error() + ")"
	}
	a.screen.Note(note)
	return a.warnOfOtherKey(name)
}

// warnOfOtherKey names a key that comes before the one that login has just stored.
func (a loginCommand) warnOfOtherKey(name string) error {
	if uses, why := a.cfg.UsesStored(name); !uses {
		a.warn("the stored key is not used: " + why)
		return nil
	}
	places, err := a.cfg.KeyPlaces(name)
	if err != nil {
		return err
	}
	if first := places[0]; first != "keyring" && first != "credentials" {
		a.warn(first + " is set, and comes before the stored key")
	}
	return nil
}

func (a loginCommand) logout(ctx context.Context, name string) error {
	name, err := a.keyOwner(ctx, name, "logout")
	if err != nil {
		return err
	}
	where, err := a.cfg.ForgetKey(ctx, name)
	if err != nil {
		return err
	}
	if where == "" {
		a.screen.Note("no key of " + name + " is stored")
	} else {
		a.screen.Note("the key of " + name + " is removed from " + where + "; it holds until the provider revokes it")
	}
	places, err := a.cfg.KeyPlaces(name)
	if err == nil && len(places) > 0 {
		a.screen.Note("still there: " + strings.Join(places, ", "))
	}
	return err
}

// keyOwner reads the settings, and is the provider that is named, chosen or picked by the user.
func (a loginCommand) keyOwner(ctx context.Context, name, command string) (string, error) {
	if err := a.load(false, false); err != nil {
		return "", err
	}
	names := slices.DeleteFunc(a.cfg.ProviderNames(), func(name string) bool { return !a.cfg.NeedsKey(name) })
	switch {
	case name != "" && !a.cfg.IsProvider(name):
		return "", fail(agent.KindUsage, command, fmt.Errorf("there is no provider %q", name),
			"artoo "+command+" with one of "+strings.Join(names, ", ")+"; artoo -- "+command+" "+name+" sends the words")
	case name != "" && !a.cfg.NeedsKey(name):
		return "", usage(command, name+" takes no key from artoo",
			"a coding CLI logs in by itself; artoo demo needs nothing")
	case name != "":
		return name, nil
	case a.cfg.Provider != "" && a.cfg.NeedsKey(a.cfg.Provider):
		return a.cfg.Provider, nil
	case a.streams.in && a.streams.err:
		return ui.Choose(ctx, a.process.In, a.screen, "Whose key?", names)
	}
	if command == "login" {
		command += " --stdin"
	}
	return "", usage(command, "which provider?",
		"artoo "+command+" with one of "+strings.Join(names, ", "))
}

// maxKey bounds the bytes read for a key.
const maxKey = 64 << 10

// readKey asks for a key on the terminal, unseen. The first line of a file or pipe is
// one only when piped says so: text that a script pipes by accident is not stored.
func (a loginCommand) readKey(ctx context.Context, name string, piped bool) (string, error) {
	hint := "artoo login " + name + " --stdin < FILE, whose first line is the key"
	if a.streams.in {
		if !a.streams.err {
			return "", usage("login", "no one can answer: stderr is no terminal", hint)
		}
		text, err := prompt.ReadSecret(a.process.In, a.screen, "Enter password for "+name+": ")
		if errors.Is(err, io.EOF) {
			err = nil // an empty line is answered the same way
		}
		return text, err
	}
	if !piped {
		return "", usage("login", "no one can answer: stdin is no terminal", hint)
	}
	type line struct {
		text string
		err  error
	}
	came := make(chan line, 1)
	go func() {
		text, err := bufio.NewReader(io.LimitReader(a.process.In, maxKey)).ReadString('\n')
		if errors.Is(err, io.EOF) {
			err = nil
		}
		came <- line{text, err}
	}()
	wait := time.NewTimer(time.Duration(a.cfg.StdinWait))
	defer wait.Stop()
	for {
		select {
		case l := <-came:
			return l.text, l.err
		case <-wait.C:
			if !a.streams.watched {
				return "", fail(agent.KindUsage, "login",
					fmt.Errorf("no key came on stdin within %s", a.cfg.StdinWait), hint)
			}
			a.screen.Note("waiting for the key on stdin; Ctrl-C stops")
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// tryKey fails only if the provider refuses the key: the network may be away.
func (a loginCommand) tryKey(ctx context.Context, name string, key config.Secret) error {
	if err := a.transport(); err != nil {
		return err
	}
	server, err := a.doctorServer(name, func(context.Context) (string, string, error) { return key.Reveal(), "you", nil })
	if err != nil {
		return err
	}
	if server.Base() == "" {
		return nil // no server to ask yet
	}
	answer := doctor.Ask(ctx, a.http, *server)
	switch answer.Verdict {
	case doctor.Refused:
		return fail(agent.KindAuth, "login", fmt.Errorf("%s; nothing is stored", answer.Finding.Text),
			"copy the key again; --no-check stores it untried")
	case doctor.Unknown:
		a.warn("the key could not be tried: " + answer.Finding.Text)
	case doctor.Accepted:
		if answer.Finding.Level != doctor.OK {
			a.warn(answer.Finding.Text)
		}
	}
	return nil
}
