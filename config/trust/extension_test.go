package trust

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"artoo/tool/extension"
)

func ofHook(root string, h extension.Hook) extension.Extension {
	h.Root = root
	return Summed(h.Extension())
}

func ofServer(root string, s extension.Server) extension.Extension {
	s.Root = root
	return Summed(s.Extension())
}

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
		sum := func() extension.Extension { return ofHook(root, extension.Hook{On: extension.BeforeTool, Line: line}) }
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
	got := ofServer(root, extension.Server{Command: []string{"node", "run.js"}, Dir: filepath.Join(root, "srv"),
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
	if got := ofHook(quoted, hook).Files; len(got) != 1 {
		t.Errorf("it names %q", got)
	}
	if ofHook(one, hook).Sum == ofHook(two, hook).Sum {
		t.Error("two sets of files have one sum")
	}
	before := ofHook(two, hook).Sum
	if err := os.Truncate(filepath.Join(two, "b"), mostBytes); err != nil {
		t.Fatal(err)
	}
	large := ofHook(two, hook).Sum
	if err := os.Truncate(filepath.Join(two, "b"), mostBytes+1); err != nil {
		t.Fatal(err)
	}
	if longer := ofHook(two, hook).Sum; before == large || longer == large {
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
	got := ofHook(root, extension.Hook{Line: "a/b/a/x.sh; d/a/x.sh; out/x.sh; y.sh"}).Files
	if want := []string{"d/x.sh", "y.sh"}; !slices.Equal(got, want) {
		t.Errorf("it names %q, not %q", got, want)
	}
}

// Approvals that earlier versions of artoo stored stay valid: sums of the same are the same.
func TestSumsStayAsTheyWere(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"guard.sh": "exit 0", "srv/run.js": "x", "list.txt": "a\nb"})
	from := extension.Origin{Source: extension.SourceRepository, Bundle: "b", Place: ".mcp.json"}
	hook := ofHook(root, extension.Hook{Origin: from, On: extension.BeforeTool, Line: "sh guard.sh < list.txt"})
	whole := ofHook(root, extension.Hook{Origin: from, On: extension.OnQuestion,
		Match: []string{"bash(git:*)", "write"}, Matcher: "Bash", Command: []string{"./guard.sh", "a b"},
		PassEnv: []string{"A", "B"}, Timeout: time.Second, Claude: true, Warn: true, Async: true, MayAnswer: true})
	server := ofServer(root, extension.Server{Name: "db", Origin: from, Command: []string{"node", "srv/run.js"},
		Env: map[string]string{"LIST": "./list.txt"}})
	all := ofServer(root, extension.Server{Name: "web", Origin: from, About: "a", Dir: "/nowhere",
		PassEnv: []string{"P"}, URL: "https://x.example/mcp", SSE: true, Headers: map[string]string{"X-K": "${K}"},
		TokenEnv: "T", TokenCommand: "cat list.txt", ClientID: "c", ClientSecretEnv: "S", ClientSecretCommand: "s",
		CallbackPort: 7, Tools: []string{"-a"}, Read: []string{"b"}, Direct: []string{"c"}, Timeout: time.Second,
		TimeoutMax: time.Minute, Required: true, Confine: true, Hosts: []string{"@npm"}})
	got := []extension.Extension{hook, whole, server, all}
	for i := range got {
		got[i].Origin, got[i].Whole, got[i].Texts, got[i].Dir = extension.Origin{}, nil, nil, ""
	}
	want := []extension.Extension{
		{Kind: "hook", Name: "before_tool", Command: "sh guard.sh < list.txt",
			Details: []string{"it names guard.sh", "it names list.txt"}, Files: []string{"guard.sh", "list.txt"},
			Sum: "51b64efd2bd190782dcd82057cdb6d52999b1a8800e3328474574b9fe41fa8a2"},
		{Kind: "hook", Name: "question of Bash and bash(git:*)|write", Command: "./guard.sh a b",
			Details: []string{"it gets the variables A, B", "it names guard.sh"}, Files: []string{"guard.sh"},
			Sum: "102d87719bd8803a119873b58d51f62934bf24dd32a62f19645d9698dd0c1926"},
		{Kind: "server", Name: "db", Command: "node srv/run.js", Files: []string{"list.txt", "srv/run.js"},
			Details: []string{"LIST = ./list.txt", "it names list.txt", "it names srv/run.js"},
			Sum:     "0ccb6d2b0db323e117ad4305ea2bb1889aa1890ef76833a0be26cff0a6693d03"},
		{Kind: "server", Name: "web", Command: "https://x.example/mcp", Files: []string{"list.txt"},
			Details: []string{"X-K = ${K}", "it gets the variables P", "its token comes from cat list.txt",
				"it names list.txt"},
			Sum: "90f2c89b59ddb15448a0b6d9683e80873a374e18993c735c6546938148ce8e7b"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
