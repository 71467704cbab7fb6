//go:build unix

package headless

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"artoo/agent"
	"artoo/provider/fake"
)

// programDesk is a run whose questions a program of these shell lines answers, within the limit.
func programDesk(t *testing.T, lines string, limit time.Duration) (d *desk, dir string) {
	t.Helper()
	dir = t.TempDir()
	path := filepath.Join(dir, "ask")
	for name, text := range map[string]string{"ask": "#!/bin/sh\ncat >question\n. ./lines\n", "lines": lines} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	d = newDesk(JSONL, nil, asking(), fake.Say("Done."))
	a, _ := d.Agent.(*agent.Agent)
	a.Policy().Root = dir
	d.Ask, d.AnyKind = func(ctx context.Context, q agent.Question) (agent.Answer, error) {
		return a.AskProgram(ctx, agent.AskProgram{Path: path, Timeout: limit}, q)
	}, true
	return d, dir
}

func TestAProgramApproves(t *testing.T) {
	t.Parallel()
	for _, lines := range []string{"echo yes", "printf y", "echo; echo yes; echo", `echo '{"answer":"yes"}'`, `echo '{"answer":"yes","reason":"fine"}'`} {
		d, dir := programDesk(t, lines, time.Minute)
		response, failure := d.Run(t.Context(), "go")
		if failure != nil || d.ran != 1 || len(response.Answered) != 1 || response.Answered[0].By != filepath.Join(dir, "ask") {
			t.Errorf("%s: the tool ran %d times, failure %v, answered %v, denied %v",
				lines, d.ran, failure, response.Answered, response.Denied)
		}
		var q agent.QuestionEvent
		data, err := os.ReadFile(filepath.Join(dir, "question"))
		if err == nil {
			err = json.Unmarshal(data, &q)
		}
		if err != nil || q.ID != "q1" || q.Kind != agent.QuestionApproval || string(q.Input) != `{"path":"it's"}` {
			t.Errorf("the program got %s, %v", data, err)
		}
	}
}

// A no is the user's: the run does not miss anyone.
func TestAProgramDenies(t *testing.T) {
	t.Parallel()
	for _, lines := range []string{"echo no", "echo n", `echo '{"answer":"no","reason":"not this one"}'`} {
		d, _ := programDesk(t, lines, time.Minute)
		response, failure := d.Run(t.Context(), "go")
		if failure != nil || d.ran != 0 || len(response.Denied) != 1 || response.Denied[0].Nobody {
			t.Errorf("%s: the tool ran %d times, failure %v, denied %v", lines, d.ran, failure, response.Denied)
		}
	}
}

// TestUnclearAnswersOfAProgram: whatever is neither a yes nor a no runs nothing, ends the run with 6, and is named.
func TestUnclearAnswersOfAProgram(t *testing.T) {
	t.Parallel()
	for lines, why := range map[string]string{
		"exit 1": "exit status 1", "exit 2": "exit status 2", "exit 3": "exit status 3", "exit 126": "exit status 126", "exit 127": "exit status 127",
		"echo yes; exit 1": "exit status 1", "echo yes; exit 2": "exit status 2", "kill -9 $$": "SIGKILL", "echo yes; kill -15 $$": "SIGTERM",
		"sleep 60": "no answer within 2s", "echo yes; sleep 60": "no answer within 2s",
		":": "neither yes", "echo": "neither yes", "echo maybe": "neither yes", "echo YES": "neither yes", "echo Yes": "neither yes", "echo yes yes": "neither yes", "echo 'yes.'": "neither yes",
		"echo no; echo yes": "neither yes", "echo y; echo n": "neither yes", "echo 1": "neither yes", "echo true": "neither yes",
		"echo '[\"yes\"]'": "neither yes", "echo '\"yes\"'": "neither yes", "echo '{}'": "neither yes", `echo '{"answer":"session"}'`: "neither yes", `echo '{"answer":"forever"}'`: "neither yes", `echo '{"answer":true}'`: "neither yes",
		`echo '{"answer":"yes","rule":"touch"}'`: "neither yes", `echo '{"answer":"yes"}{"answer":"no"}'`: "more than one", `echo '{"answer":"no","answer":"yes"}'`: "twice", `echo '{"answer":"no","Answer":"yes"}'`: "twice",
		`echo '{"answer":"yes","input":[]}'`: "input must be an object", `echo '{"answer":"yes"'`: "neither yes", `printf 'yes\000'`: "neither yes", "head -c 70000 /dev/zero | tr '\\0' ' '; head -c 70000 /dev/zero | tr '\\0' x": "longer than 64.0 KB",
	} {
		t.Run(lines, func(t *testing.T) {
			t.Parallel()
			limit := time.Minute
			if strings.Contains(lines, "sleep") {
				limit = 2 * time.Second
			}
			d, _ := programDesk(t, lines, limit)
			response, failure := d.Run(t.Context(), "go")
			if d.ran != 0 || failure == nil || failure.Kind != agent.KindApproval || len(response.Denied) != 1 || !response.Denied[0].Nobody {
				t.Fatalf("the tool ran %d times, failure %v, denied %v", d.ran, failure, response.Denied)
			}
			if !bytes.Contains([]byte(response.Denied[0].Reason), []byte(why)) {
				t.Errorf("the reason is %q, and does not say %q", response.Denied[0].Reason, why)
			}
		})
	}
}
