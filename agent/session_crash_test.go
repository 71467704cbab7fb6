package agent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/conversation"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
	"artoo/tool/sweep"
)

// crashVar makes the test binary a process that plays the crash story in a directory
// and kills itself after a write: DIR:NUMBER.
const crashVar = "AGENT_TEST_CRASH"

// crashed plays the story as the process that crashVar names, and returns when it
// ended before that write.
func crashed(task string) int {
	dir, number, _ := strings.Cut(task, "|")
	n, err := strconv.Atoi(number)
	if err != nil {
		return 2
	}
	written := 0
	c := crashStory{dir: dir, open: func(path string, flags int) (conversation.File, error) {
		f, err := os.OpenFile(path, flags, 0o600)
		return &brokenFile{File: f, write: func(line []byte) (int, error) {
			size, err := f.Write(line)
			if written++; written == n {
				self, _ := os.FindProcess(os.Getpid()) // never fails on Unix
				_ = self.Kill()
				select {}
			}
			return size, err
		}}, err
	}}
	if err := c.play(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// crashStory is a session with tools and approvals, in a directory of its own. The acts of the tool and the messages to
// the user are written to files there.
type crashStory struct {
	dir  string
	open func(path string, flags int) (conversation.File, error) // nil: no faults
	// failed says that a fault has shown. A result that could not be kept is reported with the fault, since the call
	// did run: it is no promise.
	failed bool
}

// note adds a line to a file of the story.
func (c *crashStory) note(file, line string) error {
	f, err := os.OpenFile(filepath.Join(c.dir, file), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, line+"\n")
	return errors.Join(err, f.Close())
}

func (c *crashStory) lines(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(c.dir, file))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Fields(string(data))
}

func (c *crashStory) store() conversation.Store {
	return conversation.Store{Dir: filepath.Join(c.dir, "sessions"), OpenFile: c.open}
}

func (c *crashStory) agent(model provider.Provider, first *conversation.Session) (*agent.Agent, error) {
	effect := makeTool("do", tool.KindRun, func(_ context.Context, arg string, _ io.Writer) (tool.Result, error) {
		return tool.Result{Text: "did " + arg + strings.Repeat(" and looked at what came of it", 50)}, c.note("effects", arg)
	})
	opt := testOptions(model, effect, makeTool("look", tool.KindRead, nil))
	opt.Env.Dir, opt.Policy.Root, opt.Policy.Mode = c.dir, c.dir, permission.ModeAsk
	opt.MaxContextTokens, opt.ToolResultMaxChars = 50000, 10000
	opt.Sessions = agent.Sessions{Store: c.store(), First: first}
	return agent.New(opt)
}

// answering approves all, and records the messages to the user.
type answering struct {
	agent.NopCallbacks
	story *crashStory
	err   error
}

func (a *answering) OnToolResult(c agent.Call, r agent.CallResult) {
	if r.Status == agent.CallOK && !a.story.failed {
		a.err = errors.Join(a.err, a.story.note("told", c.ID))
	}
}

func (a *answering) Ask(context.Context, agent.Question) (agent.Answer, error) {
	return agent.Answer{Verdict: agent.Yes}, nil
}

// play has the story told from its beginning.
func (c *crashStory) play() (err error) {
	model := &fake.Provider{Steps: []fake.Step{
		fake.Calls(fake.ToolCall("c1", "do", `{"arg":"one"}`), fake.ToolCall("c2", "look", `{"arg":"x"}`)),
		fake.Call("c3", "do", `{"arg":"two"}`), fake.Say("first answer"),
		fake.Call("c4", "do", `{"arg":"three"}`), fake.Say("second answer"),
		summary(),
		fake.Call("c5", "do", `{"arg":"four"}`), fake.Say("third answer"),
	}}
	a, err := c.agent(model, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Conversation().Session().Close()) }()
	told := &answering{story: c}
	for _, text := range []string{"first", "second", "third"} {
		if text == "third" {
			if err := c.compact(a); err != nil {
				return errors.Join(err, told.err)
			}
		}
		if _, err := a.SendMessage(context.Background(), text, told); err != nil {
			return errors.Join(err, told.err)
		}
		if err := c.note("told", text); err != nil {
			return err
		}
	}
	return told.err
}

// compact has the model sum up, and takes that back and does it without the model.
func (c *crashStory) compact(a *agent.Agent) error {
	if _, err := a.Compact(context.Background(), "", agent.NopCallbacks{}); err != nil {
		return err
	}
	summed, err := a.Uncompact()
	if err == nil && summed == "" && !c.failed {
		err = errors.New("nothing was summed up")
	}
	if err != nil {
		return err
	}
	_, err = a.Conversation().Compact()
	return err
}

// check continues the story after the crash.
func (c *crashStory) check(t *testing.T) {
	t.Helper()
	c.open = nil
	did := c.lines(t, "effects")
	infos, err := c.store().List()
	must(t, err)
	told := c.lines(t, "told")
	if len(infos) == 0 {
		if len(did)+len(told) > 0 {
			t.Errorf("no session is left of %q, %q", did, told)
		}
		return
	}
	s, err := c.store().Open(infos[0].ID)
	must(t, err)
	model := &fake.Provider{Steps: []fake.Step{fake.Say("gone on")}} // refuses a history that a wire would
	a, err := c.agent(model, s)
	must(t, err)
	if _, err := a.SendMessage(t.Context(), "go on", agent.NopCallbacks{}); err != nil {
		t.Fatal(err)
	}
	must(t, a.Conversation().Session().Close())
	if now := c.lines(t, "effects"); !slices.Equal(now, did) {
		t.Errorf("done before it went on %q, and after it %q", did, now)
	}
	c.holds(t, infos[0].ID, did, told)
}

// holds looks for the acts and messages in the file.
func (c *crashStory) holds(t *testing.T, id string, did, told []string) {
	t.Helper()
	whole, err := c.store().Read(id)
	must(t, err)
	for _, n := range whole.Notices() {
		if strings.Contains(n, "cannot be read") || strings.Contains(n, "was cut off and is left out") {
			t.Errorf("told again: %s", n)
		}
	}
	calls, results, texts := "", "", ""
	for _, m := range whole.Messages() {
		texts += m.Text() + "\n"
		for _, p := range m.Parts {
			switch p := p.(type) {
			case provider.ToolCall:
				calls += string(p.Input)
			case provider.ToolResult:
				results += p.CallID + "\n"
			}
		}
	}
	for _, arg := range did {
		if !strings.Contains(calls, `"`+arg+`"`) {
			t.Errorf("%s was done, and the session holds no call for it", arg)
		}
	}
	for _, what := range told {
		if !strings.Contains(results+texts, what) {
			t.Errorf("the user was told of %s, and the session does not hold it", what)
		}
		if answer := what + " answer"; (what == "first" || what == "second" || what == "third") && !strings.Contains(texts, answer) {
			t.Errorf("the user had the %s, and the session does not hold it", answer)
		}
	}
	if !strings.HasSuffix(texts, "go on\ngone on\n") {
		t.Errorf("it ends with %q", texts)
	}
}

// brokenFile is a session's file some of whose writes go wrong.
type brokenFile struct {
	conversation.File
	write func(line []byte) (int, error)
	sync  func() error
}

func (f *brokenFile) Write(line []byte) (int, error) { return f.write(line) }

func (f *brokenFile) Sync() error {
	if f.sync != nil {
		return f.sync()
	}
	return f.File.Sync()
}

// someWrites are the numbers of writes of the story, from 1 on, that a test looks at, and of one that never comes.
func someWrites(t *testing.T) (numbers []int) {
	t.Helper()
	writes := 0
	c := crashStory{dir: t.TempDir(), open: func(path string, flags int) (conversation.File, error) {
		f, err := os.OpenFile(path, flags, 0o600)
		return &brokenFile{File: f, write: func(line []byte) (int, error) {
			writes++
			return f.Write(line)
		}}, err
	}}
	must(t, c.play())
	for _, i := range sweep.Cases(t, writes/4, writes) {
		numbers = append(numbers, i+1)
	}
	return append(numbers, writes+1)
}

// TestAKillAfterAnyWriteLosesNothing kills a process after each of the writes of a
// session with tools and approvals: the session goes on, its history is one that
// models take, no act or report is missing, and nothing is done again.
func TestAKillAfterAnyWriteLosesNothing(t *testing.T) {
	t.Parallel()
	numbers := someWrites(t)
	for _, n := range numbers {
		c := crashStory{dir: t.TempDir()}
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s|%d", crashVar, c.dir, n))
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		if err := cmd.Run(); err == nil {
			if n != numbers[len(numbers)-1] {
				t.Errorf("it ended before write %d", n)
			}
		} else if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.Exited() {
			t.Fatalf("after write %d: %v\n%s", n, err, &stderr)
		}
		t.Run(fmt.Sprint("after write ", n), c.check)
	}
}

// TestAFaultOfAnyWriteLosesNothing is the same with writes that fail, whole or in the
// middle of a line, once or from then on, and with files that cannot be synced.
func TestAFaultOfAnyWriteLosesNothing(t *testing.T) {
	t.Parallel()
	for _, fault := range []struct {
		name  string
		err   error
		short int // one part of so many is written; 0 for nothing
		last  bool
		sync  bool
	}{
		{"full disk", syscall.ENOSPC, 2, true, false}, {"full disk for a moment", syscall.ENOSPC, 2, false, false},
		{"nothing written", syscall.EIO, 0, false, false}, {"all but the end", syscall.EIO, 1, false, false},
		{"not synced", syscall.EIO, 0, true, true},
	} {
		t.Run(fault.name, func(t *testing.T) {
			for _, n := range someWrites(t) {
				done := 0
				c := crashStory{dir: t.TempDir()}
				hit := func() bool {
					done++
					now := done == n || fault.last && done > n
					c.failed = c.failed || now
					return now
				}
				c.open = func(path string, flags int) (conversation.File, error) {
					f, err := os.OpenFile(path, flags, 0o600)
					broken := &brokenFile{File: f, write: func(line []byte) (int, error) {
						if fault.sync || !hit() {
							return f.Write(line)
						}
						part := 0
						if fault.short > 0 {
							part = max(0, len(line)/fault.short-1)
						}
						size, err := f.Write(line[:part])
						return size, errors.Join(err, fault.err)
					}}
					if fault.sync {
						broken.sync = func() error {
							if hit() {
								return fault.err
							}
							return f.Sync()
						}
					}
					return broken, err
				}
				err := c.play()
				if (done < n) != (err == nil) && !errors.Is(err, fault.err) {
					t.Fatalf("fault at %d of %d: %v", n, done, err)
				}
				t.Run(fmt.Sprint("at ", n), c.check)
			}
		})
	}
}
