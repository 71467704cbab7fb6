package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/conversation"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
	"artoo/tool/extension"
	"artoo/tool/skill"
)

// orderInput is the model's input to order something.
type orderInput struct {
	Item string `json:"item" jsonschema:"what to order"`
}

// order is a tool of the embedding program's own.
func order() tool.Tool {
	return tool.New(tool.Def{Name: "order", Description: "Orders an item.", Kind: tool.KindWrite},
		func(_ context.Context, _ *tool.Env, in orderInput) (tool.Access, error) {
			return tool.Access{Kind: tool.KindWrite, Verb: "order", Object: in.Item}, nil
		},
		func(_ context.Context, _ *tool.Env, in orderInput, _ io.Writer) (tool.Result, error) {
			return tool.Result{Text: "ordered: " + in.Item}, nil
		})
}

// clerk approves calls by code, and shows messages.
type clerk struct{ agent.NopCallbacks }

func (clerk) Ask(_ context.Context, q agent.Question) (agent.Answer, error) {
	if q.Call.Access.Object == "tea" {
		return agent.Answer{Verdict: agent.Yes}, nil
	}
	return agent.Answer{Verdict: agent.No, Reason: "tea only"}, nil
}

func (clerk) OnToolResult(c agent.Call, r agent.CallResult) { fmt.Println(c.Access.Object, r.Status) }

// A program with an agent of its own: a provider (here one that plays a script), a
// tool, approvals by code, and a session that goes on in another agent.
func Example() {
	dir, err := os.MkdirTemp("", "sessions-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	store := conversation.Store{Dir: dir}
	model := &fake.Provider{Steps: []fake.Step{
		fake.Calls(fake.ToolCall("1", "order", `{"item":"tea"}`), fake.ToolCall("2", "order", `{"item":"gold"}`)),
		fake.Say("Tea is on its way."), fake.Say("As I said."),
	}}
	opt := agent.Options{
		Model: agent.Model{Provider: model, Name: fake.Name, Defaults: provider.Options{Model: "m"}},
		Tools: []tool.Tool{order()}, System: "You run a shop.", Sessions: agent.Sessions{Store: store},
	}
	say := func(text string) (id string) {
		a, err := agent.New(opt)
		if err != nil {
			panic(err)
		}
		defer a.Close()
		answer, err := a.SendMessage(context.Background(), text, clerk{})
		fmt.Println(answer.Text, err)
		return a.SessionID()
	}
	id := say("Order tea and gold.")
	if opt.Sessions.First, err = store.Open(id); err != nil {
		panic(err)
	}
	fmt.Println(say("And?") == id)
	// Output:
	// tea ok
	// gold denied
	// Tea is on its way. <nil>
	// As I said. <nil>
	// true
}

// An agent of a project: artoo's own tools, held by a sandbox where there is one. Its files
// can be undone until it is closed.
func ExampleForProject() {
	dir, err := os.MkdirTemp("", "project-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	model := &fake.Provider{Steps: []fake.Step{fake.Call("1", "write", `{"path":"a.txt","content":"hi"}`), fake.Say("Done.")}}
	a, err := agent.ForProject(dir, agent.ProjectOptions{Options: agent.Options{
		Model:    agent.Model{Provider: model, Name: fake.Name, Defaults: provider.Options{Model: "m"}},
		Policy:   &permission.Policy{Mode: permission.ModeEdits, Root: dir},
		Sessions: agent.Sessions{Ephemeral: true},
	}})
	if err != nil {
		panic(err)
	}
	defer a.Close()
	answer, err := a.SendMessage(context.Background(), "Write a.txt.", agent.NopCallbacks{})
	text, _ := os.ReadFile(filepath.Join(dir, "a.txt"))
	fmt.Println(answer.Text, string(text), err)
	// Output:
	// Done. hi <nil>
}

// New names missing options before it makes a request.
func ExampleNew() {
	_, err := agent.New(agent.Options{Model: agent.Model{Name: "mine"}})
	fmt.Println(err)
	// Output:
	// agent: missing in the options: Model.Provider; Model.Defaults.Model; Sessions.Store, or Sessions.Ephemeral
}

// A message may ask for another model, a longer reply or a limit of time.
func ExampleAgent_Send() {
	model := &fake.Provider{Steps: []fake.Step{fake.Say("Short.")}}
	a, err := agent.New(agent.Options{
		Model:    agent.Model{Provider: model, Name: fake.Name, Defaults: provider.Options{Model: "large"}},
		Sessions: agent.Sessions{Ephemeral: true},
	})
	if err != nil {
		panic(err)
	}
	defer a.Close()
	answer, err := a.Send(context.Background(),
		agent.Message{Text: "In a word?", Options: provider.Options{Model: "small", MaxTokens: 20}}, agent.NopCallbacks{})
	fmt.Println(answer.Model, answer.Text, err)
	// Output:
	// small Short. <nil>
}

// A hook of the user's sees each call before it is decided. This one denies all files called secret.
func ExampleForProject_hooks() {
	dir, err := os.MkdirTemp("", "project-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	model := &fake.Provider{Steps: []fake.Step{fake.Call("1", "read", `{"path":"secret"}`), fake.Say("It was denied.")}}
	a, err := agent.ForProject(dir, agent.ProjectOptions{Options: agent.Options{
		Model:    agent.Model{Provider: model, Name: fake.Name, Defaults: provider.Options{Model: "m"}},
		Sessions: agent.Sessions{Ephemeral: true},
		Hooks: agent.Hooks{Environ: os.Environ(), List: []extension.Hook{{Origin: extension.Origin{Source: extension.SourceUser, Place: "shop"},
			On: extension.BeforeTool, Line: `grep -q secret && echo '{"decision":"deny","reason":"not for models"}'`}}},
	}})
	if err != nil {
		panic(err)
	}
	defer a.Close()
	answer, err := a.SendMessage(context.Background(), "What is in secret?", clerk{})
	fmt.Println(answer.Text, err)
	// Output:
	// secret denied
	// It was denied. <nil>
}

// Skills come from directories; the model loads one with the tool skill.
func ExampleForProject_skills() {
	dir, err := os.MkdirTemp("", "project-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	skills := filepath.Join(dir, "skills")
	err = errors.Join(os.MkdirAll(filepath.Join(skills, "tea"), 0o755),
		os.WriteFile(filepath.Join(skills, "tea", "SKILL.md"), []byte("---\ndescription: how tea is made\n---\nBoil water.\n"), 0o644))
	model := &fake.Provider{Steps: []fake.Step{fake.Call("1", "skill", `{"name":"tea"}`), fake.Say("I boil water.")}}
	a, err2 := agent.ForProject(dir, agent.ProjectOptions{Options: agent.Options{
		Model:    agent.Model{Provider: model, Name: fake.Name, Defaults: provider.Options{Model: "m"}},
		Sessions: agent.Sessions{Ephemeral: true},
		Skills: skill.New([]skill.Place{
			{Kind: extension.KindSkill, Dir: skills, Origin: extension.Origin{Place: "skills"}},
		}, nil),
	}})
	if err := errors.Join(err, err2); err != nil {
		panic(err)
	}
	defer a.Close()
	answer, err := a.SendMessage(context.Background(), "Make tea.", clerk{})
	fmt.Println(answer.Text, err)
	// Output:
	// tea ok
	// I boil water. <nil>
}

// With a schema the answer of each turn is JSON that fits it, or the turn fails.
func ExampleNewSchema() {
	schema, err := agent.NewSchema([]byte(`{"type":"array","items":{"type":"string"}}`))
	if err != nil {
		panic(err)
	}
	model := &fake.Provider{Steps: []fake.Step{fake.Say("Tea and cake."), fake.Say(`["tea", "cake"]`)}}
	a, err := agent.New(agent.Options{
		Model:    agent.Model{Provider: model, Name: fake.Name, Defaults: provider.Options{Model: "m"}},
		Sessions: agent.Sessions{Ephemeral: true}, Schema: schema,
	})
	if err != nil {
		panic(err)
	}
	defer a.Close()
	answer, err := a.SendMessage(context.Background(), "What was ordered?", agent.NopCallbacks{})
	fmt.Println(string(answer.JSON), err)
	// Output:
	// ["tea", "cake"] <nil>
}
