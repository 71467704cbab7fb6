package agent_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"artoo/agent"
	"artoo/agent/confine"
	"artoo/agent/permission"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
	"artoo/tool/journal"
	"artoo/tool/shell"
)

// A file that cannot be kept is not changed: neither by a file tool, nor by a command on the project itself.
func TestNothingRunsWhoseOriginalsCannotBeKept(t *testing.T) {
	t.Parallel()
	for _, call := range []provider.ToolCall{fake.ToolCall("c1", "fill", `{}`),
		fake.ToolCall("c1", "bash", `{"command":"sh build.sh"}`)} {
		c := &confinement{trusted: true, list: changed("a.txt")}
		opt := c.options(t, permission.ModeAuto, fake.Calls(call), fake.Say("ok"))
		ran := false
		opt.Tools = append(opt.Tools, fill(opt.Policy.Root, func() { ran = true }))
		opt.Policy.Confinement.Layer = false
		write(t, "echo x > made", opt.Policy.Root, "build.sh")
		state := filepath.Join(t.TempDir(), "state")
		opt.Journal = func(session, _ string) (*journal.Journal, error) {
			j, err := journal.Open(journal.Config{Dir: journal.Dir(state, opt.Policy.Root, session), Root: opt.Policy.Root})
			return j, errors.Join(err, os.RemoveAll(state), os.WriteFile(state, nil, 0o600))
		}
		a := made(t, opt)
		mustSend(t, a, &recorder{}, "go")
		_, err := os.Stat(filepath.Join(opt.Policy.Root, "made"))
		if got := toolResults(a)[0]; ran || err == nil || len(c.lines) > 0 || !strings.Contains(got, "error=true Not run: ") {
			t.Errorf("%s: ran %v, made %v, started %d: %s", call.Name, ran, err, len(c.lines), got)
		}
	}
}

// starting is a tool that starts a command where it was decided, and then calls the test's function.
func starting(then func(ctx context.Context) (tool.Result, error)) tool.Tool {
	return tool.New(tool.Def{Name: "starting", Kind: tool.KindRun},
		func(context.Context, *tool.Env, in) (tool.Access, error) {
			return tool.Access{Kind: tool.KindRun, Verb: "start", Command: "uniq a.txt", Dir: "/"}, nil
		}, func(ctx context.Context, env *tool.Env, _ in, _ io.Writer) (tool.Result, error) {
			command := shell.Command{Cmd: exec.Command("true"), Start: env.Start, Waits: shell.DefaultWaits()}
			if _, err := command.Run(context.Background()); err != nil {
				return tool.Result{}, err
			}
			return then(ctx)
		})
}

// A command whose call fails, or is given up, leaves no layer behind.
func TestTheLayerOfACallThatFailsIsDiscarded(t *testing.T) {
	t.Parallel()
	c := &confinement{list: changed("a.txt")}
	opt := c.options(t, permission.ModeAuto, fake.Call("c1", "starting", `{}`), fake.Say("ok"))
	opt.Tools = append(opt.Tools, starting(func(context.Context) (tool.Result, error) { return tool.Result{}, errors.New("broken") }))
	a := made(t, opt)
	if _, err := send(t, a, &recorder{}, "go"); err != nil || c.discarded != 1 || c.landed(t) > 0 {
		t.Errorf("%v: discarded %d, landed %d: %s", err, c.discarded, c.landed(t), toolResults(a))
	}

	c = &confinement{list: changed("a.txt")}
	opt = c.options(t, permission.ModeAuto, fake.Call("c1", "starting", `{}`))
	ctx, interrupt := context.WithCancel(t.Context())
	release := make(chan struct{})
	opt.Tools = append(opt.Tools, starting(func(context.Context) (tool.Result, error) { // it does not heed the interrupt
		interrupt()
		<-release
		return tool.Result{Text: "late"}, nil
	}))
	a, err := agent.New(opt)
	must(t, err)
	r, err := a.SendMessage(ctx, "go", &recorder{})
	if !errors.Is(err, context.Canceled) || len(r.Denied) != 1 || !strings.Contains(toolResults(a)[0], "its changes are discarded") {
		t.Errorf("%v, denied %+v: %s", err, r.Denied, toolResults(a))
	}
	close(release)
	if err := a.Close(); err != nil || c.discarded != 1 || c.landed(t) > 0 {
		t.Errorf("%v: discarded %d, landed %d", err, c.discarded, c.landed(t))
	}
}

// After an answer that stops the turn no call of the same moment is asked about.
func TestAStopAtACallAsksAboutNoneBesideIt(t *testing.T) {
	t.Parallel()
	asks, err := permission.ParseRule("read")
	must(t, err)
	p := &fake.Provider{Steps: []fake.Step{fake.Calls(fake.ToolCall("c1", "look", `{"arg":"x"}`), fake.ToolCall("c2", "look", `{"arg":"y"}`))}}
	a := newAgent(p, makeTool("look", tool.KindRead, nil))
	a.Opt().Policy.AskRules = []permission.Rule{asks}
	cb := &recorder{answers: []agent.Answer{{Verdict: agent.StopTurn}, {Verdict: agent.Yes}}}
	if _, err := send(t, a, cb, "go"); !errors.Is(err, agent.ErrStopped) || len(cb.asked) != 1 {
		t.Errorf("%v, asked %d times", err, len(cb.asked))
	}
	wantLines(t, cb.lines[len(cb.lines)-3:], "result c1 denied", "call c2 1/2", "result c2 interrupted")
}

// Each of a sub-agent's calls is planned once more before it is decided: another one may have changed its files.
func TestASubAgentsCallIsPlannedOnWhatIsThereThen(t *testing.T) {
	t.Parallel()
	var plans atomic.Int32
	look := tool.New(tool.Def{Name: "look", Kind: tool.KindRead},
		func(context.Context, *tool.Env, in) (tool.Access, error) {
			again := plans.Add(1) > 2
			return tool.Access{Kind: tool.KindRead, Verb: "look", Paths: []string{"/p/x"}, Outside: again, Why: "it became a link"}, nil
		}, func(context.Context, *tool.Env, in, io.Writer) (tool.Result, error) {
			return tool.Result{Text: "seen"}, nil
		})
	opt, c := withTasks(map[string][]fake.Step{
		"go":   {fake.Calls(task("t1", "work")), fake.Say("ok")},
		"work": {fake.Calls(fake.ToolCall("s1", "look", `{}`), fake.ToolCall("s2", "look", `{}`)), fake.Say("done")},
	}, nil, look)
	mustSend(t, made(t, opt), &recorder{}, "go")
	last := c.heard["work"][1].Messages
	result := last[len(last)-1].Parts[0].(provider.ToolResult)
	if !result.IsError || !strings.Contains(result.Text, "it became a link") {
		t.Errorf("%+v", result)
	}
}

// counting is a sandbox that knows how many commands ran at a time.
type counting struct {
	*confinement
	mu        sync.Mutex
	runs, max int
}

type counted struct {
	confine.Confined
	of   *counting
	once sync.Once
}

func (c *counting) Start(cmd *exec.Cmd, line confine.Line) (confine.Confined, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.runs++; c.runs > c.max {
		c.max = c.runs
	}
	confined, err := c.confinement.Start(cmd, line)
	return &counted{Confined: confined, of: c}, err
}

func (c *counted) Release() {
	c.once.Do(func() {
		c.of.mu.Lock()
		defer c.of.mu.Unlock()
		c.of.runs--
	})
	c.Confined.Release()
}

// Commands that were to run side by side since they only read run one after another where
// a call before them has made lines of them that may change something.
func TestCommandsThatNoLongerOnlyReadRunOneAfterAnother(t *testing.T) {
	t.Parallel()
	c := &counting{confinement: &confinement{}}
	opt := c.options(t, permission.ModeEdits, fake.Calls(fake.ToolCall("c1", "fill", `{}`),
		fake.ToolCall("c2", "bash", `{"command":"cat gate a.txt; cat gate"}`), fake.ToolCall("c3", "bash", `{"command":"cat gate; cat a.txt"}`)), fake.Say("ok"))
	opt.Sandbox = c
	opt.Policy.World.Files = opt.Env.Files
	gate := filepath.Join(opt.Policy.Root, "gate")
	opt.Tools = append(opt.Tools, fill(opt.Policy.Root, func() {
		if err := errors.Join(os.Remove(gate), os.Symlink(t.TempDir(), gate)); err != nil {
			t.Error(err)
		}
	}))
	write(t, "x", opt.Policy.Root, "gate")
	a := made(t, opt)
	cb := &recorder{answers: []agent.Answer{{Verdict: agent.Yes}, {Verdict: agent.Yes}}}
	mustSend(t, a, cb, "go")
	if c.max != 1 || len(c.lines) != 2 || c.places()[0] == permission.PlaceReadOnly {
		t.Errorf("%d at a time, %d in %v: %s", c.max, len(c.lines), c.places(), toolResults(a))
	}
}
