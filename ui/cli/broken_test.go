package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"artoo/agent"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/ui"
	"artoo/ui/prompt"
	"artoo/ui/screen"
)

// broken is a program that breaks at the named place. Its panic holds a key and the
// user's words.
func broken(where string) int {
	a := newApp(&session{process: thisProcess()})
	err := a.guarded(func() error {
		if err := a.load(false, false); err != nil {
			return err
		}
		if where == "runtime" {
			return errors.New(strings.Repeat("x", len(os.Args))[:len(os.Args)+40])
		}
		if where != "turn" && where != "quit" {
			panic(errors.New(thrownText))
		}
		scripted, err := agent.New(agent.Options{
			Model:    agent.Model{Provider: &fake.Provider{}, Name: fake.Name, Defaults: provider.Options{Model: "m"}},
			Sessions: agent.Sessions{Ephemeral: true},
		})
		if err != nil {
			return err
		}
		t, err := ui.New(ui.Options{
			Agent: scripted, Sender: breaking{}, Program: program{a}, Models: a.models, Screen: a.screen, Profile: screen.Rich,
			Options: prompt.Options{Device: prompt.Device{In: os.Stdin, Tty: os.Stderr},
				Ending: prompt.Ending{Crash: a.crash, Quit: a.quit}},
		})
		if err != nil {
			return err
		}
		_, err = t.Run(context.Background())
		return err
	})
	return a.exit(err)
}

// thrownText is a text that only the model may read.
const thrownText = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz is refused for: my secret plan"

// breaking is an agent with a bug.
type breaking struct{}

func (breaking) Kill() {}

// Send panics in the middle of a line.
func (breaking) Send(ctx context.Context, m agent.Message, cb agent.Callbacks) (*agent.Response, error) {
	cb.OnText("half a li")
	if m.Text == "wait" {
		<-ctx.Done()
		return &agent.Response{}, context.Cause(ctx)
	}
	panic(fmt.Sprintf("%s, %s", thrownText, m.Text))
}
