package search

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sourcegraph/conc/panics"

	"artoo/tool/git"
	"artoo/tool/git/gittest"
	"artoo/tool/needs"
)

// ignoreTree has rules of every sort; git is the judge of their meaning.
func ignoreTree() map[string]string {
	tree := map[string]string{
		".gitignore": strings.Join([]string{
			"# a comment", "", `\#hash`, `\!bang`, "*.log", "!keep.log", "/top.txt", "build/", "doc/*.html",
			"**/deep/x", "a/**/z", "inside/**", "!inside/", "!inside/keep.go", "*_test.go", "!/src/cmd/go",
			"trail   ", `blank\ `, "[ab]c.txt", "[!ab]d.txt", "{x,y}.txt", "q?.md", "cr.txt\r", "*.tmp/", "every/*",
			"!every/*/", "every/*/*", "!every/*/*.go", "half[", "one/two", "/anch/*.c",
		}, "\n"),
		"sub/.gitignore":  "*.txt\n!mine.txt\n/only.md\n*.log\n",
		".git2/x":         "",
		"src/.gitignore":  "!*_test.go\n",
		"sub/.hidden/x.c": "",
	}
	for _, name := range []string{
		"a.log", "keep.log", "top.txt", "x/top.txt", "build/out", "x/build/out", "build2", "doc/a.html",
		"doc/sub/a.html", "x/doc/a.html", "deep/x", "p/deep/x", "p/deep/y", "a/z", "a/b/z", "a/b/c/z", "a/b/c/y",
		"inside/a", "inside/keep.go", "inside/d/keep.go", "f_test.go", "src/cmd/go/f_test.go", "src/cmd/go/f.go",
		"src/f_test.go", "src/cmd/f_test.go", "lib/f_test.go", "#hash", "!bang", "trail", "blank ", "ac.txt",
		"cc.txt", "ad.txt", "cd.txt", "{x,y}.txt", "x.txt", "qa.md", "qab.md", "cr.txt", "t.tmp", "d.tmp/f",
		"every/f", "every/d/f", "every/d/f.go", "every/d/e/f.go", "half[", "one/two", "x/one/two", "one/two2",
		"anch/x.c", "anch/y/x.c", "sub/x.txt", "sub/mine.txt", "sub/deep/mine.txt", "sub/only.md", "sub/deep/only.md",
		"sub/keep.log", "sub/deep/a.txt", ".hidden", ".github/w.yml", "büro/ä.txt", "with blank/f",
	} {
		tree[name] = "x\n"
	}
	return tree
}

func TestListFilesAsGitDoes(t *testing.T) {
	env := treeEnv(t, ignoreTree())
	gittest.Repo(t, env.Dir)
	gittest.WriteTree(t, env.Dir, map[string]string{".git/info/exclude": "p/deep/y\n", "loc.al": ""})
	want := strings.Split(strings.TrimSuffix(gittest.Git(t, env.Dir, "ls-files", "-co", "--exclude-standard", "-z"),
		"\x00"), "\x00")
	for _, dir := range []string{"", "sub", "src", "every", "a/b"} {
		var below []string
		for _, name := range want {
			if dir == "" {
				below = append(below, name)
			} else if rest, ok := strings.CutPrefix(name, dir+"/"); ok {
				below = append(below, rest)
			}
		}
		abs := filepath.Join(env.Dir, filepath.FromSlash(dir))
		t.Run("git/"+dir, func(t *testing.T) { sameListing(t, env, abs, below) })
		t.Run("walk/"+dir, func(t *testing.T) {
			t.Setenv("PATH", t.TempDir()) // no git
			sameListing(t, env, abs, below)
		})
	}
}

// Where there is a git, it is the judge of each file.
func TestIgnoreRulesAgreeWithGitCheckIgnore(t *testing.T) {
	t.Parallel()
	program := needs.Git(t)
	tree := ignoreTree()
	env := treeEnv(t, tree)
	gittest.Repo(t, env.Dir)
	kept := map[string]bool{}
	w := walker{ctx: t.Context(), files: env.Files, dir: env.Dir}
	err := w.walk(func(e treeEntry) error {
		kept[e.name] = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(tree))
	cmd := exec.Command(program, "check-ignore", "--no-index", "--stdin", "-z")
	cmd.Dir, cmd.Env = env.Dir, append(git.SafeEnviron(os.Environ()), "GIT_CONFIG_GLOBAL="+os.DevNull,
		"GIT_CONFIG_NOSYSTEM=1")
	cmd.Stdin = strings.NewReader(strings.Join(names, "\x00"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	ignored := strings.Split(string(out), "\x00")
	if len(ignored) < 20 {
		t.Errorf("git ignores %q", ignored)
	}
	for _, name := range names {
		if slices.Contains(ignored, name) == kept[name] {
			t.Errorf("%s: kept is %t, and git thinks otherwise", name, kept[name])
		}
	}
}

func sameListing(t *testing.T, env *world, dir string, want []string) {
	t.Helper()
	got, err := namesBelow(t.Context(), env, dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(slices.Compact(slices.Sorted(slices.Values(want))), got); diff != "" {
		t.Errorf("(-git +listed)\n%s", diff)
	}
}

// namesBelow are the names that a walk lists.
func namesBelow(ctx context.Context, env *world, dir string) ([]string, error) {
	l, err := List(ctx, env.Files, dir, func(*os.File, fs.DirEntry, string) (int64, bool) { return 0, true })
	slices.SortFunc(l.Files, byName)
	var names []string
	for _, f := range l.Files {
		names = append(names, f.Name)
	}
	return names, err
}

func TestListFilesWithoutRepository(t *testing.T) {
	t.Parallel()
	env := treeEnv(t, map[string]string{".gitignore": "*.o\nout/\n", "a.c": "", "a.o": "", "out/x": "",
		"d/.gitignore": "!b.o\n", "d/b.o": "", "d/c.o": ""})
	sameListing(t, env, env.Dir, []string{".gitignore", "a.c", "d/.gitignore", "d/b.o"})
}

func TestListFilesOfAnIgnoredDirectoryByName(t *testing.T) {
	t.Parallel()
	tree := map[string]string{".gitignore": "node_modules\n*.log\n", "a.js": "", "node_modules/m/i.js": "",
		"node_modules/m/.gitignore": "dist\n", "node_modules/m/dist/x": "", "node_modules/m/a.log": ""}
	want := []string{".gitignore", "a.log", "i.js"}
	t.Run("walk", func(t *testing.T) {
		env := treeEnv(t, tree)
		sameListing(t, env, filepath.Join(env.Dir, "node_modules", "m"), want)
	})
	t.Run("git", func(t *testing.T) {
		env := treeEnv(t, tree)
		gittest.Repo(t, env.Dir)
		sameListing(t, env, filepath.Join(env.Dir, "node_modules", "m"), want)
		sameListing(t, env, env.Dir, []string{".gitignore", "a.js"})
	})
}

func TestListFilesOfAllIgnored(t *testing.T) {
	t.Parallel()
	// The directory itself is not ignored, only all that is in it.
	env := treeEnv(t, map[string]string{".gitignore": "*.o\n", "obj/a.o": "", "x.c": ""})
	gittest.Repo(t, env.Dir)
	sameListing(t, env, filepath.Join(env.Dir, "obj"), nil)
}

func TestListFilesNestedRepositories(t *testing.T) {
	t.Parallel()
	env := treeEnv(t, map[string]string{
		"a.go": "", "lib/b.go": "", "lib/.gitignore": "*.tmp\n", "lib/x.tmp": "", "mod/c.go": "", "mod/sub/d.go": "",
	})
	gittest.Repo(t, filepath.Join(env.Dir, "lib"))
	gittest.Repo(t, filepath.Join(env.Dir, "mod"))
	gittest.Git(t, filepath.Join(env.Dir, "mod"), "add", ".")
	gittest.Git(t, filepath.Join(env.Dir, "mod"), "commit", "-q", "-m", "x")
	gittest.Repo(t, env.Dir)
	gittest.Git(t, env.Dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "./mod", "mod")
	sameListing(t, env, env.Dir, []string{".gitmodules", "a.go", "lib/.gitignore", "lib/b.go", "mod/c.go", "mod/sub/d.go"})
}

func TestListFilesDoesNotFollowLinks(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	gittest.WriteTree(t, outside, map[string]string{"secret": "x"})
	for _, repo := range []bool{false, true} {
		t.Run(fmt.Sprint(repo), func(t *testing.T) {
			env := treeEnv(t, map[string]string{"a/b": ""})
			if repo {
				gittest.Repo(t, env.Dir)
			}
			gittest.Link(t, outside, filepath.Join(env.Dir, "out"))
			gittest.Link(t, "a", filepath.Join(env.Dir, "in"))
			sameListing(t, env, env.Dir, []string{"a/b", "in", "out"})
		})
	}
}

func TestListFilesCancelled(t *testing.T) {
	t.Parallel()
	env := treeEnv(t, map[string]string{"a": ""})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := namesBelow(ctx, env, env.Dir); err == nil {
		t.Error("a cancelled listing succeeded")
	}
	gittest.Repo(t, env.Dir)
	if _, err := namesBelow(ctx, env, env.Dir); err == nil {
		t.Error("a cancelled listing by git succeeded")
	}
}

// A repository from elsewhere must not run anything, nor lead anywhere, when
// its files are listed.
func TestListFilesOfAHostileRepository(t *testing.T) {
	env := treeEnv(t, map[string]string{"a.go": ""})
	gittest.Repo(t, env.Dir)
	mark := filepath.Join(t.TempDir(), "ran")
	for _, key := range []string{"core.fsmonitor", "core.pager", "pager.ls-files", "core.sshCommand", "core.gitProxy",
		"core.askPass", "uploadpack.packObjectsHook", "filter.x.clean", "filter.x.smudge", "filter.x.process",
		"diff.x.textconv", "alias.ls-files"} {
		gittest.Git(t, env.Dir, "config", key, "touch "+mark+"; false")
	}
	gittest.Git(t, env.Dir, "config", "core.hooksPath", filepath.Join(env.Dir, "hooks"))
	gittest.WriteTree(t, env.Dir, map[string]string{".gitattributes": "* filter=x diff=x\n",
		"hooks/post-index-change": "#!/bin/sh\ntouch " + mark + "\n"})
	if err := os.Chmod(filepath.Join(env.Dir, "hooks/post-index-change"), 0o755); err != nil {
		t.Fatal(err)
	}
	// The environment may point git elsewhere, too.
	other := t.TempDir()
	gittest.Repo(t, other)
	t.Setenv("GIT_DIR", filepath.Join(other, ".git"))
	t.Setenv("GIT_TRACE2", mark)
	t.Setenv("GIT_INDEX_FILE", mark)
	env.Files.Tracked.Environ = os.Environ()
	gittest.Git(t, env.Dir, "-c", "core.fsmonitor=false", "-c", "core.hooksPath="+os.DevNull, "-c", "filter.x.process=",
		"-c", "filter.x.clean=cat", "add", "a.go")
	gittest.WriteTree(t, env.Dir, map[string]string{".gitignore": "*.o\n", "x.o": ""}) // so that the index is asked
	names, err := namesBelow(t.Context(), env, env.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{".gitattributes", ".gitignore", "a.go", "hooks/post-index-change"}, slices.Compact(slices.Sorted(slices.Values(names)))); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Lstat(mark); err == nil {
		t.Error("listing files ran a program of the repository's choice")
	}
}

func TestListFilesWorktreeElsewhere(t *testing.T) {
	t.Parallel()
	env := treeEnv(t, map[string]string{"a.go": ""})
	gittest.Repo(t, env.Dir)
	outside := t.TempDir()
	gittest.WriteTree(t, outside, map[string]string{"secret": ""})
	gittest.Git(t, env.Dir, "config", "core.worktree", outside)
	sameListing(t, env, env.Dir, []string{"a.go"})
}

// A crash in one of the goroutines that search is the caller's.
func TestACrashOfAWorkerIsTheSearchsCrash(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 100 {
		files[fmt.Sprintf("d%d/f", i)] = "x\n"
	}
	env := treeEnv(t, files)
	planted := func(_ *os.File, _ fs.DirEntry, name string) (int64, bool) {
		if name == "d7/f" {
			panic("planted")
		}
		return 0, true
	}
	noPattern := treeSearch{Query: Query{options: QueryOptions{Limit: 1000}}, files: env.Files, top: env.top(t)}
	for name, search := range map[string]func() error{
		"a walk": func() error { _, err := List(t.Context(), env.Files, env.Dir, planted); return err },
		"a grep": func() error {
			noPattern.results(t.Context(), []File{{Name: "d7/f"}, {Name: "d8/f"}})
			return nil
		},
	} {
		var err error
		crash := panics.Try(func() { err = search() })
		if crash == nil {
			t.Errorf("%s: no crash, %v", name, err)
		} else if _, ok := crash.Value.(*panics.Recovered); !ok {
			t.Errorf("%s crashed in the caller: %v", name, crash)
		}
	}
}
