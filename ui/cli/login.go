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
	"artoo/provider"
	"artoo/ui"
	"artoo/ui/doctor"
	"artoo/ui/prompt"
)

// loginCommand is `artoo login` and `artoo logout`.
type loginCommand struct {
	app            *app
	untried, piped *bool // nil in logout
}

func newLogin(l commandLine) *cobra.Command {
	c := l.command("login [provider] [--stdin]", "enter and store an API key", common())
	login := loginCommand{l.app, c.Flags().Bool("no-check", false, "store the key without trying it"),
		c.Flags().Bool("stdin", false, "the key is the first line of a pipe or file")}
	c.Args, c.ValidArgsFunction = l.words(0, 1, ""), l.offerKnown(1, "provider")
	c.RunE = func(c *cobra.Command, words []string) error { return login.login(c.Context(), first(words)) }
	return c
}

func newLogout(l commandLine) *cobra.Command {
	c := l.command("logout [provider]", "forget a stored key", common())
	c.Args, c.ValidArgsFunction = l.words(0, 1, ""), l.offerKnown(1, "provider")
	c.RunE = func(c *cobra.Command, words []string) error {
		return loginCommand{app: l.app}.logout(c.Context(), first(words))
	}
	return c
}

func (c loginCommand) login(ctx context.Context, name string) error {
	name, err := c.keyOwner(ctx, name, "login")
	if err != nil {
		return err
	}
	text, err := c.readKey(ctx, name, *c.piped)
	if err != nil {
		return err
	}
	key := config.NewSecret(strings.TrimSpace(text))
	doubt, err := c.app.cfg.CheckKeyShape(name, key)
	if err != nil {
		return err
	}
	if doubt != "" {
		c.app.warn(doubt)
	}
	if !*c.untried && !isLocalServer(name) { // a local server accepts any key
		if err := c.tryKey(ctx, name, key); err != nil {
			return err
		}
	}
	stored, err := c.app.cfg.StoreKey(ctx, name, key)
	if err != nil {
		return err
	}
	note := "the key of " + name + " is stored in " + stored.Where
	if stored.NoKeyring != nil {
		note += ", readable only by you (" + stored.NoKeyring.Error() + ")"
	}
	c.app.screen.Note(note)
	return c.warnOfOtherKey(name)
}

// warnOfOtherKey names a key that comes before the one that login has just stored.
func (c loginCommand) warnOfOtherKey(name string) error {
	if uses, why := c.app.cfg.UsesStored(name); !uses {
		c.app.warn("the stored key is not used: " + why)
		return nil
	}
	places, err := c.app.cfg.KeyPlaces(name)
	if err != nil {
		return err
	}
	if first := places[0]; first != "keyring" && first != "credentials" {
		c.app.warn(first + " is set, and overrides the stored key")
	}
	return nil
}

func (c loginCommand) logout(ctx context.Context, name string) error {
	name, err := c.keyOwner(ctx, name, "logout")
	if err != nil {
		return err
	}
	where, err := c.app.cfg.ForgetKey(ctx, name)
	if err != nil {
		return err
	}
	if where == "" {
		c.app.screen.Note("no key of " + name + " is stored")
	} else {
		c.app.screen.Note("the key of " + name + " is removed from " + where + "; it is valid until the provider revokes it")
	}
	places, err := c.app.cfg.KeyPlaces(name)
	if err == nil && len(places) > 0 {
		c.app.screen.Note("still there: " + strings.Join(places, ", "))
	}
	return err
}

// keyOwner reads the settings, and is the provider that is named, chosen or picked by the user.
func (c loginCommand) keyOwner(ctx context.Context, name, command string) (string, error) {
	if err := c.app.load(false, false); err != nil {
		return "", err
	}
	names := slices.DeleteFunc(c.app.cfg.ProviderNames(), func(name string) bool { return !c.app.cfg.NeedsKey(name) })
	cloud := provider.CloudOf(name, c.app.cfg.Form(name))
	switch {
	case name != "" && !c.app.cfg.IsProvider(name) && cloud != nil:
		return "", usage(command, "no provider "+name+" is set up", cloud.Setting(name)+"; artoo help clouds shows all of it")
	case name != "" && !c.app.cfg.IsProvider(name):
		return "", fail(agent.KindUsage, command, fmt.Errorf("no such provider: %q", name),
			"artoo "+command+" with one of "+strings.Join(names, ", ")+"; artoo -- "+command+" "+name+" to send it as a prompt")
	case name != "" && c.app.cfg.Form(name).Keyless():
		return "", usage(command, name+" has no key to store: its credentials come from "+cloud.Credentials,
			cloud.Obtain+"; artoo doctor -m "+name+"/MODEL says whether the cloud accepts them")
	case command == "login" && name != "" && c.app.cfg.KeyFromCommand(name):
		return "", usage(command, name+" has no key to store: its key comes from api_key_command",
			"artoo doctor -m "+name+"/MODEL says whether it is accepted")
	case name != "" && !c.app.cfg.NeedsKey(name):
		return "", usage(command, name+" takes no key from artoo",
			"a coding CLI logs in by itself; artoo demo needs nothing")
	case name != "":
		return name, nil
	case c.app.cfg.Provider != "" && c.app.cfg.NeedsKey(c.app.cfg.Provider):
		return c.app.cfg.Provider, nil
	case c.app.streams.in && c.app.streams.err:
		return ui.Choose(ctx, c.app.process.In, c.app.screen, "Which provider's API key?", slices.DeleteFunc(names, isLocalServer))
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
func (c loginCommand) readKey(ctx context.Context, name string, piped bool) (string, error) {
	hint := "artoo login " + name + " --stdin < FILE, whose first line is the key"
	if c.app.streams.in {
		if !c.app.streams.err {
			return "", usage("login", "no one can answer: stderr is not a terminal", hint)
		}
		text, err := prompt.ReadSecret(c.app.process.In, c.app.screen, "API key of "+name+" (not shown while you type): ")
		if errors.Is(err, io.EOF) {
			err = nil // an empty line is answered the same way
		}
		return text, err
	}
	if !piped {
		return "", usage("login", "no one can answer: stdin is not a terminal", hint)
	}
	type line struct {
		text string
		err  error
	}
	came := make(chan line, 1)
	go func() {
		text, err := bufio.NewReader(io.LimitReader(c.app.process.In, maxKey)).ReadString('\n')
		if errors.Is(err, io.EOF) {
			err = nil
		}
		came <- line{text, err}
	}()
	wait := time.NewTimer(time.Duration(c.app.cfg.StdinWait))
	defer wait.Stop()
	for {
		select {
		case l := <-came:
			return l.text, l.err
		case <-wait.C:
			if !c.app.streams.watched {
				return "", fail(agent.KindUsage, "login",
					fmt.Errorf("no key came on stdin within %s", c.app.cfg.StdinWait), hint)
			}
			c.app.screen.Note("waiting for the key on stdin; Ctrl-C stops")
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}

// tryKey fails only if the provider refuses the key: the network may be away.
func (c loginCommand) tryKey(ctx context.Context, name string, key config.Secret) error {
	if err := c.app.models.transport(); err != nil {
		return err
	}
	server, err := diagnosis{c.app}.server(name, func(context.Context) (string, string, error) { return key.Reveal(), "you", nil })
	if err != nil {
		return err
	}
	if server.Base() == "" {
		c.app.warn("the key is stored, but could not be tried: no server is set up for " + name)
		return nil
	}
	answer := doctor.Ask(ctx, c.app.models.http, *server)
	switch answer.Verdict {
	case doctor.Refused:
		return fail(agent.KindAuth, "login", fmt.Errorf("%s; nothing is stored", answer.Finding.Text),
			"copy the key again; --no-check stores it untried")
	case doctor.Unknown:
		c.app.warn("the key is stored, but could not be tried: " + answer.Finding.Text)
	case doctor.Accepted:
		if answer.Finding.Level != doctor.OK {
			c.app.warn(answer.Finding.Text)
		}
	}
	return nil
}
