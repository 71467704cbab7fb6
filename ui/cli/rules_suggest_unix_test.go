//go:build unix

package cli

import (
	"os/exec"
	"strings"
	"testing"
)

// At a terminal each suggested rule is asked about, and only a yes writes it. The yeses of this session were to the
// changes of lines.
func TestSuggestedRulesAreAskedAbout(t *testing.T) {
	t.Parallel()
	k := talkOnLayer(t, nil, nil, "touch one", "mkdir sub")
	for range 2 {
		k.types("go\r")
		k.shows("approve: keep the changes of", keepIt)
		k.answers("y")
		k.shows("well done", "you: ")
	}
	k.leave()
	artoo := buildProgram(t, moduleDir)
	again := &atTerminal{dir: k.dir, env: k.env, terminal: startTerminal(t, k.dir, k.env, artoo, "rules", "suggest")}
	for _, step := range [][2]string{{"bash(touch one)", "y"}, {"bash(mkdir sub)", "n"}} {
		again.shows("approve: ", step[0], "(n) ")
		again.answers(step[1])
	}
	again.shows("rule left out")
	again.drain()
	if err := again.cmd.Wait(); err != nil {
		t.Error(err)
	}
	list := exec.Command(artoo, "rules", "list")
	list.Dir, list.Env = k.dir, k.env
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	if rules := string(out); !strings.Contains(rules, "bash(touch one)") || strings.Contains(rules, "mkdir") {
		t.Errorf("the rules are\n%s", rules)
	}
}
