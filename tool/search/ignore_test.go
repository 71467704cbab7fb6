package search

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/tool/files"
	"artoo/tool/git/gittest"
)

// emptyHome gives git a home directory without settings.
func emptyHome(t *testing.T) string {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	return home
}

// The findings of a search do not depend on whether the files are in a checkout, nor on
// whether git is installed.
func TestOneAnswerInACheckoutAndOutside(t *testing.T) {
	tree := ignoreTree()
	tree[".ignore"] = "anch/\n!top.txt\n"
	tree["sub/.rgignore"] = "deep/\n"
	var want string
	for _, checkout := range []string{"none", "fresh", "committed", "no git"} {
		t.Run(checkout, func(t *testing.T) {
			emptyHome(t)
			env := treeEnv(t, tree)
			if checkout != "none" {
				gittest.Repo(t, env.Dir)
			}
			if checkout == "committed" {
				gittest.Git(t, env.Dir, "add", ".")
				gittest.Git(t, env.Dir, "commit", "-q", "-m", "x")
			}
			if checkout == "no git" {
				t.Setenv("PATH", t.TempDir())
			}
			got := strings.Join(matchingLines(t, env.Files, "x", QueryOptions{Limit: 1000}), "\n")
			if want == "" {
				want = got
			}
			if strings.Count(got, "\n") < 20 || got != want {
				t.Error(cmp.Diff(want, got))
			}
		})
	}
}

// Git does not ignore tracked files.
func TestTrackedFilesAreFoundThoughARuleNamesThem(t *testing.T) {
	emptyHome(t)
	env := treeEnv(t, map[string]string{".gitignore": "out/\n*.gen\n", "a.gen": "", "b.gen": "", "out/x/kept": "",
		"out/other": "", "out-of/a": "", ".ignore": "c.gen\n", "c.gen": "", "lib/out/y": "", "lib/out/z": ""})
	gittest.Repo(t, env.Dir)
	gittest.Repo(t, filepath.Join(env.Dir, "lib"))
	gittest.Git(t, env.Dir, "add", "-f", "a.gen", "out/x/kept", "c.gen")
	gittest.WriteTree(t, env.Dir, map[string]string{"lib/.gitignore": "out\n"})
	gittest.Git(t, filepath.Join(env.Dir, "lib"), "add", "-f", "out/y")
	sameListing(t, env, env.Dir, []string{".gitignore", ".ignore", "a.gen", "lib/.gitignore", "lib/out/y", "out-of/a",
		"out/x/kept"})
	sameListing(t, env, filepath.Join(env.Dir, "out"), []string{"other", "x/kept"})
}

func TestExcludesOfTheUserAndTheRepository(t *testing.T) {
	home := emptyHome(t)
	gittest.WriteTree(t, home, map[string]string{
		".config/git/ignore": "*.default\n", "own": "*.own\n", ".gitconfig": "[core]\n\texcludesFile = \"~/own\" ; mine\n",
	})
	env := treeEnv(t, map[string]string{"a.default": "", "b.own": "", "C.TMP": "", "d.local": "", "e": "",
		".gitignore": "*.tmp\n"})
	sameListing(t, env, env.Dir, []string{".gitignore", "C.TMP", "a.default", "d.local", "e"})
	gittest.Repo(t, env.Dir)
	gittest.Git(t, env.Dir, "config", "core.ignoreCase", "true")
	gittest.WriteTree(t, env.Dir, map[string]string{".git/info/exclude": "*.local\n"})
	sameListing(t, env, env.Dir, []string{".gitignore", "a.default", "e"})

	gittest.Git(t, env.Dir, "add", ".")
	gittest.Git(t, env.Dir, "commit", "-q", "-m", "x")
	tree := filepath.Join(filepath.Dir(env.Dir), "linked")
	t.Cleanup(func() { os.RemoveAll(tree) })
	gittest.Git(t, env.Dir, "worktree", "add", "-q", tree)
	gittest.WriteTree(t, tree, map[string]string{"f.local": "", "g": "", "h.own": ""})
	opened, err := files.Open(files.Config{Root: tree, Environ: homeOfTest()})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	linked := &world{Files: opened, Dir: tree}
	sameListing(t, linked, tree, []string{".gitignore", "b.own", "e", "g"})

	gittest.WriteTree(t, home, map[string]string{".gitconfig": ""})
	sameListing(t, linked, tree, []string{".gitignore", "b.own", "e", "g", "h.own"})
}

// A tree that is too large gives the same files each time, however many are looked at
// side by side.
func TestATreeThatIsTooLargeGivesTheSameFilesEachTime(t *testing.T) {
	t.Parallel()
	tree := map[string]string{}
	for i := range 300 {
		tree[fmt.Sprintf("%d/%d/%d/f%d", i%3, i%7, i%11, i)] = ""
	}
	env := treeEnv(t, tree)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var want []string
	for round := range 20 {
		runtime.GOMAXPROCS(1 + round%4)
		w := walker{ctx: t.Context(), files: env.Files, dir: env.Dir, max: 100,
			keep: func(*os.File, os.DirEntry, string) (int64, bool) { return 0, true }}
		var got []string
		if err := w.walk(func(e treeEntry) error {
			if !e.dir {
				got = append(got, e.name)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		if want == nil {
			want = got
		}
		if len(got) < 100 || len(got) > 120 || !slices.Equal(got, want) {
			t.Fatalf("%d files, the first time %d", len(got), len(want))
		}
	}
}
