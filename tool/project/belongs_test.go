package project

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"artoo/tool/git/gittest"
	"artoo/tool/needs"
)

// strangers makes an ordinary repository, other, beside a directory, p, and returns the directory of both.
func strangers(t *testing.T) string {
	t.Helper()
	base := realTemp(t)
	for _, dir := range []string{"other", "p"} {
		mkfile(t, filepath.Join(base, dir, "a"), dir)
	}
	gittest.Repo(t, filepath.Join(base, "other"))
	gittest.Git(t, filepath.Join(base, "other"), "add", "a")
	gittest.Git(t, filepath.Join(base, "other"), "commit", "-q", "-m", "private")
	return base
}

// Each shape is one that an unpacked archive can bring.
func TestARepositoryThatIsNotTheWorkTreesOwnIsNone(t *testing.T) {
	t.Parallel()
	for name, shape := range map[string]func(t *testing.T, base, top string){
		"a .git file": func(t *testing.T, base, top string) { mkfile(t, top+"/.git", "gitdir: ../other/.git\n") },
		"an absolute .git file": func(t *testing.T, base, top string) {
			mkfile(t, top+"/.git", "gitdir: "+base+"/other/.git")
		},
		"a .git file through a link": func(t *testing.T, base, top string) {
			gittest.Link(t, "../other/.git/refs", top+"/l")
			mkfile(t, top+"/.git", "gitdir: l/..\n")
		},
		"a bare repository": func(t *testing.T, base, top string) {
			fetches(t, base, "clone", "-q", "--bare", "other", "b.git")
			mkfile(t, top+"/.git", "gitdir: ../b.git\n")
		},
		"a .git link": func(t *testing.T, base, top string) { gittest.Link(t, "../other/.git", top+"/.git") },
		"a .git link within": func(t *testing.T, base, top string) {
			own(t, top)
			rename(t, top+"/.git", top+"/g")
			gittest.Link(t, "g", top+"/.git")
		},
		"a commondir": func(t *testing.T, base, top string) {
			own(t, top)
			mkfile(t, top+"/.git/commondir", "../../other/.git\n")
		},
		"objects that are a link": func(t *testing.T, base, top string) {
			own(t, top)
			swap(t, top+"/.git/objects", "../../other/.git/objects")
		},
		"packs that are a link": func(t *testing.T, base, top string) {
			own(t, top)
			swap(t, top+"/.git/objects/pack", "../../../other/.git/objects/pack")
		},
		"a configuration that is a link": func(t *testing.T, base, top string) {
			own(t, top)
			swap(t, top+"/.git/config", "../../other/.git/config")
		},
		"refs that are a link": func(t *testing.T, base, top string) { own(t, top); swap(t, top+"/.git/refs", "../../other/.git/refs") },
		"alternates": func(t *testing.T, base, top string) {
			own(t, top)
			mkfile(t, top+"/.git/objects/info/alternates", "../../../other/.git/objects\n")
		},
		"alternates of alternates": func(t *testing.T, base, top string) {
			own(t, top)
			mkfile(t, top+"/.git/objects/info/alternates", "../../store\n")
			mkfile(t, top+"/store/info/alternates", "\""+base+"/other/.git/objects\"\n")
		},
		"another work tree": func(t *testing.T, base, top string) {
			own(t, top)
			gittest.Git(t, top, "config", "core.worktree", base+"/other")
		},
		"another work tree, hidden from a careless reader": func(t *testing.T, base, top string) {
			own(t, top)
			mkfile(t, top+"/.git/config", "# \\\n[core]\nworktree = ../../other\n")
		},
		"another work tree of its own configuration": func(t *testing.T, base, top string) {
			own(t, top)
			gittest.Git(t, top, "config", "extensions.worktreeConfig", "true")
			mkfile(t, top+"/.git/config.worktree", "[core] worktree = ../../other")
		},
		"a work tree's directory within": func(t *testing.T, base, top string) {
			mkfile(t, top+"/.git", "gitdir: x/worktrees/p\n")
			mkfile(t, top+"/x/worktrees/p/HEAD", "ref: refs/heads/master\n")
			mkfile(t, top+"/x/worktrees/p/commondir", base+"/other/.git\n")
			mkfile(t, top+"/x/worktrees/p/gitdir", top+"/.git\n")
		},
		"another's linked work tree": func(t *testing.T, base, top string) {
			gittest.Git(t, base+"/other", "worktree", "add", "-q", base+"/side")
			mkfile(t, top+"/.git", "gitdir: ../other/.git/worktrees/side\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			base := strangers(t)
			top := filepath.Join(base, "p")
			shape(t, base, top)
			p, err := Find(top, nil)
			if err != nil || p.Git || p.Root != top || p.NoGit == nil {
				t.Errorf("%+v, %v", p, err)
			}
			if found, err := Repository(top, nil); err == nil {
				t.Errorf("a command meets %+v", found)
			}
			if p, err = Find(top, nil, base); !strings.Contains(name, "another work tree") && !strings.Contains(name, "another's") && (err != nil || !p.Git) {
				t.Errorf("the user admitted it: %+v, %v", p, err)
			}
		})
	}
}

// fetches runs a git command that reads another repository of this machine.
func fetches(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command(needs.Git(t), append([]string{"-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func own(t *testing.T, top string) { t.Helper(); gittest.Repo(t, top) }

func rename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func swap(t *testing.T, path, target string) {
	t.Helper()
	rename(t, path, path+".was")
	gittest.Link(t, target, path)
}

func TestRealWorkTreesSubmodulesAndAdmittedDirectoriesAreRepositories(t *testing.T) {
	t.Parallel()
	base := strangers(t)
	other := filepath.Join(base, "other")
	gittest.Git(t, base, "init", "-q", "inner")
	fetches(t, base+"/inner", "submodule", "add", "-q", other, "deep")
	gittest.Git(t, base+"/inner", "commit", "-q", "-m", "x")
	fetches(t, other, "submodule", "add", "-q", base+"/inner", "mod")
	fetches(t, other, "submodule", "update", "-q", "--init", "--recursive")
	gittest.Git(t, other, "worktree", "add", "-q", "../tree")
	gittest.Git(t, other+"/mod", "worktree", "add", "-q", "../../modtree")
	gittest.Git(t, base, "init", "-q", "--separate-git-dir", "apart.git", "apart")
	fetches(t, base, "clone", "-q", "--shared", "other", "shared")
	fetches(t, base, "clone", "-q", "--bare", "other", "around/.bare")
	mkfile(t, base+"/around/.git", "gitdir: ./.bare\n")
	gittest.Git(t, base+"/around", "worktree", "add", "-q", "main", "HEAD")
	for tree, admitted := range map[string]string{"other": "", "other/mod": "", "other/mod/deep": "", "tree": "", "modtree": "",
		"around/main": "", "around": "", "apart": "apart.git", "shared": "other/.git"} {
		var dirs []string
		if admitted != "" {
			dirs = []string{filepath.Join(base, admitted)}
			if p, err := Find(filepath.Join(base, tree), nil); err != nil || p.Git || !strings.Contains(p.NoGit.Error(), admitted) {
				t.Errorf("%s, not admitted: %+v, %v", tree, p, err)
			}
		}
		p, err := Find(filepath.Join(base, tree), nil, dirs...)
		if err != nil || !p.Git || p.NoGit != nil {
			t.Errorf("%s: %+v, %v", tree, p, err)
		}
	}
}

func TestAMovedWorkTreeIsNamedWithItsCure(t *testing.T) {
	t.Parallel()
	base := strangers(t)
	gittest.Git(t, base+"/other", "worktree", "add", "-q", "../tree")
	rename(t, base+"/tree", base+"/moved")
	if p, err := Find(base+"/moved", nil); err != nil || p.Git {
		t.Errorf("%+v, %v", p, err)
	}
	gittest.Git(t, base+"/moved", "worktree", "repair")
	if p, err := Find(base+"/moved", nil); err != nil || !p.Git {
		t.Errorf("repaired: %+v, %v", p, err)
	}
}

func TestARepositoryWhoseHooksAreALinkIntoItsWorkTreeIsOne(t *testing.T) {
	t.Parallel()
	top := filepath.Join(strangers(t), "tracked")
	mkfile(t, top+"/ci/pre-commit", "#!/bin/sh\n")
	own(t, top)
	if err := os.RemoveAll(top + "/.git/hooks"); err != nil {
		t.Fatal(err)
	}
	gittest.Link(t, "../ci", top+"/.git/hooks")
	if p, err := Find(top, nil); err != nil || !p.Git {
		t.Errorf("%+v, %v", p, err)
	}
}
