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
	c, cb := &confinement{trusted: true}, &recorder{}
	a := c.scripted(t, permission.ModeAuto,
		fake.Call("c1", "bash", `{"command":"echo up; until test -e gate; do sleep 0.02; done; exit 3","background":true}`),
		fake.Say("it runs"),
		fake.Call("c2", "bash", `{"command":"awk 1 /dev/null; sed -n 1p /dev/null"}`), fake.Say("ok"),
		fake.Call("c3", "bash", `{"command":"pwd"}`), fake.Say("ok"))
	if _, err := send(t, a, cb, "start it"); err != nil {
		t.Fatal(err)
	}
	if got := toolResults(a)[0]; !strings.Contains(got, "up\n[it runs in the background as 1") {
		t.Fatal(got)
	}
	if list := a.Background(); len(list) != 1 || !list[0].Runs || !strings.HasPrefix(list[0].Line, "echo up") {
		t.Fatalf("%+v", list)
	}
	if err := os.WriteFile(filepath.Join(a.Env().Dir, "gate"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	<-a.Env().Jobs.Find("1").Done()
	for _, text := range []string{"go on", "and on"} {
		if _, err := send(t, a, cb, text); err != nil {
			t.Fatal(err)
		}
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
	c, cb := &confinement{}, &recorder{answers: []agent.Answer{{Verdict: agent.Yes}}}
	a := c.scripted(t, permission.ModeAsk,
		fake.Call("c1", "bash", `{"command":"touch up; sleep 600","background":true}`),
		fake.Call("c2", "bash", `{"command":"sed -i s/1/2/ /dev/null"}`), fake.Call("c3", "shell", `{"action":"kill"}`),
		fake.Say("ok"))
	if _, err := send(t, a, cb, "start it"); err != nil {
		t.Fatal(err)
	}
	if len(cb.asked) != 1 || cb.asked[0].Kind != agent.QuestionApproval {
		t.Errorf("asked %+v", cb.asked)
	}
	if want := []permission.Place{permission.PlaceBackground, permission.PlaceLayer}; !slices.Equal(c.places(), want) {
		t.Errorf("places %v", c.places())
	}
}

func TestWhatIsTypedToACommandIsAsked(t *testing.T) {
	c, cb := &confinement{}, &recorder{answers: []agent.Answer{{Verdict: agent.YesForSession}, {}}}
	a := c.scripted(t, permission.ModeAuto,
		fake.Call("c1", "bash", `{"command":"cat","background":true}`),
		fake.Call("c2", "shell", `{"input":"one"}`), fake.Call("c3", "shell", `{"input":"two"}`),
		fake.Call("c4", "shell", `{"input":"git reset --hard"}`), fake.Say("ok"))
	if _, err := send(t, a, cb, "go"); err != nil {
		t.Fatal(err)
	}
	if len(cb.asked) != 1 || cb.asked[0].Rule != "shell" {
		t.Errorf("asked %+v", cb.asked)
	}
	got := toolResults(a)
	if !strings.Contains(got[1], "one") || !strings.Contains(got[2], "two") || !strings.Contains(got[3], "reset") {
		t.Errorf("%q", got)
	}
}

func TestBackgroundCommandsEndWithTheirSession(t *testing.T) {
	c, cb := &confinement{trusted: true}, &recorder{}
	a := c.scripted(t, permission.ModeAuto,
		fake.Call("c1", "bash", `{"command":"echo up; sleep 600","background":true}`), fake.Say("ok"))
	if _, err := send(t, a, cb, "go"); err != nil {
		t.Fatal(err)
	}
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

func (m *meeting) Start(cmd *exec.Cmd, line agent.Line) (agent.Confined, error) {
	m.both.Done()
	m.both.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.confinement.Start(cmd, line)
}

func TestCommandsThatOnlyReadRunSideBySideAndAnswerInOrder(t *testing.T) {
	m := &meeting{confinement: &confinement{}}
	m.both.Add(2)
	a := m.scripted(t, permission.ModeAsk, fake.Calls(fake.ToolCall("c1", "bash", `{"command":"echo one"}`),
		fake.ToolCall("c2", "bash", `{"command":"echo two"}`)), fake.Say("ok"))
	a.Confine(m)
	if _, err := send(t, a, &recorder{}, "go"); err != nil {
		t.Fatal(err)
	}
	got := toolResults(a)
	if len(got) != 2 || !strings.Contains(got[0], "one") || !strings.Contains(got[1], "two") {
		t.Errorf("%q", got)
	}
}
