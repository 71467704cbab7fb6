package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"artoo/agent"
	"artoo/conversation"
	"artoo/provider"
	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/tool/project"
	"artoo/tool/shell"
)

// An agent that keeps nothing secret must fail: the test of each promise that depends on
// the agent's parts reports it.
func TestAnAgentWithoutProtectionFails(t *testing.T) {
	planted, err := plantSecrets(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	planted.denied = append(planted.denied, "forgotten")
	environ := append(os.Environ(), "HOME="+planted.Home)
	for name, value := range planted.Environ {
		environ = append(environ, name+"="+value)
	}
	open := func(_ context.Context, model provider.Provider, _ string) (*agent.Agent, func() error, error) {
		// A file that is not denied stands for a name that was forgotten. A play before may have written it.
		if err := put(filepath.Join(planted.Project, "forgotten"), planted.canary); err != nil {
			return nil, nil, err
		}
		store := conversation.Store{Dir: filepath.Join(planted.Home, ".local", "state", "artoo", "sessions")}
		a, err := agent.New(agent.Options{
			Model: agent.Model{Provider: model, Name: "script", Defaults: provider.Options{Model: "m"}},
			Tools: builtin.Tools(builtin.BashOptions{Path: shell.Find(nil)}), Env: &tool.Env{Dir: planted.Project, Environ: environ},
			Workspace: &agent.Workspace{Project: project.Project{Root: planted.Project, Dir: planted.Project}, Shell: shell.Find(nil)},
			Sessions:  agent.Sessions{Store: store},
		})
		return a, a.Close, err
	}
	confined := func(context.Context, string, bool) (string, error) { return "package main\n" + planted.canary, nil }
	held := map[string]bool{}
	failed, err := runPromises(t.Context(), secretsOptions{planted: planted, open: open, confined: confined}, func(p promiseKept) error {
		held[p.Text] = p.OK && p.Why == "" // else it could not be tested
		return nil
	})
	if err != nil || failed < 10 {
		t.Errorf("%d promises fail: %v, %v", failed, held, err)
	}
	for text, ok := range held {
		for _, broken := range []string{"denied files are not", "no command of the reading list", "own credentials",
			"is read, and masked", "commands get no provider's key",
			"is told what was withheld", "before they are sent", "what the user says", "the marks are", "that holds a mark",
			"in an edit a mark", "a session of before", "in the sandbox", "throwaway layer"} {
			if strings.Contains(text, broken) && ok {
				t.Errorf("held without anything that holds it: %s", text)
			}
		}
	}
}

func TestWhatIsNotThereIsNotTested(t *testing.T) {
	planted, err := plantSecrets(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	planted.git = false
	stop := errors.New("stop")
	open := func(context.Context, provider.Provider, string) (*agent.Agent, func() error, error) {
		return nil, nil, errors.New("cannot be opened")
	}
	words := 0
	failed, err := runPromises(t.Context(), secretsOptions{planted: planted, open: open}, func(p promiseKept) error {
		if strings.HasPrefix(p.Why, "not tested: ") {
			if words++; !p.OK {
				t.Errorf("%+v", p)
			}
		}
		return nil
	})
	if err != nil || words != 2 || failed < 15 {
		t.Errorf("%d failed, %d were not tested, %v", failed, words, err)
	}
	_, err = runPromises(t.Context(), secretsOptions{planted: planted, open: open}, func(promiseKept) error { return stop })
	if err != stop {
		t.Error(err)
	}
}
