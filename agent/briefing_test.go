package agent_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"artoo/agent"
	"artoo/conversation"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool/builtin"
	"artoo/tool/needs"
	"artoo/tool/project"
)

// newAgentIn is an agent in a project, changed before it is made.
func newAgentIn(t *testing.T, root string, p provider.Provider, change func(*agent.Options)) *agent.Agent {
	t.Helper()
	opt := testOptions(p, builtin.Read())
	opt.Env.Dir, opt.Workspace = root, &agent.Workspace{Project: project.Project{Root: root, Dir: root}, Began: time.Now()}
	opt.MaxContextTokens, opt.ToolResultMaxChars = 50_000, 10_000
	opt.Sessions = agent.Sessions{Store: conversation.Store{Dir: filepath.Join(t.TempDir(), "sessions")}}
	if change != nil {
		change(&opt)
	}
	a, err := agent.New(opt)
	must(t, err)
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// realDir is a temporary directory by the name that the tools resolve it to.
func realDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir
}

func TestInstructionsComeWithTheFirstFileTheyHoldFor(t *testing.T) {
	t.Parallel()
	root := realDir(t)
	write(t, "at the root", root, "AGENTS.md")
	write(t, "no floats", root, "cart", "AGENTS.md")
	write(t, "deep rules", root, "cart", "deep", "CLAUDE.md")
	write(t, "a", root, "cart", "a.go")
	write(t, "b", root, "cart", "deep", "b.go")
	write(t, "c", root, "c.go")
	for _, noProject := range []bool{false, true} {
		p := &fake.Provider{Steps: []fake.Step{
			fake.Call("1", "read", `{"path":"c.go"}`), fake.Call("2", "read", `{"path":"cart/a.go"}`),
			fake.Call("3", "read", `{"path":"cart/missing.go"}`), fake.Call("4", "read", `{"path":"cart/deep/b.go"}`),
			fake.Call("5", "read", `{"path":"cart/deep/b.go"}`), fake.Say("ok"),
		}}
		a := newAgentIn(t, root, p, func(o *agent.Options) { o.Workspace.NoProject = noProject })
		mustSend(t, a, &recorder{}, "go")
		got := map[string]string{}
		for _, m := range a.Conversation().Messages() {
			for _, part := range m.Parts {
				if r, ok := part.(provider.ToolResult); ok {
					got[r.CallID] = r.Text
				}
			}
		}
		for id, want := range map[string]string{"2": "no floats", "4": "deep rules"} {
			if strings.Contains(got[id], "(Instructions from ") == noProject ||
				strings.Contains(got[id], want) == noProject {
				t.Errorf("no project %v: call %s: %q", noProject, id, got[id])
			}
		}
		for _, id := range []string{"1", "3", "5"} {
			if strings.Contains(got[id], "Instructions") {
				t.Errorf("call %s: %q", id, got[id])
			}
		}
		if strings.Contains(got["4"], "no floats") {
			t.Errorf("given twice: %q", got["4"])
		}
	}
}

func TestAResumedSessionHearsOfOtherSettings(t *testing.T) {
	t.Parallel()
	root := realDir(t)
	a := newAgentIn(t, root, newScript("one", "two", "three"), nil)
	mustSend(t, a, &recorder{}, "go")
	if lines := history(a); lines[0] != "user go" {
		t.Errorf("a new session begins with %q", lines[0])
	}
	again := func(change func()) string {
		t.Helper()
		id := a.SessionID()
		must(t, a.Conversation().Session().Close())
		change()
		s, err := a.Opt().Sessions.Store.Open(id)
		must(t, err)
		must(t, a.Open(s))
		mustSend(t, a, &recorder{}, "on")
		lines := history(a)
		return lines[len(lines)-2]
	}
	if got := again(func() {}); got != "user on" {
		t.Errorf("with the same settings: %q", got)
	}
	got := again(func() { a.Opt().Policy.AllowRules = rules(t, "read(docs/**)") })
	if !strings.HasPrefix(got, "user on (The settings are not those that this session began with. Now they are:\n") ||
		!strings.Contains(got, "Allowed by rule: read(docs/**))") {
		t.Errorf("with a rule more: %q", got)
	}
}

func TestTheModelHearsOnceHowTheRepositoryStands(t *testing.T) {
	t.Parallel()
	needs.Git(t)
	root := realDir(t)
	cmd := exec.Command("git", "init", "-q", "-b", "trunk", root)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	write(t, "x", root, "a.txt")
	a := newAgentIn(t, root, newScript("one", "two", "three"), func(o *agent.Options) {
		o.Workspace.Project.Git, o.Env.Environ = true, os.Environ()
	})
	if !strings.Contains(a.System(), "Git repository: yes, on branch trunk\n") {
		t.Errorf("%s", a.System())
	}
	for range 2 {
		mustSend(t, a, &recorder{}, "go")
	}
	note := "(Git, as the session begins: No commits yet on trunk, 1 file changed:\n?? a.txt)"
	wantLines(t, history(a), "user go "+note, "assistant one", "user go", "assistant two")
	old, err := a.Clear()
	must(t, err)
	if _, err := a.Resume(old); err != nil {
		t.Fatal(err)
	}
	mustSend(t, a, &recorder{}, "on")
	wantLines(t, history(a), "user go "+note, "assistant one", "user go", "assistant two", "user on", "assistant three")
	if turns := agent.UserTurns(a.Conversation().Messages()[:1]); turns[0] != "go" {
		t.Errorf("the note counts as the user's words: %q", turns)
	}
}
