package permission

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"artoo/tool/needs"
	facts "artoo/tool/project"
	"artoo/tool/sweep"
)

func writeTree(t *testing.T, dir string, tree map[string]string) {
	t.Helper()
	for name, text := range tree {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text),
			0o644)); err != nil {
			t.Fatal(err)
		}
	}
}

// configured is a policy for a repository with a configuration of its own, and one of the user's.
func configured(t *testing.T, own, users string, tree map[string]string) (*Policy, string) {
	t.Helper()
	needs.Git(t)
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	writeTree(t, root, tree)
	writeTree(t, root, map[string]string{
		".git/HEAD": "ref: refs/heads/main\n", ".git/objects/info/none": "", ".git/refs/heads/none": ""})
	placed := strings.NewReplacer("ROOT", root, "BASE", filepath.Base(root))
	writeTree(t, home, map[string]string{".gitconfig": placed.Replace(users)})
	writeTree(t, root, map[string]string{".git/config": placed.Replace(own)})
	return &Policy{Root: root, Mode: ModeEdits, World: World{Guard: NewGuard(facts.Project{Root: root, Git: true,
		Environ: os.Environ()})}}, root
}

// namedFiles has the files that each configuration of git names.
var namedFiles = map[string]string{
	"[include]\npath = ../team.ini":                            "team.ini",
	"[include]\npath = ROOT/conf/team.ini":                     "conf/team.ini",
	"[includeIf \"gitdir:/nowhere/\"]\npath = ../later.ini":    "later.ini",
	"[includeIf \"onbranch:x\"]\npath = ../a.ini":              "a.ini b.ini run/it.sh",
	"[filter \"x\"]\nclean = ./tools/clean %f":                 "tools/clean tools/other",
	"[filter \"x\"]\nsmudge = sh clean.sh":                     "clean.sh",
	"[filter \"x\"]\nprocess = python3 tools/p.py --mode=x":    "tools/p.py tools/lib.py",
	"[filter \"x\"]\nclean = python3 -m tools.clean":           "tools/clean.py tools/lib.py tools/clean/__main__.py",
	"[core]\nfsmonitor = .tools/watch":                         ".tools/watch",
	"[core]\nsshCommand = \"ssh -F keys/ssh.conf\"":            "keys/ssh.conf",
	"[core]\neditor = \"bash -c 'exec ./ed.sh \\\"$@\\\"' -\"": "ed.sh",
	"[sequence]\neditor = node seq/index.js":                   "seq/index.js seq/b.js",
	"[core]\npager = \"cd bin && ./page\"":                     "bin/page",
	"[core]\npager = \"bash -c 'cd bin && ./page'\"":           "bin/page",
	"[core]\naskpass = \"sh -c 'cd bin && exec ./page'\"":      "bin/page",
	"[filter \"y\"]\nclean = $GIT_DIR/../tools/y %f":           "tools/y",
	"[alias]\nt = \"!$(git rev-parse --git-dir)/../bin/t\"":    "bin/t",
	"[alias]\nt = -c core.fsmonitor=./bin/t status":            "bin/t",
	"[core]\neditor = \"vim -S./ed/x\"":                        "ed/x",
	"[core]\neditor = $HOME/../BASE/ed/x":                      "ed/x",
	"[core]\neditor = ~/../BASE/ed/x":                          "ed/x",
	"[url \"ext::sh ./ext/run\"]\ninsteadOf = x:":              "ext/run",
	"[pager]\nlog = scripts/pager":                             "scripts/pager",
	"[diff]\nexternal = difftool/x":                            "difftool/x",
	"[diff \"p\"]\ntextconv = conv/pdf":                        "conv/pdf",
	"[merge \"m\"]\ndriver = merge/m %O %A %B":                 "merge/m",
	"[alias]\nst = \"!f() { ./bin/st; }; f\"":                  "bin/st",
	"[alias]\nt = bisect run ./check.sh":                       "check.sh",
	"[alias]\nt = \"!$(git rev-parse --show-toplevel)/bin/t\"": "bin/t",
	"[gpg]\nprogram = sign/gpg":                                "sign/gpg",
	"[gpg \"ssh\"]\ndefaultKeyCommand = \"cat keys/k\"":        "keys/k",
	"[credential]\nhelper = \"!./cred\"":                       "cred",
	"[credential \"https://x.example\"]\nhelper = ROOT/cred/h": "cred/h",
	"[remote \"o\"]\nuploadpack = up/pack":                     "up/pack",
	"[remote \"o\"]\nurl = ext::sh ext/run":                    "ext/run",
	"[mergetool \"m\"]\ncmd = mt/run":                          "mt/run",
	"[trailer \"x\"]\ncmd = tr/run":                            "tr/run",
	"[core]\nhooksPath = tools/hooks":                          "tools/hooks/pre-commit",
	"[core]\nattributesFile = ROOT/conf/attributes":            "conf/attributes",
	"[init]\ntemplateDir = ROOT/template":                      "template/hooks/x",
}

func TestFilesThatAnyConfigurationOfGitNamesAreGuarded(t *testing.T) {
	configs := slices.Sorted(maps.Keys(namedFiles))
	for _, n := range sweep.Cases(t, 7, len(configs)) {
		config, guarded := configs[n], namedFiles[configs[n]]
		for _, where := range []string{"own", "user's"} {
			own, users := config, ""
			if where == "user's" {
				if own, users = "", config; strings.Contains(config, "path = ..") {
					continue
				}
			}
			p, root := configured(t, own, users, map[string]string{"a.ini": "[include]\npath = b.ini\n",
				"b.ini":    "[core]\nfsmonitor = run/it.sh\n",
				"clean.sh": "", "src/main.go": "", "tools/lib.py": ""})
			for _, name := range strings.Fields(guarded + " ") {
				if why := p.deciding().whyGuarded(filepath.Join(root, name), false); why == "" {
					t.Errorf("%s %q: %s is like any other", where, config, name)
				}
			}
			for _, name := range []string{"src/main.go", "README", "x.ini"} {
				if why := p.deciding().whyGuarded(filepath.Join(root, name), false); why != "" {
					t.Errorf("%s %q: %s: %s", where, config, name, why)
				}
			}
		}
	}
}

func TestTheConfigurationOfAnotherOwnersRepositoryIsRead(t *testing.T) {
	p, root := configured(t, "[core]\nfsmonitor = run/watch\n", "", nil)
	t.Setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
	if why := p.deciding().whyGuarded(filepath.Join(root, "run/watch"), false); why == "" {
		t.Error("run/watch is like any other")
	}
}

func TestALinkAboveANamedOrImportedFileIsGuardedAndADirectoryIsNot(t *testing.T) {
	p, root := configured(t, "[include]\npath = ../conf/deep/team.ini\n", "", nil)
	p.World.Guard.Imported([]string{filepath.Join(root, "docs/rules.md")})
	for _, name := range []string{"conf", "conf/deep", "docs"} {
		at, own := filepath.Join(root, name), p.deciding()
		if own.guarded(at, true) == "" || own.guarded(at, false) != "" {
			t.Errorf("%s: a link %q, a directory %q", name, own.guarded(at, true), own.guarded(at, false))
		}
	}
}

func TestHooksThatAreLinksIntoTheProjectAreGuarded(t *testing.T) {
	p, root := configured(t, "", "", map[string]string{"ci/check": "", "other": ""})
	if err := errors.Join(os.MkdirAll(filepath.Join(root, ".git/hooks"), 0o755),
		os.Symlink("../../ci/check", filepath.Join(root, ".git/hooks/pre-commit"))); err != nil {
		t.Fatal(err)
	}
	if p.deciding().whyGuarded(filepath.Join(root, "ci/check"), false) == "" || p.deciding().whyGuarded(filepath.Join(root,
		"other"), false) != "" {
		t.Error("ci/check is like any other, or other is not")
	}
}

func TestOrdinarySettingsGuardNothing(t *testing.T) {
	p, root := configured(t, `[user]
name = docs/x
[remote "origin"]
url = ./src/lib
fetch = +refs/heads/*:refs/remotes/origin/*
[branch "src/a"]
merge = refs/heads/src/a
[filter "lfs"]
clean = git-lfs clean -- %f
process = git-lfs filter-process
[alias]
lg = log --format=%C(auto)%h -- src/
[core]
excludesFile = src/ignore
pager = less -R
[commit]
template = src/template
`, "[core]\neditor = code --wait\n", map[string]string{"src/a.go": "", "less": "", "git-lfs": ""})
	for _, name := range []string{"src/a.go", "src/lib", "src/ignore", "docs/x", "less", "git-lfs", "code"} {
		if why := p.deciding().whyGuarded(filepath.Join(root, name), false); why != "" {
			t.Errorf("%s: %s", name, why)
		}
	}
	if unread := p.World.Guard.Unread(); unread != nil {
		t.Errorf("not parsed: %q", unread)
	}
}

func TestNamedFilesAreGuardedByOtherNamesAndWithinOtherRepositories(t *testing.T) {
	p, root := configured(t, "[core]\nfsmonitor = ./watch\n[filter \"x\"]\nclean = \"a (b\"\n", "",
		map[string]string{"real": "", "hard": "", "vendor/run": ""})
	if err := errors.Join(os.Symlink("real", filepath.Join(root, "watch")),
		os.Link(filepath.Join(root, "real"), filepath.Join(root, "twin"))); err != nil {
		t.Fatal(err)
	}
	gitIn(t, filepath.Join(root, "vendor"), "init", "-q")
	gitIn(t, filepath.Join(root, "vendor"), "config", "core.fsmonitor", "./run")
	writeTree(t, root,
		map[string]string{".git/hooks/pre-push": "#!/bin/sh\nexec ./ci/push.sh\n. \"$(dirname \"$0\")/../../ci/lib.sh\"\n", ".pre-commit-config.yaml": "repos:\n- hooks:\n  - entry: ci/lint.py\n"})
	for _, name := range []string{"watch", "real", "twin", "vendor/run", "ci/push.sh", "ci/lib.sh", "ci/lint.py"} {
		if why := p.deciding().whyGuarded(filepath.Join(root, name), false); why == "" {
			t.Errorf("%s is like any other", name)
		}
	}
	if unread := p.World.Guard.Unread(); len(unread) != 1 || unread[0] != "filter.x.clean" {
		t.Errorf("not parsed: %q", unread)
	}
}
