package builtin

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/tool"
)

func TestLs(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, map[string]string{"b.txt": "12345", "a/x": "", ".hidden": "", ".git/config": "",
		".gitignore": "b.txt\n", "empty/x": ""})
	w.link("b.txt", "link")
	if err := os.Remove(w.path("empty/x")); err != nil {
		t.Fatal(err)
	}
	access, result, err := w.call(Ls(), in{})
	want := "         6  .gitignore\n         0  .hidden\n         -  a/\n         5  b.txt\n         -  empty/\n      link  link -> b.txt\n"
	if diff := cmp.Diff(tool.Result{Text: want, Summary: "6 entries"}, result); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if diff := cmp.Diff(tool.Access{Kind: tool.KindRead, Paths: []string{w.root}, Verb: "list", Object: "."}, access); diff != "" {
		t.Error(diff)
	}
	if result := w.ok(Ls(), in{"path": "a"}); result.Text != "         0  x\n" || result.Summary != "1 entry" {
		t.Errorf("%+v", result)
	}
	if result := w.ok(Ls(), in{"path": "empty"}); result.Text != "empty is empty" {
		t.Errorf("%+v", result)
	}
	if result := w.ok(Ls(), in{"path": ".git"}); !strings.Contains(result.Text, "config") {
		t.Errorf("%+v", result)
	}
	w.fails(Ls(), in{"path": "b.txt"}, "b.txt: is not a directory")
	w.fails(Ls(), in{"path": "emty"}, "does not exist", "near it: empty")
	if access, _, _ := w.call(Ls(), in{"path": ".."}); !access.Outside {
		t.Errorf("%+v", access)
	}
	if err := Ls().Check([]byte(`{"path":"x","recursive":true}`)); err == nil {
		t.Error("an unknown argument passes")
	}
}

func TestLsMany(t *testing.T) {
	t.Parallel()
	w := newFileWorld(t, nil)
	for i := range listEntries + 5 {
		w.put(w.path(fmt.Sprintf("f%05d", i)), "")
	}
	result := w.ok(Ls(), in{})
	if n := strings.Count(result.Text, "\n"); n != listEntries+1 ||
		!strings.HasSuffix(result.Text, "f00999\n[the first 1000 of 1005; glob finds others by name]\n") {
		t.Errorf("%d lines, end %q", n, result.Text[len(result.Text)-80:])
	}
}
