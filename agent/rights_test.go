package agent_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/provider/fake"
	"artoo/tool/builtin"
	"artoo/tool/files"
	"artoo/tool/needs"
	"artoo/tool/sandbox"
	"artoo/tool/shell"
	"artoo/tool/sweep"
)

// Calls run as the session's rights say, of which the prompt is made.
func TestTheRightsAreWhatHappensInAnySituation(t *testing.T) {
	t.Parallel()
	all := map[string]situation{}
	for _, mode := range []permission.Mode{permission.ModeAsk, permission.ModeEdits, permission.ModeAuto, permission.ModePlan} {
		for name, can := range confinements {
			for n := range 5 {
				if n > 3 && mode != permission.ModeAsk {
					continue // it is as there
				}
				s := situation{mode: mode, can: can, trusted: n&1 != 0, headless: n&2 != 0, sub: n == 4,
					shown: name == "Landlock beside hidden files"}
				all[fmt.Sprintf("%s, %s, trusted %t, headless %t, sub-agent %t", mode, name, s.trusted, s.headless, s.sub)] = s
			}
		}
	}
	names := slices.Sorted(maps.Keys(all))
	for _, i := range sweep.Cases(t, 8, len(names)) {
		t.Run(names[i], all[names[i]].compare)
	}
}

// confinements are the ways to hold commands, by the kinds of machine.
var confinements = map[string]permission.Confinement{
	"layers":                       {Sandbox: true, Layer: true, ByEntry: true},
	"namespaces without layers":    {Sandbox: true, ByEntry: true},
	"Landlock":                     {Sandbox: true, Network: true},
	"Landlock beside hidden files": {Sandbox: true, Network: true},
	"none":                         {},
	"external":                     {External: true},
}

// situation holds the facts that rights follow from.
type situation struct {
	mode              permission.Mode
	can               permission.Confinement
	trusted, headless bool

	shown bool // commands could read a denied file
	sub   bool // a sub-agent works

	// programs is the directory of the programs that lines run.
	programs string
}

// restrict puts the situation in force for a policy.
func (s situation) restrict(t *testing.T, p *permission.Policy) {
	p.Confinement = s.can
	if s.shown {
		p.Root = cmp.Or(p.Root, t.TempDir())
		write(t, "X=1", p.Root, ".env")
		files, err := files.Open(files.Config{Root: p.Root})
		must(t, err)
		t.Cleanup(func() { files.Close() })
		p.World.Files = files
	}
}

func (s situation) compare(t *testing.T) {
	s.programs = t.TempDir()
	for _, name := range []string{"cat", "npm", "sh", "uniq"} {
		must(t, os.Symlink(needs.Program(t, "true"), filepath.Join(s.programs, name)))
	}
	policy := &permission.Policy{Mode: s.mode, TrustsPrograms: s.trusted}
	s.restrict(t, policy)
	if s.sub {
		policy = policy.ForSubAgent()
	}
	r := policy.Rights(s.headless)
	after := func(class permission.Class) permission.Fate {
		if r.Commands != permission.Unasked || r.Beyond == "" || class <= r.Lands {
			return r.Commands
		}
		return r.Beyond
	}
	for _, act := range []struct {
		tool, input string
		changes     string // the class of a line's changes on a layer, or of its attempts elsewhere; "" for none
		want        permission.Fate
	}{
		{"bash", `{"command":"cat a.txt"}`, "", r.Reading},
		{"bash", `{"command":"uniq a.txt"}`, "", r.Commands},
		{"bash", `{"command":"uniq a.txt"}`, "a.txt", after(permission.Content)},
		{"bash", `{"command":"uniq a.txt"}`, ".envrc", after(permission.Guarded)},
		{"bash", `{"command":"sh build.sh"}`, "", r.Own},
		{"bash", `{"command":"npm ci"}`, "", r.Outside},
		{"bash", `{"command":"uniq a.txt","background":true}`, "", r.Background},
		{"write", `{"path":"b.txt","content":"x"}`, "", r.Edits},
		{"write", `{"path":"lefthook.yml","content":"x"}`, "", r.Guarded},
	} {
		if r.Beyond == "" && act.changes != "" {
			continue // there is nothing to judge, nor to try
		}
		if got := s.play(t, act.tool, act.input, act.changes); got != act.want {
			t.Errorf("%s %s, changing %q, is %s; the rights say %s", act.tool, act.input, act.changes, got, act.want)
		}
	}
}

// play returns the fate of one call.
func (s situation) play(t *testing.T, name, input, changes string) permission.Fate {
	t.Helper()
	c := &confinement{trusted: s.trusted}
	switch {
	case changes != "" && s.can.Layer:
		c.list = changed(changes)
	case changes != "":
		c.denials = []sandbox.Denial{{Kind: sandbox.DenialWrite, What: "read-only", Paths: []string{changes}}}
	}
	steps := []fake.Step{fake.Calls(fake.ToolCall("c1", name, input)), fake.Say("ok")}
	if s.sub {
		steps = slices.Concat([]fake.Step{fake.Calls(task("t1", "work"))}, steps, []fake.Step{fake.Say("done")})
	}
	a := c.scripted(t, s.mode, steps...)
	all := builtin.Tools(builtin.BashOptions{Path: shell.Find(nil), Confined: true, Ask: true})
	a.Opt().Tools = append(builtin.Pick(all, []string{"bash", "shell", "write"}), agent.OwnTools(nil)...)
	a.Env().Environ = []string{"PATH=" + s.programs}
	s.restrict(t, a.Policy())
	if !s.can.Sandbox {
		a.Confine(nil)
	}
	cb := &recorder{}
	if !s.headless {
		cb.answers = make([]agent.Answer, 5) // each is no
	}
	response := mustSend(t, a, cb, "go")
	switch {
	case len(cb.asked) > 0 && !s.headless:
		return permission.Asked
	case len(response.Denied) == 0:
		return permission.Unasked
	case response.Denied[0].Changes != nil:
		return permission.Discarded
	}
	return permission.Refused
}
