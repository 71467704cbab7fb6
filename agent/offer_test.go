package agent_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"artoo/agent"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
	"artoo/tool/builtin"
)

func TestAToolForFilesIsOfferedWhereTheyAre(t *testing.T) {
	t.Parallel()
	offers := func(r provider.Request) bool {
		return slices.ContainsFunc(r.Tools, func(s provider.ToolSpec) bool { return s.Name == "notebook_edit" })
	}
	const notebook = `{"cells":[{"cell_type":"raw","source":"x"}]}`
	for name, c := range map[string]struct {
		before, late bool // a notebook is there before the session, is written by the first call
		want         []bool
	}{
		"no notebook":           {false, false, []bool{false, false, false, false}},
		"one from the start":    {true, false, []bool{true, true, true, true}},
		"one that comes later":  {false, true, []bool{false, true, true, true}},
		"both, and told of one": {true, true, []bool{true, true, true, true}},
	} {
		root := realDir(t)
		if c.before {
			write(t, notebook, root, "deep", "er", "old.IPYNB")
		}
		write(t, "x", root, "a.txt")
		path := "a.txt"
		if c.late {
			path = "new.ipynb"
		}
		p := &fake.Provider{Steps: []fake.Step{
			fake.Call("1", "write", `{"path":"`+path+`","content":"{}"}`), fake.Say("ok"),
			fake.Call("2", "nothing_like_it", `{}`), fake.Say("ok"),
		}}
		a := newAgentIn(t, root, p, func(o *agent.Options) {
			o.Tools = []tool.Tool{builtin.Read(), builtin.Write(), builtin.NotebookEdit()}
			o.Policy.Mode = "edits"
		})
		cb := &recorder{}
		for range 2 {
			mustSend(t, a, cb, "go")
		}
		var got []bool
		for _, r := range p.Requests() {
			got = append(got, offers(r))
		}
		results := toolResults(a)
		if last := results[len(results)-1]; strings.Contains(last, "notebook_edit") != got[len(got)-1] {
			t.Errorf("%s: what there is: %s", name, last)
		}
		told := slices.ContainsFunc(cb.notices, func(n agent.Notice) bool {
			return strings.Contains(n.Text, "notebook_edit is available from now on")
		})
		if !slices.Equal(got, c.want) || told != (c.late && !c.before) {
			t.Errorf("%s: offered %v, want %v; told %v", name, got, c.want, told)
		}
	}
}

// Also where an ignore rule hides it: reading it shows that it is there.
func TestANotebookIsEditedByTheNameOfAnotherProgram(t *testing.T) {
	t.Parallel()
	root := realDir(t)
	write(t, `{"cells":[{"cell_type":"raw","source":"x"}]}`, root, ".hidden", "n.ipynb")
	write(t, ".hidden\n", root, ".ignore")
	p := &fake.Provider{Steps: []fake.Step{
		fake.Call("1", "NotebookRead", `{"notebook_path":".hidden/n.ipynb"}`),
		fake.Call("2", "NotebookEdit", `{"notebook_path":".hidden/n.ipynb","cell_id":"1","new_source":"y"}`),
		fake.Say("ok"),
	}}
	a := newAgentIn(t, root, p, func(o *agent.Options) {
		o.Tools = []tool.Tool{builtin.Read(), builtin.NotebookEdit()}
		o.Policy.Mode = "edits"
	})
	mustSend(t, a, &recorder{}, "go")
	got, err := os.ReadFile(filepath.Join(root, ".hidden", "n.ipynb"))
	if want := `{"cells":[{"cell_type":"raw","source":"y"}]}`; err != nil || string(got) != want {
		t.Errorf("%v, %s", err, got)
	}
}
