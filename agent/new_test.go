package agent_test

import (
	"context"
	"strings"
	"testing"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
)

func TestNewSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	look := makeTool("look", tool.KindRead, nil)
	for _, c := range []struct {
		name   string
		change func(*agent.Options)
		want   []string
	}{
		{"the model's provider", func(o *agent.Options) { o.Model.Provider = nil }, []string{"Model.Provider"}},
		{"the provider's name", func(o *agent.Options) { o.Model.Name = "" }, []string{"Model.Name"}},
		{"the model", func(o *agent.Options) { o.Model.Defaults.Model = "" }, []string{"Model.Defaults.Model"}},
		{"a place for sessions", func(o *agent.Options) { o.Sessions.Ephemeral = false },
			[]string{"Sessions.Store, or Sessions.Ephemeral"}},
		{"all", func(o *agent.Options) { *o = agent.Options{} },
			[]string{"Model.Provider", "Model.Name", "Sessions.Store"}},
		{"the project", func(o *agent.Options) { o.Workspace = &agent.Workspace{} },
			[]string{"Workspace.Project.Root", "Workspace.Project.Dir"}},
		{"a tool's code", func(o *agent.Options) { o.Tools = []tool.Tool{{Def: tool.Def{Name: "x"}}} },
			[]string{`tool 1 ("x") was not made by tool.New`}},
		{"a tool's own name", func(o *agent.Options) { o.Tools = []tool.Tool{look, look} },
			[]string{`two tools are called "look"`}},
		{"a project, for auto",
			func(o *agent.Options) {
				o.Policy = &permission.Policy{Mode: permission.ModeAuto, NoProject: "this is the home directory"}
			},
			[]string{"this is the home directory"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			opt := testOptions(newScript())
			c.change(&opt)
			a, err := agent.New(opt)
			if err == nil || a != nil {
				t.Fatalf("made %v", a)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("no %q in %q", want, err)
				}
			}
		})
	}
}

func TestAnAgentNeedsNoMoreThanAModelAndWhereSessionsAreKept(t *testing.T) {
	t.Parallel()
	p := &fake.Provider{Steps: []fake.Step{fake.Call("c1", "touch", `{"arg":"x"}`), fake.Say("done")}}
	a, err := agent.New(agent.Options{
		Model:    agent.Model{Provider: p, Name: fake.Name, Defaults: provider.Options{Model: "m"}},
		Tools:    []tool.Tool{makeTool("touch", tool.KindWrite, nil)},
		Sessions: agent.Sessions{Ephemeral: true},
	})
	must(t, err)
	cb := &recorder{}
	if r, err := send(t, a, cb, "go"); err != nil || r.Text != "done" {
		t.Errorf("%+v, %v", r, err)
	}
	if len(cb.asked) != 1 {
		t.Errorf("without a policy %d of 1 writes are asked about", len(cb.asked))
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

// A server that does not report the window is asked before each turn; a model that
// refused images in the turn before still does not see, until the server knows
// better.
func TestAGuessDoesNotUndoWhatATurnLearned(t *testing.T) {
	t.Parallel()
	guess := provider.ModelInfo{Context: 40_000, Images: true, Guess: true}
	told := []provider.ModelInfo{guess, guess, {Context: 20_000, Images: true}}
	opt := testOptions(newScript("one", "two", "three"))
	opt.MaxContextTokens = 50_000
	opt.Model.Describe = func(context.Context) (provider.ModelInfo, error) {
		info := told[0]
		told = told[1:]
		return info, nil
	}
	a, err := agent.New(opt)
	must(t, err)
	turn := func() (bool, int) {
		t.Helper()
		mustSend(t, a, &recorder{}, "go")
		return a.Model().Info.Images, a.Conversation().Budget()
	}
	if sees, budget := turn(); !sees || budget != 39_000 {
		t.Fatalf("a guess is not taken over: %v, budget %d", sees, budget)
	}
	a.Asked().Info.Images = false
	a.Conversation().SetBudget(30_000)
	if sees, budget := turn(); sees || budget != 30_000 {
		t.Errorf("what was learned is lost: %v, budget %d", sees, budget)
	}
	if sees, budget := turn(); !sees || budget != 19_000 || a.Model().Describe != nil {
		t.Errorf("what the server knows is not taken over: %v, budget %d", sees, budget)
	}
}
