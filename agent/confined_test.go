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
	"syscall"
	"testing"
	"time"

	"artoo/agent"
	"artoo/agent/confine"
	"artoo/agent/permission"
	"artoo/conversation"
	"artoo/provider/fake"
	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/tool/files"
	"artoo/tool/journal"
	"artoo/tool/names"
	"artoo/tool/project"
	"artoo/tool/proxy"
	"artoo/tool/sandbox"
	"artoo/tool/shell"
)

// confinement is a sandbox for the loop alone: commands run on the host, and their effects on a layer are given by the
// test: each path held "1", and holds "2" there.
type confinement struct {
	lines   []confine.Line
	list    []sandbox.Change // has paths relative to the project
	denials []sandbox.Denial
	limit   string
	hides   []string // paths that commands do not see
	// refusesWrites denies writes to commands that may not write the whole project.
	refusesWrites bool
	discarded     int
	network       proxy.Report
	protects      int // how often a running command was protected again
	kept          int // counts discarded layers whose caches stay
	fails         map[permission.Place]error
	trusted       bool
	waits         agent.Waits
	crash         string // the method that panics, in lower case

	root, upper, state string
	read               func(ctx context.Context) // is called when the layer is read; may be nil
}

type confinedCommand struct {
	shell.Started
	*confinement
	line confine.Line
}

func (c *confinement) Start(cmd *exec.Cmd, line confine.Line) (confine.Confined, error) {
	c.crashes("start")
	c.lines = append(c.lines, line)
	if err := c.fails[line.Place]; err != nil {
		return nil, err
	}
	started, err := shell.StartHere(cmd)
	return confinedCommand{started, c, line}, err
}

func (c confinedCommand) Wrote(context.Context) bool { return true }

func (c *confinement) places() (list []permission.Place) {
	for _, line := range c.lines {
		list = append(list, line.Place)
	}
	return list
}

func (c confinedCommand) Denials() []sandbox.Denial {
	c.crashes("denials")
	if c.refusesWrites && !c.line.Whole {
		return []sandbox.Denial{{Kind: sandbox.DenialWrite, What: "read-only: /x"}}
	}
	return c.denials
}
func (c confinedCommand) Network() proxy.Report { return c.network }

func (c confinedCommand) Hides(path string) bool {
	_, err := os.Lstat(path)
	return err == nil && slices.ContainsFunc(c.hides, func(dir string) bool { return strings.HasPrefix(path+"/", dir+"/") })
}
func (c confinedCommand) Protect() error {
	c.protects++
	return nil
}
func (c confinedCommand) Limit() string  { c.crashes("limit"); return c.limit }
func (c confinedCommand) Discard() error { return c.confinement.Discard(false) }
func (c confinedCommand) Changes(ctx context.Context) (confine.Changes, error) {
	c.crashes("changes")
	if c.confinement.read != nil {
		c.confinement.read(ctx)
	}
	return c.confinement, ctx.Err()
}
func (c *confinement) Path(string) string { return "" }
func (c *confinement) Stays() []string    { return nil }

func (c *confinement) List() []sandbox.Change {
	c.crashes("list")
	return c.list
}

func (c *confinement) crashes(at string) {
	if c.crash == at {
		panic("planted")
	}
}

func (c *confinement) Open(path string) (*os.File, error) {
	c.crashes("open")
	return os.Open(filepath.Join(c.upper, filepath.Base(path)))
}

func (c *confinement) Discard(keepCaches bool) error {
	c.crashes("discard")
	c.discarded++
	if keepCaches {
		c.kept++
	}
	return nil
}

// landed counts the changes that are in the project.
func (c *confinement) landed(t *testing.T) (n int) {
	t.Helper()
	for _, change := range c.list {
		data, err := os.ReadFile(change.Path)
		if change.Kind == sandbox.Deleted && errors.Is(err, fs.ErrNotExist) || string(data) == "2" {
			n++
		}
	}
	return n
}

// prepare makes the project and the layer as the list has them.
func (c *confinement) prepare(t *testing.T, root string) {
	t.Helper()
	c.root, c.upper = root, t.TempDir()
	for i := range c.list {
		change := &c.list[i]
		name := change.Path
		if change.Dir == "" {
			change.Dir = root
		}
		if change.Path = filepath.Join(change.Dir, name); !change.Mode.IsRegular() {
			continue
		}
		if change.Kind != sandbox.Created {
			must(t, os.WriteFile(change.Path, []byte("1"), 0o644))
			info, err := os.Stat(change.Path)
			must(t, err)
			since, err := names.Changed(change.Path)
			must(t, err)
			change.Before = sandbox.Before{Mode: 0o644, Size: 1, Inode: info.Sys().(*syscall.Stat_t).Ino, Changed: since}
		}
		if change.Kind != sandbox.Deleted {
			change.Size = 1
			must(t, os.WriteFile(filepath.Join(c.upper, filepath.Base(name)), []byte("2"), 0o644))
		}
	}
}

// runs is a turn in which the model runs one line, in a project whose commands can
// be confined.
func (c *confinement) runs(t *testing.T, line string, mode permission.Mode, cb *recorder) (string, *agent.Response) {
	t.Helper()
	a := c.agent(t, line, mode)
	r := mustSend(t, a, cb, "go")
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
	return made(t, c.options(t, mode, steps...))
}

// options are those of such an agent.
func (c *confinement) options(t *testing.T, mode permission.Mode, steps ...fake.Step) agent.Options {
	t.Helper()
	opt := testOptions(&fake.Provider{Steps: steps}, builtin.Bash(builtin.BashOptions{Path: shell.Find(nil), Confined: true, Ask: true}), builtin.Shell())
	dir := t.TempDir()
	files, err := files.Open(files.Config{Root: dir})
	must(t, err)
	t.Cleanup(func() { files.Close() })
	opt.Env = &tool.Env{Dir: files.Dir(), Files: files}
	opt.Policy = &permission.Policy{Mode: mode, Root: files.Root(), TrustsPrograms: c.trusted,
		Confinement: permission.Confinement{Sandbox: true, Layer: true, ByEntry: true}}
	opt.Waits = c.waits
	opt.Sandbox, opt.Guard = c, permission.NewGuard(project.Project{Root: files.Root()})
	c.state = t.TempDir()
	opt.Journal = func(session, _ string) (*journal.Journal, error) {
		return journal.Open(journal.Config{Dir: journal.Dir(c.state, files.Root(), session), Root: files.Root()})
	}
	c.prepare(t, files.Root())
	return opt
}

func changed(path string) []sandbox.Change {
	return []sandbox.Change{{Path: path, Kind: sandbox.Modified, Mode: 0o644}}
}

func TestALineThatChangedNothingIsNeverAskedAbout(t *testing.T) {
	t.Parallel()
	c, cb := &confinement{}, &recorder{}
	result, r := c.runs(t, "awk 1 /dev/null; echo seen", permission.ModeAsk, cb)
	if len(cb.asked) > 0 || len(r.Denied) > 0 || !strings.Contains(result, "seen") {
		t.Errorf("asked %v, denied %v: %s", cb.asked, r.Denied, result)
	}
	if c.places()[0] != permission.PlaceLayer || c.discarded != 1 || c.kept != 1 {
		t.Errorf("places %v, discarded %d, kept %d", c.places(), c.discarded, c.kept)
	}
}

func TestWhatALineDidIsAskedAboutAfterwards(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		answers  []agent.Answer
		applied  int
		expected []string // texts in the result
		nobody   bool
	}{
		{"yes", []agent.Answer{{Verdict: agent.Yes}}, 1, []string{"printed", "its changes were applied: files: 1 modified"}, false},
		{"no", []agent.Answer{{Reason: "not that file"}}, 0,
			[]string{"printed", "changes discarded: not that file", "a.txt"}, false},
		{"nobody", nil, 0, []string{"printed", "changes discarded: no one can answer"}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			c, cb := &confinement{list: changed("a.txt")}, &recorder{answers: row.answers}
			result, r := c.runs(t, "echo printed; uniq a.txt | wc -l", permission.ModeAsk, cb)
			if len(cb.asked) != 1 || cb.asked[0].Kind != agent.QuestionChanges || cb.asked[0].Diff == "" ||
				len(cb.asked[0].Effects.By[permission.Modified]) != 1 {
				t.Fatalf("asked %+v", cb.asked)
			}
			for _, text := range row.expected {
				if !strings.Contains(result, text) {
					t.Errorf("the result lacks %q: %s", text, result)
				}
			}
			if c.landed(t) != row.applied || c.discarded != 1 || c.kept != row.applied {
				t.Errorf("applied %d, discarded %d, kept %d", c.landed(t), c.discarded, c.kept)
			}
			if denied := len(r.Denied) == 1; denied != (row.applied == 0) || denied && r.Denied[0].Nobody != row.nobody {
				t.Errorf("denied %+v", r.Denied)
			}
		})
	}
}

func TestPlanModeRunsOnALayerAndKeepsNothing(t *testing.T) {
	t.Parallel()
	c, cb := &confinement{list: changed("a.txt")}, &recorder{}
	result, r := c.runs(t, "echo printed; uniq a.txt | wc -l", permission.ModePlan, cb)
	if len(cb.asked) > 0 || c.landed(t) > 0 || !strings.Contains(result, "printed") ||
		!strings.Contains(result, "plan mode changes nothing") || len(r.Denied) != 1 {
		t.Errorf("asked %v, applied %d, denied %v: %s", cb.asked, c.landed(t), r.Denied, result)
	}
	if want := "changes discarded: plan mode changes nothing (modified: a.txt)"; len(cb.notices) != 1 ||
		cb.notices[0].Text != want || !slices.Equal(r.Denied[0].Changes, []string{"modified: a.txt"}) {
		t.Errorf("the user is told %v, denied %v", cb.notices, r.Denied)
	}
}

// Changes discarded without a question are named, to the user and the model: at most twenty
// names, and beyond sixty the directories.
func TestWhatIsDiscardedWithoutAQuestionIsNamed(t *testing.T) {
	t.Parallel()
	for n, row := range map[int]struct {
		text    string
		changes int
	}{
		15: {"modified: changed4 and 10 more)", 30},
		40: {"(deleted: ./ (40 paths), modified: ./ (40 paths))", 2},
	} {
		var list []sandbox.Change
		for i := range n {
			list = append(list, sandbox.Change{Path: fmt.Sprint("gone", i), Kind: sandbox.Deleted, Mode: 0o644})
			list = append(list, changed(fmt.Sprint("changed", i))...)
		}
		c, cb := &confinement{list: list}, &recorder{}
		result, r := c.runs(t, "uniq gone1; uniq gone2", permission.ModePlan, cb)
		if len(cb.notices) != 1 || !strings.HasSuffix(cb.notices[0].Text, row.text) || !strings.Contains(result, row.text) {
			t.Errorf("the user is told %v, the model %s", cb.notices, result)
		}
		if len(r.Denied) != 1 || len(r.Denied[0].Changes) != row.changes {
			t.Errorf("denied %v", r.Denied)
		}
	}
}

// A discard about which no one could be asked was named by the question: it has no notice.
func TestWhatNoOneCouldBeAskedAboutIsNamedOnce(t *testing.T) {
	t.Parallel()
	c, cb := &confinement{list: changed("a.txt")}, &recorder{}
	result, _ := c.runs(t, "uniq a.txt | wc -l", permission.ModeAsk, cb)
	if len(cb.notices) > 0 || len(cb.asked) != 1 || cb.asked[0].Reason != "modified: a.txt" ||
		strings.Count(result, "modified: a.txt") != 1 {
		t.Errorf("asked %+v, told %v, the model %s", cb.asked, cb.notices, result)
	}
}

// Only applied changes are called "applied": to the user, and to the model.
func TestALayerThatCannotBeAppliedIsNotSaidToBe(t *testing.T) {
	t.Parallel()
	c, cb := &confinement{list: changed("a.txt")}, &recorder{}
	cb.answers = []agent.Answer{{Verdict: agent.Yes}}
	cb.onAsk = func(q agent.Question) {
		if err := os.WriteFile(filepath.Join(q.Dir, "a.txt"), []byte("the user's own"), 0o644); err != nil {
			t.Error(err)
		}
	}
	result, r := c.runs(t, "uniq a.txt", permission.ModeAsk, cb)
	if !strings.Contains(result, "[nothing was applied: ") || !strings.Contains(result, "run it again on the current files]\n") ||
		len(r.Denied) != 1 ||
		!strings.Contains(result, "error=true") || strings.Contains(result, "changes were applied") {
		t.Error(result)
	}
	if len(cb.notices) != 1 || !strings.Contains(cb.notices[0].Text, "nothing was applied") {
		t.Errorf("the user is told %v", cb.notices)
	}
	if data, err := os.ReadFile(filepath.Join(c.root, "a.txt")); err != nil || string(data) != "the user's own" {
		t.Errorf("%q, %v", data, err)
	}
}

// A line's changes are read and judged only as long as the turn goes on, and for a limited time; then they are
// discarded.
func TestJudgingEndsInTime(t *testing.T) {
	t.Parallel()
	c, cb := &confinement{list: changed("a.txt"), waits: agent.Waits{Judging: time.Millisecond}, read: func(ctx context.Context) { <-ctx.Done() }}, &recorder{}
	result, _ := c.runs(t, "uniq a.txt", permission.ModeAuto, cb)
	if why := "changes discarded: reading them took longer than 1ms"; !strings.Contains(result, why) || c.landed(t) != 0 ||
		len(cb.notices) != 1 || cb.notices[0].Text != why {
		t.Errorf("in time: %s, the user is told %v", result, cb.notices)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("that is enough")
	c = &confinement{list: changed("a.txt"), waits: agent.Waits{Judging: time.Hour}, read: func(within context.Context) {
		cancel(stopped)
		<-within.Done()
	}}
	a := c.agent(t, "uniq a.txt", permission.ModeAuto)
	if _, err := a.SendMessage(ctx, "go", cb); !errors.Is(err, stopped) || c.landed(t) != 0 {
		t.Errorf("with the turn: %v", err)
	}
}

func TestALineThatFailsAtADenialMayRunOnceMoreOutside(t *testing.T) {
	t.Parallel()
	denials := []sandbox.Denial{{Kind: "network", What: "no route to another machine"}}
	c, cb := &confinement{denials: denials}, &recorder{answers: []agent.Answer{{Verdict: agent.Yes}}}
	result, _ := c.runs(t, "echo again; exit 3", permission.ModeAuto, cb)
	if len(cb.asked) != 1 || cb.asked[0].Kind != agent.QuestionOutside ||
		!strings.Contains(cb.asked[0].Reason, "no route to another machine") {
		t.Fatalf("asked %+v", cb.asked)
	}
	if len(c.lines) != 1 || c.places()[0] != permission.PlaceLayer || !strings.Contains(result, "ran once more outside") {
		t.Errorf("places %v: %s", c.places(), result)
	}
	c, cb = &confinement{denials: denials}, &recorder{}
	result, r := c.runs(t, "exit 3", permission.ModeAuto, cb)
	if len(r.Denied) > 0 || !strings.Contains(result, "[confined: no route to another machine]") {
		t.Errorf("nobody could be asked: denied %v: %s", r.Denied, result)
	}
}

// A command that succeeded needed nothing that it was denied; it cannot know of files it lost.
func TestDenialsAreNamedWhereTheyMatter(t *testing.T) {
	t.Parallel()
	c := &confinement{denials: []sandbox.Denial{{Kind: sandbox.DenialHome, What: "lost: /h/.x"}, {Kind: sandbox.DenialLoopback, What: "own loopback"},
		{Kind: sandbox.DenialNetwork, What: "no route"}, {Kind: sandbox.DenialSocket, What: "no sockets"}}}
	for line, want := range map[string]string{
		"true":   "[confined: lost: /h/.x]",
		"exit 3": "[confined: lost: /h/.x; own loopback; no route; no sockets]",
	} {
		if result, _ := c.runs(t, line, permission.ModeAuto, &recorder{}); !strings.Contains(result, want) {
			t.Errorf("%s: %s", line, result)
		}
	}
	c.denials = c.denials[1:2] // admitting the port is the way, not to leave the sandbox
	cb := &recorder{answers: []agent.Answer{{Verdict: agent.Yes}}}
	if _, _ = c.runs(t, "exit 3", permission.ModeAuto, cb); len(cb.asked) > 0 {
		t.Errorf("asked %+v", cb.asked)
	}
}

// Where the place that was decided is not to be had, nothing runs without a
// question, and the user is notified once.
func TestWhatCannotBeConfinedIsAskedAbout(t *testing.T) {
	t.Parallel()
	c := &confinement{fails: map[permission.Place]error{permission.PlaceLayer: errors.New("no overlay"),
		permission.PlaceSandbox: errors.New("no namespaces")}}
	cb := &recorder{answers: []agent.Answer{{Verdict: agent.Yes}, {Verdict: agent.Yes}}}
	result, _ := c.runs(t, "awk 1 /dev/null; echo ran", permission.ModeAsk, cb)
	if len(cb.asked) != 2 || !strings.Contains(result, "ran") || len(c.lines) != 2 {
		t.Errorf("asked %d times, places %v: %s", len(cb.asked), c.places(), result)
	}
	if len(cb.notices) != 2 || !strings.Contains(cb.notices[0].Text, "no overlay") ||
		!strings.Contains(cb.notices[1].Text, "no namespaces") {
		t.Errorf("notices %v", cb.notices)
	}
	c.lines, cb = nil, &recorder{}
	if result, r := c.runs(t, "awk 1 /dev/null; echo ran", permission.ModeAsk, cb); strings.Contains(result, "ran") ||
		len(r.Denied) != 1 {
		t.Errorf("nobody was asked, denied %v: %s", r.Denied, result)
	}
	c.fails = map[permission.Place]error{permission.PlaceReadOnly: errors.New("no mounts")}
	cb = &recorder{}
	a := c.agent(t, "echo ran", permission.ModeAsk)
	a.Policy().Confinement.Layer = false
	mustSend(t, a, cb, "go")
	if result := strings.Join(history(a), "\n"); !strings.Contains(result, "ran") || len(cb.notices) != 1 {
		t.Errorf("notices %v: %s", cb.notices, result)
	}
}

// A command on the project itself can make a guarded file that was not there to be
// protected. Without a yes it moves into the journal, from where undo takes it.
func TestAGuardedFileStaysOnlyAfterAYes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		answers []agent.Answer
		stays   bool
		text    string
	}{
		{[]agent.Answer{{Verdict: agent.Yes}}, true, "the user keeps files that programs run automatically: .envrc"},
		{[]agent.Answer{{Reason: "not that"}}, false, "moved away, since programs run or obey it automatically: .envrc: not that"},
		{nil, false, "moved away, since programs run or obey it automatically: .envrc"},
	} {
		c, cb := &confinement{trusted: true}, &recorder{answers: row.answers}
		a := c.agent(t, "sh build.sh", permission.ModeAuto)
		a.Policy().Confinement.Layer = false
		must(t, os.WriteFile(filepath.Join(c.root, "build.sh"), []byte("echo x > .envrc"), 0o644))
		r := mustSend(t, a, cb, "go")
		result := strings.Join(history(a), "\n")
		_, statErr := os.Stat(filepath.Join(c.root, ".envrc"))
		if len(cb.asked) != 1 || !cb.asked[0].Effects.There || (statErr == nil) != row.stays ||
			!strings.Contains(result, row.text) || (len(r.Denied) == 0) != row.stays {
			t.Errorf("%v: asked %d, %v, denied %v: %s", row.answers, len(cb.asked), statErr, r.Denied, result)
		}
	}
}

// A user who has turned away from a long command learns that a question may wait.
func TestALongCommandOnALayerSaysThatAQuestionMayFollow(t *testing.T) {
	t.Parallel()
	fifo := filepath.Join(t.TempDir(), "fifo")
	if out, err := exec.Command("mkfifo", fifo).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cb := &recorder{onNotice: func(n agent.Notice) {
		if strings.Contains(n.Text, "artoo may ask about its changes") {
			if err := os.WriteFile(fifo, []byte("go on\n"), 0o600); err != nil { // the command waits for it
				t.Error(err)
			}
		}
	}}
	c := &confinement{waits: agent.Waits{Warning: time.Millisecond}}
	if result, _ := c.runs(t, "awk 1 "+fifo, permission.ModeAsk, cb); !strings.Contains(result, "go on") {
		t.Error(result)
	}
}

func TestWhatIsForbiddenIsLeftOut(t *testing.T) {
	t.Parallel()
	c := &confinement{list: append(changed("a.txt"),
		sandbox.Change{Path: "pipe", Kind: sandbox.Created, Mode: 0o644 | fs.ModeNamedPipe, Special: true})}
	result, _ := c.runs(t, "uniq a.txt", permission.ModeAsk, &recorder{answers: []agent.Answer{{Verdict: agent.Yes}}})
	if c.landed(t) != 1 || !strings.Contains(result, "cannot be applied: pipe (a device, FIFO or socket)") {
		t.Errorf("landed %d: %s", c.landed(t), result)
	}
}

// After an answer that stops the turn nothing more is asked.
func TestAStopAtOneQuestionAsksNoOther(t *testing.T) {
	t.Parallel()
	c := &confinement{denials: []sandbox.Denial{{Kind: "network", What: "no route"}}, list: changed("a.txt")}
	cb := &recorder{answers: []agent.Answer{{Verdict: agent.StopTurn}, {}}}
	if _, err := send(t, c.agent(t, "exit 3", permission.ModeAsk), cb, "go"); !errors.Is(err, agent.ErrStopped) {
		t.Error(err)
	}
	if len(cb.asked) != 1 {
		t.Errorf("%d questions", len(cb.asked))
	}
}

// A command that runs outside after all, because its place was gone or a denial stopped it, can be undone as any other;
// the user's changes during a question are not its own.
func TestWhatRunsOutsideAfterAllCanBeUndone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]*confinement{
		"no place": {fails: map[permission.Place]error{permission.PlaceLayer: errors.New("no overlay"),
			permission.PlaceSandbox: errors.New("no namespaces")}},
		"a denial": {denials: []sandbox.Denial{{Kind: "network", What: "no route"}}},
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
			mustSend(t, a, cb, "go")
			var paths []string
			for _, change := range a.Journal().Diff() {
				paths = append(paths, change.Path)
			}
			wantLines(t, paths, "made.txt")
		})
	}
}

// Only hidden files in a line, or in the output of a failed one, are named.
func TestWhatIsHiddenIsNamedWhereItMattered(t *testing.T) {
	t.Parallel()
	home, tools := t.TempDir(), t.TempDir()
	for path, mode := range map[string]fs.FileMode{filepath.Join(home, ".myrc"): 0o600, filepath.Join(home, ".other"): 0o600,
		filepath.Join(tools, "artoo-test-tool"): 0o755} {
		must(t, os.WriteFile(path, []byte("#!/bin/sh\n"), mode))
	}
	tool := "artoo-test-tool is hidden here; add " + tools + " to [permissions] toolchains or ARTOO_TOOLCHAINS"
	for line, want := range map[string]string{
		"awk 1 ~/.myrc; exit 1":                                   "~/.myrc is hidden here",
		"test -f ~/.myrc || echo none":                            "~/.myrc is hidden here",
		"awk 1 $HOME/.myrc; exit 1":                               "~/.myrc is hidden here",
		"awk 1 --file=" + home + "/.myrc; exit 1":                 "~/.myrc is hidden here",
		"echo cannot open .secret: no such file; false":           ".secret is hidden here",
		"echo cannot open .secret; true":                          "",
		"echo cannot open " + home + "/.none; false":              "",
		"echo tests failed; exit 1":                               "",
		"ls ~/; cd ~ && exit 1":                                   "",
		"artoo-test-tool; exit 127":                               tool,
		"artoo-none; exit 127":                                    "node_modules is hidden here",
		"echo artoo-test-tool: not found; sh -c \\\"exit 127\\\"": tool,
		"echo artoo-test-tool; exit 1":                            "",
	} {
		c := &confinement{trusted: true, list: []sandbox.Change{{Path: ".secret", Kind: sandbox.Modified, Mode: 0o600}}}
		a := c.agent(t, line, permission.ModePlan)
		c.list = nil
		modules := filepath.Join(c.root, "node_modules")
		must(t, os.Symlink(home, modules))
		c.hides = []string{filepath.Join(home, ".myrc"), filepath.Join(home, ".other"), tools, filepath.Join(c.root, ".secret"), modules}
		a.Env().Environ = []string{"PATH=" + os.Getenv("PATH") + ":" + tools, "HOME=" + home}
		mustSend(t, a, &recorder{}, "go")
		got := ""
		for said := range strings.Lines(toolResults(a)[0]) {
			if _, rest, ok := strings.Cut(said, "[confined: "); ok {
				got = strings.TrimSuffix(rest, "]\n")
			}
		}
		if got != want {
			t.Errorf("%s: %q, expected %q: %s", line, got, want, toolResults(a)[0])
		}
	}
}

// Files that a background command makes move away while it runs; a yes brings them back.
func TestWhatABackgroundCommandMakesForOthersMovesAwayAtOnce(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		answers []agent.Answer
		stays   bool
	}{{[]agent.Answer{{Verdict: agent.Yes}}, true}, {[]agent.Answer{{Reason: "no"}}, false}, {nil, false}} {
		c := &confinement{trusted: true, waits: agent.Waits{Look: 50 * time.Millisecond}}
		a := c.scripted(t, permission.ModeAuto,
			fake.Call("c1", "bash", `{"command":"echo up; until test -e gate; do sleep 0.02; done","background":true}`), fake.Say("ok"), fake.Say("ok"))
		moved := make(chan string, 10)
		a.Opt().Notice = func(text string) { moved <- text }
		mustSend(t, a, &recorder{}, "go")
		envrc := filepath.Join(c.root, ".envrc")
		must(t, os.WriteFile(envrc, []byte("x"), 0o644))
		if text := <-moved; !strings.Contains(text, "moved away") || !strings.Contains(text, ".envrc") {
			t.Errorf("the user is told %q", text)
		}
		if _, err := os.Lstat(envrc); err == nil {
			t.Error("it is still there")
		}
		must(t, os.WriteFile(filepath.Join(c.root, "gate"), nil, 0o644))
		<-a.Env().Jobs.Find("1").Done()
		cb := &recorder{answers: row.answers}
		mustSend(t, a, cb, "go on")
		data, err := os.ReadFile(envrc)
		if len(cb.asked) != 1 || !slices.Equal(madeIn(cb.asked[0]), []string{".envrc"}) || (err == nil) != row.stays ||
			row.stays && string(data) != "x" {
			t.Errorf("%v: asked %+v, %q, %v", row.answers, cb.asked, data, err)
		}
		plan, err := a.Journal().Plan(t.Context(), 1, false)
		back := func(c journal.Change) bool {
			return c.Path == ".envrc" && (c.After.Kind == journal.Absent) != row.stays
		}
		if slices.ContainsFunc(plan.Restore, back) || row.stays && (err != nil || len(plan.Restore) == 0) {
			t.Errorf("%v: undo would do %+v, %v", row.answers, plan.Restore, err)
		}
	}
}

// The journal of a session is open until its background commands have ended and their files have moved there. In a fork
// they go on, and their files move into the fork's journal.
func TestWhatABackgroundCommandMakesMovesAwayAsTheSessionChanges(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(a *agent.Agent, old string) error{
		"clear":  func(a *agent.Agent, _ string) error { _, err := a.Clear(); return err },
		"resume": func(a *agent.Agent, old string) error { _, err := a.Resume(old); return err },
		"fork":   func(a *agent.Agent, _ string) error { _, _, err := a.Fork(0); return err },
	} {
		t.Run(name, func(t *testing.T) {
			c := &confinement{trusted: true, waits: agent.Waits{Look: time.Hour}} // Only the last look finds it.
			opt := c.options(t, permission.ModeAuto, fake.Say("hello"),
				fake.Call("c1", "bash", `{"command":"echo up; until test -e gate; do sleep 0.02; done","background":true}`), fake.Say("ok"), fake.Say("ok"))
			opt.Sessions = agent.Sessions{Store: conversation.Store{Dir: t.TempDir()}}
			var said []string
			opt.Notice = func(text string) { said = append(said, text) }
			a := made(t, opt)
			mustSend(t, a, &recorder{}, "hello")
			old, err := a.Clear()
			must(t, err)
			mustSend(t, a, &recorder{}, "go")
			envrc := filepath.Join(c.root, ".envrc")
			must(t, os.WriteFile(envrc, []byte("x"), 0o644))
			must(t, change(a, old))
			if _, err := os.Lstat(envrc); err == nil || !strings.Contains(strings.Join(said, "\n"), "moved away") {
				t.Errorf("it stays: %v; said %q", err, said)
			}
			if name != "fork" {
				return
			}
			must(t, os.WriteFile(envrc, []byte("x"), 0o644))
			must(t, os.WriteFile(filepath.Join(c.root, "gate"), nil, 0o644))
			<-a.Env().Jobs.Find("1").Done()
			cb := &recorder{answers: []agent.Answer{{Verdict: agent.Yes}}}
			mustSend(t, a, cb, "go on")
			if data, err := os.ReadFile(envrc); len(cb.asked) != 1 || string(data) != "x" {
				t.Errorf("asked %+v, %q, %v; said %q", cb.asked, data, err, said)
			}
		})
	}
}

// Links that a job makes where it may write are looked for: not those within the project.
func TestLinksThatLeadOutAreNotKeptUnasked(t *testing.T) {
	t.Parallel()
	c := &confinement{trusted: true, refusesWrites: true}
	line := "test -e first || { : > first; exit 3; }; mkdir dist; ln -s " + t.TempDir() + " dist/out; ln -s ../first dist/in; " +
		"ln -s ../.github/workflows dist/w; ln -s ../.git/hooks dist/h"
	a := c.scripted(t, permission.ModeAuto, fake.Call("c1", "bash", `{"command":"`+line+`","background":true}`), fake.Say("ok"))
	cb := &recorder{answers: []agent.Answer{{Verdict: agent.Yes}, {}}}
	mustSend(t, a, cb, "go")
	if len(cb.asked) != 2 || !slices.Equal(madeIn(cb.asked[1]), []string{"dist/h", "dist/out", "dist/w"}) {
		t.Fatalf("asked %+v", cb.asked)
	}
	var left []string
	entries, err := os.ReadDir(filepath.Join(c.root, "dist"))
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if err != nil || !slices.Equal(left, []string{"in"}) {
		t.Errorf("left: %v, %v", left, err)
	}
}

// Landlock allows no new entry beside .git: the denial is named, and outside is offered.
func TestANewEntryBesideGitIsOfferedOutside(t *testing.T) {
	t.Parallel()
	c := &confinement{trusted: true, denials: []sandbox.Denial{{Kind: sandbox.DenialEntry, What: "no new entries beside .git: dist"}}}
	cb := &recorder{answers: []agent.Answer{{Verdict: agent.Yes}}}
	a := c.agent(t, "mkdir dist && exit 1", permission.ModeAuto)
	a.Policy().Confinement.Layer = false
	mustSend(t, a, cb, "go")
	if len(cb.asked) != 1 || cb.asked[0].Kind != agent.QuestionOutside || !strings.Contains(cb.asked[0].Reason, "no new entries beside .git") ||
		c.places()[0] != permission.PlaceSandbox || !strings.Contains(toolResults(a)[0], "ran once more outside") {
		t.Errorf("asked %+v, places %v: %v", cb.asked, c.places(), toolResults(a))
	}
}

// madeIn are the guarded files that a question is about.
func madeIn(q agent.Question) (paths []string) {
	for _, e := range q.Effects.By[permission.RunsAutomatically] {
		paths = append(paths, e.Path)
	}
	return paths
}
