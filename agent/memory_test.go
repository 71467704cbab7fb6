package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"artoo/agent"
	"artoo/provider/fake"
	"artoo/tool"
	"artoo/tool/project"
)

func TestALineToRememberFitsTheFile(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "notes.md")
	write := func(path, text string) {
		t.Helper()
		must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	write(outside, "mine\n")
	for name, row := range map[string]struct {
		file, before, after string
		link                string // the target of file, if that is a link
	}{
		"none":       {after: "- use tabs\n"},
		"text":       {file: "AGENTS.md", before: "Be brief.\n\n\n", after: "Be brief.\n\n- use tabs\n"},
		"list":       {file: "CLAUDE.md", before: "* one\n  * two", after: "* one\n  * two\n- use tabs\n"},
		"CRLF":       {file: "AGENT.md", before: "- one\r\n", after: "- one\r\n- use tabs\r\n"},
		"CR":         {file: "AGENTS.md", before: "# Rules\rBe brief.\r", after: "# Rules\rBe brief.\r\r- use tabs\r"},
		"mixed":      {file: "AGENTS.md", before: "- one\r\n- two\n", after: "- one\r\n- two\n- use tabs\n"},
		"leads out":  {file: "AGENTS.md", link: outside},
		"no text":    {file: "AGENTS.md", before: "\xff\xfe"},
		"is as full": {file: "AGENTS.md", before: string(make([]byte, 32<<10-2)) + "x"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			must(t, err)
			path := filepath.Join(dir, "AGENTS.md")
			if row.file != "" {
				path = filepath.Join(dir, row.file)
				if row.link == "" {
					write(path, row.before)
				} else if err := os.Symlink(row.link, path); err != nil {
					t.Fatal(err)
				}
			}
			opt := testOptions(&fake.Provider{})
			opt.Workspace = &agent.Workspace{Project: project.Project{Root: dir, Dir: dir}}
			a := made(t, opt)
			m, err := a.Memories().PlanInstruction(" use   tabs")
			if row.after == "" {
				if err == nil {
					t.Fatalf("would write %s: %s", m.Path, m.Diff)
				}
				return
			}
			must(t, err)
			must(t, a.Memories().Add(m))
			if got, err := os.ReadFile(path); err != nil || string(got) != row.after {
				t.Errorf("%q, %v", got, err)
			}
			if err := a.Memories().Add(m); err == nil {
				t.Error("what was changed meanwhile was written over")
			}
		})
	}
}

// whileAsked changes something while a question stands, and says yes.
type whileAsked struct {
	agent.NopCallbacks
	change func()
}

func (w whileAsked) Ask(context.Context, agent.Question) (agent.Answer, error) {
	w.change()
	return agent.Answer{Verdict: agent.Yes}, nil
}

// Another session may have added a line while the question stood: both are kept.
func TestALineIsAddedToMemoryAsItIsWhenTheUserAnswers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	memory := filepath.Join(dir, "memory.md")
	opt := testOptions(&fake.Provider{Steps: []fake.Step{fake.Call("c1", agent.RememberTool, `{"line":"mine"}`), fake.Say("ok")}})
	opt.Tools = ownTools(agent.RememberTool)
	opt.Workspace = &agent.Workspace{Project: project.Project{Root: dir, Dir: dir}, Memory: memory}
	a := made(t, opt)
	mustSend(t, a, whileAsked{change: func() { must(t, os.WriteFile(memory, []byte("- theirs\n"), 0o600)) }}, "go")
	if got, err := os.ReadFile(memory); err != nil || string(got) != "- theirs\n- mine\n" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestASubAgentCannotAskToAddToMemory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := &fake.Provider{Steps: []fake.Step{fake.Call("c1", "task", `{"prompt":"look"}`), fake.Say("seen"), fake.Say("ok")}}
	opt := testOptions(p)
	opt.Tools = ownTools("task", agent.RememberTool)
	opt.Tools = append(opt.Tools, makeTool("look", tool.KindRead, nil))
	opt.Workspace = &agent.Workspace{Project: project.Project{Root: dir, Dir: dir}, Memory: filepath.Join(dir, "memory.md")}
	mustSend(t, made(t, opt), &recorder{}, "go")
	wantLines(t, offered(p.Requests()[0]), "task", agent.RememberTool, "look")
	wantLines(t, offered(p.Requests()[1]), "look")
}
