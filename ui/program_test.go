package ui

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/config"
	"artoo/conversation"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/tool/project"
	"artoo/ui/doctor"
)

// testAgent is an agent without a project, whose model has no script and which
// keeps no session.
func testAgent(t testing.TB) *agent.Agent {
	t.Helper()
	a, err := agent.New(agent.Options{Model: testModel("demo", "demo"), Sessions: agent.Sessions{Ephemeral: true}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func testModel(name, model string) agent.Model {
	return agent.Model{Provider: &fake.Provider{}, Name: name, Defaults: provider.Options{Model: model}}
}

// answered is an agent that has answered before, the last answer last.
func answered(t testing.TB, answers ...string) *agent.Agent {
	t.Helper()
	a := testAgent(t)
	for _, text := range answers {
		appendAll(t, a.Conversation(), provider.UserText("why?"), said(text))
	}
	return a
}

func said(text string) provider.Message {
	return provider.Message{Role: provider.RoleAssistant, Parts: []provider.Part{provider.Text{Text: text}}}
}

func appendAll(t testing.TB, c *conversation.Conversation, messages ...provider.Message) {
	t.Helper()
	for _, m := range messages {
		if err := c.Append(m); err != nil {
			t.Fatal(err)
		}
	}
}

// busyAgent is an agent with a session of its own, tools and rules, in a project
// where there were two sessions before now: of two hours ago, which read a file
// that has changed since and broke off, and of three days ago. earlier are their
// ids.
func busyAgent(t testing.TB, now time.Time) (a *agent.Agent, earlier []string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("package a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	store := conversation.Store{Dir: t.TempDir()}
	keep := func(ago time.Duration, messages ...provider.Message) {
		store.Now = func() time.Time { return now.Add(-ago) }
		s := store.Create(conversation.Header{CWD: dir, Provider: "demo", Model: "demo"})
		appendAll(t, conversation.New(conversation.Config{}, s), messages...)
		if err := errors.Join(s.Close(), os.Chtimes(s.Path(), time.Time{}, now.Add(-ago))); err != nil {
			t.Fatal(err)
		}
		earlier = append(earlier, s.ID())
	}
	cut := said("Done.\x1b[31m")
	cut.Partial = true
	keep(2*time.Hour, provider.UserText("fix the\ntest"),
		provider.Message{Role: provider.RoleAssistant,
			Parts: []provider.Part{fake.ToolCall("c", "read", `{"path":"a.go"}`)}},
		provider.Message{Role: provider.RoleTool,
			Parts: []provider.Part{provider.ToolResult{CallID: "c", Name: "read", Text: "x"}}}, cut)
	keep(72*time.Hour, provider.UserText("clear\x1b[2J"), said("ok"))
	store.Now = func() time.Time { return now }
	deny, err := permission.ParseRule("bash(rm:*)")
	if err != nil {
		t.Fatal(err)
	}
	policy := &permission.Policy{Mode: permission.ModeAsk, Root: dir, Dir: dir, DenyRules: []permission.Rule{deny}}
	if err := policy.AllowInSession("bash(ls)", "bash",
		tool.Access{Kind: tool.KindRun, Command: "ls", Dir: dir}); err != nil {
		t.Fatal(err)
	}
	model := testModel("demo", "demo")
	model.Info = provider.ModelInfo{Context: 200_000}
	tools := []tool.Tool{builtin.Read(),
		tool.New(tool.Def{Name: "bash", Description: "runs commands\nof all kinds", Kind: tool.KindRun},
			func(context.Context, *tool.Env, struct{}) (tool.Access, error) { return tool.Access{}, nil }, nil)}
	a, err = agent.New(agent.Options{
		Model: model, Tools: tools, Policy: policy, Env: &tool.Env{Dir: dir, Withheld: []string{"CHAT_WEBHOOK"}}, Sessions: agent.Sessions{Store: store}, MaxContextTokens: 180_000,
		Workspace: &agent.Workspace{Project: project.Project{Root: dir, Dir: dir}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() }) // the test itself checks for losses before
	return a, earlier
}

// testProgram is a Program with a few models and settings.
type testProgram struct {
	agent  *agent.Agent
	models []provider.ModelInfo // nil are small and one whose name holds an escape
	find   func(name string) (FoundModel, error)
	debug  bool
	policy string
}

func (p *testProgram) Models() []provider.ModelInfo {
	if p.models != nil {
		return p.models
	}
	return []provider.ModelInfo{{ID: "small", Context: 32_000, MaxOutput: 8000, Tools: true}, {ID: "smart\x1b[2J"}}
}

func (p *testProgram) AskModels(context.Context) ([]provider.ModelInfo, error) {
	return append(p.Models(), provider.ModelInfo{ID: "newest", Images: true}),
		errors.New("demo: half of it \x1b[31mis missing")
}

func (p *testProgram) Providers() ([]config.Choice, error) {
	return []config.Choice{{Provider: "demo", Model: "demo"}, {Provider: "openai", Model: "gpt"}},
		errors.New("a key cannot be read")
}

func (p *testProgram) FindModel(_ context.Context, name string) (FoundModel, error) {
	switch owner, whole := strings.CutSuffix(name, "/"); {
	case whole && owner != "openai":
		return FoundModel{}, errors.New("there is no provider " + owner)
	case whole:
		return FoundModel{Provider: owner, Model: "gpt", Known: true}, nil
	case p.find == nil:
		return FoundModel{Provider: p.agent.Model().Name, Model: name, Known: true}, nil
	}
	return p.find(name)
}

func (p *testProgram) SwitchModel(name string) error {
	prov, name, _ := strings.Cut(name, "/")
	p.agent.SwitchModel(testModel(prov, name))
	return nil
}

func (p *testProgram) Settings() []config.Value {
	return []config.Value{{Option: config.Option{Key: "effort"}, Value: "high", Set: true, Origin: "ARTOO_EFFORT"},
		{Option: config.Option{Key: "model"}, Value: "demo", Origin: "default"}}
}

func (p *testProgram) Doctor(_ context.Context, tell func(doctor.Finding) error) error {
	return tell(doctor.Finding{Level: "warn", Topic: "locale", Text: "not UTF-8", Fix: "LANG=C.UTF-8"})
}

func (p *testProgram) Debug(on *bool) bool {
	if on != nil {
		p.debug = *on
	}
	return p.debug
}

func (p *testProgram) Policy() string { return p.policy }

func (p *testProgram) Hooks() []string { return nil }

func (p *testProgram) Confined() []string {
	return []string{"sandbox: none, commands are not confined"}
}

// breakingProgram panics when it is asked for its settings.
type breakingProgram struct{ Program }

func (breakingProgram) Settings() []config.Value { panic("in a command") }

// waitingProgram says when it is asked for its settings, and waits.
type waitingProgram struct {
	Program
	asked, goOn chan struct{}
}

func (p waitingProgram) Settings() []config.Value {
	p.asked <- struct{}{}
	<-p.goOn
	return nil
}
