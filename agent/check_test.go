package agent_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/provider/fake"
	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/tool/files"
)

// checked returns the messages to the model after a write to a file where these checks are set, and those to the user.
func checked(t *testing.T, c *confinement, layer bool, file string, checks ...agent.Check) (text string, cb *recorder) {
	t.Helper()
	files, err := files.Open(files.Config{Root: t.TempDir()})
	must(t, err)
	t.Cleanup(func() { files.Close() })
	opt := testOptions(&fake.Provider{Steps: []fake.Step{
		fake.Calls(fake.ToolCall("c1", "write", `{"path":"`+file+`","content":"x\n"}`)), fake.Say("ok")}}, builtin.Write())
	opt.Env = &tool.Env{Dir: files.Dir(), Files: files, Environ: []string{"PATH=" + os.Getenv("PATH") + ":" + strings.Join(c.hides, ":")}}
	opt.Policy = &permission.Policy{Mode: permission.ModeEdits, Root: files.Root(),
		Confinement: permission.Confinement{Sandbox: layer, Layer: layer}}
	opt.Checks = checks
	if layer {
		opt.Sandbox = c
	}
	a, err := agent.New(opt)
	must(t, err)
	cb = &recorder{}
	mustSend(t, a, cb, "go")
	for _, line := range history(a) {
		if strings.HasPrefix(line, "tool ") {
			text = line
		}
	}
	return text, cb
}

func TestWhatACheckFindsIsToldToTheModel(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		file  string
		check agent.Check
		want  string // the part of the check in the result; "" for none
	}{
		"silent":              {"a.go", agent.Check{Glob: "*.go", Command: "true"}, ""},
		"fails":               {"a.go", agent.Check{Glob: "*.go", Command: "echo bad line; exit 3; :"}, "exit 3; :: exit status 3\nbad line]"},
		"says something":      {"sub/a.go", agent.Check{Glob: "*.go", Command: "ls"}, "[check ls: ./sub/a.go]"},
		"placeholder":         {"a b.go", agent.Check{Glob: "*.go", Command: "cat {} -"}, "[check cat {} -: x]"},
		"another file":        {"a.py", agent.Check{Glob: "*.go", Command: "ls"}, ""},
		"directories":         {"sub/a.go", agent.Check{Glob: "sub/**/*.go", Command: "ls"}, "./sub/a.go]"},
		"another directory":   {"a.go", agent.Check{Glob: "sub/**/*.go", Command: "ls"}, ""},
		"hidden program":      {"a.go", agent.Check{Glob: "*.go", Command: "artoo-test-tool; exit 127; :"}, "confined: artoo-test-tool is hidden here; add "},
		"a name like options": {"-rf.go", agent.Check{Glob: "*.go", Command: "ls"}, "./-rf.go]"},
	} {
		t.Run(name, func(t *testing.T) {
			tools := t.TempDir()
			must(t, os.WriteFile(filepath.Join(tools, "artoo-test-tool"), []byte("#!/bin/sh\n"), 0o755))
			c := &confinement{hides: []string{tools}}
			text, _ := checked(t, c, true, row.file, row.check)
			if !strings.Contains(text, row.want) || row.want == "" && strings.Contains(text, "[check") {
				t.Errorf("the model is told %q, want %q", text, row.want)
			}
			for _, place := range c.places() {
				if place != permission.PlaceDiscarded {
					t.Errorf("a check ran in %s", place)
				}
			}
			if c.discarded != len(c.lines) {
				t.Errorf("%d layers were thrown away of %d", c.discarded, len(c.lines))
			}
		})
	}
}

func TestACheckThatCannotRunIsToldOf(t *testing.T) {
	t.Parallel()
	ls := agent.Check{Glob: "*", Command: "ls"}
	c := &confinement{fails: map[permission.Place]error{permission.PlaceDiscarded: errors.New("no room")}}
	if text, _ := checked(t, c, true, "a.go", ls); !strings.Contains(text, "[check ls did not run: "+errors.New("no room").Error()) {
		t.Errorf("the model is told %q", text)
	}
	text, cb := checked(t, &confinement{}, false, "a.go", ls)
	if strings.Contains(text, "check") || len(cb.notices) == 0 || !strings.Contains(cb.notices[0].Text, "[check] is off") {
		t.Errorf("without a layer the model is told %q, the user %+v", text, cb.notices)
	}
}
