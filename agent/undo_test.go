package agent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/provider/fake"
	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/tool/files"
	"artoo/tool/journal"
	"artoo/tool/shell"
)

// inJournal is an agent with real tools in a project whose changes are kept.
func inJournal(t *testing.T, steps ...fake.Step) (*agent.Agent, string) {
	t.Helper()
	return inJournalAt(t, t.TempDir(), steps...)
}

// inJournalAt is inJournal with the state directory that the journal lies in.
func inJournalAt(t *testing.T, state string, steps ...fake.Step) (*agent.Agent, string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	opt := testOptions(&fake.Provider{Steps: steps}, builtin.Write(), builtin.Bash(builtin.BashOptions{Path: shell.Find(nil)}))
	files, err := files.Open(files.Config{Root: root})
	must(t, err)
	t.Cleanup(func() { files.Close() })
	opt.Env = &tool.Env{Dir: root, Files: files}
	rule, err := permission.ParseRule("bash")
	must(t, err)
	opt.Policy = &permission.Policy{Mode: permission.ModeEdits, Root: root, AllowRules: []permission.Rule{rule}}
	opt.Journal = func(session, _ string) (*journal.Journal, error) {
		return journal.Open(journal.Config{Dir: journal.Dir(state, root, session), Root: root})
	}
	a, err := agent.New(opt)
	must(t, err)
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a, root
}

// Changes of file tools and commands are undone turn by turn, and reported to the model.
func TestATurnIsTakenBack(t *testing.T) {
	t.Parallel()
	a, root := inJournal(t,
		fake.Calls(fake.ToolCall("c1", "write", `{"path":"a.txt","content":"one\n"}`),
			fake.ToolCall("c2", "bash", `{"command":"echo two > b.txt; mkdir d; mv kept.txt d/"}`)), fake.Say("ok"),
		fake.Calls(fake.ToolCall("c3", "bash", `{"command":"rm -r d a.txt"}`)), fake.Say("ok"), fake.Say("I see"))
	must(t, os.WriteFile(filepath.Join(root, "kept.txt"), []byte("the user's"), 0o640))
	cb := &recorder{answers: []agent.Answer{{Verdict: agent.Yes}}}
	for _, text := range []string{"first", "second"} {
		mustSend(t, a, cb, text)
	}
	undo := func(expected ...string) {
		t.Helper()
		plan, err := a.Journal().Plan(t.Context(), 1, false)
		must(t, err)
		report, err := a.Journal().Apply(t.Context(), plan)
		if err != nil || len(report.Left) > 0 || len(report.Cannot) > 0 {
			t.Fatalf("%v: left %v, cannot %v", err, report.Left, report.Cannot)
		}
		a.Undid(report, false)
		var names []string
		err = filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if rel, _ := filepath.Rel(root, path); rel != "." && err == nil {
				names = append(names, rel)
			}
			return err
		})
		must(t, err)
		wantLines(t, names, expected...)
	}
	undo("a.txt", "b.txt", "d", "d/kept.txt")
	undo("kept.txt")
	if data, err := os.ReadFile(filepath.Join(root, "kept.txt")); err != nil || string(data) != "the user's" {
		t.Errorf("%q, %v", data, err)
	}
	mustSend(t, a, cb, "what now?")
	if all := strings.Join(history(a), "\n"); !strings.Contains(all, "(The user undid changes of yours") ||
		!strings.Contains(all, "kept.txt") {
		t.Errorf("the model is not told:\n%s", all)
	}
}

// The user's changes while nothing runs are never taken for the agent's.
func TestAQuestionThatIsAnsweredWithNoKeepsNothing(t *testing.T) {
	t.Parallel()
	a, root := inJournal(t, fake.Calls(fake.ToolCall("c1", "bash", `{"command":"rm -r d"}`)), fake.Say("ok"),
		fake.Calls(fake.ToolCall("c2", "bash", `{"command":"echo x > new.txt"}`)), fake.Say("ok"))
	a.Policy().Confinement = permission.Confinement{}
	cb := &recorder{answers: []agent.Answer{{}}}
	mustSend(t, a, cb, "first")
	must(t, os.WriteFile(filepath.Join(root, "mine.txt"), []byte("the user's"), 0o600))
	mustSend(t, a, cb, "second")
	for _, c := range a.Journal().Diff() {
		if c.Path != "new.txt" {
			t.Errorf("%s counts as the agent's", c.Path)
		}
	}
}
