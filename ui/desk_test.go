package ui

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/conversation"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
)

// newDesk is a desk with a real agent, in a project of its own, whose model is
// scripted.
func newDesk(t *testing.T, steps ...fake.Step) (*Desk, *fake.Provider) {
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
		Tools:     []tool.Tool{tool.Read(), tool.Write(), tool.Ls()},
		Limits:    agent.Limits{MaxTurns: 7, MaxCost: 2, MaxTime: time.Minute},
		Workspace: &agent.Workspace{Project: tool.Project{Root: root, Dir: root}, NoProject: true},
		Sessions:  agent.Sessions{Store: store}, MaxContextTokens: 50_000,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() }) // what could be lost is looked at before
	return &Desk{Agent: a, Store: store, Dir: root, Branch: func() string { return "main" }}, model
}

func (d *Desk) say(t *testing.T, text string, parts ...provider.Part) {
	t.Helper()
	if _, err := d.SendMessage(context.Background(), text, agent.NopCallbacks{}, parts...); err != nil {
		t.Fatal(err)
	}
}

// lastUser is the newest message of the user that the model got, a part an
// element.
func lastUser(t *testing.T, model *fake.Provider) []string {
	t.Helper()
	req, _ := model.Last()
	for _, m := range slices.Backward(req.Messages) {
		if m.Role == provider.RoleUser {
			var texts []string
			for _, p := range m.Parts {
				texts = append(texts, p.(provider.Text).Text)
			}
			return texts
		}
	}
	t.Fatal("nothing was sent")
	return nil
}

func TestDeskTellsTheModelOfTheMode(t *testing.T) {
	d, model := newDesk(t, fake.Say("1"), fake.Say("2"), fake.Say("3"), fake.Say("4"), fake.Say("5"))
	deps := d.Deps()
	set := func(m permission.Mode) {
		t.Helper()
		if err := deps.SetMode(m); err != nil {
			t.Fatal(err)
		}
	}
	d.say(t, "one")
	set(permission.ModePlan)
	set(permission.ModeEdits)
	d.say(t, "two")
	if got := lastUser(t, model); len(got) != 2 || got[0] != "two" || !strings.HasPrefix(got[1], "(The approval mode is now edits: ") {
		t.Errorf("sent %q", got)
	}
	set(permission.ModePlan)
	set(permission.ModeEdits) // and back: nothing to tell
	d.say(t, "three")
	if got := lastUser(t, model); len(got) != 1 {
		t.Errorf("sent %q", got)
	}
	old, _, err := deps.Fork(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d.say(t, "four")
	if got := lastUser(t, model); len(got) != 1 {
		t.Errorf("the fork was told again: %q", got)
	}
	// Another session begins with the mode artoo was started with.
	if _, err := deps.Resume(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	if deps.Mode() != permission.ModeAsk {
		t.Errorf("the mode is %s", deps.Mode())
	}
	d.Agent.Policy().NoProject = true
	if err := deps.SetMode(permission.ModeEdits); err == nil || deps.Mode() != permission.ModeAsk {
		t.Errorf("mode %s, %v", deps.Mode(), err)
	}
}

func TestDeskDropsRulesWithTheSession(t *testing.T) {
	d, _ := newDesk(t, fake.Say("1"))
	deps := d.Deps()
	allow := func() {
		t.Helper()
		access := tool.Access{Kind: tool.KindRun, Command: "make", Dir: d.Dir}
		if err := d.Agent.Policy().AllowInSession("bash(make)", "bash", access); err != nil {
			t.Fatal(err)
		}
	}
	allow()
	if err := deps.DropRule("bash(ls)"); err == nil {
		t.Error("a rule that is not there was dropped")
	}
	if err := deps.DropRule("bash(make)"); err != nil || len(deps.Permissions().Rules) != 0 {
		t.Errorf("left %v, %v", deps.Permissions().Rules, err)
	}
	allow()
	d.say(t, "one")
	old, err := deps.Clear(t.Context())
	if err != nil || old == "" || len(deps.Permissions().Rules) != 0 {
		t.Errorf("after clear: %q, %v, %v", old, deps.Permissions().Rules, err)
	}
	allow()
	if _, err := deps.Resume(t.Context(), old); err != nil || len(deps.Permissions().Rules) != 0 {
		t.Errorf("after resume: %v, %v", deps.Permissions().Rules, err)
	}
}

func TestDeskForks(t *testing.T) {
	d, model := newDesk(t, fake.Say("first answer"), fake.Say("second answer"), fake.Say("third answer"))
	deps := d.Deps()
	if _, _, err := deps.Fork(t.Context()); err == nil {
		t.Error("nothing was copied")
	}
	d.say(t, "one")
	old, now, err := deps.Fork(t.Context())
	if err != nil || old == now || d.Agent.SessionID() != now {
		t.Fatalf("%q, %q, %v", old, now, err)
	}
	d.say(t, "two")
	if req, _ := model.Last(); len(req.Messages) != 3 {
		t.Errorf("the fork has %d messages", len(req.Messages))
	}
	resumed, err := deps.Resume(t.Context(), old)
	if err != nil || resumed.User != "one" || resumed.Answer != "first answer" || resumed.Cut {
		t.Errorf("%+v, %v", resumed, err)
	}
	d.say(t, "three")
	if req, _ := model.Last(); len(req.Messages) != 3 {
		t.Errorf("the session has %d messages", len(req.Messages))
	}
	rows, err := deps.Sessions()
	if err != nil || len(rows) != 2 {
		t.Errorf("%v, %v", rows, err)
	}
}

func TestDeskAnswers(t *testing.T) {
	d, _ := newDesk(t,
		fake.Say("first"), fake.Step{Text: []string{"on the way"}, Calls: []provider.ToolCall{fake.ToolCall("c1", "ls", `{"path":"."}`)}}, fake.Say("second"), fake.Say("third"))
	answer := d.Deps().Answer
	if got := answer(1); got != "" {
		t.Errorf("there is %q before anything was said", got)
	}
	for _, text := range []string{"one", "two", "three"} {
		d.say(t, text)
	}
	for n, want := range map[int]string{1: "third", 2: "second", 3: "first", 4: ""} {
		if got := answer(n); got != want {
			t.Errorf("answer %d is %q", n, got)
		}
	}
}

func TestDeskTellsWhatChanged(t *testing.T) {
	d, _ := newDesk(t,
		fake.Calls(fake.ToolCall("c1", "read", `{"path":"kept"}`), fake.ToolCall("c2", "read", `{"path":"changed"}`),
			fake.ToolCall("c3", "read", `{"path":"gone"}`), fake.ToolCall("c4", "read", `{"path":"never"}`), fake.ToolCall("c5", "ls", `{"path":"."}`)),
		fake.Call("c6", "write", `{"path":"sub/made","content":"x"}`), fake.Say("done"), fake.Say("again"))
	d.Agent.Policy().Mode = permission.ModeEdits
	for _, name := range []string{"kept", "changed", "gone", "other"} {
		if err := os.WriteFile(filepath.Join(d.Dir, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d.say(t, "read them", provider.Text{Text: "I ran a command myself"})
	old, err := d.Deps().Clear(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	come := func() *Resumed {
		t.Helper()
		r, err := d.Deps().Resume(t.Context(), old)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := come(); r.Changed != nil || r.User != "read them" {
		t.Errorf("nothing changed: %+v", r)
	}
	later := time.Now().Add(time.Hour)
	for _, name := range []string{"changed", "sub/made", "other"} {
		if err := os.Chtimes(filepath.Join(d.Dir, name), later, later); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(d.Dir, "gone")); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Deps().Clear(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"changed", "gone", "sub/made"}, come().Changed); diff != "" {
		t.Error(diff)
	}
}

func TestDeskStatusAndContext(t *testing.T) {
	d, _ := newDesk(t, fake.Call("c1", "ls", `{"path":"."}`), fake.Say("an answer"))
	d.say(t, "a question")
	var rows []string
	for _, r := range d.Deps().Status() {
		rows = append(rows, r.Name+": "+r.About)
	}
	text := strings.Join(rows, "\n")
	for _, want := range []string{
		"model: fake/m, effort the model's own", "directory: " + d.Dir + " (main)", "approval: ask: asks before", "sandbox: none",
		"session: " + d.Agent.SessionID() + ", ", "context: about ", " in 4 messages, ", "cost: 2 requests", "limits: 7 steps a turn, $2.00 a run, 1m0s a run",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	d.Rules = func(provider, mode string) string { return provider + " has rules of its own in mode " + mode }
	if row := d.Deps().Status()[2]; row.Name != "approval" || row.About != "ask: fake has rules of its own in mode ask" {
		t.Errorf("%+v", row)
	}
	c := d.Deps().Context()
	sum := 0
	names := map[string]bool{}
	for _, p := range c.Parts {
		sum += p.Tokens
		names[p.Name] = true
	}
	if sum > c.Used || sum < c.Used-len(c.Parts) {
		t.Errorf("the parts are %d of %d tokens", sum, c.Used)
	}
	for _, want := range []string{"system prompt and instructions", "tool descriptions", "your messages", "answers and reasoning", "tool calls", "tool results"} {
		if !names[want] {
			t.Errorf("no %q in %v", want, c.Parts)
		}
	}
	if names["pictures"] {
		t.Error("there are no pictures")
	}
}

// A copy to which nothing was added yet can be exported, copied and gone back
// from, though it has no file: the first words are in the session it came from.
func TestDeskAFreshForkIsASession(t *testing.T) {
	d, _ := newDesk(t, fake.Say("first answer"))
	deps := d.Deps()
	d.say(t, "one")
	old, _, err := deps.Fork(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "out.md")
	if _, err := deps.Export(t.Context(), file); err != nil {
		t.Errorf("export: %v", err)
	}
	if data, err := os.ReadFile(file); err != nil || !strings.Contains(string(data), "first answer") {
		t.Errorf("exported %q, %v", data, err)
	}
	if again, _, err := deps.Fork(t.Context()); err != nil || again != old {
		t.Errorf("copied from %q, %v; want %q", again, err, old)
	}
	back, err := deps.Clear(t.Context())
	if err != nil || back != old {
		t.Errorf("back to %q, %v; want %q", back, err, old)
	}
	if resumed, err := deps.Resume(t.Context(), back); err != nil || resumed.Answer != "first answer" {
		t.Errorf("%+v, %v", resumed, err)
	}
}

// The session someone is in is not resumed into a copy of itself, and is not
// said to be another artoo's.
func TestDeskResumesNotItself(t *testing.T) {
	d, model := newDesk(t, fake.Say("first answer"), fake.Say("second answer"))
	deps := d.Deps()
	d.say(t, "one")
	id := d.Agent.SessionID()
	if _, err := deps.Resume(t.Context(), id); err == nil || !strings.Contains(err.Error(), "it is the session you are in") {
		t.Errorf("resumed: %v", err)
	}
	d.say(t, "two")
	if req, _ := model.Last(); len(req.Messages) != 3 || d.Agent.SessionID() != id {
		t.Errorf("%d messages, session %s, was %s", len(req.Messages), d.Agent.SessionID(), id)
	}
}
