package builtin

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"artoo/tool"
	"artoo/tool/git/gittest"
)

func globEnv(t *testing.T) *tool.Env {
	env := treeEnv(t, map[string]string{
		".gitignore": "*.gen.go\n", "a.go": "", "b.ts": "", "x.gen.go": "", "src/a.go": "", "src/deep/b.go": "",
		"src/deep/c.tsx": "", ".github/w.yml": "", "odd/b[1].go": "",
	})
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, name := range []string{"odd/b[1].go", "src/deep/c.tsx", "b.ts", "src/a.go", "a.go", "src/deep/b.go"} {
		at := day.Add(time.Duration(i) * time.Hour)
		if err := os.Chtimes(filepath.Join(env.Dir, filepath.FromSlash(name)), at, at); err != nil {
			t.Fatal(err)
		}
	}
	return env
}

func TestGlob(t *testing.T) {
	t.Parallel()
	env := globEnv(t)
	for _, test := range []struct{ name, input, want, summary string }{
		{"every depth, newest first", `{"pattern":"**/*.go"}`, "src/deep/b.go\na.go\nsrc/a.go\nodd/b[1].go\n", "4 files"},
		{"one directory", `{"pattern":"*.go"}`, "a.go\n", "1 file"},
		{"path", `{"pattern":"**/*.go","path":"src"}`, "src/deep/b.go\nsrc/a.go\n", "2 files"},
		{"path in the pattern", `{"pattern":"./src/deep/*"}`, "src/deep/b.go\nsrc/deep/c.tsx\n", "2 files"},
		{"braces", `{"pattern":"**/*.{ts,tsx}"}`, "b.ts\nsrc/deep/c.tsx\n", "2 files"},
		{"whole name", `{"pattern":"src/a.go"}`, "src/a.go\n", "1 file"},
		{"absolute", `{"pattern":"` + filepath.ToSlash(env.Dir) + `/src/**/*.go"}`, "src/deep/b.go\nsrc/a.go\n", "2 files"},
		{"hidden", `{"pattern":"**/*.yml"}`, ".github/w.yml\n", "1 file"},
		{"escaped", `{"pattern":"odd/b\\[1\\].go"}`, "odd/b[1].go\n", "1 file"},
		{"ignored", `{"pattern":"**/*.gen.go"}`, "no files match **/*.gen.go in .\n", "0 files"},
		{"only further down", `{"pattern":"*.tsx"}`,
			"no files match *.tsx in .\n(at every depth, as **/*.tsx, 1 file matches)\n", "0 files"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := mustCall(t, Glob(), env, test.input)
			if diff := cmp.Diff(tool.Result{Text: test.want, Summary: test.summary}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestGlobErrors(t *testing.T) {
	t.Parallel()
	env := globEnv(t)
	for _, test := range []struct{ input, want string }{
		{`{"pattern":"  "}`, "the pattern is empty"},
		{`{"pattern":"src/[a"}`, "close every ["},
		{`{"pattern":"{a,b"}`, "close every ["},
		{`{"pattern":"*.go","path":"nowhere"}`, "there is no directory nowhere"},
		{`{"pattern":"*.go","path":"a.go"}`, "a.go is a file"},
		{`{"pattern":"../*.go"}`, "outside the project"},
	} {
		_, _, err := call(t, Glob(), env, test.input)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.input, err, test.want)
		}
	}
}

func TestGlobAccess(t *testing.T) {
	t.Parallel()
	env := globEnv(t)
	access, _, err := call(t, Glob(), env, `{"pattern":"deep/*.go","path":"src"}`)
	if err != nil {
		t.Fatal(err)
	}
	want := tool.Access{Kind: tool.KindRead, Paths: []string{filepath.Join(env.Dir, "src", "deep")}, Verb: "glob",
		Object: "deep/*.go in src"}
	if diff := cmp.Diff(want, access); diff != "" {
		t.Error(diff)
	}
	access, _, _ = call(t, Glob(), env, `{"pattern":"/etc/*.conf"}`)
	if !access.Outside || access.Why == "" {
		t.Errorf("outside the project: %+v", access)
	}
}

func TestGlobLimit(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range globLimit + 7 {
		files[fmt.Sprintf("d/%03d.txt", i)] = ""
	}
	got := mustCall(t, Glob(), treeEnv(t, files), `{"pattern":"**/*.txt"}`)
	if n := strings.Count(got.Text, ".txt\n"); n != globLimit {
		t.Errorf("%d files are named, want %d", n, globLimit)
	}
	if want := "(the newest 200 of 207 files; narrow the pattern or the path to see others)\n"; !strings.HasSuffix(
		got.Text, want) {
		t.Errorf("text ends %q", got.Text[len(got.Text)-100:])
	}
	if got.Summary != "200 of 207 files" {
		t.Errorf("summary %q", got.Summary)
	}
}

func TestGlobHidesSecretsAndLinksOut(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	gittest.WriteTree(t, outside, map[string]string{"x.txt": ""})
	env := treeEnv(t, map[string]string{".env": "K=1", "a/.env": "", "in.txt": "", "odd\nname.txt": ""})
	gittest.Link(t, filepath.Join(outside, "x.txt"), filepath.Join(env.Dir, "out.txt"))
	gittest.Link(t, "in.txt", filepath.Join(env.Dir, "link.txt"))
	gittest.Link(t, ".env", filepath.Join(env.Dir, "env.txt"))
	got := strings.Split(strings.TrimSpace(mustCall(t, Glob(), env, `{"pattern":"**/*"}`).Text), "\n")
	if diff := cmp.Diff([]string{`"odd\nname.txt"`, "(2 hidden files are left out)", "in.txt", "link.txt"}, slices.Compact(slices.Sorted(slices.Values(got)))); diff != "" {
		t.Error(diff)
	}
}

// An index can name files below a directory that has become a link.
func TestGlobAndGrepOfAnIndexThatLies(t *testing.T) {
	t.Parallel()
	env := treeEnv(t, map[string]string{"d/x.txt": "hello\n", "e.txt": "hello\n"})
	gittest.Repo(t, env.Dir)
	gittest.Git(t, env.Dir, "add", ".")
	outside := t.TempDir()
	gittest.WriteTree(t, outside, map[string]string{"x.txt": "hello outside\n"})
	if err := os.RemoveAll(filepath.Join(env.Dir, "d")); err != nil {
		t.Fatal(err)
	}
	gittest.Link(t, outside, filepath.Join(env.Dir, "d"))
	if got := mustCall(t, Glob(), env, `{"pattern":"**/*.txt"}`).Text; got != "e.txt\n" {
		t.Errorf("glob: %q", got)
	}
	if got := mustCall(t, Grep(), env, `{"pattern":"hello"}`).Text; got != "e.txt:1: hello\n" {
		t.Errorf("grep: %q", got)
	}
}
