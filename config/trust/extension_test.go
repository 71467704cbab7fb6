package trust

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"artoo/tool/extension"
)

// However a line names a file of the project, its approval covers the content of that file.
func TestApprovalCoversTheFilesThatALineNames(t *testing.T) {
	t.Parallel()
	const file = "hook dir/sub/x.sh"
	for _, line := range []string{
		`"hook dir/sub/x.sh"`,
		`hook\ dir/sub/x.sh`,
		`sh 'hook dir'/sub/x.sh --strict`,
		`"$CLAUDE_PROJECT_DIR"/"hook dir"/sub/x.sh`,
		`"${CLAUDE_PROJECT_DIR:-.}/hook dir/sub/x.sh"`,
		`"$(git rev-parse --show-toplevel)/hook dir/sub/x.sh"`,
		"\"`pwd`/hook dir/sub/x.sh\"",
		`sh -c '"./hook dir/sub/x.sh" | tee out'`,
		`bash -c "exec 'hook dir/sub/x.sh'"`,
		`cd 'hook dir'; cd sub && ./x.sh`,
		`cd 'hook dir/sub'&&sh<x.sh`,
		`D="hook dir/sub"; . "$D/x.sh"`,
		`env --chdir='hook dir' sub/x.sh`,
		`python3 'hook dir/sub/X.SH'`,
	} {
		root := tree(t, map[string]string{file: "one", "other.sh": "x", "hook dir/sub/max.sh": "x", "hook dir/README": "x"})
		sum := func() Extension { return OfHook(root, extension.Hook{On: extension.BeforeTool, Line: line}) }
		before := sum()
		if want := []string{file}; !slices.Equal(before.Files, want) || !slices.Contains(before.Details, "it names "+file) {
			t.Errorf("%s: it names %q", line, before.Files)
		}
		if before.Sum != sum().Sum {
			t.Errorf("%s: two sums of the same", line)
		}
		if err := os.WriteFile(filepath.Join(root, file), []byte("two"), 0o600); err != nil {
			t.Fatal(err)
		}
		if before.Sum == sum().Sum {
			t.Errorf("%s: a change is not seen", line)
		}
	}
}

// A server's words, its variables and the directory that it starts in name files, too.
func TestApprovalCoversTheFilesThatAServerNames(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"srv/run.js": "x", "srv/pre.js": "x", "cfg.json": "x", "srv/cfg.json": "x", "run.js.map": "x"})
	got := OfServer(root, extension.Server{Command: []string{"node", "run.js"}, Dir: filepath.Join(root, "srv"),
		Env: map[string]string{"NODE_OPTIONS": "--require=./pre.js", "CONFIG": filepath.Join(root, "cfg.json")}}).Files
	if want := []string{"cfg.json", "srv/cfg.json", "srv/pre.js", "srv/run.js"}; !slices.Equal(got, want) {
		t.Errorf("it names %q, not %q", got, want)
	}
}

// Contents that follow each other in different ways are different, and a file has no end that is not read.
func TestApprovalTellsContentsApart(t *testing.T) {
	t.Parallel()
	hook := extension.Hook{On: extension.BeforeTool, Line: `cat a b "it's"`}
	one := tree(t, map[string]string{"a": "x\n\"b\" y"})
	two := tree(t, map[string]string{"a": "x", "b": "y"})
	quoted := tree(t, map[string]string{"it's": "x"})
	if got := OfHook(quoted, hook).Files; len(got) != 1 {
		t.Errorf("it names %q", got)
	}
	if OfHook(one, hook).Sum == OfHook(two, hook).Sum {
		t.Error("two sets of files have one sum")
	}
	before := OfHook(two, hook).Sum
	if err := os.Truncate(filepath.Join(two, "b"), mostBytes); err != nil {
		t.Fatal(err)
	}
	large := OfHook(two, hook).Sum
	if err := os.Truncate(filepath.Join(two, "b"), mostBytes+1); err != nil {
		t.Fatal(err)
	}
	if longer := OfHook(two, hook).Sum; before == large || longer == large {
		t.Error("a change after 16 MiB is not seen")
	}
}

// Links neither lead out of the project nor around in it.
func TestNamedLinksStayInTheProject(t *testing.T) {
	t.Parallel()
	root, outside := tree(t, map[string]string{"d/x.sh": "x"}), tree(t, map[string]string{"x.sh": "x", "y.sh": "y"})
	for name, to := range map[string]string{"a": ".", "b": "d", "d/a": "..", "out": outside, "y.sh": filepath.Join(outside, "y.sh")} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	got := OfHook(root, extension.Hook{Line: "a/b/a/x.sh; d/a/x.sh; out/x.sh; y.sh"}).Files
	if want := []string{"d/x.sh", "y.sh"}; !slices.Equal(got, want) {
		t.Errorf("it names %q, not %q", got, want)
	}
}
