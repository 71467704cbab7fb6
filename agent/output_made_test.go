package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/provider/fake"
	"artoo/tool/git/gittest"
	"artoo/tool/names"
	"artoo/tool/needs"
	"artoo/tool/project"
	"artoo/tool/sandbox"
)

// Build output that a line of the session made may go with any other line, without a question.
func TestOutputThatALineMadeIsDeletedWithoutAQuestion(t *testing.T) {
	t.Parallel()
	needs.Git(t)
	c, cb := &confinement{trusted: true}, &recorder{}
	opt := c.options(t, permission.ModeAsk,
		fake.Calls(fake.ToolCall("c1", "bash", `{"command":"cp a.txt dist/app.js"}`)),
		fake.Calls(fake.ToolCall("c2", "bash", `{"command":"true dist"}`)), fake.Say("ok"))
	root := opt.Policy.Root
	gittest.Repo(t, root)
	must(t, os.WriteFile(filepath.Join(root, ".gitignore"), []byte("dist/\n"), 0o644))
	opt.Env.Environ = os.Environ()
	at := project.Project{Root: root, Dir: root, Git: true, Environ: opt.Env.Environ}
	opt.Workspace = &agent.Workspace{Project: at, Began: time.Now().Add(time.Minute)}
	dir, file := filepath.Join(root, "dist"), filepath.Join(root, "dist", "app.js")
	must(t, os.WriteFile(filepath.Join(c.upper, "app.js"), []byte("2"), 0o644))
	built := []sandbox.Change{{Path: dir, Dir: root, Kind: sandbox.Created, Mode: os.ModeDir | 0o755},
		{Path: file, Dir: root, Kind: sandbox.Created, Mode: 0o644, Size: 1}}
	lines := 0
	c.read = func(context.Context) {
		if lines++; lines == 1 {
			c.list = built
			return
		}
		c.list = []sandbox.Change{gone(t, file, root), gone(t, dir, root)}
	}
	cb.answers = []agent.Answer{{Verdict: agent.Yes}}
	mustSend(t, made(t, opt), cb, "go")
	if len(cb.asked) > 1 {
		t.Errorf("asked %v", cb.asked)
	}
	if _, err := os.Lstat(file); err == nil || lines != 2 {
		t.Errorf("after %d lines: %v", lines, err)
	}
}

func gone(t *testing.T, path, root string) sandbox.Change {
	t.Helper()
	info, err := os.Lstat(path)
	must(t, err)
	since, err := names.Changed(path)
	must(t, err)
	return sandbox.Change{Path: path, Dir: root, Kind: sandbox.Deleted, Mode: info.Mode(), Before: sandbox.Before{
		Mode: info.Mode(), Size: info.Size(), Inode: info.Sys().(*syscall.Stat_t).Ino, Changed: since}}
}
