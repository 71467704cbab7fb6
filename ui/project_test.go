package ui

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"artoo/agent"
	"artoo/conversation"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/tool/project"
	"artoo/ui/screen"
)

// newProject is a real agent, in a project of its own, whose model is scripted.
func newProject(t *testing.T, steps ...fake.Step) *agent.Agent {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	model := &fake.Provider{Steps: steps}
	store := conversation.Store{Dir: filepath.Join(t.TempDir(), "sessions")}
	a, err := agent.New(agent.Options{
		Model: agent.Model{
			Provider: model, Name: "fake", Defaults: provider.Options{Model: "m", MaxTokens: 100},
			Info: provider.ModelInfo{Context: 100_000, Price: new(provider.Price)},
		},
		Tools:     []tool.Tool{builtin.Read(), builtin.Write(), builtin.Ls()},
		Limits:    agent.Limits{MaxTurns: 7, MaxCost: 2, MaxTime: time.Minute},
		Workspace: &agent.Workspace{Project: project.Project{Root: root, Dir: root}, NoProject: true},
		Sessions:  agent.Sessions{Store: store}, MaxContextTokens: 50_000,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() }) // the test itself checks for losses before
	return a
}

func saying(t *testing.T, a *agent.Agent, text string) {
	t.Helper()
	if _, err := a.SendMessage(t.Context(), text, agent.NopCallbacks{}); err != nil {
		t.Fatal(err)
	}
}

func TestStatusAndContext(t *testing.T) {
	t.Parallel()
	a := newProject(t, fake.Call("c1", "ls", `{"path":"."}`), fake.Say("an answer"))
	saying(t, a, "a question")
	var shown strings.Builder
	term := &Terminal{screen: newTestScreen(io.Discard, &shown, screen.Plain, nil), opt: Options{Agent: a, Program: &testProgram{agent: a}, Models: &testProgram{agent: a}}}
	status := func() string {
		shown.Reset()
		if err := runStatus(t.Context(), term, ""); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(shown.String()), " ")
	}
	text := status()
	for _, want := range []string{
		"model fake/m, effort: model default", "directory " + a.Env().Dir, "approval ask: asks before edits; asks before other commands", "sandbox none",
		"session " + a.SessionID() + ", ", "context about ", " in 4 messages, ", "cost 2 requests",
		"limits 7 steps a turn, $2.00 a run, 1m0s a run",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	m := a.Model()
	m.Rules = func(mode string) string { return "it has rules of its own in mode " + mode }
	a.SwitchModel(m)
	if text := status(); !strings.Contains(text, "approval ask: it has rules of its own in mode ask") {
		t.Errorf("%q", text)
	}
	c := a.Context()
	sum := 0
	names := map[string]bool{}
	for _, p := range c.Parts {
		sum += p.Tokens
		names[p.Name] = true
	}
	if sum > c.Used || sum < c.Used-len(c.Parts) {
		t.Errorf("the parts are %d of %d tokens", sum, c.Used)
	}
	for _, want := range []string{"system prompt", "tools", "your messages",
		"answers and reasoning", "tool calls", "tool results"} {
		if !names[want] {
			t.Errorf("no %q in %v", want, c.Parts)
		}
	}
	if names["images"] {
		t.Error("there are no images")
	}
}

// A copy to which nothing was added yet can be exported, though it has no
// file: the first words are in the session it came from.
func TestAFreshForkIsExported(t *testing.T) {
	t.Parallel()
	a := newProject(t, fake.Say("first answer"))
	saying(t, a, "one")
	if _, _, err := a.Fork(0); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "out.md")
	term := &Terminal{screen: newTestScreen(io.Discard, io.Discard, screen.Plain, nil), opt: Options{Agent: a}}
	if err := runExportFile(t.Context(), term, file); err != nil {
		t.Errorf("export: %v", err)
	}
	if data, err := os.ReadFile(file); err != nil || !strings.Contains(string(data), "first answer") {
		t.Errorf("exported %q, %v", data, err)
	}
}
