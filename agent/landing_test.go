package agent_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool/names"
	"artoo/tool/sandbox"
)

func TestWhatALineWroteInAddedDirectoriesLands(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := &confinement{list: []sandbox.Change{
		{Path: "a.txt", Kind: sandbox.Modified, Mode: 0o644},
		{Path: "gone", Dir: dir, Kind: sandbox.Deleted, Mode: 0o644},
		{Path: "link", Dir: dir, Kind: sandbox.Created, Mode: os.ModeSymlink | 0o777, Target: "new"},
		{Path: "new", Dir: dir, Kind: sandbox.Created, Mode: os.ModeDir | 0o755},
		{Path: "new/file", Dir: dir, Kind: sandbox.Created, Mode: 0o755},
		{Path: "old", Dir: dir, Kind: sandbox.Modified, Mode: 0o644},
	}}
	cb := &recorder{answers: []agent.Answer{{Verdict: agent.Yes}}}
	result, _ := c.runs(t, "awk 1", permission.ModeAuto, cb)
	if len(cb.asked) != 1 || len(cb.asked[0].Effects.By[permission.CannotUndo]) > 0 { // about the link; undo brings back all of it
		t.Fatalf("asked %+v: %s", cb.asked, result)
	}
	if n := c.landed(t); n != 4 {
		t.Errorf("%d have landed: %s", n, result)
	}
	if to, err := os.Readlink(filepath.Join(dir, "link")); to != "new" {
		t.Errorf("the link leads to %q: %v", to, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "new", "file")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v: %v", info, err)
	}
	if left, err := os.ReadDir(dir); len(left) != 3 {
		t.Errorf("the directory holds %v: %v", left, err)
	}
	for _, n := range cb.notices {
		if strings.Contains(n.Text, "cannot be undone") {
			t.Errorf("the user sees %v", n)
		}
	}
}

func TestNewFilesInAddedDirectoriesLandAsContent(t *testing.T) {
	t.Parallel()
	c := &confinement{list: []sandbox.Change{{Path: "new", Dir: t.TempDir(), Kind: sandbox.Created, Mode: 0o644}}}
	cb := &recorder{}
	if result, _ := c.runs(t, "awk 1", permission.ModeEdits, cb); len(cb.asked) > 0 || c.landed(t) != 1 {
		t.Errorf("asked %v, landed %d: %s", cb.asked, c.landed(t), result)
	}
}

// Where an original changed meanwhile nothing lands, the project's part included.
func TestAChangeMeanwhileInAnAddedDirectoryIsAConflict(t *testing.T) {
	t.Parallel()
	for _, meanwhile := range []func(path string) error{
		func(path string) error { return os.WriteFile(path, []byte("3"), 0o644) },
		os.Remove,
		func(path string) error { return os.Chtimes(path, time.Time{}, time.Unix(1, 0)) },
	} {
		dir := t.TempDir()
		c := &confinement{list: []sandbox.Change{{Path: "a.txt", Kind: sandbox.Modified, Mode: 0o644},
			{Path: "old", Dir: dir, Kind: sandbox.Modified, Mode: 0o644}}}
		cb := &recorder{answers: []agent.Answer{{Verdict: agent.Yes}}, onAsk: func(agent.Question) {
			if err := meanwhile(filepath.Join(dir, "old")); err != nil {
				t.Error(err)
			}
		}}
		result, _ := c.runs(t, "awk 1", permission.ModeAsk, cb)
		if c.landed(t) > 0 || !strings.Contains(result, "nothing was applied") || !strings.Contains(result, "old") {
			t.Errorf("landed %d: %s", c.landed(t), result)
		}
	}
}

// Text saved to a file that a landing has just replaced comes back beside it before the next call, or at the end of the
// turn, and is named.
func TestASaveThatCameTooLateIsBroughtBack(t *testing.T) {
	t.Parallel()
	for _, next := range []bool{true, false} {
		c := &confinement{list: changed("a.txt")}
		save := func(provider.Request) fake.Step {
			originals, err := filepath.Glob(filepath.Join(c.state, "journal", "*", "quarantine", "*", "*-a.txt"))
			if err != nil || len(originals) != 1 {
				t.Fatalf("%v, %v", originals, err)
			}
			if err := os.WriteFile(originals[0], []byte("saved"), 0o644); err != nil {
				t.Error(err)
			}
			if next {
				return fake.Calls(fake.ToolCall("c2", "bash", `{"command":"true"}`))
			}
			return fake.Say("ok")
		}
		a := c.scripted(t, permission.ModeEdits, fake.Calls(fake.ToolCall("c1", "bash", `{"command":"awk 1"}`)),
			fake.Step{Func: save}, fake.Say("ok"))
		cb := &recorder{answers: []agent.Answer{{Verdict: agent.Yes}}}
		mustSend(t, a, cb, "go")
		data, err := os.ReadFile(filepath.Join(c.root, "a.txt.yours"))
		if err != nil || string(data) != "saved" || c.landed(t) != 1 {
			t.Errorf("%q, %v; landed %d", data, err, c.landed(t))
		}
		if !slices.ContainsFunc(cb.notices, func(n agent.Notice) bool { return strings.Contains(n.Text, "a.txt.yours") }) {
			t.Errorf("the notices are %v", cb.notices)
		}
	}
}

// A file of mode 0000 is a file that was there.
func TestAChangeOfAFileWithoutPermissionsLands(t *testing.T) {
	t.Parallel()
	for _, kind := range []sandbox.Kind{sandbox.Modified, sandbox.Deleted} {
		c := &confinement{list: []sandbox.Change{{Path: "a.txt", Kind: kind, Mode: 0o644}}}
		a := c.agent(t, "awk 1", permission.ModeEdits)
		must(t, os.Chmod(c.list[0].Path, 0))
		since, err := names.Changed(c.list[0].Path)
		must(t, err)
		c.list[0].Before.Mode, c.list[0].Before.Changed = 0, since
		mustSend(t, a, &recorder{answers: []agent.Answer{{Verdict: agent.Yes}}}, "go")
		if c.landed(t) != 1 {
			t.Errorf("%v: it did not land: %v", kind, history(a))
		}
	}
}

// A file that changed after the line began may have been seen half: nothing lands.
func TestAChangeSinceTheLineBeganIsAConflict(t *testing.T) {
	t.Parallel()
	c := &confinement{list: changed("a.txt")}
	a := c.scripted(t, permission.ModeEdits, fake.Calls(fake.ToolCall("c1", "bash", `{"command":"awk 1"}`)), fake.Say("ok"))
	c.list[0].Before.Moved = true
	mustSend(t, a, &recorder{}, "go")
	if result := strings.Join(history(a), "\n"); c.landed(t) > 0 || !strings.Contains(result, "nothing was applied") {
		t.Errorf("landed %d: %s", c.landed(t), result)
	}
}
