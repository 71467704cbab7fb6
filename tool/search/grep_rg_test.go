package search

import (
	"fmt"
	"go/build"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/tool/files"
	"artoo/tool/git/gittest"
	"artoo/tool/needs"
)

// ripgrep runs rg in dir as it searches with the option to search hidden files, and
// at ignore files outside a repository too; the lines of its answer, sorted.
func ripgrep(t *testing.T, rg, dir string, args ...string) []string {
	t.Helper()
	cmd := exec.Command(rg, append([]string{"--no-config", "--hidden", "--glob", "!.git", "--no-require-git",
		"--no-messages"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("rg %q: %v", args, err)
	}
	var lines []string
	for line := range strings.Lines(string(out)) {
		lines = append(lines, strings.TrimPrefix(strings.TrimSuffix(line, "\n"), "./"))
	}
	slices.Sort(lines)
	return lines
}

// matchingLines are the places that a query finds, as path:line.
func matchingLines(t testing.TB, files *files.Files, pattern string, options QueryOptions) []string {
	t.Helper()
	q, err := NewQuery(pattern, options)
	if err != nil {
		t.Fatal(err)
	}
	top, err := files.Resolve(".", false)
	if err != nil {
		t.Fatal(err)
	}
	hits, err := q.Tree(t.Context(), files, top)
	if err != nil || hits.TimedOut || hits.More && options.Limit > 1000 || len(hits.Slow) > 0 {
		t.Fatalf("%s %+v: %v", pattern, options, err)
	}
	var lines []string
	for _, f := range hits.Files {
		for _, l := range f.Lines {
			lines = append(lines, fmt.Sprintf("%s:%d", f.Name, l.Num))
		}
	}
	slices.Sort(lines)
	return lines
}

// If ripgrep is installed, it is the judge of matches in sources.
func TestGrepFindsWhatRipgrepFinds(t *testing.T) {
	t.Parallel()
	rg := needs.Program(t, "rg")
	root, err := filepath.EvalSymlinks(filepath.Join(build.Default.GOROOT, "src", "text"))
	needs.Thing(t, "Go's sources", err)
	files, err := files.Open(files.Config{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	for _, in := range []struct {
		Pattern string
		QueryOptions
	}{
		{"ErrUnexpectedEOF", QueryOptions{}},
		{`func \(\w+ \*?\w+\) [A-Z]\w*\(`, QueryOptions{}},
		{`[A-Z]\w+Handler\b`, QueryOptions{}},
		{"(?i)todo|fixme", QueryOptions{}},
		{"task|KIND", QueryOptions{IgnoreCase: true}},
		{"(?i:type) Template", QueryOptions{}},
		{`\bnil\b`, QueryOptions{Glob: "*_test.go"}},
		{"^}$", QueryOptions{}},
		{"^$", QueryOptions{}},
		{`"[^"]*\\n"`, QueryOptions{}},
		{"parse|scan|lex", QueryOptions{Type: "go"}},
		{`x{2,}|[0-9]{3}`, QueryOptions{}},
		{"[Ww]hile|[Uu]ntil", QueryOptions{}},
		{"世|界", QueryOptions{}},
		{`\p{Greek}`, QueryOptions{}},
		{`\s+$`, QueryOptions{}},
		{"q", QueryOptions{}},
		{"return.*err", QueryOptions{}},
		{"(a|e|i|o|u){3}", QueryOptions{}},
	} {
		in.Limit = 1 << 30
		args := []string{"-n", "--no-heading", "--with-filename"}
		if in.IgnoreCase {
			args = append(args, "-i")
		}
		if in.Glob != "" {
			args = append(args, "-g", in.Glob)
		}
		if in.Type != "" {
			args = append(args, "-t", in.Type)
		}
		want := ripgrep(t, rg, root, append(args, "-e", in.Pattern, ".")...)
		for i, line := range want {
			parts := strings.SplitN(line, ":", 3)
			want[i] = parts[0] + ":" + parts[1]
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, matchingLines(t, files, in.Pattern, in.QueryOptions)); diff != "" {
			t.Errorf("%+v (-rg +grep)\n%s", in, diff)
		}
	}
}

// Ripgrep is also the judge of all ignore files together.
func TestFilesAreIgnoredAsRipgrepIgnoresThem(t *testing.T) {
	rg := needs.Program(t, "rg")
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	gittest.WriteTree(t, home, map[string]string{".config/git/ignore": "*.global\n!kept.log\n"})
	tree := ignoreTree()
	for _, name := range []string{
		"a.global", "sub/b.global", "rg/a.txt", "rg/b.txt", "rg/c.txt", "rg/d/a.txt", "rg/d/b.txt", "rg/d/c.txt",
		"dist/x", "dist/keep.txt", "sub/dist/x", "kept.log", "ign.txt", "nested/build/x", "nested/a.log", "nested/dist/y",
	} {
		tree[name] = "x\n"
	}
	tree[".ignore"] = "dist/\n!a.log\nign.txt\n*.tmp2\n"
	tree["rg/.gitignore"] = "a.txt\nb.txt\n"
	tree["rg/.ignore"] = "!b.txt\nc.txt\n"
	tree["rg/d/.rgignore"] = "!c.txt\nb.txt\n"
	tree["nested/.git/HEAD"] = "ref: refs/heads/main\n"
	tree["nested/.git/objects/x"] = ""
	tree["nested/.git/refs/x"] = ""
	// Braces are letters to git.
	tree[".gitignore"] = strings.ReplaceAll(tree[".gitignore"], "{x,y}.txt\n", "")
	env := treeEnv(t, tree)
	gittest.Repo(t, env.Dir)
	gittest.WriteTree(t, env.Dir, map[string]string{".git/info/exclude": "p/deep/y\n!ign.txt\n"})
	sameListing(t, env, env.Dir, ripgrep(t, rg, env.Dir, "--files"))
}
