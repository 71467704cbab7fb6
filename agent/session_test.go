package agent_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/conversation"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
	"artoo/tool/builtin"
)

// newSessions is an agent in a project of its own, which keeps its sessions.
func newSessions(t *testing.T, steps ...fake.Step) (*agent.Agent, *fake.Provider) {
	t.Helper()
	model := &fake.Provider{Steps: steps}
	root := realDir(t)
	a := newAgentIn(t, root, model, func(o *agent.Options) {
		o.Tools, o.Policy.Root, o.Workspace.NoProject = []tool.Tool{builtin.Read(), builtin.Write(), builtin.Ls()}, root, true
	})
	return a, model
}

func saying(t *testing.T, a *agent.Agent, text string, parts ...provider.Part) {
	t.Helper()
	if _, err := a.SendMessage(t.Context(), text, agent.NopCallbacks{}, parts...); err != nil {
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

func TestTheAgentTellsTheModelOfTheMode(t *testing.T) {
	t.Parallel()
	a, model := newSessions(t, fake.Say("1"), fake.Say("2"), fake.Say("3"), fake.Say("4"), fake.Say("5"))
	set := func(m permission.Mode) {
		t.Helper()
		must(t, a.SetMode(m))
	}
	saying(t, a, "one")
	set(permission.ModePlan)
	set(permission.ModeEdits)
	saying(t, a, "two")
	if got := lastUser(t, model); len(got) != 2 || got[0] != "two" ||
		!strings.HasPrefix(got[1], "(The approval mode is now edits: ") {
		t.Errorf("sent %q", got)
	}
	set(permission.ModePlan)
	set(permission.ModeEdits) // and back: nothing to tell
	saying(t, a, "three")
	if got := lastUser(t, model); len(got) != 1 {
		t.Errorf("sent %q", got)
	}
	old, _, err := a.Fork(0)
	must(t, err)
	saying(t, a, "four")
	if got := lastUser(t, model); len(got) != 1 {
		t.Errorf("the fork was told again: %q", got)
	}
	// Another session begins with the mode artoo was started with.
	if _, err := a.Resume(old); err != nil {
		t.Fatal(err)
	}
	if a.Policy().Mode != permission.ModeAsk {
		t.Errorf("the mode is %s", a.Policy().Mode)
	}
	a.Policy().NoProject = "this is the home directory"
	if err := a.SetMode(permission.ModeEdits); err == nil || a.Policy().Mode != permission.ModeAsk {
		t.Errorf("mode %s, %v", a.Policy().Mode, err)
	}
}

func TestTheAgentDropsRulesWithTheSession(t *testing.T) {
	t.Parallel()
	a, _ := newSessions(t, fake.Say("1"))
	allow := func() {
		t.Helper()
		access := tool.Access{Kind: tool.KindRun, Command: "make", Dir: a.Env().Dir}
		must(t, a.Policy().AllowInSession("bash(make)", "bash", access))
	}
	allow()
	if err := a.DropRule("bash(ls)"); err == nil {
		t.Error("a rule that is not there was dropped")
	}
	if err := a.DropRule("bash(make)"); err != nil || len(a.Rules()) != 0 {
		t.Errorf("left %v, %v", a.Rules(), err)
	}
	allow()
	saying(t, a, "one")
	old, err := a.Clear()
	if err != nil || old == "" || len(a.Rules()) != 0 {
		t.Errorf("after clear: %q, %v, %v", old, a.Rules(), err)
	}
	allow()
	if _, err := a.Resume(old); err != nil || len(a.Rules()) != 0 {
		t.Errorf("after resume: %v, %v", a.Rules(), err)
	}
}

func TestTheAgentForks(t *testing.T) {
	t.Parallel()
	a, model := newSessions(t, fake.Say("first answer"), fake.Say("second answer"), fake.Say("third answer"))
	if _, _, err := a.Fork(0); err == nil {
		t.Error("nothing was copied")
	}
	saying(t, a, "one")
	old, now, err := a.Fork(0)
	if err != nil || old == now || a.SessionID() != now {
		t.Fatalf("%q, %q, %v", old, now, err)
	}
	saying(t, a, "two")
	if req, _ := model.Last(); len(req.Messages) != 3 {
		t.Errorf("the fork has %d messages", len(req.Messages))
	}
	resumed, err := a.Resume(old)
	if err != nil || resumed.User != "one" || resumed.Answer != "first answer" || resumed.Cut {
		t.Errorf("%+v, %v", resumed, err)
	}
	saying(t, a, "three")
	if req, _ := model.Last(); len(req.Messages) != 3 {
		t.Errorf("the session has %d messages", len(req.Messages))
	}
	rows, err := a.Sessions()
	if err != nil || len(rows) != 2 {
		t.Errorf("%v, %v", rows, err)
	}
}

func TestTheAgentAnswers(t *testing.T) {
	t.Parallel()
	a, _ := newSessions(t,
		fake.Say("first"), fake.Step{Text: []string{"on the way"},
			Calls: []provider.ToolCall{fake.ToolCall("c1", "ls", `{"path":"."}`)}}, fake.Say("second"), fake.Say("third"))
	answer := a.Answer
	if got := answer(1); got != "" {
		t.Errorf("there is %q before anything was said", got)
	}
	for _, text := range []string{"one", "two", "three"} {
		saying(t, a, text)
	}
	for n, want := range map[int]string{1: "third", 2: "second", 3: "first", 4: ""} {
		if got := answer(n); got != want {
			t.Errorf("answer %d is %q", n, got)
		}
	}
}

func TestTheAgentTellsWhatChanged(t *testing.T) {
	t.Parallel()
	a, _ := newSessions(t,
		fake.Calls(fake.ToolCall("c1", "read", `{"path":"kept"}`), fake.ToolCall("c2", "read", `{"path":"changed"}`),
			fake.ToolCall("c3", "read", `{"path":"gone"}`), fake.ToolCall("c4", "read", `{"path":"never"}`),
			fake.ToolCall("c5", "ls", `{"path":"."}`)),
		fake.Call("c6", "write", `{"path":"sub/made","content":"x"}`), fake.Say("done"), fake.Say("again"))
	a.Policy().Mode = permission.ModeEdits
	for _, name := range []string{"kept", "changed", "gone", "other"} {
		must(t, os.WriteFile(filepath.Join(a.Env().Dir, name), []byte("x"), 0o600))
	}
	saying(t, a, "read them", provider.Text{Text: "I ran a command myself"})
	old, err := a.Clear()
	must(t, err)
	come := func() *agent.Resumed {
		t.Helper()
		r, err := a.Resume(old)
		must(t, err)
		return r
	}
	if r := come(); r.Changed != nil || r.User != "read them" {
		t.Errorf("nothing changed: %+v", r)
	}
	later := time.Now().Add(time.Hour)
	for _, name := range []string{"changed", "sub/made", "other"} {
		must(t, os.Chtimes(filepath.Join(a.Env().Dir, name), later, later))
	}
	must(t, os.Remove(filepath.Join(a.Env().Dir, "gone")))
	if _, err := a.Clear(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"changed", "gone", "sub/made"}, come().Changed); diff != "" {
		t.Error(diff)
	}
}

// A copy to which nothing was added yet can be exported, copied and gone back
// from, though it has no file: the first words are in the session it came from.
func TestTheAgentAFreshForkIsASession(t *testing.T) {
	t.Parallel()
	a, _ := newSessions(t, fake.Say("first answer"))
	saying(t, a, "one")
	old, _, err := a.Fork(0)
	must(t, err)
	if saved, err := a.Saved(); err != nil || len(saved.Messages()) != 2 {
		t.Errorf("saved %v, %v", saved, err)
	}
	if again, _, err := a.Fork(0); err != nil || again != old {
		t.Errorf("copied from %q, %v; want %q", again, err, old)
	}
	back, err := a.Clear()
	if err != nil || back != old {
		t.Errorf("back to %q, %v; want %q", back, err, old)
	}
	if resumed, err := a.Resume(back); err != nil || resumed.Answer != "first answer" {
		t.Errorf("%+v, %v", resumed, err)
	}
}

// The session someone is in is not resumed into a copy of itself, and is not
// said to be another artoo's.
func TestTheAgentResumesNotItself(t *testing.T) {
	t.Parallel()
	a, model := newSessions(t, fake.Say("first answer"), fake.Say("second answer"))
	saying(t, a, "one")
	id := a.SessionID()
	if _, err := a.Resume(id); err == nil || !strings.Contains(err.Error(), "it is the session you are in") {
		t.Errorf("resumed: %v", err)
	}
	saying(t, a, "two")
	if req, _ := model.Last(); len(req.Messages) != 3 || a.SessionID() != id {
		t.Errorf("%d messages, session %s, was %s", len(req.Messages), a.SessionID(), id)
	}
}

// TestALinkToOutputsStays: the user moved the outputs and images of a session, and left
// a link to them.
func TestALinkToOutputsStays(t *testing.T) {
	t.Parallel()
	a, _ := newSessions(t, fake.Say("1"))
	saying(t, a, "one")
	output := a.OutputDir()
	must(t, os.Remove(output))
	must(t, os.Symlink(t.TempDir(), output))
	must(t, a.Close())
	if _, err := os.Lstat(output); err != nil {
		t.Error(err)
	}
}

// onFullDisk is an agent whose session files take no line from the first on that holds
// the text, while that is not empty.
func onFullDisk(t *testing.T, holding *string, tools []tool.Tool, steps ...fake.Step) *agent.Agent {
	t.Helper()
	full := false
	return newAgentIn(t, realDir(t), &fake.Provider{Steps: steps}, func(o *agent.Options) {
		o.Tools, o.Workspace.NoProject = tools, true
		o.Sessions.Store.OpenFile = func(path string, flags int) (conversation.File, error) {
			f, err := os.OpenFile(path, flags, 0o600)
			return &brokenFile{File: f, write: func(line []byte) (int, error) {
				if full = *holding != "" && (full || bytes.Contains(line, []byte(*holding))); full {
					return 0, &os.PathError{Op: "write", Path: path, Err: syscall.ENOSPC}
				}
				return f.Write(line)
			}}, err
		}
	})
}

// lastLine is the last line of a file.
func lastLine(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	return lines[len(lines)-1]
}

const turnEnds = `{"type":"turn"`

// A copy is made of a session that is on the disk, with the end of its last turn.
func TestACopyIsOfWhatIsOnTheDisk(t *testing.T) {
	t.Parallel()
	holding := turnEnds
	a := onFullDisk(t, &holding, nil, fake.Say("first answer"))
	if _, err := a.SendMessage(t.Context(), "one", agent.NopCallbacks{}); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if _, _, err := a.Fork(0); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("copied what is not on the disk: %v", err)
	}
	holding = ""
	from := a.Conversation().Session().Path()
	if _, _, err := a.Fork(0); err != nil {
		t.Fatal(err)
	}
	if last := lastLine(t, from); !strings.HasPrefix(last, turnEnds) {
		t.Errorf("the last line is %.60s", last)
	}
}

// A disk that becomes full is one fault, wherever in the turn that is noticed.
func TestASessionThatCannotBeWrittenIsReportedOnce(t *testing.T) {
	t.Parallel()
	for _, first := range []string{`"one"`, `"role":"assistant"`, `"role":"tool"`, turnEnds} {
		holding := first
		a := onFullDisk(t, &holding, []tool.Tool{builtin.Ls(), builtin.Write()}, fake.Calls(
			fake.ToolCall("c1", "ls", `{"path":"."}`), fake.ToolCall("c2", "write", `{"path":"a","content":"b"}`),
			fake.ToolCall("c3", "ls", `{"path":"."}`)), fake.Say("done"))
		_, err := a.SendMessage(t.Context(), "one", agent.NopCallbacks{})
		if !errors.Is(err, syscall.ENOSPC) || strings.Count(err.Error(), syscall.ENOSPC.Error()) != 1 {
			t.Errorf("%s: %v", first, err)
		}
	}
}
