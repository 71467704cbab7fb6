//go:build amd64 || arm64

package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"artoo/tool/needs"
)

// A directory of a group that several users share: new files in it get the group, which a layer of an ordinary user's
// cannot hold.
func TestThereIsNoLayerOverFilesOfAnotherGroup(t *testing.T) {
	if os.Geteuid() == 0 {
		needs.Namespaces(t)
		asNobody(t, "-test.run", "^"+t.Name()+"$")
		return
	}
	s, root := open(t, nil)
	write(t, root, "sub/a", "text")
	if facts := namespaceFacts.For(root); !facts.Layer || len(facts.Missing) != 0 {
		t.Errorf("in the user's own group: %+v", facts)
	}
	shared := filepath.Join(root, "sub")
	needs.Thing(t, "a further group of the user", os.Chown(shared, -1, furtherGroup))
	if err := os.Chmod(shared, 0o775|os.ModeSetgid); err != nil {
		t.Fatal(err)
	}
	line := "echo x > sub/new"
	if out, exit, _ := run(t, s, Options{}, line+" && rm sub/new"); exit.Status != 0 {
		t.Errorf("in the sandbox it printed %q", out)
	}
	out, exit, p := run(t, s, Options{Layer: true}, line)
	p.Discard()
	facts := namespaceFacts.For(root)
	if exit.Status == 0 {
		t.Log("this kernel makes such files on a layer")
	} else if !strings.Contains(out, "Value too large") {
		t.Errorf("on a layer it printed %q", out)
	}
	if facts.Layer || len(facts.Missing) != 1 || !strings.Contains(facts.Missing[0].Why, shared+" belongs to group 64242") {
		t.Errorf("%+v", facts)
	}
	if git, err := exec.LookPath("git"); err == nil {
		if out, exit, _ := run(t, s, Options{}, git+" init -q sub/r && "+git+" -C sub/r status --short"); exit.Status != 0 {
			t.Errorf("git in the sandbox printed %q", out)
		}
	}
}
