package agent_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"artoo/agent"
	"artoo/agent/confine"
	"artoo/agent/permission"
	"artoo/provider/fake"
)

// toolResults are the results of calls in a history, one line each.
func toolResults(a *agent.Agent) (list []string) {
	for _, l := range history(a) {
		if strings.HasPrefix(l, "tool ") {
			list = append(list, l)
		}
	}
	return list
}

func TestABackgroundCommandOutlivesItsTurnAndTheModelIsToldItsEndOnce(t *testing.T) {
	t.Parallel()
	c, cb := &confinement{trusted: true}, &recorder{}
	a := c.scripted(t, permission.ModeAuto,
		fake.Call("c1", "bash", `{"command":"echo up; until test -e gate; do sleep 0.02; done; exit 3","background":true}`),
		fake.Say("it runs"),
		fake.Call("c2", "bash", `{"command":"awk 1 /dev/null; sed -n 1p /dev/null"}`), fake.Say("ok"),
		fake.Call("c3", "bash", `{"command":"pwd"}`), fake.Say("ok"))
	mustSend(t, a, cb, "start it")
	if got := toolResults(a)[0]; !strings.Contains(got, "up\n[it runs in the background as 1") {
		t.Fatal(got)
	}
	if list := a.Background(); len(list) != 1 || !list[0].Runs || !strings.HasPrefix(list[0].Line, "echo up") {
		t.Fatalf("%+v", list)
	}
	must(t, os.WriteFile(filepath.Join(a.Env().Dir, "gate"), nil, 0o600))
	<-a.Env().Jobs.Find("1").Done()
	for _, text := range []string{"go on", "and on"} {
		mustSend(t, a, cb, text)
	}
	told := strings.Join(history(a), "\n")
	if n := strings.Count(told, "[background command 1 has ended: exit 3 in "); n != 1 {
		t.Errorf("the end was told %d times:\n%s", n, told)
	}
	if list := a.Background(); list[0].Runs || !strings.HasPrefix(list[0].End, "exit 3 in ") {
		t.Errorf("%+v", list)
	}
}

func TestALayerRunsBesideABackgroundCommand(t *testing.T) {
	t.Parallel()
	c, cb := &confinement{}, &recorder{answers: []agent.Answer{{Verdict: agent.Yes}}}
	a := c.scripted(t, permission.ModeAsk,
		fake.Call("c1", "bash", `{"command":"touch up; sleep 600","background":true}`),
		fake.Call("c2", "bash", `{"command":"sed -i s/1/2/ /dev/null"}`), fake.Call("c3", "shell", `{"action":"kill"}`),
		fake.Say("ok"))
	mustSend(t, a, cb, "start it")
	if len(cb.asked) != 1 || cb.asked[0].Kind != agent.QuestionApproval {
		t.Errorf("asked %+v", cb.asked)
	}
	if want := []permission.Place{permission.PlaceBackground, permission.PlaceLayer}; !slices.Equal(c.places(), want) {
		t.Errorf("places %v", c.places())
	}
}

func TestABackgroundCommandIsHeldAgainAfterALanding(t *testing.T) {
	t.Parallel()
	c := &confinement{trusted: true, list: changed("a.txt")}
	a := c.scripted(t, permission.ModeEdits,
		fake.Call("c1", "bash", `{"command":"echo up; sleep 600","background":true}`),
		fake.Call("c2", "bash", `{"command":"uniq a.txt"}`), fake.Say("ok"))
	mustSend(t, a, &recorder{}, "go")
	if c.landed(t) != 1 || c.protects != 1 {
		t.Errorf("landed %d, protected %d times: %v", c.landed(t), c.protects, toolResults(a))
	}
}

func TestWhatIsTypedToACommandIsAsked(t *testing.T) {
	t.Parallel()
	c, cb := &confinement{}, &recorder{answers: []agent.Answer{{Verdict: agent.Yes}, {Verdict: agent.YesForSession}, {}}}
	a := c.scripted(t, permission.ModeEdits,
		fake.Call("c1", "bash", `{"command":"cat","background":true}`),
		fake.Call("c2", "shell", `{"input":"one"}`), fake.Call("c3", "shell", `{"input":"two"}`),
		fake.Call("c4", "shell", `{"input":"git reset --hard"}`), fake.Say("ok"))
	mustSend(t, a, cb, "go")
	if len(cb.asked) != 2 || cb.asked[1].Rule != "shell" {
		t.Errorf("asked %+v", cb.asked)
	}
	got := toolResults(a)
	if !strings.Contains(got[1], "one") || !strings.Contains(got[2], "two") || !strings.Contains(got[3], "reset") {
		t.Errorf("%q", got)
	}
}

func TestBackgroundCommandsEndWithTheirSession(t *testing.T) {
	t.Parallel()
	c, cb := &confinement{trusted: true}, &recorder{}
	a := c.scripted(t, permission.ModeAuto,
		fake.Call("c1", "bash", `{"command":"echo up; sleep 600","background":true}`), fake.Say("ok"))
	mustSend(t, a, cb, "go")
	job := a.Env().Jobs.Find("1")
	if _, err := a.Clear(); err != nil {
		t.Fatal(err)
	}
	if job.Runs() || len(a.Background()) != 0 {
		t.Errorf("it runs: %v; listed %v", job.Runs(), a.Background())
	}
}

// meeting is a sandbox in which two commands start together or not at all.
type meeting struct {
	*confinement
	mu   sync.Mutex
	both sync.WaitGroup
}

func (m *meeting) Start(cmd *exec.Cmd, line confine.Line) (confine.Confined, error) {
	m.both.Done()
	m.both.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.confinement.Start(cmd, line)
}

func TestCommandsThatOnlyReadRunSideBySideAndAnswerInOrder(t *testing.T) {
	t.Parallel()
	m := &meeting{confinement: &confinement{}}
	m.both.Add(2)
	a := m.scripted(t, permission.ModeAsk, fake.Calls(fake.ToolCall("c1", "bash", `{"command":"echo one"}`),
		fake.ToolCall("c2", "bash", `{"command":"echo two"}`)), fake.Say("ok"))
	a.Confine(m)
	mustSend(t, a, &recorder{}, "go")
	got := toolResults(a)
	if len(got) != 2 || !strings.Contains(got[0], "one") || !strings.Contains(got[1], "two") {
		t.Errorf("%q", got)
	}
}

func TestASubAgentWorksBesideACommandThatOnlyReads(t *testing.T) {
	t.Parallel()
	c := &confinement{}
	opt := c.options(t, permission.ModeAsk, fake.Calls(task("t1", "one"), fake.ToolCall("c1", "bash", `{"command":"echo two"}`)),
		fake.Say("one"), fake.Say("ok"))
	opt.Tools = append(opt.Tools, agent.OwnTools(nil)...)
	a := made(t, opt)
	a.Confine(c)
	mustSend(t, a, &recorder{}, "go")
	got := toolResults(a)
	if len(got) != 2 || !strings.Contains(got[0], "one") || !strings.Contains(got[1], "two") {
		t.Errorf("%q", got)
	}
}

// wholeAgent runs a line in the background; it meets the denials until it may write
// the whole project.
func wholeAgent(t *testing.T, mode permission.Mode, line string) (*confinement, *agent.Agent) {
	t.Helper()
	c := &confinement{trusted: true, refusesWrites: true}
	return c, c.scripted(t, mode, fake.Call("c1", "bash", `{"command":"`+line+`","background":true}`), fake.Say("ok"),
		fake.Call("c2", "bash", `{"command":"pwd"}`), fake.Say("ok"))
}

func TestABackgroundCommandThatMayNotWriteStartsAgainWithTheWholeProject(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, line string
		mode       permission.Mode
		answers    []agent.Answer
		whole      bool   // it is started again
		text       string // the text for the model
	}{
		{"a failure", "echo up; exit 3", permission.ModeAuto, []agent.Answer{{Verdict: agent.Yes}}, true,
			"it was started again, and may write the whole project"},
		{"in edits", "echo up; exit 3", permission.ModeEdits, []agent.Answer{{Verdict: agent.Yes}}, true, "started again"},
		{"in ask", "echo up; exit 3", permission.ModeAsk, []agent.Answer{{Verdict: agent.Yes}, {Verdict: agent.Yes}}, true, "started again"},
		{"one that goes on", "echo up; sleep 600", permission.ModeAuto, []agent.Answer{{Verdict: agent.Yes}}, true, "it runs in the background as 2"},
		{"no", "echo up; exit 3", permission.ModeAuto, []agent.Answer{{Reason: "read only, please"}}, false,
			"[the user does not let it write the whole project: read only, please]"},
		{"success", "exit 0", permission.ModeAuto, nil, false, "[confined: read-only: /x]"}, // Without output the call waits for its end.
	} {
		t.Run(row.name, func(t *testing.T) {
			c, a := wholeAgent(t, row.mode, row.line)
			cb := &recorder{answers: row.answers}
			mustSend(t, a, cb, "go")
			told := strings.Join(toolResults(a), "\n")
			if len(cb.asked) != len(row.answers) || !strings.Contains(told, row.text) {
				t.Errorf("asked %+v: %s", cb.asked, told)
			}
			for _, q := range cb.asked {
				if q.Kind != agent.QuestionWhole && row.mode != permission.ModeAsk || q.Kind == agent.QuestionWhole && q.Reason != "read-only: /x" {
					t.Errorf("asked %+v", q)
				}
			}
			if got := len(c.lines) == 2 && c.lines[1].Whole; got != row.whole || c.lines[0].Whole {
				t.Errorf("started as %+v", c.lines)
			}
			for _, j := range a.Background() {
				if j.Runs && j.ID == "1" {
					t.Errorf("left: %+v", j)
				}
			}
		})
	}
}

// The end comes between two turns, and the question before the next answer.
func TestAnEndedBackgroundCommandStartsAgainWithTheWholeProject(t *testing.T) {
	t.Parallel()
	c, a := wholeAgent(t, permission.ModeAuto, "echo up; until test -e gate; do sleep 0.02; done; exit 3")
	c.refusesWrites = false
	cb := &recorder{answers: []agent.Answer{{Verdict: agent.Yes}}}
	mustSend(t, a, cb, "go")
	c.refusesWrites = true
	must(t, os.WriteFile(filepath.Join(a.Env().Dir, "gate"), nil, 0o600))
	<-a.Env().Jobs.Find("1").Done()
	mustSend(t, a, cb, "go on")
	told := strings.Join(history(a), "\n")
	if len(cb.asked) != 1 || len(c.lines) < 2 || !c.lines[1].Whole || !strings.Contains(told, "[confined: read-only: /x]\n[it was started again") {
		t.Errorf("asked %+v, started %+v: %s", cb.asked, c.lines, told)
	}
}

// A call that names the first command learns the ID of the second.
func TestTheIDOfACommandThatWasStartedAgainNamesTheNewOne(t *testing.T) {
	t.Parallel()
	c := &confinement{trusted: true, refusesWrites: true}
	a := c.scripted(t, permission.ModeAuto, fake.Call("c1", "bash", `{"command":"echo up; sleep 600","background":true}`),
		fake.Call("c2", "shell", `{"action":"wait","id":"1"}`), fake.Say("ok"))
	mustSend(t, a, &recorder{answers: []agent.Answer{{Verdict: agent.Yes}}}, "go")
	if got := toolResults(a); !strings.Contains(got[1], "[it was started again as 2]") {
		t.Errorf("%q", got)
	}
}

func TestWhereNoOneCanAnswerARefusedWriteIsDenied(t *testing.T) {
	t.Parallel()
	const command = "echo up; until test -e gate; do sleep 0.02; done; exit 3"
	c, a := wholeAgent(t, permission.ModeAuto, command)
	cb := &recorder{}
	// While it runs it has not failed: the user and the model know.
	r := mustSend(t, a, cb, "go")
	if told := toolResults(a)[0]; len(r.Denied) != 0 || len(cb.notices) != 1 || !strings.Contains(told, "[background command 1 is confined: read-only: /x]") {
		t.Errorf("denied %+v, notices %+v: %s", r.Denied, cb.notices, told)
	}
	must(t, os.WriteFile(filepath.Join(a.Env().Dir, "gate"), nil, 0o600))
	<-a.Env().Jobs.Find("1").Done()
	r = mustSend(t, a, cb, "go on")
	if len(r.Denied) != 1 || r.Denied[0].Reason != "read-only: /x" || r.Denied[0].Rule != "bash("+command+")" || !r.Denied[0].Nobody {
		t.Fatalf("denied %+v", r.Denied)
	}
	whole := slices.ContainsFunc(c.lines, func(l confine.Line) bool { return l.Whole })
	if warned := cb.texts(agent.NoticeWarning); len(warned) != 1 || whole {
		t.Errorf("warned %q, started %+v", warned, c.lines)
	}
	// The rule that is named is a yes.
	c, a = wholeAgent(t, permission.ModeAuto, command)
	rule, err := permission.ParseRule(r.Denied[0].Rule)
	must(t, err)
	a.Policy().AllowRules = append(a.Policy().AllowRules, rule)
	r = mustSend(t, a, &recorder{}, "go")
	if len(r.Denied) != 0 || len(c.lines) != 2 || !c.lines[1].Whole {
		t.Errorf("denied %+v, started %+v", r.Denied, c.lines)
	}
}
