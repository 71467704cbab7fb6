//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package ui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"artoo/provider/fake"
)

func TestInitHasTheModelWriteTheFileWithApproval(t *testing.T) {
	t.Parallel()
	for answer, written := range map[string]bool{"y": true, "n": false} {
		model := &fake.Provider{Steps: []fake.Step{
			fake.Call("c", "write", `{"path":"AGENTS.md","content":"# shop\n"}`), fake.Say("done"), fake.Say("as you like"),
		}}
		a := newProject(t)
		m := a.Model()
		m.Provider = model
		a.SwitchModel(m)
		k := startLines(t, &sender{}, func(o *Options) { o.Agent, o.Sender = a, nil })
		k.expect("you: ")
		k.send("/init\n")
		k.expect("write AGENTS.md")
		k.expect("(n) ")
		k.send(answer + "\n")
		k.await(k.answer, 0, "done")
		k.eof()
		k.end()
		data, err := os.ReadFile(filepath.Join(a.Env().Dir, "AGENTS.md"))
		if (err == nil) != written || written && string(data) != "# shop\n" {
			t.Errorf("%s: the file holds %q, %v", answer, data, err)
		}
		request := model.Requests()[0]
		if got := request.Messages[len(request.Messages)-1].Text(); !strings.HasPrefix(got, "Write AGENTS.md in the root") {
			t.Errorf("the model was asked %q", got)
		}
	}
}
