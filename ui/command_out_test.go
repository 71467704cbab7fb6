//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"artoo/agent"
	"artoo/provider"
	"artoo/tool"
)

// callingTurn is a turn of three calls; the second has its whole output in a file.
func callingTurn(file string) func(context.Context, string, agent.Callbacks) (*agent.Response, error) {
	return func(_ context.Context, _ string, cb agent.Callbacks) (*agent.Response, error) {
		for i, r := range []agent.CallResult{
			{Text: "1\tpackage a\n", Summary: "1 line", Status: agent.CallOK},
			{Text: "cut here", Summary: "exit 0", Status: agent.CallOK, File: file},
			{Text: "red \x1b[31mtext\x1b[0m", Summary: "exit 1", Status: agent.CallFailed},
		} {
			call := agent.Call{ToolCall: provider.ToolCall{ID: fmt.Sprint(i), Name: "bash"},
				Access: tool.Access{Verb: "run", Object: fmt.Sprintf("cmd%d\nmore", i)}, Of: 3}
			cb.OnToolCall(call)
			cb.OnToolResult(call, r)
		}
		return &agent.Response{}, nil
	}
}

func TestOutShowsWholeOutputs(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "out.txt")
	if err := os.WriteFile(file, []byte("all of it\n\x1b]0;t\a\nto the end\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		typed string
		wants []string
		not   string
	}{
		{"/out", []string{"run cmd2 …\n\nred ^[[31mtext"}, "package a"},
		{"/out 2", []string{"run cmd1 …\n\nall of it\n^[]0;t^G\nto the end"}, "cut here"},
		{"/log 3", []string{"1\tpackage a"}, "cut here"},
		{"/out 4", []string{"/out: only the last 3 are kept"}, "package a"},
		{"/out all", []string{`unknown word "all": use list`}, "package a"},
		{"/out list", []string{"1  run  cmd2 …  exit 1", "3  run  cmd0 …  1 line"}, "package a"},
	} {
		k := startLines(t, &sender{play: callingTurn(file)}, nil)
		k.send("go\n")
		k.expect("exit 1")
		k.expect("you: ")
		k.send(test.typed + "\n")
		k.eof()
		k.end()
		for _, want := range test.wants {
			k.expect(want)
		}
		if shown := k.status.String(); strings.Contains(shown, test.not) || strings.Contains(shown, "\x1b") {
			t.Errorf("%s: shown %q", test.typed, shown)
		}
	}
	if shown, _ := say(t, nil, "/out"); !strings.Contains(shown, "no tool calls yet") {
		t.Errorf("shown %q", shown)
	}
}

func TestOutSaysWhenAFileIsGone(t *testing.T) {
	t.Parallel()
	k := startLines(t, &sender{play: callingTurn("/nowhere/out.txt")}, nil)
	k.send("go\n")
	k.expect("exit 1")
	k.expect("you: ")
	k.send("/out 2\n")
	k.expect("the whole output cannot be read")
	k.expect("cut here")
}

func TestOutUsesThePager(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "paged")
	pager := script(t, "cat >"+out)
	k := startPTY(t, &sender{play: callingTurn("")},
		func(o *Options) { o.Pager, o.Environ = pager, []string{"PATH=" + os.Getenv("PATH")} })
	k.expect("you: ")
	k.enter("go")
	k.expect(pasteOn + "you: ")
	k.enter("/out 3")
	k.expect(pasteOn + "you: ")
	if got, err := os.ReadFile(out); !strings.HasPrefix(string(got), "run cmd0 …\n\n1\tpackage a\n") || err != nil {
		t.Errorf("the pager got %q, %v", got, err)
	}
}

// The kept outputs are bounded, however many and long they are.
func TestOutputsAreBounded(t *testing.T) {
	t.Parallel()
	var o outputs
	for i := range 3 * maxOutputs {
		o.add(output{object: fmt.Sprint(i), text: "short"})
	}
	if list := o.all(); len(list) != maxOutputs || list[0].object != fmt.Sprint(3*maxOutputs-1) {
		t.Errorf("%d are kept, the last is %+v", len(list), list[0])
	}
	big := strings.Repeat("x", maxOutputBytes/3)
	for range 10 {
		o.add(output{text: big})
	}
	if o.size > maxOutputBytes || len(o.all()) != 3 {
		t.Errorf("%d bytes in %d are kept", o.size, len(o.all()))
	}
	o.add(output{text: big + big + big + big})
	if len(o.all()) != 1 {
		t.Errorf("%d are kept beside one that is too big", len(o.all()))
	}
	o.clear()
	if o.size != 0 || len(o.all()) != 0 {
		t.Error("something is left")
	}
}
