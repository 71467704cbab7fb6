package project

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"artoo/tool/environ"
	"artoo/tool/files"
	"artoo/tool/git"
	"artoo/tool/git/gittest"
	"artoo/tool/needs"
)

func mkfile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func realTemp(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// mkrepo makes dir the top of a work tree, as far as git looks to tell.
func mkrepo(t *testing.T, dir string) {
	t.Helper()
	mkfile(t, filepath.Join(dir, ".git", "HEAD"), "ref: refs/heads/main\n")
	for _, part := range []string{"objects", "refs"} {
		if err := os.MkdirAll(filepath.Join(dir, ".git", part), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheProjectIsTheNearestRepositoryThatGitWouldTake(t *testing.T) {
	t.Parallel()
	base := realTemp(t)
	for _, dir := range []string{"home/work/repo/a/b", "home/plain", "home2/x", "empty/.git",
		"home/work/repo/void/.git", "home/work/repo/void/x", "above/home3"} {
		if err := os.MkdirAll(filepath.Join(base, filepath.FromSlash(dir)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, top := range []string{"home/work/repo", "home2", "above"} {
		mkrepo(t, filepath.Join(base, filepath.FromSlash(top)))
	}
	mkfile(t, filepath.Join(base, "home", "tree", ".git"), "gitdir: x\n")
	mkfile(t, filepath.Join(base, "home", "real", ".git"), "gitdir: ../work/repo/.git\n")
	mkfile(t, filepath.Join(base, "home", "words", ".git", "HEAD"), "what\n")
	for _, c := range []struct {
		dir, home, root string
		git             bool
		none            string
	}{
		{"home/work/repo/a/b", "home", "home/work/repo", true, ""},
		{"home/work/repo", "home", "home/work/repo", true, ""},
		{"home/work/repo/void/x", "home", "home/work/repo/void/x", false, ""}, // nothing above the first .git counts
		{"empty", "home", "empty", false, ""},
		{"home/tree", "home", "home/tree", false, ""}, // a .git file that leads nowhere
		{"home/real", "home", "home/real", false, ""}, // a .git file that leads to another repository
		{"home/words", "home", "home/words", false, ""},
		{"home/plain", "home", "home/plain", false, ""},
		{"home", "home", "home", false, "this is the home directory"},
		{"home2/x", "home2", "home2/x", false, ""}, // a repository of the whole home directory is no project
		{"home2", "home2", "home2", false, "this is the home directory"},
		{"above", "above/home3", "above", false, "this is above the home directory"},
		{"above/home3", "above/home3", "above/home3", false, "this is the home directory"},
	} {
		p, err := Find(filepath.Join(base, c.dir), environ.Vars{"HOME=" + filepath.Join(base, c.home)})
		if err != nil {
			t.Fatal(err)
		}
		if p.Root != filepath.Join(base, filepath.FromSlash(c.root)) || p.Git != c.git || p.None != c.none ||
			p.Dir != filepath.Join(base, filepath.FromSlash(c.dir)) {
			t.Errorf("%s: %+v", c.dir, p)
		}
	}
	if _, err := Find(filepath.Join(base, "missing"), nil); err == nil {
		t.Error("a directory that is not there has a project")
	}
	root := string(filepath.Separator)
	if p, err := Find(root, nil); err != nil || p.None == "" {
		t.Errorf("%s: %+v, %v", root, p, err)
	}
}

// FindProject recognizes the same repositories as git itself.
func TestGitAgreesOnWhatARepositoryIs(t *testing.T) {
	t.Parallel()
	needs.Git(t)
	for name, files := range map[string]map[string]string{
		"whole":                   {"HEAD": "ref: refs/heads/main\n", "objects/x": "", "refs/x": ""},
		"a commit":                {"HEAD": strings.Repeat("a", 40) + "\n", "objects/x": "", "refs/x": ""},
		"empty":                   {"x": ""},
		"no refs":                 {"HEAD": "ref: refs/heads/main\n", "objects/x": ""},
		"no objects":              {"HEAD": "ref: refs/heads/main\n", "refs/x": ""},
		"a head of words":         {"HEAD": "main\n", "objects/x": "", "refs/x": ""},
		"a head that leads aside": {"HEAD": "ref: heads/main\n", "objects/x": "", "refs/x": ""},
		"a head without a blank":  {"HEAD": "ref:refs/heads/main", "objects/x": "", "refs/x": ""},
	} {
		top := realTemp(t)
		for file, text := range files {
			mkfile(t, filepath.Join(top, ".git", filepath.FromSlash(file)), text)
		}
		command := exec.Command("git", "rev-parse", "--git-dir")
		command.Dir, command.Env = top, append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(top))
		if err := command.Run(); (err == nil) != git.IsWorkTree(top) {
			t.Errorf("%s: taken for a repository: %t, by git: %t", name, git.IsWorkTree(top), err == nil)
		}
	}
}

func TestALinkedWorkTreeKnowsTheDirectoryItShares(t *testing.T) {
	t.Parallel()
	base := realTemp(t)
	mkrepo(t, filepath.Join(base, "main"))
	own := filepath.Join(base, "main", ".git", "worktrees", "side")
	mkfile(t, filepath.Join(own, "HEAD"), "ref: refs/heads/side\n")
	mkfile(t, filepath.Join(own, "commondir"), "../..\n")
	for _, tree := range []string{"side", "forged"} {
		mkfile(t, filepath.Join(base, tree, ".git"), "gitdir: "+own+"\n")
	}
	mkfile(t, filepath.Join(own, "gitdir"), filepath.Join(base, "side", ".git")+"\n")
	for tree, common := range map[string]string{"side": filepath.Join(base, "main", ".git"), "forged": "", "main": ""} {
		p, err := Find(filepath.Join(base, tree), nil)
		if err != nil || p.Git == (tree == "forged") || p.Common != common {
			t.Errorf("%s: shares %q (%+v, %v), want %q", tree, p.Common, p, err, common)
		}
	}
	p, err := Repository(filepath.Join(base, "side"), nil)
	if err != nil {
		t.Fatal(err)
	}
	files, err := files.Open(files.Config{Root: p.Root, ReadDirs: []string{p.Common}})
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	if err := p.WithinGrants(files); err != nil {
		t.Error(err)
	}
}

func TestGitIsNotTrustedWhereItsTopCannotBeTold(t *testing.T) {
	t.Parallel()
	base := realTemp(t)
	mkrepo(t, base)
	mkfile(t, filepath.Join(base, "odd", ".git", "HEAD"), strings.Repeat("a", 40)+" and more\n")
	if err := os.MkdirAll(filepath.Join(base, "void", ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	if p, err := Repository(filepath.Join(base, "void"), nil); err != nil || p.Root != base {
		t.Errorf("below an empty .git git works on %+v, %v", p, err)
	}
	if p, err := Repository(filepath.Join(base, "odd"), nil); err == nil {
		t.Errorf("a doubtful .git was passed by: %+v", p)
	}
}

func TestDirectoriesThatGitTakesHooksFromAreKnown(t *testing.T) {
	needs.Git(t)
	base := realTemp(t)
	home := filepath.Join(base, "home")
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	mkfile(t, filepath.Join(home, ".gitconfig"), "[core]\n\thooksPath = ~/hooks # mine\n")
	top := filepath.Join(base, "p")
	mkrepo(t, top)
	mkfile(t, filepath.Join(top, ".git", "config"), "[core] HooksPath = \"tools/hooks\"\n")
	mkfile(t, filepath.Join(top, "bare", "HEAD"), "ref: refs/heads/main\n")
	p, err := Find(top, os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	settings := p.SettingsFinder()
	if got, want := p.HookDirs(settings()), []string{filepath.Join(home, "hooks"), filepath.Join(top, "tools", "hooks")}; !slices.Equal(slices.Compact(got), want) {
		t.Errorf("hooks of %q, want %q", got, want)
	}
	for path, run := range map[string]bool{
		filepath.Join(top, "tools", "x"):              false,
		filepath.Join(top, "bare", "config"):          true,
		filepath.Join(top, "bare", "hooks", "update"): true,
		filepath.Join(top, "bare", "main.go"):         false,
		filepath.Join(top, "other", "HEAD"):           true,
		filepath.Join(top, "other", "config"):         false,
		filepath.Join(top, "config"):                  false,
	} {
		if why := p.OthersRun(path); (why != "") != run {
			t.Errorf("%s: %q, want %t", path, why, run)
		}
	}
	mkfile(t, filepath.Join(top, ".git", "config"), "[core] hooksPath = \"other/hooks\"\n")
	if got := p.HookDirs(settings()); !slices.Contains(got, filepath.Join(top, "other", "hooks")) || slices.Contains(got, filepath.Join(top, "tools", "hooks")) {
		t.Errorf("hooks by now of %q", got)
	}
}

func TestGitRuns(t *testing.T) {
	t.Parallel()
	needs.Git(t)
	cases := []struct {
		name  string
		files map[string]string
		dir   string
		why   string // a part of the error, "" for none
	}{
		{"plain", map[string]string{".git/config": "[core]\n\tbare = false\n[user]\n\tname = x\n"}, "", ""},
		{"no config", map[string]string{".git/x": ""}, "", ""},
		{"monitor", map[string]string{".git/config": "[core]\n\tfsmonitor = ./x\n"}, "", "fsmonitor"},
		{"any case, one line", map[string]string{".git/config": "[CORE] FSMonitor=./x\n"}, "", "fsmonitor"},
		{"textconv", map[string]string{".git/config": "[diff \"x\"]\n textconv = ./x\n"}, "", "textconv"},
		{"external", map[string]string{".git/config": "[diff]\n external = ./x\n"}, "", "external"},
		{"filter", map[string]string{".git/config": "[filter \"x\"]\n clean = ./x\n"}, "", "filter"},
		{"include", map[string]string{".git/config": "[include]\n path = ../x\n"}, "", "include"},
		{"include behind another section", map[string]string{".git/config": "[a][include]path = ../x\n"}, "", "include"},
		{"include behind a quoted bracket",
			map[string]string{".git/config": "[a \"]\"] [includeIf \"x\"]path = ../x\n"}, "", "include"},
		{"monitor behind two sections", map[string]string{".git/config": "[a] [core] fsmonitor = x\n"}, "", "fsmonitor"},
		{"merge driver", map[string]string{".git/config": "[merge \"x\"]\n driver = ./x\n"}, "", "driver"},
		{"upload-pack of a partial clone", map[string]string{".git/config": "[remote \"o\"]\n uploadpack = ./x\n"},
			"", "uploadpack"},
		{"partial clone", map[string]string{".git/config": "[remote \"o\"]\n promisor = true\n"}, "", "promisor"},
		{"files elsewhere", map[string]string{".git/config": "[core]\n worktree = /\n"}, "", "worktree"},
		{"files elsewhere behind two sections", map[string]string{".git/config": "[a] [core] worktree = /\n"},
			"", "worktree"},
		{"worktree config", map[string]string{".git/config": "[extensions]\n worktreeConfig = true\n",
			".git/config.worktree": "[core]\n fsmonitor=x\n"}, "", "fsmonitor"},
		{"hooks elsewhere", map[string]string{".git/config": "[core]\n hooksPath = x\n"}, "", "hookspath"},
		{"a hook of status", map[string]string{".git/config": "", ".git/hooks/post-index-change": "x"},
			"", "post-index-change"},
		{"other hooks", map[string]string{".git/config": "", ".git/hooks/pre-commit": "x"}, "", ""},
		{"a bare repository in the way", map[string]string{".git/config": "", "sub/HEAD": "ref: x"}, "sub/deep", "bare"},
		{"one beside it", map[string]string{".git/config": "", "sub/HEAD": "ref: x"}, "other", ""},
		{"another directory", map[string]string{".git": "gitdir: real\n", "real/config": "[core]\n fsmonitor=x\n"},
			"", "fsmonitor"},
		{"another directory, shared", map[string]string{".git": "gitdir: real\n", "real/commondir": "../all\n",
			"all/config": "[core]\n fsmonitor=x\n"}, "", "fsmonitor"},
		{"no file of git", map[string]string{".git": "x\n"}, "", "not one of git's files"},
		{"an index that is none", map[string]string{".git/config": "", ".git/index": "x"}, "", "index"},
		{"a config too large", map[string]string{".git/config": strings.Repeat("#", 2<<20)}, "", "usual size"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			root := realTemp(t)
			if _, file := c.files[".git"]; !file {
				mkrepo(t, root)
			}
			for name, text := range c.files {
				mkfile(t, filepath.Join(root, filepath.FromSlash(name)), text)
			}
			dir := filepath.Join(root, filepath.FromSlash(c.dir))
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			p := Project{Root: root, Dir: dir, Git: true}
			if err := p.GitRuns(); c.why == "" && err != nil ||
				c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)) {
				t.Errorf("error %v, want one with %q", err, c.why)
			}
		})
	}
	if err := (Project{Root: t.TempDir(), Dir: t.TempDir()}).GitRuns(); err != nil {
		t.Errorf("without git: %v", err)
	}
}

// Without a git nothing is known, and no git command can run either.
func TestWithoutGitAnIndexHoldsNothing(t *testing.T) {
	root := realTemp(t)
	gittest.Repo(t, root)
	mkfile(t, filepath.Join(root, "a.go"), "x")
	gittest.Git(t, root, "add", ".")
	t.Setenv("PATH", "")
	if err := (Project{Root: root, Dir: root, Git: true}).GitRuns(); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("%v", err)
	}
	if names := new(git.Indexes).Of(t.Context(), root); names != nil {
		t.Errorf("%v", names)
	}
}

func TestRepositoriesWithinAreLookedAt(t *testing.T) {
	t.Parallel()
	root := realTemp(t)
	mod := filepath.Join(root, "mod")
	for _, at := range []string{root, mod, filepath.Join(mod, "mod")} {
		if err := os.MkdirAll(at, 0o755); err != nil {
			t.Fatal(err)
		}
		gittest.Repo(t, at)
	}
	gittest.Git(t, filepath.Join(mod, "mod"), "commit", "-q", "--allow-empty", "-m", "x")
	gittest.Git(t, mod, "add", "mod")
	gittest.Git(t, mod, "commit", "-q", "-m", "x")
	gittest.Git(t, root, "add", "mod")
	p := Project{Root: root, Dir: root, Git: true}
	if err := p.GitRuns(); err != nil {
		t.Errorf("it may run: %v", err)
	}
	for _, at := range []string{filepath.Join("mod", "mod"), "mod"} {
		config := filepath.Join(root, at, ".git", "config")
		gittest.Git(t, filepath.Join(root, at), "config", "core.fsmonitor", "y")
		if err := p.GitRuns(); err == nil || !strings.Contains(err.Error(), at[len(at)-3:]+": ") ||
			!strings.Contains(err.Error(), "fsmonitor") {
			t.Errorf("%s: error %v", at, err)
		}
		if err := os.Rename(config, config+".off"); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(filepath.Join(mod, ".git")); err != nil {
		t.Fatal(err)
	}
	if err := p.GitRuns(); err != nil {
		t.Errorf("not checked out: %v", err)
	}
	// A repository that has itself within.
	mkfile(t, filepath.Join(mod, ".git"), "gitdir: ../.git\n")
	if err := os.RemoveAll(filepath.Join(mod, "mod")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(".", filepath.Join(mod, "mod")); err == nil {
		if err := p.GitRuns(); err == nil {
			t.Error("a repository within itself: no error")
		}
	}
}
