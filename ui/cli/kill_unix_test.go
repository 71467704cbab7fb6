//go:build unix

package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"artoo/provider/providertest"
	"artoo/tool/journal"
	"artoo/tool/sweep"
)

// moment is when artoo is killed: so long after a request to the model.
type moment struct {
	request int // -1 is the start
	after   time.Duration
}

// storyRun is one run of the story, in a project and a home of its own.
type storyRun struct {
	*testing.T
	program string
	root    string
	env     []string
	layers  bool                       // commands run on layers here
	says    []providertest.Reply       // the model's, one request after the other
	looks   func(providertest.Request) // called at each request; may be nil

	states []map[string]string // the project at each request and each prompt
	begun  []time.Time         // the requests
}

func newStoryRun(t *testing.T) *storyRun {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	k := &storyRun{T: t, program: buildProgram(t, moduleDir), root: filepath.Join(dir, "project")}
	storyProject(t, k.root)
	temp := filepath.Join(dir, "temp")
	if err := os.Mkdir(temp, 0o700); err != nil {
		t.Fatal(err)
	}
	k.env = home(t, "ARTOO_SANDBOX=auto", "container=test", "ARTOO_PROVIDER=compatible", "ARTOO_MODEL=test-model",
		"TMPDIR="+temp)
	if k.layers, err = layersHere(k.program, k.env); err != nil {
		t.Fatal(err)
	}
	k.says = replies(k.layers)
	return k
}

// artoo starts a conversation over pipes. asked is called at every request.
func (k *storyRun) artoo(asked func(n int), args ...string) *talker {
	k.Helper()
	model := newModel(k, func(n int, r providertest.Request) providertest.Reply {
		asked(n)
		if k.looks != nil {
			k.looks(r)
		}
		if n < len(k.says) {
			return k.says[n]
		}
		return providertest.Chat(providertest.Text("Nothing is left."))
	})
	c := &talker{storyRun: k, heard: &transcript{grew: make(chan struct{}, 1)}, ended: make(chan struct{})}
	c.cmd = exec.Command(k.program, append([]string{"--interactive"}, args...)...)
	c.cmd.Dir, c.cmd.Env = k.root, append(k.env, "ARTOO_BASE_URL="+model.URL+"/v1")
	both := &stream{t: c.heard} // one pipe: the prompt never comes before the answer
	c.cmd.Stdout, c.cmd.Stderr = both, both
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		k.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		k.Fatal(err)
	}
	go func() {
		defer close(c.ended)
		c.err = c.cmd.Wait()
	}()
	return c
}

// talker is a conversation of which every question is answered.
type talker struct {
	*storyRun
	cmd   *exec.Cmd
	in    io.WriteCloser
	heard *transcript
	ended chan struct{}
	err   error // how it ended
}

// atPrompt finds the prompt, or a question that waits for its answer.
var atPrompt = regexp.MustCompile(`(?:^|\n)(?:you: |approve: .*\? [0-9/ ]*\[[^\]]*\] \(n\) )$`)

var refused = regexp.MustCompile(`refuse|\.envrc`)

// say waits for the prompt and types a line, "" for none; questions on the way are
// answered. It reports whether the program is still there.
func (c *talker) say(line string) bool {
	c.Helper()
	late := time.After(endless)
	for {
		c.heard.mu.Lock()
		all := c.heard.text.String()
		found := atPrompt.FindStringIndex(all[c.heard.at:])
		shown := ""
		if found != nil {
			shown = all[c.heard.at : c.heard.at+found[1]]
			c.heard.at += found[1]
		}
		c.heard.mu.Unlock()
		switch {
		case strings.HasSuffix(shown, "you: "):
			return line == "" || c.write(line+"\n")
		case found != nil && refused.MatchString(shown):
			c.write("n\n")
			continue
		case found != nil:
			c.write("y\n")
			continue
		}
		select {
		case <-c.heard.grew:
		case <-c.ended:
			return false
		case <-late:
			_ = c.cmd.Process.Kill() // it may have ended meanwhile
			<-c.ended
			c.Fatalf("no prompt comes:\n%s", all)
		}
	}
}

// write types the text, and reports false if the program was killed.
func (c *talker) write(text string) bool {
	_, err := io.WriteString(c.in, text)
	return err == nil
}

// play tells the story to its end, or until it is killed.
func (c *talker) play(atPrompt func()) {
	c.Helper()
	for _, turn := range told {
		if !c.say("") {
			return
		}
		atPrompt()
		if !c.write(turn.says + "\n") {
			return
		}
	}
	c.say("")
	atPrompt()
}

// end closes the input and waits for the end, which is a good one.
func (c *talker) end() {
	c.Helper()
	err := c.in.Close()
	<-c.ended
	if err := errors.Join(err, c.err); err != nil {
		c.Fatalf("%v:\n%s", err, c.heard.text.String())
	}
}

// A kill -9 at any moment of a run with edits, questions and commands on layers, in the
// sandbox and outside: with the next start the project is as before or as after a
// step, and /undo in the resumed session restores every byte.
func TestAKillAtAnyMomentLeavesTheProjectBeforeOrAfterAStep(t *testing.T) {
	t.Parallel()
	whole := newStoryRun(t)
	whole.watch()
	for _, seed := range sweep.Cases(t, 1, 12) {
		random := rand.New(rand.NewPCG(uint64(seed), 0))
		n := random.IntN(len(whole.begun) - 1)
		took := whole.begun[n+1].Sub(whole.begun[n])
		m := moment{n - 1, time.Duration(random.Float64() * float64(took))}
		t.Run(fmt.Sprintf("%v after request %d", m.after.Round(time.Millisecond), m.request), func(t *testing.T) {
			newStoryRun(t).killAt(m, whole.states)
		})
	}
}

// watch plays the story undisturbed and notes the state of the project after each step.
func (k *storyRun) watch() {
	k.Helper()
	var mu sync.Mutex
	note := func() {
		mu.Lock()
		defer mu.Unlock()
		k.states = append(k.states, k.tree())
	}
	k.begun = append(k.begun, time.Now())
	c := k.artoo(func(int) {
		note()
		k.begun = append(k.begun, time.Now())
	})
	c.play(note)
	c.end()
	if got, expected := len(k.begun)-1, len(k.says); got != expected {
		k.Fatalf("%d requests, not %d:\n%s", got, expected, c.heard.text.String())
	}
	if last := k.states[len(k.states)-1]; last["/run.sh"] != "-rwxr-xr-x echo 2\nMORE\n" {
		k.Fatalf("the story was not played as it is written: %s", c.heard.text.String())
	}
}

// killAt kills a run and checks the project after the next run.
func (k *storyRun) killAt(m moment, states []map[string]string) {
	k.Helper()
	first := k.tree()
	var killed *talker
	kill := func() { time.AfterFunc(m.after, func() { _ = killed.cmd.Process.Kill() }) } // it may have ended
	up := make(chan struct{})
	c := k.artoo(func(n int) {
		if <-up; n == m.request {
			kill()
		}
	})
	killed = c
	close(up)
	if m.request < 0 {
		kill()
	}
	c.play(func() {})
	_ = c.cmd.Process.Kill() // it came to its end before
	<-c.ended
	said := c.heard.text.String()

	sessions, err := filepath.Glob(filepath.Join(k.home(), ".local", "state", "artoo", "sessions", "*.jsonl"))
	if err != nil {
		k.Fatal(err)
	}
	var args []string
	if len(sessions) > 0 {
		args = []string{"-c"}
	}
	c = k.artoo(func(int) {}, args...)
	if !c.say("") {
		k.Fatalf("it does not start again: %v\n%s", c.err, c.heard.text.String())
	}
	if now := k.tree(); !oneOf(now, states) {
		k.Errorf("the project is between two steps:\n%s", nearest(now, states))
	}
	c.write("/undo 99\n")
	c.say("")
	c.end()
	now := k.tree()
	for _, path := range notCopied(c.heard.text.String()) {
		delete(now, path)
		delete(first, path)
	}
	if !maps.Equal(now, first) {
		k.Errorf("/undo does not restore everything:\n%s", differences(now, first))
	}
	if k.Failed() {
		k.Logf("killed %v after request %d:\n%s\n----\n%s", m.after, m.request,
			said[max(0, len(said)-1000):], c.heard.text.String())
	}
}

// notCopied are the files of which /undo says that there was no time to copy them: on
// a busy machine the journal may not delay a command for longer.
func notCopied(said string) (paths []string) {
	for line := range strings.Lines(said) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "cannot be undone: "); ok {
			if path, ok := strings.CutSuffix(path, " ("+string(journal.NoTime)+")"); ok {
				paths = append(paths, "/"+path)
			}
		}
	}
	return paths
}

// home is the run's home directory.
func (k *storyRun) home() string {
	k.Helper()
	for _, kv := range k.env {
		if dir, ok := strings.CutPrefix(kv, "HOME="); ok {
			return dir
		}
	}
	k.Fatal("there is no HOME")
	return ""
}
