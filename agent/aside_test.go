package agent_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/tool/files"
)

// besideSession is an agent with a file in its project, which the model has not read.
func besideSession(t *testing.T, steps ...fake.Step) (*agent.Agent, *fake.Provider, string) {
	t.Helper()
	model, root := &fake.Provider{Steps: steps}, realDir(t)
	must(t, os.WriteFile(filepath.Join(root, "a.txt"), []byte("one\n"), 0o600))
	a := newAgentIn(t, root, model, func(o *agent.Options) {
		opened, err := files.Open(files.Config{Root: root})
		must(t, err)
		o.Env = &tool.Env{Dir: root, Files: opened}
		o.Tools, o.Policy.Root, o.Policy.Mode = []tool.Tool{builtin.Read(), builtin.Write(), builtin.Ls()}, root, permission.ModeAsk
		o.Workspace.NoProject = true
	})
	return a, model, root
}

// A question beside the session may read, and leaves no trace in the next request: a changed mode is still news to the
// next message, and the model has not seen the file that was read.
func TestAQuestionBesideTheSession(t *testing.T) {
	t.Parallel()
	aside := []fake.Step{
		fake.Calls(fake.ToolCall("r", "read", `{"path":"a.txt"}`), fake.ToolCall("w", "write", `{"path":"b.txt","content":"x"}`)),
		fake.Say("beside"),
	}
	session := func(with bool) ([]provider.Request, *agent.Agent, string) {
		steps := []fake.Step{fake.Say("1")}
		if with {
			steps = append(steps, aside...)
		}
		steps = append(steps, fake.Calls(fake.ToolCall("w2", "write", `{"path":"a.txt","content":"two"}`)), fake.Say("2"))
		a, model, root := besideSession(t, steps...)
		saying(t, a, "first")
		must(t, a.SetMode(permission.ModeEdits))
		if with {
			r, err := a.Aside(t.Context(), "what is in a.txt?", agent.NopCallbacks{})
			must(t, err)
			if r.Text != "beside" || len(r.Denied) != 1 || r.Denied[0].Tool != "write" {
				t.Errorf("the answer is %q, denied %+v", r.Text, r.Denied)
			}
		}
		saying(t, a, "second")
		if model.Left() != 0 {
			t.Errorf("%d steps are left", model.Left())
		}
		return model.Requests(), a, root
	}
	plain, _, _ := session(false)
	beside, a, root := session(true)
	asked := beside[1]
	if got, before := len(asked.Messages), len(beside[0].Messages); got != before+2 || !equalJSON(t, asked.Tools, beside[0].Tools) {
		t.Errorf("the question went with %d messages, the first with %d", got, before)
	}
	beside = slices.Delete(slices.Clone(beside), 1, 3)
	for i := range plain {
		p, b := withoutDir(t, plain[i]), withoutDir(t, beside[i])
		if p != b {
			t.Errorf("request %d differs after a question beside the session:\n%s\n%s", i, p, b)
		}
	}
	if _, err := os.Stat(filepath.Join(root, "b.txt")); err == nil {
		t.Error("a question beside the session wrote a file")
	}
	spent := a.Cost()
	id := a.SessionID()
	_, err := a.Clear()
	must(t, err)
	_, err = a.Resume(id)
	must(t, err)
	if again := a.Cost(); again.Usage != spent.Usage {
		t.Errorf("used %+v, after a resume %+v", spent.Usage, again.Usage)
	}
	for _, m := range a.Conversation().Messages() {
		if text := m.Text(); text == "beside" || text == "what is in a.txt?" {
			t.Errorf("%q is back after a resume", text)
		}
	}
}

func equalJSON(t *testing.T, a, b any) bool {
	t.Helper()
	x, err := json.Marshal(a)
	must(t, err)
	y, err := json.Marshal(b)
	must(t, err)
	return string(x) == string(y)
}

// withoutDir are the messages and tools of a request, in which nothing names the directory.
func withoutDir(t *testing.T, r provider.Request) string {
	t.Helper()
	data, err := json.Marshal([]any{r.Messages, r.Tools})
	must(t, err)
	return string(data)
}
