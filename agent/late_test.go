package agent_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"artoo/agent"
	"artoo/agent/confine"
	"artoo/agent/permission"
	"artoo/provider/fake"
	"artoo/tool/project"
	"artoo/tool/sandbox"
)

// lateLine is a line that goes on until the file gate is there.
const lateLine = `{"command":"until test -e gate; do sleep 0.02; done; uniq a.txt"}`

// atResult is a front end that does something after the result of a call.
type atResult struct {
	*recorder
	do     map[string]func()
	onCall func(agent.Call) // may be nil
}

func (r *atResult) OnToolCall(c agent.Call) {
	r.recorder.OnToolCall(c)
	if r.onCall != nil {
		r.onCall(c)
	}
}

func (r *atResult) OnToolResult(c agent.Call, res agent.CallResult) {
	r.recorder.OnToolResult(c, res)
	if do := r.do[c.ID]; do != nil {
		do()
	}
}

// lateAgent is an agent whose lines go on after a moment, and whose line changes a.txt
// and the repository.
func lateAgent(t *testing.T, mode permission.Mode, steps ...fake.Step) (*agent.Agent, *confinement) {
	t.Helper()
	c := &confinement{trusted: true, list: changed("a.txt")}
	a := c.scripted(t, mode, steps...)
	a.Env().ShellTimeout = 50 * time.Millisecond
	return a, c
}

// open lets the line go on to its end.
func open(t *testing.T, a *agent.Agent) func() {
	return func() {
		if err := os.WriteFile(filepath.Join(a.Env().Dir, "gate"), nil, 0o600); err != nil {
			t.Error(err)
		}
	}
}

// stricterModes are the modes at a line's start and at its end, and the outcome of a change of content.
var stricterModes = []struct {
	name       string
	start, end permission.Mode
	asks       int
	lands      bool
}{
	{"edits", permission.ModeEdits, permission.ModeEdits, 0, true},
	{"ask", permission.ModeAsk, permission.ModeAsk, 1, true},
	{"plan", permission.ModePlan, permission.ModePlan, 0, false},
	{"edits, then ask", permission.ModeEdits, permission.ModeAsk, 1, true},
	{"ask, then auto", permission.ModeAsk, permission.ModeAuto, 1, true},
	{"auto, then plan", permission.ModeAuto, permission.ModePlan, 0, false},
	{"plan, then auto", permission.ModePlan, permission.ModeAuto, 0, false},
}

// A line whose time is up goes on on its layer, and its changes are judged at its end: by the mode then, or by that of
// its start where it is stricter. A caller that waits for it has the answer with its end.
func TestALineWhoseTimeIsUpIsJudgedAtItsEnd(t *testing.T) {
	t.Parallel()
	for _, row := range stricterModes {
		t.Run(row.name, func(t *testing.T) {
			a, c := lateAgent(t, row.start, fake.Call("c1", "bash", lateLine),
				fake.Call("c2", "shell", `{"action":"wait"}`), fake.Say("ok"))
			cb := &recorder{answers: []agent.Answer{{Verdict: agent.Yes}}}
			if _, err := send(t, a, &atResult{recorder: cb, do: map[string]func(){"c1": func() {
				a.Policy().Mode = row.end
				if c.landed(t) > 0 || c.discarded > 0 {
					t.Error("it was judged before its end")
				}
				open(t, a)()
			}}}, "go"); err != nil {
				t.Fatal(err)
			}
			got := toolResults(a)
			if c.landed(t) > 0 != row.lands || len(cb.asked) != row.asks || c.discarded != 1 {
				t.Errorf("landed %d, asked %+v, discarded %d", c.landed(t), cb.asked, c.discarded)
			}
			if !strings.Contains(got[0], "it continues in the background as 1") || !strings.Contains(got[0],
				"[its changes count once it has ended by itself; if it is ended before, they are discarded]") {
				t.Error(got[0])
			}
			if strings.Contains(got[1], "[its changes were applied: files: 1 modified]") != row.lands ||
				strings.Contains(got[1], "[changes discarded: plan mode changes nothing (modified: a.txt)]") == row.lands {
				t.Error(got[1])
			}
			notices := strings.Join(cb.lines, "\n")
			for _, n := range cb.notices {
				notices += "\n" + n.Text
			}
			if may := strings.Count(notices, "artoo may ask about its changes"); may > 1 || (may == 1) != (row.start != permission.ModePlan) {
				t.Errorf("the user is told %s", notices)
			}
			if landed := "background command 1 has ended: exit 0 in "; row.lands != strings.Contains(notices, ", applied: files: 1 modified") ||
				!strings.Contains(notices, landed) {
				t.Errorf("the user is told %s", notices)
			}
		})
	}
}

// The same of a line that is still running in its call.
func TestTheStricterModeHoldsForALineThatRuns(t *testing.T) {
	t.Parallel()
	for _, row := range stricterModes {
		t.Run(row.name, func(t *testing.T) {
			a, c := lateAgent(t, row.start, fake.Call("c1", "bash", lateLine), fake.Say("ok"))
			a.Env().ShellTimeout = 0
			a.Confine(startsThen{c, func() { a.Policy().Mode = row.end; open(t, a)() }})
			cb := &recorder{answers: []agent.Answer{{Verdict: agent.Yes}}}
			mustSend(t, a, cb, "go")
			if c.landed(t) > 0 != row.lands || len(cb.asked) != row.asks || c.discarded != 1 {
				t.Errorf("landed %d, asked %+v, discarded %d: %s", c.landed(t), cb.asked, c.discarded, toolResults(a))
			}
		})
	}
}

// A line whose end comes between two turns is judged with the next message.
func TestALineThatEndsBetweenTurnsIsJudgedWithTheNextMessage(t *testing.T) {
	t.Parallel()
	a, c := lateAgent(t, permission.ModeAsk, fake.Call("c1", "bash", lateLine), fake.Say("it runs"), fake.Say("ok"))
	cb := &recorder{answers: []agent.Answer{{Verdict: agent.Yes}}}
	mustSend(t, a, cb, "go")
	open(t, a)()
	<-a.Env().Jobs.Find("1").Done()
	mustSend(t, a, cb, "and now?")
	if told := strings.Join(history(a), "\n"); c.landed(t) != 1 || len(cb.asked) != 1 ||
		!strings.Contains(told, "its changes were applied: files: 1 modified") {
		t.Errorf("landed %d, asked %d: %s", c.landed(t), len(cb.asked), told)
	}
}

// A stop at its question also stops the turn of that message, which is not sent.
func TestAStopAtALineOfAnEarlierTurnSendsNothing(t *testing.T) {
	t.Parallel()
	a, c := lateAgent(t, permission.ModeAsk, fake.Call("c1", "bash", lateLine), fake.Say("it runs"), fake.Say("ok"))
	cb := &recorder{answers: []agent.Answer{{Verdict: agent.StopTurn}}}
	mustSend(t, a, cb, "go")
	open(t, a)()
	<-a.Env().Jobs.Find("1").Done()
	if r, err := send(t, a, cb, "and now?"); !errors.Is(err, agent.ErrStopped) || r.Text != "" || c.landed(t) > 0 {
		t.Errorf("%+v, %v, landed %d", r, err, c.landed(t))
	}
	if told := strings.Join(history(a), "\n"); strings.Contains(told, "and now?") {
		t.Errorf("the message was sent: %s", told)
	}
}

// A line that the user, the model or a limit ends has no effect, and its changes are named.
func TestALineThatIsEndedIsDiscardedAndNamed(t *testing.T) {
	t.Parallel()
	const named = "(modified: a.txt)"
	for _, row := range []struct {
		name  string
		steps []fake.Step
		set   func(*agent.Agent, *confinement)
		why   string
	}{
		{"the model kills it", []fake.Step{fake.Call("c1", "bash", lateLine), fake.Call("c2", "shell", `{"action":"kill"}`)}, nil,
			"it was stopped before it finished"},
		{"its last limit", []fake.Step{fake.Call("c1", "bash", lateLine), fake.Call("c2", "shell", `{"action":"wait"}`)},
			func(a *agent.Agent, _ *confinement) { a.Env().ShellTimeoutMax = 200 * time.Millisecond },
			"it was stopped before it finished"},
		{"the limit of its call", []fake.Step{fake.Call("c1", "bash", strings.TrimSuffix(lateLine, "}")+`,"timeout":0.05}`)}, nil,
			"it was stopped before it finished"},
		{"a limit of the sandbox", []fake.Step{fake.Call("c1", "bash", `{"command":"uniq a.txt"}`)},
			func(a *agent.Agent, c *confinement) {
				a.Env().ShellTimeout, c.limit = time.Minute, "its layer holds more than 8 GB"
			}, "its layer holds more than 8 GB"},
	} {
		t.Run(row.name, func(t *testing.T) {
			a, c := lateAgent(t, permission.ModeAuto, append(row.steps, fake.Say("ok"))...)
			if row.set != nil {
				row.set(a, c)
			}
			cb := &recorder{}
			r := mustSend(t, a, cb, "go")
			got := strings.Join(toolResults(a), "\n")
			if c.landed(t) > 0 || c.discarded != 1 || c.kept != 0 || len(cb.asked) > 0 ||
				!strings.Contains(got, "[changes discarded: "+row.why+" "+named+"]") {
				t.Errorf("landed %d, discarded %d, kept %d: %s", c.landed(t), c.discarded, c.kept, got)
			}
			said := ""
			for _, n := range cb.notices {
				said += n.Text + "\n"
			}
			if !strings.Contains(said, "changes discarded: "+row.why+" "+named) || len(r.Denied) != 1 ||
				r.Denied[0].Changes[0] != "modified: a.txt" || r.Denied[0].Nobody {
				t.Errorf("the user is told %q, denied %+v", said, r.Denied)
			}
		})
	}
}

// So is one that an interrupt ends, in its call; one that goes on is not touched by it.
func TestAnInterruptDiscardsTheLineOfItsCallAlone(t *testing.T) {
	t.Parallel()
	a, c := lateAgent(t, permission.ModeAuto, fake.Call("c1", "bash", lateLine))
	a.Env().ShellTimeout = 0
	ctx, interrupt := context.WithCancel(t.Context())
	a.Confine(startsThen{c, interrupt})
	cb := &recorder{}
	r, err := a.SendMessage(ctx, "go", cb)
	if err == nil || c.landed(t) > 0 || len(r.Denied) != 1 {
		t.Errorf("%v, landed %d, denied %+v", err, c.landed(t), r.Denied)
	}
	if got := toolResults(a)[0]; !strings.Contains(got, "discarded") {
		t.Error(got)
	}

	a, c = lateAgent(t, permission.ModeAuto, fake.Call("c1", "bash", lateLine), fake.Call("c2", "shell", `{"action":"wait"}`),
		fake.Say("ok"))
	ctx, interrupt = context.WithCancel(t.Context())
	if _, err := a.SendMessage(ctx, "go", &atResult{recorder: &recorder{}, do: map[string]func(){"c1": interrupt}}); err == nil {
		t.Error("it was not interrupted")
	}
	job := a.Env().Jobs.Find("1")
	if !job.Runs() || c.discarded > 0 {
		t.Errorf("it runs: %v, discarded %d", job.Runs(), c.discarded)
	}
	open(t, a)()
	<-job.Done()
	if _, err := send(t, a, &recorder{}, "and now?"); err != nil || c.landed(t) != 1 {
		t.Errorf("%v, landed %d", err, c.landed(t))
	}
}

// One that has ended can be judged without a message. The next one informs the model.
func TestALineThatEndsBetweenTurnsIsJudgedByItself(t *testing.T) {
	t.Parallel()
	for mode, asks := range map[permission.Mode]int{permission.ModeAuto: 0, permission.ModeAsk: 1} {
		a, c := lateAgent(t, mode, fake.Call("c1", "bash", lateLine), fake.Say("it runs"), fake.Say("ok"))
		cb := &recorder{answers: []agent.Answer{{Verdict: agent.Yes}}}
		mustSend(t, a, cb, "go")
		if a.HasEnded() {
			t.Error("it has not ended")
		}
		open(t, a)()
		<-a.Env().Jobs.Find("1").Done()
		if !a.HasEnded() {
			t.Error("it has ended")
		}
		if err := a.FollowUp(t.Context(), cb); err != nil || c.landed(t) != 1 || len(cb.asked) != asks || a.HasEnded() {
			t.Errorf("%s: %v, landed %d, asked %d", mode, err, c.landed(t), len(cb.asked))
		}
		mustSend(t, a, cb, "and now?")
		if told := strings.Join(history(a), "\n"); strings.Count(told, "its changes were applied: files: 1 modified") != 1 {
			t.Errorf("%s: the model is told %s", mode, told)
		}
	}
}

// The end of a session ends its lines, and names the lost changes: of one that runs, and of one
// that has ended and was not judged.
func TestTheEndOfASessionNamesWhatItsLinesLose(t *testing.T) {
	t.Parallel()
	for _, ended := range []bool{false, true} {
		a, c := lateAgent(t, permission.ModeAuto, fake.Call("c1", "bash", lateLine), fake.Say("it runs"))
		said := ""
		a.Opt().Notice = func(text string) { said += text + "\n" }
		mustSend(t, a, &recorder{}, "go")
		if ended {
			open(t, a)()
			<-a.Env().Jobs.Find("1").Done()
		}
		if _, err := a.Clear(); err != nil {
			t.Fatal(err)
		}
		if c.landed(t) > 0 || c.discarded != 1 ||
			!strings.Contains(said,
				"changes discarded: the session ended before artoo could check them (modified: a.txt)") {
			t.Errorf("ended %v: landed %d, discarded %d, the user is told %q", ended, c.landed(t), c.discarded, said)
		}
	}
}

// A headless run is over with its answer: a line that has ended counts by the rules, one
// that runs is discarded, and the report names it.
func TestAHeadlessRunNamesWhatItsLinesLose(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		ended  bool
		mode   permission.Mode
		landed int
		why    string
	}{
		{false, permission.ModeAuto, 0, "the session ended before artoo could check them"},
		{true, permission.ModeAuto, 1, ""},
		{true, permission.ModeAsk, 0, "no one can answer (headless run)"},
	} {
		a, c := lateAgent(t, row.mode, fake.Call("c1", "bash", lateLine), fake.Say("it runs"))
		a.Opt().Workspace = &agent.Workspace{Project: project.Project{Root: a.Env().Dir, Dir: a.Env().Dir}, Headless: true, Once: true}
		cb := &atResult{recorder: &recorder{}, do: map[string]func(){}}
		if row.ended {
			cb.do["c1"] = func() { open(t, a)(); <-a.Env().Jobs.Find("1").Done() }
		}
		r := mustSend(t, a, cb, "go")
		named := len(r.Denied) == 1 && strings.Contains(r.Denied[0].Reason, row.why) && r.Denied[0].Changes[0] == "modified: a.txt"
		if c.landed(t) != row.landed || c.discarded != 1 || named != (row.why != "") {
			t.Errorf("%+v: landed %d, discarded %d, denied %+v", row, c.landed(t), c.discarded, r.Denied)
		}
	}
}

// startsThen does something when a command has started.
type startsThen struct {
	*confinement
	then func()
}

func (s startsThen) Start(cmd *exec.Cmd, line confine.Line) (confine.Confined, error) {
	confined, err := s.confinement.Start(cmd, line)
	s.then()
	return confined, err
}

// A discarded line's changes to the repository are named as such.
func TestDiscardedDataOfTheRepositoryIsNamed(t *testing.T) {
	t.Parallel()
	c, cb := &confinement{limit: "a limit", list: []sandbox.Change{
		{Path: ".git/index", Kind: sandbox.Created, Mode: 0o644}, {Path: ".git/objects/aa", Kind: sandbox.Created, Mode: 0o644}}}, &recorder{}
	if got, _ := c.runs(t, "uniq a.txt", permission.ModeAuto, cb); !strings.Contains(got, "[changes discarded: a limit (git: data of the repository)]") {
		t.Error(got)
	}
}
