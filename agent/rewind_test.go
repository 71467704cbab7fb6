package agent_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/provider/fake"
	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/tool/files"
	"artoo/tool/journal"
	"artoo/tool/sweep"
)

// Sessions of random writes go back to before a random message: the files are those of that
// moment, and the next request is the one that was sent then.
func TestAnySessionGoesBackToBeforeAMessage(t *testing.T) {
	t.Parallel()
	for _, seed := range sweep.Cases(t, 6, 50) {
		random := rand.New(rand.NewPCG(uint64(seed), 1))
		turns := 1 + random.IntN(5)
		var steps []fake.Step
		for turn := range turns {
			var calls []string
			for i := range random.IntN(3) {
				calls = append(calls, fmt.Sprintf(`{"path":"f%d.txt","content":"%d of turn %d\n"}`, turn*3+i, random.IntN(100), turn))
			}
			if len(calls) > 0 {
				step := fake.Step{}
				for i, input := range calls {
					step.Calls = append(step.Calls, fake.ToolCall(fmt.Sprintf("c%d-%d", turn, i), "write", input))
				}
				steps = append(steps, step)
			}
			steps = append(steps, fake.Say(fmt.Sprint("done ", turn)))
		}
		back := 1 + random.IntN(turns)
		a, model, root := rewinding(t, append(steps, fake.Say("again"))...)
		var before map[string]string
		var asked string
		for turn := range turns {
			if turn == turns-back {
				before = contents(t, root)
			}
			first := len(model.Requests())
			saying(t, a, fmt.Sprint("message ", turn))
			if turn == turns-back {
				asked = withoutDir(t, model.Requests()[first])
			}
		}
		plan, err := a.PlanBefore(t.Context(), back)
		if err == nil {
			report, err := a.Journal().Apply(t.Context(), plan)
			if must(t, err); len(report.Left)+len(report.Cannot) > 0 {
				t.Errorf("seed %d: left %v, cannot %v", seed, report.Left, report.Cannot)
			}
		} else if !errors.Is(err, journal.ErrNothing) {
			t.Fatal(err)
		}
		if _, _, err := a.Rewind(back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, contents(t, root)); diff != "" {
			t.Errorf("seed %d: the files differ: %s", seed, diff)
		}
		saying(t, a, fmt.Sprint("message ", turns-back))
		if last, _ := model.Last(); withoutDir(t, last) != asked {
			t.Errorf("seed %d: the request differs: %s", seed, cmp.Diff(asked, withoutDir(t, last)))
		}
	}
}

// rewinding is an agent in a project of its own, with sessions and a journal that are kept.
func rewinding(t *testing.T, steps ...fake.Step) (*agent.Agent, *fake.Provider, string) {
	t.Helper()
	model, root, state := &fake.Provider{Steps: steps}, realDir(t), t.TempDir()
	return newAgentIn(t, root, model, func(o *agent.Options) {
		opened, err := files.Open(files.Config{Root: root})
		must(t, err)
		o.Env = &tool.Env{Dir: root, Files: opened}
		o.Tools, o.Policy.Root, o.Policy.Mode = []tool.Tool{builtin.Read(), builtin.Write()}, root, permission.ModeEdits
		o.Workspace.NoProject = true
		o.Journal = func(session, from string) (*journal.Journal, error) {
			dir := journal.Dir(state, root, session)
			if from != "" {
				must(t, journal.Copy(journal.Dir(state, root, from), dir))
			}
			return journal.Open(journal.Config{Dir: dir, Root: root})
		}
	}), model, root
}

func contents(t *testing.T, root string) map[string]string {
	t.Helper()
	all := map[string]string{}
	entries, err := os.ReadDir(root)
	must(t, err)
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(root, e.Name()))
		must(t, err)
		all[e.Name()] = string(data)
	}
	return all
}

// Turns that a copy of the session left behind are not those since a message, though they have its number.
func TestTurnsLeftBehindStayAsASessionGoesBack(t *testing.T) {
	t.Parallel()
	write := func(turn int) []fake.Step {
		return []fake.Step{fake.Calls(fake.ToolCall(fmt.Sprint("c", turn), "write", fmt.Sprintf(`{"path":"f%d.txt","content":"x"}`, turn))), fake.Say("done")}
	}
	a, _, root := rewinding(t, slices.Concat(write(1), write(2), write(3), write(4))...)
	for range 3 {
		saying(t, a, "go on")
	}
	_, _, err := a.Rewind(2) // the conversation only
	must(t, err)
	saying(t, a, "another way")
	plan, err := a.PlanBefore(t.Context(), 1)
	must(t, err)
	_, err = a.Journal().Apply(t.Context(), plan)
	must(t, err)
	if diff := cmp.Diff(map[string]string{"f1.txt": "x", "f2.txt": "x", "f3.txt": "x"}, contents(t, root)); diff != "" {
		t.Error(diff)
	}
}
