package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/provider/fake"
	"artoo/tool"
	"artoo/tool/journal"
	"artoo/tool/sandbox"
	"artoo/tool/shell"
)

// confinement is a sandbox for the loop alone: commands run on the host, and what
// they did on a layer is what the test says.
type confinement struct {
	places    []permission.Place
	list      []sandbox.Change
	denials   []sandbox.Denial
	made      []string // files that others run, relative to the project
	removed   []string
	applied   int
	discarded int
	applyErr  error
	lost      []string
	fails     map[permission.Place]error
	took      []sandbox.Change // what was applied
	ignores   func(path string) bool
}

type confinedCommand struct {
	shell.Started
	*confinement
}

func (c *confinement) Start(cmd *exec.Cmd, place permission.Place) (agent.Confined, error) {
	c.places = append(c.places, place)
	if err := c.fails[place]; err != nil {
		return nil, err
	}
	started, err := shell.StartHere(cmd)
	return confinedCommand{started, c}, err
}
func (c confinedCommand) Denials() []sandbox.Denial       { return c.denials }
func (c confinedCommand) Limit() string                   { return "" }
func (c confinedCommand) Appeared() ([]string, error)     { return c.made, nil }
func (c confinedCommand) Remove(paths []string) error     { c.removed = paths; return nil }
func (c confinedCommand) Changes() (agent.Changes, error) { return c.confinement, nil }
func (c *confinement) List() []sandbox.Change             { return c.list }
func (c *confinement) Diff([]sandbox.Change) string {
	return "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-1\n+2\n"
}
func (c *confinement) Git(context.Context) []string { return nil }
func (c *confinement) Apply(_ context.Context, some []sandbox.Change) ([]string, error) {
	c.applied++
	c.took = some
	return c.lost, c.applyErr
}
func (c *confinement) Discard() error { c.discarded++; return nil }

// runs is a turn in which the model runs one line, in a project whose commands can
// be confined.
func (c *confinement) runs(t *testing.T, line string, mode permission.Mode, cb *recorder) (string, *agent.Response) {
	t.Helper()
	a := c.agent(t, line, mode)
	r, err := send(t, a, cb, "go")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range history(a) {
		if strings.HasPrefix(l, "tool ") {
			return l, r
		}
	}
	t.Fatal("the call has no result")
	return "", nil
}

// agent is one whose model runs the line.
func (c *confinement) agent(t *testing.T, line string, mode permission.Mode) *agent.Agent {
	t.Helper()
	return c.scripted(t, mode, fake.Calls(fake.ToolCall("c1", "bash", `{"command":"`+line+`"}`)), fake.Say("ok"))
}

// scripted is an agent with these replies of its model.
func (c *confinement) scripted(t *testing.T, mode permission.Mode, steps ...fake.Step) *agent.Agent {
	t.Helper()
	opt := testOptions(&fake.Provider{Steps: steps}, tool.Bash(tool.BashOptions{Path: shell.Find(), Confined: true, Ask: true}), tool.Shell())
	dir := t.TempDir()
	files, err := tool.OpenFiles(tool.FilesConfig{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	opt.Env = &tool.Env{Dir: files.Dir(), Files: files}
	opt.Policy = &permission.Policy{Mode: mode, Root: files.Root(),
		Confinement: permission.Confinement{Sandbox: true, Layer: true, Auto: true}, GitIgnores: c.ignores}
	opt.Sandbox = c
	state := t.TempDir()
	opt.Journal = func(session, _ string) (*journal.Journal, error) {
		return journal.Open(journal.Config{Dir: journal.Dir(state, files.Root(), session), Root: files.Root()})
	}
	for i := range c.made {
		c.made[i] = filepath.Join(files.Root(), c.made[i])
	}
	for i := range c.list {
		c.list[i].Path = files.Root() + "/" + c.list[i].Path
	}
	a, err := agent.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func changed(path string) []sandbox.Change {
	return []sandbox.Change{{Path: path, Kind: sandbox.Modified, Mode: 0o644, Before: sandbox.Before{Mode: 0o644}}}
}

func TestALineThatChangedNothingIsNeverAskedAbout(t *testing.T) {
	c, cb := &confinement{}, &recorder{}
	result, r := c.runs(t, "awk 1 /dev/null; echo seen", permission.ModeAsk, cb)
	if len(cb.asked) > 0 || len(r.Denied) > 0 || !strings.Contains(result, "seen") {
		t.Errorf("asked %v, denied %v: %s", cb.asked, r.Denied, result)
	}
	if c.places[0] != permission.PlaceLayer || c.applied != 0 || c.discarded != 1 {
		t.Errorf("places %v, applied %d, discarded %d", c.places, c.applied, c.discarded)
	}
}

func TestWhatALineDidIsAskedAboutAfterwards(t *testing.T) {
	for _, row := range []struct {
		name     string
		answers  []agent.Answer
		applied  int
		expected []string // in the result
		missing  string
		nobody   bool
	}{
		{"yes", []agent.Answer{{Verdict: agent.Yes}}, 1, []string{"printed", "its changes were applied: files: 1 modified"}, "",
			false},
		{"no", []agent.Answer{{Reason: "not that file"}}, 0,
			[]string{"printed", "changes discarded: not that file", "a.txt"}, "", false},
		{"no output either", []agent.Answer{{Verdict: agent.Withhold, Reason: "too much"}}, 0,
			[]string{"withholds the output", "too much"}, "printed", false},
		{"nobody", nil, 0, []string{"printed", "changes discarded: nobody is there"}, "", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			c, cb := &confinement{list: changed("a.txt")}, &recorder{answers: row.answers}
			result, r := c.runs(t, "sed -i s/1/2/ a.txt; echo printed", permission.ModeAsk, cb)
			if len(cb.asked) != 1 || cb.asked[0].Kind != agent.QuestionChanges || cb.asked[0].Diff == "" ||
				len(cb.asked[0].Effects.Modified) != 1 {
				t.Fatalf("asked %+v", cb.asked)
			}
			for _, text := range row.expected {
				if !strings.Contains(result, text) {
					t.Errorf("the result lacks %q: %s", text, result)
				}
			}
			if row.missing != "" && strings.Contains(result, row.missing) {
				t.Errorf("the result holds %q: %s", row.missing, result)
			}
			if c.applied != row.applied || c.discarded != 1 {
				t.Errorf("applied %d, discarded %d", c.applied, c.discarded)
			}
			if denied := len(r.Denied) == 1; denied != (row.applied == 0) || denied && r.Denied[0].Nobody != row.nobody {
				t.Errorf("denied %+v", r.Denied)
			}
		})
	}
}

func TestPlanModeRunsOnALayerAndKeepsNothing(t *testing.T) {
	c, cb := &confinement{list: changed("a.txt")}, &recorder{}
	result, r := c.runs(t, "sed -i s/1/2/ a.txt; echo printed", permission.ModePlan, cb)
	if len(cb.asked) > 0 || c.applied > 0 || !strings.Contains(result, "printed") ||
		!strings.Contains(result, "plan mode changes nothing") || len(r.Denied) != 1 {
		t.Errorf("asked %v, applied %d, denied %v: %s", cb.asked, c.applied, r.Denied, result)
	}
	if want := "changes discarded: plan mode changes nothing (modified: a.txt)"; len(cb.notices) != 1 ||
		cb.notices[0].Text != want || !slices.Equal(r.Denied[0].Changes, []string{"modified: a.txt"}) {
		t.Errorf("the user is told %v, denied %v", cb.notices, r.Denied)
	}
}

// All that was deleted is named; of the rest a part.
func TestWhatIsDiscardedWithoutAQuestionIsNamed(t *testing.T) {
	var list []sandbox.Change
	for i := range 30 {
		list = append(list, sandbox.Change{Path: fmt.Sprint("gone", i), Kind: sandbox.Deleted, Mode: 0o644})
		list = append(list, changed(fmt.Sprint("changed", i))...)
	}
	c, cb := &confinement{list: list}, &recorder{}
	_, r := c.runs(t, "sed -i s/1/2/ *; rm *", permission.ModeAsk, cb)
	if len(cb.notices) != 1 || strings.Count(cb.notices[0].Text, "deleted: ") != 30 ||
		strings.Count(cb.notices[0].Text, "modified: ") != 20 || !strings.Contains(cb.notices[0].Text, " and 10 more") {
		t.Errorf("the user is told %v", cb.notices)
	}
	if len(r.Denied) != 1 || len(r.Denied[0].Changes) != 60 {
		t.Errorf("denied %v", r.Denied)
	}
}

func TestALayerThatCannotBeAppliedLeavesTheModelTheReason(t *testing.T) {
	c := &confinement{list: changed("a.txt"), applyErr: errors.New("a.txt changed meanwhile")}
	result, _ := c.runs(t, "touch a.txt", permission.ModeAsk, &recorder{answers: []agent.Answer{{Verdict: agent.Yes}}})
	if !strings.Contains(result, "nothing of what it changed was applied: a.txt changed meanwhile") ||
		!strings.Contains(result, "error=true") {
		t.Error(result)
	}
}

func TestALineThatFailsAtAWallMayRunOnceMoreOutside(t *testing.T) {
	wall := []sandbox.Denial{{Wall: "network", What: "no route to another machine"}}
	c, cb := &confinement{denials: wall}, &recorder{answers: []agent.Answer{{Verdict: agent.Yes}}}
	result, _ := c.runs(t, "echo again; exit 3", permission.ModeAuto, cb)
	if len(cb.asked) != 1 || cb.asked[0].Kind != agent.QuestionOutside ||
		!strings.Contains(cb.asked[0].Reason, "no route to another machine") {
		t.Fatalf("asked %+v", cb.asked)
	}
	if len(c.places) != 1 || c.places[0] != permission.PlaceSandbox || !strings.Contains(result, "ran once more outside") {
		t.Errorf("places %v: %s", c.places, result)
	}
	c, cb = &confinement{denials: wall}, &recorder{}
	result, r := c.runs(t, "exit 3", permission.ModeAuto, cb)
	if len(r.Denied) > 0 || !strings.Contains(result, "[confined: no route to another machine]") {
		t.Errorf("nobody could be asked: denied %v: %s", r.Denied, result)
	}
}

// Where the place that was decided is not to be had, nothing runs without a
// question, and the user is told once.
func TestWhatCannotBeConfinedIsAskedAbout(t *testing.T) {
	c := &confinement{fails: map[permission.Place]error{permission.PlaceLayer: errors.New("no overlay"),
		permission.PlaceSandbox: errors.New("no namespaces")}}
	cb := &recorder{answers: []agent.Answer{{Verdict: agent.Yes}, {Verdict: agent.Yes}}}
	result, _ := c.runs(t, "awk 1 /dev/null; echo ran", permission.ModeAsk, cb)
	if len(cb.asked) != 2 || !strings.Contains(result, "ran") || len(c.places) != 2 {
		t.Errorf("asked %d times, places %v: %s", len(cb.asked), c.places, result)
	}
	if len(cb.notices) != 2 || !strings.Contains(cb.notices[0].Text, "no overlay") ||
		!strings.Contains(cb.notices[1].Text, "no namespaces") {
		t.Errorf("notices %v", cb.notices)
	}
	c.places, cb = nil, &recorder{}
	if result, r := c.runs(t, "awk 1 /dev/null; echo ran", permission.ModeAsk, cb); strings.Contains(result, "ran") ||
		len(r.Denied) != 1 {
		t.Errorf("nobody was asked, denied %v: %s", r.Denied, result)
	}
	c.fails = map[permission.Place]error{permission.PlaceReading: errors.New("no mounts")}
	cb = &recorder{}
	if result, _ := c.runs(t, "echo ran", permission.ModeAsk, cb); !strings.Contains(result, "ran") ||
		len(cb.notices) != 1 {
		t.Errorf("notices %v: %s", cb.notices, result)
	}
}

// A command in the sandbox can make a file that was not there to be protected.
func TestWhatOthersRunStaysOnlyAfterAYes(t *testing.T) {
	for _, row := range []struct {
		answers []agent.Answer
		removed int
		text    string
	}{
		{[]agent.Answer{{Verdict: agent.Yes}}, 0, "the user keeps what it made for others to run: .envrc"},
		{[]agent.Answer{{Reason: "not that"}}, 1, "removed after it ended: .envrc: not that"},
		{nil, 1, "removed after it ended: .envrc"},
	} {
		c, cb := &confinement{made: []string{".envrc"}}, &recorder{answers: row.answers}
		result, r := c.runs(t, "./build.sh; true", permission.ModeAuto, cb)
		if len(cb.asked) != 1 || !cb.asked[0].Effects.There || len(c.removed) != row.removed ||
			!strings.Contains(result, row.text) || len(r.Denied) != row.removed {
			t.Errorf("%v: asked %d, removed %v, denied %v: %s", row.answers, len(cb.asked), c.removed, r.Denied, result)
		}
	}
}

// Who has turned away from a long command learns that a question may wait.
func TestALongCommandOnALayerSaysThatAQuestionMayFollow(t *testing.T) {
	agent.LayerTakesLong(t, time.Millisecond)
	fifo := filepath.Join(t.TempDir(), "fifo")
	if out, err := exec.Command("mkfifo", fifo).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cb := &recorder{onNotice: func(n agent.Notice) {
		if strings.Contains(n.Text, "asked about when it has ended") {
			if err := os.WriteFile(fifo, []byte("go on\n"), 0o600); err != nil { // the command waits for it
				t.Error(err)
			}
		}
	}}
	c := &confinement{}
	if result, _ := c.runs(t, "awk 1 "+fifo, permission.ModeAsk, cb); !strings.Contains(result, "go on") {
		t.Error(result)
	}
}

// What was not shown is not applied: a tool's cache beside the change that a user
// approved is dropped.
func TestOnlyWhatWasShownIsApplied(t *testing.T) {
	c := &confinement{list: append(changed("a.txt"),
		sandbox.Change{Path: "__pycache__", Kind: sandbox.Created, Mode: 0o755 | fs.ModeDir},
		sandbox.Change{Path: "__pycache__/a.pyc", Kind: sandbox.Created, Mode: 0o644},
		sandbox.Change{Path: "pipe", Kind: sandbox.Created, Mode: 0o644 | fs.ModeNamedPipe, Special: true})}
	c.ignores = func(path string) bool { return strings.Contains(path, "__pycache__") }
	c.runs(t, "touch a.txt", permission.ModeAsk, &recorder{answers: []agent.Answer{{Verdict: agent.Yes}}})
	if len(c.took) != 1 || filepath.Base(c.took[0].Path) != "a.txt" {
		t.Errorf("applied %v", c.took)
	}
}

// After an answer that stops the turn nothing more is asked.
func TestAStopAtOneQuestionAsksNoOther(t *testing.T) {
	c := &confinement{denials: []sandbox.Denial{{Wall: "network", What: "no route"}}, made: []string{".envrc"}}
	cb := &recorder{answers: []agent.Answer{{Verdict: agent.StopTurn}, {}}}
	if _, err := send(t, c.agent(t, "exit 3", permission.ModeAuto), cb, "go"); !errors.Is(err, agent.ErrStopped) {
		t.Error(err)
	}
	if len(cb.asked) != 1 {
		t.Errorf("%d questions", len(cb.asked))
	}
}

// What runs outside after all, because its place was gone or a wall stopped it, can
// be undone as any other command; what the user does during a question is not its.
func TestWhatRunsOutsideAfterAllCanBeUndone(t *testing.T) {
	for name, c := range map[string]*confinement{
		"no place": {fails: map[permission.Place]error{permission.PlaceLayer: errors.New("no overlay"),
			permission.PlaceSandbox: errors.New("no namespaces")}},
		"a wall": {denials: []sandbox.Denial{{Wall: "network", What: "no route"}}},
	} {
		t.Run(name, func(t *testing.T) {
			mode, line := permission.ModeAuto, "echo x >> made.txt; exit 3"
			a := c.agent(t, line, mode)
			yes := agent.Answer{Verdict: agent.Yes}
			cb := &recorder{answers: []agent.Answer{yes, yes}, onAsk: func(q agent.Question) {
				if err := os.WriteFile(filepath.Join(q.Dir, "mine.txt"), []byte("the user's"), 0o600); err != nil {
					t.Error(err)
				}
			}}
			if _, err := send(t, a, cb, "go"); err != nil {
				t.Fatal(err)
			}
			var paths []string
			for _, change := range a.Journal().Diff() {
				paths = append(paths, change.Path)
			}
			wantLines(t, paths, "made.txt")
		})
	}
}
