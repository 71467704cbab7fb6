package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"artoo/provider/providertest"
	"artoo/tool/needs"
	"artoo/tool/sweep"
)

// wayOver is what a model calls.
type wayOver struct {
	calls []string
	keeps bool // It deletes nothing.
}

// overCaps are ways of changing more than a cap allows: each touches at least four paths that were there, and
// adds or removes more than three lines, outside of kept/. Where it removes, renames or empties nothing it is marked.
// A way is a shell line, or a call of another tool as NAME INPUT; several calls are one reply each.
var overCaps = []wayOver{
	// Commands of the shell.
	{calls: []string{"rm f1 f2 f3 f4"}},
	{calls: []string{"rm -rf d"}},
	{calls: []string{"rm -f f1; rm -f f2; rm -f f3; rm -f f4"}},
	{calls: []string{"unlink f1; unlink f2; unlink f3; unlink f4"}},
	{calls: []string{"find . -name 'f*' -delete"}},
	{calls: []string{"find . -name 'f*' -exec rm {} +"}},
	{calls: []string{"ls f1 f2 f3 f4 | xargs rm"}},
	{calls: []string{"mv f1 g1; mv f2 g2"}},
	{calls: []string{"mv f1 f2; mv f3 f4; mv f5 f6"}},
	{calls: []string{"mv d e"}},
	{calls: []string{"mkdir n; mv f* n"}},
	{calls: []string{"for f in f*; do mv $f $f.bak; done"}},
	{calls: []string{"mv -f f1 d/x; mv -f f2 d/y"}},
	{calls: []string{"truncate -s 0 f1 f2 f3 f4"}},
	{calls: []string{": >f1; : >f2; : >f3; : >f4"}},
	{calls: []string{"cp /dev/null f1; cp /dev/null f2; cp /dev/null f3; cp /dev/null f4"}},
	{calls: []string{"for f in f*; do dd if=/dev/null of=$f; done"}},
	{calls: []string{"cat /dev/null | tee f1 f2 f3 f4"}},
	{calls: []string{"sed -i d f1 f2 f3 f4"}},
	{calls: []string{"perl -ni -e '1' f1 f2 f3 f4"}},
	{calls: []string{"for f in f1 f2 f3 f4; do rm $f; mkdir $f; done"}},
	{calls: []string{"for f in f1 f2 f3 f4; do ln -sf f0 $f; done"}},
	{calls: []string{"for f in f1 f2 f3 f4; do rm $f; ln -s /etc/passwd $f; done"}},
	{calls: []string{"rm -r d; ln -s . d; rm f1 f2"}},
	{calls: []string{"git rm -q f1 f2 f3 f4"}},
	{calls: []string{"git mv f1 g1; git mv f2 g2"}},
	{calls: []string{"git checkout -q empty"}},
	{calls: []string{"git checkout -q empty -- . ; rm -f f1 f2 f3 f4"}},
	{calls: []string{"git restore --source empty -- f1 f2 f3 f4"}},
	{calls: []string{"git reset -q --hard empty"}},
	{calls: []string{"git read-tree -u -m empty"}},
	{calls: []string{"git stash -q; rm f1 f2 f3 f4"}},
	{calls: []string{"tar cf t.tar f1 f2 f3 f4 && rm f1 f2 f3 f4"}},
	{calls: []string{"tar cf t.tar --remove-files f1 f2 f3 f4"}},
	{calls: []string{"gzip f1 f2"}},
	{calls: []string{"cd d && rm x y z w"}},
	{calls: []string{"sh -c 'rm f1 f2 f3 f4'"}},
	{calls: []string{"bash <<'E'\nrm f1 f2 f3 f4\nE"}},
	{calls: []string{"eval \"$(echo rm f1 f2 f3 f4)\""}},
	{calls: []string{"env rm f1 f2 f3 f4"}},
	{calls: []string{"command rm f1 f2 f3 f4"}},
	{calls: []string{"$(echo rm) f1 f2 f3 f4"}},
	{calls: []string{"python3 -c 'import os\nfor n in \"1234\": os.remove(\"f\"+n)'"}},
	{calls: []string{"python3 -c 'import os\nfor n in \"1234\": os.rename(\"f\"+n, \"g\"+n)'"}},
	{calls: []string{"python3 -c 'import os\nfor n in \"1234\": os.truncate(\"f\"+n, 0)'"}},
	{calls: []string{"python3 -c 'import shutil; shutil.rmtree(\"d\")'"}},
	{calls: []string{"perl -e 'unlink \"f1\", \"f2\", \"f3\", \"f4\"'"}},
	{calls: []string{"awk 'BEGIN { for (i = 1; i < 5; i++) printf \"\" > (\"f\" i) }'"}},
	{calls: []string{"exec 3>f1 4>f2 5>f3 6>f4"}},
	{calls: []string{"(rm f1 f2 f3 f4) & wait"}},
	{calls: []string{"rm f1 f2 f3 f4; false"}},
	{calls: []string{"set -C; rm f1 f2; : >|f3; : >|f4"}},
	{calls: []string{"ln f0 hard; mv hard f1; rm f2 f3 f4"}},
	{calls: []string{"touch kept/new; rm f1 f2 f3 f4"}},
	{calls: []string{"chmod 600 f0; rm f1 f2 f3 f4"}},
	// Commits of changes that the work tree does not hold.
	{calls: []string{"git rm -q --cached f1 f2 f3 f4; git commit -qm x"}},
	// File tools.
	{calls: []string{"apply_patch " + `{"input":"*** Begin Patch\n*** Delete File: f1\n*** Delete File: f2\n*** Delete File: f3\n*** Delete File: f4\n*** End Patch"}`}},
	{calls: []string{"apply_patch " + `{"input":"*** Begin Patch\n*** Update File: f1\n*** Move to: g1\n@@\n-1\n+one\n*** Update File: f2\n*** Move to: g2\n@@\n-1\n+one\n*** End Patch"}`}},
	{calls: []string{"apply_patch " + `{"input":"*** Begin Patch\n*** Delete File: d/x\n*** Delete File: d/y\n*** Delete File: d/z\n*** Delete File: d/w\n*** Add File: n\n+1\n*** End Patch"}`}},
	{calls: []string{"task " + `{"prompt":"do it"}`, "rm f1 f2 f3 f4"}},
	{calls: []string{"task " + `{"prompt":"do it"}`, "apply_patch " + `{"input":"*** Begin Patch\n*** Delete File: f1\n*** Delete File: f2\n*** Delete File: f3\n*** Delete File: f4\n*** End Patch"}`}},
	// These remove nothing.
	{keeps: true, calls: []string{"sed -i s/1/one/ f1 f2 f3 f4"}},
	{keeps: true, calls: []string{"for f in f1 f2 f3 f4; do echo more >>$f; done"}},
	{keeps: true, calls: []string{"cp f1 n1; cp f1 n2; cp f1 n3; cp f1 n4"}},
	{keeps: true, calls: []string{"cp big f1; cp big f2; cp big f3; cp big f4"}},
	{keeps: true, calls: []string{"echo bcde | tee f1 f2 f3 f4"}},
	{keeps: true, calls: []string{"mkdir n; for i in 1 2 3 4; do seq 5 >n/$i; done"}},
	{keeps: true, calls: []string{"for i in 1 2 3 4; do ln -s f0 l$i; done"}},
	{keeps: true, calls: []string{"for i in 1 2 3 4; do ln f$i h$i; done"}},
	{keeps: true, calls: []string{"for f in f1 f2 f3 f4; do printf 'x%.0s' $(seq 400) | dd of=$f conv=notrunc; done"}},
	{keeps: true, calls: []string{"for f in f1 f2 f3 f4; do truncate -s 4000 $f; done"}},
	{keeps: true, calls: []string{"printf 'a\\0%.0s' $(seq 400) | tee b1 b2 b3 b4"}},
	{keeps: true, calls: []string{"git checkout -q other"}},
	{keeps: true, calls: []string{"git checkout -qb mine; for f in f1 f2 f3 f4; do echo more >>$f; done; git commit -qam x; git checkout -q main"}},
	{keeps: true, calls: []string{"for n in 1 2 3 4; do echo more >>f$n; git commit -qam x; git checkout -q HEAD~ -- f$n; git commit -qm y; done"}},
	{keeps: true, calls: []string{"git commit-tree -p HEAD -m x other^{tree} | xargs git branch mine"}},
	{keeps: true, calls: []string{"git apply <all.patch"}},
	{keeps: true, calls: []string{"patch -p1 <all.patch || git apply all.patch"}},
	{keeps: true, calls: []string{"python3 -c 'for n in \"1234\": open(\"f\"+n, \"a\").write(\"x\\n\")'"}},
	{keeps: true, calls: []string{"perl -pi -e 's/1/one/' f1 f2 f3 f4"}},
	{keeps: true, calls: []string{"awk 'BEGIN { for (i = 1; i < 5; i++) print \"x\" >> (\"f\" i) }'"}},
	{keeps: true, calls: []string{"apply_patch " + `{"input":"*** Begin Patch\n*** Add File: n1\n+1\n*** Add File: n2\n+1\n*** Add File: n3\n+1\n*** Add File: n4\n+1\n*** End Patch"}`}},
	{keeps: true, calls: []string{"apply_patch " + `{"input":"*** Begin Patch\n*** Update File: f1\n@@\n-1\n+one\n*** Update File: f2\n@@\n-1\n+one\n*** Update File: f3\n@@\n-1\n+one\n*** Update File: f4\n@@\n-1\n+one\n*** End Patch"}`}},
	{keeps: true, calls: []string{"task " + `{"prompt":"do it"}`, "sed -i s/1/one/ f1 f2 f3 f4"}},
}

// TestNothingOverAnyCapLands tries at least 60 ways over each cap on effects.
func TestNothingOverAnyCapLands(t *testing.T) {
	for _, c := range []struct {
		args    []string
		deletes bool // The cap is on deleting alone.
	}{{[]string{"--max-files", "3"}, false}, {[]string{"--max-lines", "3"}, false}, {[]string{"--only", "kept/**"}, false}, {[]string{"--no-delete"}, true}} {
		t.Run(c.args[0], func(t *testing.T) {
			t.Parallel()
			needs.Git(t)
			ways := slices.Clone(overCaps)
			if c.deletes {
				ways = slices.DeleteFunc(ways, func(w wayOver) bool { return w.keeps })
			}
			if len(ways) < 60 {
				t.Errorf("only %d ways", len(ways))
			}
			try := tryCaps(t, c.args)
			for _, i := range sweep.Cases(t, 2, len(ways)) {
				try(ways[i].calls)
			}
		})
	}
}

// cappedProject makes a repository with files of a few lines, each with a content of its own.
const cappedProject = `git init -q -b main . && git config user.name a && git config user.email a@example.org && git config core.fsync none
mkdir kept d; for f in f0 f1 f2 f3 f4 f5 f6 f7 f8 f9 d/x d/y d/z d/w kept/a; do printf '1\n2\n%s\n' $f >$f; done; seq 20 >big
git add -A; git commit -qm 1
git checkout -q -b empty; git rm -qr f1 f2 f3 f4 d; git commit -qm 2
git checkout -q -b other main; for f in f1 f2 f3 f4; do echo other >>$f; done; git commit -qam 3; git diff main >../all.patch; git checkout -q main
mv ../all.patch .; git add all.patch; git commit -qm 4`

// tryCaps makes a project, and a func that has a model try one way there, which must change nothing and end with 7.
func tryCaps(t *testing.T, args []string) func(calls []string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "project")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	made := exec.Command("sh", "-ec", cappedProject)
	made.Dir, made.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if out, err := made.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var way atomic.Pointer[[]string]
	var requests atomic.Int64 // of this way
	m := newModel(t, func(int, providertest.Request) providertest.Reply {
		calls, n := *way.Load(), int(requests.Add(1))-1
		if n >= len(calls) {
			return providertest.Chat(providertest.Text("done"))
		}
		name, input, _ := strings.Cut(calls[n], " ")
		if !slices.Contains([]string{"apply_patch", "task"}, name) {
			line, err := json.Marshal(map[string]string{"command": calls[n]})
			if err != nil {
				t.Error(err)
			}
			name, input = "bash", string(line)
		}
		return providertest.Chat(providertest.Call(fmt.Sprint("c", n), name, input))
	})
	env := m.env(t, "container=test", "ARTOO_SANDBOX=auto", "ARTOO_STDIN=never")
	needsLayers(t, buildProgram(t, moduleDir), env)
	before := cappedTree(t, dir)
	return func(calls []string) {
		t.Helper()
		way.Store(&calls)
		requests.Store(0)
		said, code := ran(t, dir, env, "", slices.Concat([]string{"-p", "--approval", "auto", "--tools", "all"}, args, []string{"go"})...)
		if now := cappedTree(t, dir); !maps.Equal(now, before) {
			t.Fatalf("%q landed, %d\n%s\n%v", calls, code, said, now)
		}
		if code != 7 {
			t.Errorf("%q: %d\n%s", calls, code, said)
		}
	}
}

// cappedTree is the contents of a project, and of git's data HEAD and the branches.
func cappedTree(t *testing.T, dir string) map[string]string {
	tree := treeOf(t, dir)
	maps.DeleteFunc(tree, func(path, _ string) bool {
		return strings.HasPrefix(path, ".git/") && path != ".git/HEAD" && !strings.HasPrefix(path, ".git/refs/heads/")
	})
	return tree
}
