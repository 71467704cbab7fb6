package builtin

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"artoo/tool"
	"artoo/tool/shell"
)

// backgroundEnv is one in which commands go on in the background, until the test ends.
func backgroundEnv(t *testing.T) *tool.Env {
	t.Helper()
	env := treeEnv(t, nil)
	env.Jobs = &shell.Jobs{}
	t.Cleanup(func() { env.Jobs.Close() })
	return env
}

// background is the input of a call that starts a line in the background.
func background(line string) string {
	return strings.TrimSuffix(command(line), "}") + `,"background":true}`
}

func TestABackgroundCommandIsStartedAwaitedAndKilled(t *testing.T) {
	t.Parallel()
	env := backgroundEnv(t)
	started := mustCall(t, quickShell(t), env, background("echo begun; until test -e gate; do sleep 0.02; done; echo ready now; sleep 600"))
	if !strings.HasPrefix(started.Text, "begun\n[it runs in the background as 1: ") || started.Job == nil || started.IsError {
		t.Fatalf("%+v", started)
	}
	if got := mustCall(t, Shell(), env, `{"id":"1"}`); !strings.HasPrefix(got.Text, "[no new output]\n[it has run for ") {
		t.Errorf("output: %q", got.Text)
	}
	if err := os.WriteFile(filepath.Join(env.Dir, "gate"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := mustCall(t, Shell(), env, `{"pattern":"ready \\w+"}`); !strings.HasPrefix(got.Text, "ready now\n[matched: ready now]\n") {
		t.Errorf("wait: %q", got.Text)
	}
	if got := mustCall(t, Shell(), env, `{"action":"wait","pattern":"never","timeout":0.05}`); !strings.Contains(got.Text,
		"[no new line matched within 0.1s]\n") {
		t.Errorf("wait in vain: %q", got.Text)
	}
	if got := mustCall(t, Shell(), env, `{"id":1,"action":"kill"}`); !strings.HasPrefix(got.Text, "[killed after ") || got.IsError {
		t.Errorf("kill: %+v", got)
	}
	if got := mustCall(t, Shell(), env, `{"id":"1","action":"output"}`); !strings.HasPrefix(got.Text, "[killed after ") {
		t.Errorf("output after the end: %q", got.Text)
	}
}

// Lines printed, and read, before the wait count as well, but each for one wait: after an edit a watcher prints the
// same once more.
func TestAWaitFindsWhatWasPrintedBefore(t *testing.T) {
	t.Parallel()
	env := backgroundEnv(t)
	open := func(file string) {
		if err := os.WriteFile(filepath.Join(env.Dir, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	started := mustCall(t, quickShell(t), env, background("echo second ready; echo first ready; echo compiled; printf 'name? '; "+
		"until test -e gate; do sleep 0.02; done; echo; echo compiled; sleep 600"))
	if !strings.HasPrefix(started.Text, "second ready\nfirst ready\ncompiled\nname? \n") {
		t.Fatalf("%q", started.Text)
	}
	for _, pattern := range []string{"first", "second", "compiled", "name"} {
		got := mustCall(t, Shell(), env, `{"pattern":"`+pattern+`","timeout":60}`)
		if !strings.HasPrefix(got.Text, "[no new output]\n[matched: ") || !strings.Contains(got.Text, pattern) {
			t.Errorf("%s: %q", pattern, got.Text)
		}
	}
	for _, pattern := range []string{"compiled", "name"} {
		if got := mustCall(t, Shell(), env, `{"pattern":"`+pattern+`","timeout":0.05}`); !strings.Contains(got.Text, "[no new line matched within") {
			t.Errorf("%s is found twice: %q", pattern, got.Text)
		}
	}
	open("gate")
	if got := mustCall(t, Shell(), env, `{"pattern":"compiled","timeout":60}`); !strings.HasSuffix(strings.SplitAfter(got.Text, "[matched: compiled]\n")[0],
		"compiled\n[matched: compiled]\n") {
		t.Errorf("the new line: %q", got.Text)
	}
}

func TestABackgroundCommandReadsWhatIsTyped(t *testing.T) {
	t.Parallel()
	env := backgroundEnv(t)
	mustCall(t, quickShell(t), env, background(`printf 'name? '; read name; echo "hello $name"; cat`))
	if got := mustCall(t, Shell(), env, `{"id":"1","input":"Ada"}`); !strings.HasPrefix(got.Text, "name? hello Ada\n[it has run for ") {
		t.Errorf("%q", got.Text)
	}
	if got := mustCall(t, Shell(), env, `{"id":"1","input":"last\u0004"}`); got.Text != "last\n[exit status 0]\n" {
		t.Errorf("%q", got.Text)
	}
	access, err := Shell().Plan(t.Context(), env, json.RawMessage(`{"id":"1","input":"rm -r x"}`))
	if err != nil || access.Kind != tool.KindRun || access.Command != "rm -r x" || !strings.HasPrefix(access.To, "printf") {
		t.Errorf("%+v %v", access, err)
	}
}

func TestWhatEndsAtOnceIsToldAtOnce(t *testing.T) {
	t.Parallel()
	env := backgroundEnv(t)
	got := mustCall(t, quickShell(t), env, background("echo the port is taken; exit 3"))
	if got.Text != "the port is taken\n[exit status 3]\n" || !got.IsError || got.Job != nil {
		t.Errorf("%+v", got)
	}
	if _, err := Shell().Plan(t.Context(), env, json.RawMessage(`{"id":"7"}`)); err == nil ||
		!strings.Contains(err.Error(), "there is no background command 7; running: none") {
		t.Errorf("%v", err)
	}
}

func TestACommandWhoseTimeIsUpGoesOnInTheBackground(t *testing.T) {
	t.Parallel()
	env := backgroundEnv(t)
	env.ShellTimeout, env.ShellTimeoutMax = 3*time.Second, time.Minute
	got := mustCall(t, quickShell(t), env, command("printf 'half'; until test -e gate; do sleep 0.02; done; echo done"))
	if !strings.HasPrefix(got.Text, "half\n[not done after ") || got.Job == nil ||
		!strings.Contains(got.Text, ": it continues in the background as 1, until 60.0s at most: ") || got.IsError {
		t.Fatalf("%+v", got)
	}
	if err := os.WriteFile(filepath.Join(env.Dir, "gate"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := mustCall(t, Shell(), env, `{"action":"wait"}`); got.Text != "halfdone\n[exit status 0]\n" {
		t.Errorf("%q", got.Text)
	}
	stopped := mustCall(t, quickShell(t), env, strings.TrimSuffix(command("sleep 600"), "}")+`,"timeout":0.2}`)
	if stopped.Job != nil || stopped.Summary != "timed out after 0.2s" {
		t.Errorf("%+v", stopped)
	}
}

// A wait for a command shows its output, as for one that runs in the call itself; the result still holds all of it.
func TestAWaitShowsWhatTheCommandSays(t *testing.T) {
	t.Parallel()
	env := backgroundEnv(t)
	mustCall(t, quickShell(t), env, background("until test -e gate; do sleep 0.02; done; printf 'one\n10%%\r20%%'; "+
		"until test -e last; do sleep 0.02; done; echo; echo end"))
	open := func(file string) {
		if err := os.WriteFile(filepath.Join(env.Dir, file), nil, 0o600); err != nil {
			t.Error(err)
		}
	}
	open("gate")
	_, result, shown, err := callLive(t.Context(), t, Shell(), env, `{"pattern":"20%"}`)
	if err != nil || !strings.HasPrefix(result.Text, "one\n20%\n[matched: 20%]\n") || !strings.HasSuffix(shown, "20%") {
		t.Errorf("%q, shown %q, %v", result.Text, shown, err)
	}
	if text := mustCall(t, Shell(), env, `{"action":"output"}`).Text; !strings.HasPrefix(text, "[no new output]\n") {
		t.Errorf("after the wait: %q", text)
	}
	open("last")
	_, result, shown, err = callLive(t.Context(), t, Shell(), env, `{"action":"wait"}`)
	if err != nil || !strings.HasSuffix(result.Text, "20%\nend\n[exit status 0]\n") || !strings.HasSuffix(shown, "20%\nend\n") {
		t.Errorf("%q, shown %q, %v", result.Text, shown, err)
	}
}

// Output not read before a wait is part of its result, and is shown.
func TestAWaitShowsWhatWasNotReadYet(t *testing.T) {
	t.Parallel()
	env := backgroundEnv(t)
	mustCall(t, quickShell(t), env, background("until test -e gate; do sleep 0.02; done; echo before; sleep 600"))
	if err := os.WriteFile(filepath.Join(env.Dir, "gate"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	env.Jobs.Find("1").WaitForOutput(t.Context(), 0, time.Minute)
	_, result, shown, err := callLive(t.Context(), t, Shell(), env, `{"action":"wait","timeout":0.05}`)
	if err != nil || shown != "before\n" || !strings.HasPrefix(result.Text, "before\n[it has not ended within ") {
		t.Errorf("%q, shown %q, %v", result.Text, shown, err)
	}
}

func TestAWaitIsInterruptedAndTheCommandIsNot(t *testing.T) {
	t.Parallel()
	env := backgroundEnv(t)
	job := mustCall(t, quickShell(t), env, background("echo up; sleep 600")).Job
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Shell().Run(ctx, env, json.RawMessage(`{"action":"wait"}`), &strings.Builder{}); err == nil {
		t.Error("the wait went on")
	}
	if !job.Runs() {
		t.Error("the command has ended")
	}
	if stopped := env.Jobs.Close(); len(stopped) != 1 || job.Runs() {
		t.Errorf("stopped %v", stopped)
	}
	if _, err := quickShell(t).Run(t.Context(), env, json.RawMessage(background("true")), &strings.Builder{}); err == nil {
		t.Error("a command was started after the end")
	}
}

func TestNothingRunsInTheBackgroundWhereNothingWatchesIt(t *testing.T) {
	t.Parallel()
	env := treeEnv(t, nil)
	if _, err := quickShell(t).Plan(t.Context(), env, json.RawMessage(background("true"))); err == nil {
		t.Error("it was planned")
	}
}
