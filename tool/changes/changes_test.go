package changes

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/tool/git/gittest"
	"artoo/tool/project"
)

// repository makes a repository of files and commits them.
func repository(t *testing.T, tree map[string]string) project.Project {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	gittest.WriteTree(t, dir, tree)
	gittest.Repo(t, dir)
	gittest.Git(t, dir, "add", "-A")
	gittest.Git(t, dir, "commit", "-q", "-m", "first")
	p, err := project.Find(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// read reads a scope and describes each file in a row.
func read(t *testing.T, p project.Project, s Scope) (rows []string, set *Set) {
	t.Helper()
	set, err := Read(t.Context(), p, os.Environ(), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range set.Files {
		row := string(f.Kind) + " " + f.Path
		if f.From != "" {
			row += " from " + f.From
		}
		if f.Left != "" {
			row += " left: " + f.Left
		}
		for _, h := range f.Hunks {
			for _, line := range h.Lines {
				if line[0] != ' ' {
					row += " " + line
				}
			}
		}
		rows = append(rows, row)
	}
	return rows, set
}

func TestAChangeIsReadAsGitSeesIt(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("line\n", 30)
	p := repository(t, map[string]string{"a b.txt": "one\ntwo\n", "old.txt": long, "gone.go": "package gone\n", "kept": "x\n",
		"b.bin": "\x00\x01", "q\"uo\tte": "1\n", ".gitignore": "ignored\n", "mode": "#!/bin/sh\n", "große/ä": "1\n"})
	gittest.Git(t, p.Root, "mv", "old.txt", "new name.txt")
	gittest.Git(t, p.Root, "rm", "-q", "gone.go")
	gittest.WriteTree(t, p.Root, map[string]string{"a b.txt": "one\n2\n", "b.bin": "\x00\x02", "q\"uo\tte": "2\n", "ignored": "x", "große/ä": "2\n",
		"new/file.go": "package file\n\n-- not a header\n", "empty": "", "raw.bin": "\x00"})
	gittest.WriteTree(t, p.Root, map[string]string{"huge": strings.Repeat("x\n", mostLines)})
	if err := os.Chmod(filepath.Join(p.Root, "mode"), 0o755); err != nil {
		t.Fatal(err)
	}
	rows, set := read(t, p, Scope{})
	want := []string{"modified a b.txt -two +2", "modified b.bin left: binary", "deleted gone.go -package gone", "modified große/ä -1 +2", "modified mode",
		"renamed new name.txt from old.txt", "modified q\"uo\tte -1 +2", "new empty", "new huge left: more than 256 KB",
		"new new/file.go +package file + +-- not a header", "new raw.bin left: binary"}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Error(diff)
	}
	if lines, err := set.Lines(t.Context(), "a b.txt"); err != nil || !cmp.Equal(lines, []string{"one", "2"}) {
		t.Errorf("the new side has %q, %v", lines, err)
	}
	// From a directory below, names are the same.
	p.Dir = filepath.Join(p.Root, "new")
	rows, _ = read(t, p, Scope{})
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Error(diff)
	}
	rows, _ = read(t, p, Scope{Paths: []string{"file.go", "../a b.txt"}})
	if diff := cmp.Diff([]string{want[0], want[9]}, rows); diff != "" {
		t.Error(diff)
	}
}

func TestScopesAreGits(t *testing.T) {
	t.Parallel()
	p := repository(t, map[string]string{"f": "1\n"})
	gittest.Git(t, p.Root, "branch", "base")
	commit := func(name, text string) {
		gittest.WriteTree(t, p.Root, map[string]string{name: text})
		gittest.Git(t, p.Root, "add", "-A")
		gittest.Git(t, p.Root, "commit", "-q", "-m", name)
	}
	commit("f", "2\n")
	gittest.Git(t, p.Root, "branch", "work")
	gittest.Git(t, p.Root, "checkout", "-q", "base")
	commit("other", "o\n")
	gittest.Git(t, p.Root, "checkout", "-q", "work")
	gittest.WriteTree(t, p.Root, map[string]string{"f": "3\n"})
	gittest.Git(t, p.Root, "add", "f")
	gittest.WriteTree(t, p.Root, map[string]string{"f": "4\n", "loose": "l\n"})
	for _, row := range []struct {
		scope Scope
		want  []string
		line  string // a line of f on the new side
	}{
		{Scope{}, []string{"modified f -2 +4", "new loose +l"}, "4"},
		{Scope{Staged: true}, []string{"modified f -2 +3"}, "3"},
		{Scope{Range: "base..work"}, []string{"modified f -1 +2", "deleted other -o"}, "2"},
		{Scope{Range: "base...work"}, []string{"modified f -1 +2"}, "2"},
		{Scope{Range: "base..."}, []string{"modified f -1 +2"}, "2"},
		{Scope{Range: "work^!"}, []string{"modified f -1 +2"}, "2"},
		{Scope{Range: "work^^!"}, []string{"new f +1"}, "1"},
		{Scope{Range: "HEAD~1"}, []string{"modified f -1 +4", "new loose +l"}, "4"},
		{Scope{Range: "HEAD~1", Paths: []string{"loose"}}, []string{"new loose +l"}, "4"},
		{Scope{Range: "HEAD..HEAD"}, nil, "2"},
	} {
		rows, set := read(t, p, row.scope)
		if diff := cmp.Diff(row.want, rows); diff != "" {
			t.Errorf("%+v: %s", row.scope, diff)
		}
		if lines, err := set.Lines(t.Context(), "f"); err != nil || !cmp.Equal(lines, []string{row.line}) {
			t.Errorf("%+v: the new side has %q, %v", row.scope, lines, err)
		}
	}
	for _, wrong := range []Scope{{Range: "nope"}, {Range: "--output=x"}, {Range: "f"}, {Range: "^HEAD"}, {Range: "HEAD", Staged: true}} {
		if _, err := Read(t.Context(), p, os.Environ(), wrong); err == nil || err.(*Error).Try == "" {
			t.Errorf("%+v: the error is %v", wrong, err)
		}
	}
}

// A path that neither the disk nor git knows is an error; one that is deleted, unchanged or ignored is none.
func TestPathsThatNothingKnowsAreErrors(t *testing.T) {
	t.Parallel()
	p := repository(t, map[string]string{"f": "1\n", "below/gone": "1\n", "old": "o\n", ".gitignore": "ignored\n"})
	gittest.Git(t, p.Root, "rm", "-q", "old")
	gittest.Git(t, p.Root, "commit", "-q", "-m", "without old")
	gittest.Git(t, p.Root, "rm", "-q", "below/gone")
	gittest.WriteTree(t, p.Root, map[string]string{"ignored": "x", "new": "n\n"})
	for _, row := range []struct {
		scope Scope
		want  []string
	}{
		{Scope{Paths: []string{"below/gone"}}, []string{"deleted below/gone -1"}},
		{Scope{Paths: []string{"below", "new"}}, []string{"deleted below/gone -1", "new new +n"}},
		{Scope{Paths: []string{"f", "ignored", "b*/*", ":!new"}}, []string{"deleted below/gone -1"}},
		{Scope{Paths: []string{"n*w"}}, []string{"new new +n"}},
		{Scope{Range: "HEAD~1..HEAD", Paths: []string{"old"}}, []string{"deleted old -o"}},
		{Scope{Range: "HEAD~1..HEAD", Paths: []string{"below/gone"}}, nil},
		{Scope{Staged: true, Paths: []string{"below/gone"}}, []string{"deleted below/gone -1"}},
	} {
		rows, _ := read(t, p, row.scope)
		if diff := cmp.Diff(row.want, rows); diff != "" {
			t.Errorf("%+v: %s", row.scope, diff)
		}
	}
	for _, wrong := range []Scope{{Paths: []string{"f", "typo"}}, {Paths: []string{"old"}}, {Paths: []string{"*.rs"}},
		{Range: "HEAD~1..HEAD", Paths: []string{"typo"}}, {Staged: true, Paths: []string{"below/typo"}},
		{Paths: []string{"f", ".."}}, {Range: "HEAD~1", Paths: []string{":(unknown)f"}}} {
		last := wrong.Paths[len(wrong.Paths)-1]
		var known *Error
		if _, err := Read(t.Context(), p, os.Environ(), wrong); !errors.As(err, &known) || known.Subject != last || known.Try == "" {
			t.Errorf("%+v: the error is %v", wrong, err)
		}
	}
}

func TestBeforeTheFirstCommitAllIsNew(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	gittest.Repo(t, dir)
	gittest.WriteTree(t, dir, map[string]string{"staged": "s\n", "loose": "l\n"})
	gittest.Git(t, dir, "add", "staged")
	p, err := project.Find(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	rows, _ := read(t, p, Scope{})
	if diff := cmp.Diff([]string{"new staged +s", "new loose +l"}, rows); diff != "" {
		t.Error(diff)
	}
}

// Programs that a repository names do not run, whichever scope is read.
func TestNoProgramOfARepositoryRuns(t *testing.T) {
	t.Parallel()
	p := repository(t, map[string]string{"f": "1\n", ".gitattributes": "* diff=evil filter=evil\n"})
	gittest.WriteTree(t, p.Root, map[string]string{"f": "2\n"})
	gittest.Git(t, p.Root, "commit", "-q", "-a", "-m", "second")
	gittest.WriteTree(t, p.Root, map[string]string{"f": "3\n", "loose": "x\n"})
	ran := filepath.Join(t.TempDir(), "ran")
	for _, key := range []string{"diff.evil.textconv", "diff.evil.command", "diff.external", "filter.evil.clean", "filter.evil.smudge", "core.fsmonitor",
		"core.pager", "core.sshCommand"} {
		gittest.Git(t, p.Root, "config", key, "touch "+ran+"; cat")
	}
	gittest.WriteTree(t, p.Root, map[string]string{".git/hooks/post-index-change": "#!/bin/sh\ntouch " + ran + "\n"})
	if err := os.Chmod(filepath.Join(p.Root, ".git/hooks/post-index-change"), 0o755); err != nil {
		t.Fatal(err)
	}
	rows, set := read(t, p, Scope{Range: "HEAD~1..HEAD"})
	if diff := cmp.Diff([]string{"modified f -1 +2"}, rows); diff != "" {
		t.Error(diff)
	}
	if _, err := set.Lines(t.Context(), "f"); err != nil {
		t.Error(err)
	}
	if rows, _ := read(t, p, Scope{Staged: true}); rows != nil {
		t.Errorf("staged: %q", rows)
	}
	if _, err := Read(t.Context(), p, os.Environ(), Scope{}); err == nil || err.(*Error).Try == "" {
		t.Errorf("the working tree goes through filters, and the error is %v", err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("a program of the repository's ran")
	}
}
