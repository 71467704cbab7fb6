package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool/builtin"
	"artoo/tool/journal"
	"artoo/tool/sweep"
)

// replyOfEdits is a random reply whose calls change the same few files, with what should come of each call.
type replyOfEdits struct {
	*rand.Rand
	mode  permission.Mode
	files map[string]string // as the calls so far leave them; a missing file has none
	made  int               // lines and sources so far, each of which is unique
	calls []provider.ToolCall
	lines []string // the recorder's for the results
	no    []string // the calls to which the user says no
}

func (r *replyOfEdits) fresh() string {
	r.made++
	return fmt.Sprintf("line %d", r.made)
}

// call adds a call that leaves a file with this content if it runs; "" is a file that is gone.
func (r *replyOfEdits) call(name string, input map[string]any, file, content string) {
	data, _ := json.Marshal(input)
	id := fmt.Sprintf("c%d", len(r.calls))
	r.calls = append(r.calls, fake.ToolCall(id, name, string(data)))
	status := agent.CallOK
	switch {
	case content == r.files[file]: // nothing to do, or not to be done
		status = agent.CallFailed
	case r.mode == permission.ModePlan:
		status = agent.CallDenied
	case r.mode == permission.ModeAsk && r.IntN(6) == 0:
		status, r.no = agent.CallDenied, append(r.no, id)
	case content == "":
		delete(r.files, file)
	default:
		r.files[file] = content
	}
	r.lines = append(r.lines, fmt.Sprintf("result %s %s", id, status))
}

func (r *replyOfEdits) add() {
	file := []string{"f.txt", "f.txt", "new.txt", "n.ipynb"}[r.IntN(4)]
	now, there := r.files[file]
	one, patch := r.fresh(), func(body string) map[string]any {
		return map[string]any{"input": "*** Begin Patch\n" + body + "*** End Patch"}
	}
	switch {
	case file == "n.ipynb" && r.IntN(3) == 0:
		_, source, _ := strings.Cut(now, `"source":["`)
		source, _, _ = strings.Cut(source, `"`)
		r.call("edit", map[string]any{"path": file, "old_string": source, "new_string": one}, file, notebookOf(one))
	case file == "n.ipynb":
		r.call("notebook_edit", map[string]any{"path": file, "cell_id": "a", "new_source": one}, file, notebookOf(one))
	case !there && r.IntN(2) == 0:
		r.call("apply_patch", patch("*** Add File: "+file+"\n+"+one+"\n"), file, one+"\n")
	case !there || r.IntN(5) == 0:
		r.call("write", map[string]any{"path": file, "content": one + "\n" + r.fresh() + "\n"}, file, one+"\nline "+fmt.Sprint(r.made)+"\n")
	case r.IntN(8) == 0:
		r.call("edit", map[string]any{"path": file, "old_string": "nowhere", "new_string": one}, file, now)
	case r.IntN(8) == 0:
		r.call("apply_patch", patch("*** Delete File: "+file+"\n"), file, "")
	default:
		lines := slices.Collect(strings.Lines(now))
		at := r.IntN(len(lines))
		old := lines[at]
		lines[at] = one + "\n" + old
		if then := strings.Join(lines, ""); r.IntN(2) == 0 {
			r.call("apply_patch", patch("*** Update File: "+file+"\n@@\n+"+one+"\n "+old), file, then)
		} else {
			r.call("edit", map[string]any{"path": file, "old_string": old, "new_string": lines[at]}, file, then)
		}
	}
}

func notebookOf(source string) string {
	return `{"cells":[{"id":"a","cell_type":"raw","metadata":{},"source":["` + source + `"]}],"metadata":{},"nbformat":4,"nbformat_minor":5}` + "\n"
}

// answersWhere says yes, and no to the calls that it lists.
type answersWhere struct {
	*recorder
	no []string
}

func (a answersWhere) Ask(ctx context.Context, q agent.Question) (agent.Answer, error) {
	a.answers = []agent.Answer{{Verdict: agent.Yes}}
	if slices.Contains(a.no, q.Call.ID) {
		a.answers = []agent.Answer{{Verdict: agent.No}}
	}
	return a.recorder.Ask(ctx, q)
}

// TestAReplyEditsAFileAnyNumberOfTimes sends replies that change the same files by several calls, in every mode: each
// call is planned on what those before it left, and a turn is taken back as one.
func TestAReplyEditsAFileAnyNumberOfTimes(t *testing.T) {
	t.Parallel()
	modes := []permission.Mode{permission.ModeAuto, permission.ModeEdits, permission.ModeAsk, permission.ModePlan}
	for _, seed := range sweep.Cases(t, 20, 200) {
		before := map[string]string{"f.txt": "first\nsecond\nthird\n", "n.ipynb": notebookOf("line 0")}
		r := &replyOfEdits{Rand: rand.New(rand.NewPCG(uint64(seed), 41)), mode: modes[seed%len(modes)],
			files: map[string]string{"f.txt": before["f.txt"], "n.ipynb": before["n.ipynb"]}}
		for range 2 + r.IntN(7) {
			r.add()
		}
		a, root := inJournal(t, fake.Calls(fake.ToolCall("r1", "read", `{"path":"f.txt"}`), fake.ToolCall("r2", "read", `{"path":"n.ipynb"}`)),
			fake.Calls(r.calls...), fake.Say("done"))
		a.Opt().Tools = append(a.Opt().Tools, builtin.Read(), builtin.Edit(), builtin.ApplyPatch(), builtin.NotebookEdit())
		a.Policy().Mode = r.mode
		for name, content := range before {
			must(t, os.WriteFile(filepath.Join(root, name), []byte(content), 0o600))
		}
		cb := answersWhere{&recorder{}, r.no}
		mustSend(t, a, cb, "go")
		results := slices.DeleteFunc(cb.lines, func(line string) bool { return !strings.HasPrefix(line, "result c") })
		if !slices.Equal(results, r.lines) {
			t.Fatalf("seed %d, %s: %q, want %q of %s\n%s", seed, r.mode, results, r.lines, r.calls, strings.Join(history(a), "\n"))
		}
		sameFiles(t, root, r.files)
		if a.Journal() != nil && len(a.Journal().Diff()) > 0 {
			undoOne(t, a.Journal())
		}
		sameFiles(t, root, before)
	}
}

func sameFiles(t *testing.T, root string, want map[string]string) {
	t.Helper()
	for _, name := range []string{"f.txt", "new.txt", "n.ipynb"} {
		if data, _ := os.ReadFile(filepath.Join(root, name)); string(data) != want[name] {
			t.Fatalf("%s: %q, want %q", name, data, want[name])
		}
	}
}

func undoOne(t *testing.T, j *journal.Journal) {
	t.Helper()
	plan, err := j.Plan(t.Context(), 1, false)
	must(t, err)
	if report, err := j.Apply(t.Context(), plan); err != nil || len(report.Left) > 0 || len(report.Cannot) > 0 {
		t.Fatalf("%v: left %v, cannot %v", err, report.Left, report.Cannot)
	}
}

// A file that somebody else changes while the user is asked is not written; what follows is planned on the file as it is.
func TestAFileThatChangesDuringItsQuestionStaysAsItIs(t *testing.T) {
	t.Parallel()
	a, root := inJournal(t,
		fake.Calls(fake.ToolCall("c0", "edit", `{"path":"f.txt","old_string":"second","new_string":"2"}`),
			fake.ToolCall("c1", "edit", `{"path":"f.txt","old_string":"third","new_string":"3"}`)), fake.Say("done"))
	a.Opt().Tools = append(a.Opt().Tools, builtin.Edit())
	a.Policy().Mode = permission.ModeAsk
	file := filepath.Join(root, "f.txt")
	must(t, os.WriteFile(file, []byte("first\nsecond\nthird\n"), 0o600))
	cb := &recorder{answers: []agent.Answer{{Verdict: agent.Yes}, {Verdict: agent.Yes}}}
	cb.onAsk = func(q agent.Question) {
		if q.Call.ID == "c0" {
			must(t, os.WriteFile(file, []byte("mine\nsecond\nthird\n"), 0o600))
		}
	}
	mustSend(t, a, cb, "go")
	if said := strings.Join(history(a), "\n"); !strings.Contains(said, "a file has changed since this call was allowed") {
		t.Errorf("the model gets\n%s", said)
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "mine\nsecond\n3\n" {
		t.Errorf("%q, %v", data, err)
	}
}
