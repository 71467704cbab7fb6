//go:build unix

package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"artoo/provider/providertest"
)

// storyCall is one call of the model in the story.
type storyCall struct {
	tool  string
	input map[string]any
}

func shellLine(line string) storyCall { return storyCall{"bash", map[string]any{"command": line}} }

func outside(line string) storyCall {
	return storyCall{"bash", map[string]any{"command": line, "unconfined": true, "reason": "it needs the network"}}
}

func readOf(path string) storyCall { return storyCall{"read", map[string]any{"path": path}} }

func editOf(path, from, to string) storyCall {
	return storyCall{"edit", map[string]any{"path": path, "old_string": from, "new_string": to}}
}

func writeOf(path, content string) storyCall {
	return storyCall{"write", map[string]any{"path": path, "content": content}}
}

// told are the user's messages, one after the other. Each message has the model make
// its calls; a question that shows the word refuse, or .envrc, is answered with no,
// any other with yes.
var told = []struct {
	says  string
	calls []storyCall
}{
	{"make it ready", []storyCall{
		editOf("a.txt", "one", "ONE"),
		writeOf("new/deep/file.txt", "new\n"),
		editOf("doc/guide.md", "two", "TWO"),
		shellLine("sed -i s/three/THREE/ doc/guide.md old/*.txt"),
		shellLine("rm -r old"),
		editOf("run.sh", "echo 1", "echo 2"),
		writeOf("refuse.txt", "never\n"),
		shellLine("chmod +x run.sh && ln -sf guide.md doc/link && mv 'data/naïve ü.txt' data/plain"),
	}},
	{"build it", []storyCall{
		shellLine("./build.sh"),
		editOf("made/1.txt", "made 1", "MADE 1"),
		editOf("big.txt", "begin", "BEGIN"),
		shellLine("git mv doc/guide.md guide.md"),
		editOf("guide.md", "four", "FOUR"),
		shellLine("sed s/x/y/ a.txt > refuse.out"),
		editOf("a.txt", "uno", "UNO"),
	}},
	{"/undo", nil},
	{"/redo", nil},
	{"now outside", []storyCall{
		outside("for n in 1 2 3 4 5 6 7 8; do echo $n > host$n.txt; done; rm a.txt; echo more >> run.sh"),
		editOf("host1.txt", "1", "I"), editOf("host2.txt", "2", "II"), editOf("host3.txt", "3", "III"),
		writeOf("a.txt", "made anew\n"),
		shellLine("./build.sh again"),
		readOf("run.sh"), editOf("run.sh", "more", "MORE"),
	}},
	{"the rest", []storyCall{
		readOf("made/2.txt"), editOf("made/2.txt", "again 2", "AGAIN 2"), editOf("made/3.txt", "made 3", "MADE 3"),
		shellLine("head -c 100 big.txt > cut && mv cut big.txt && rm -r data"),
		editOf("host4.txt", "4", "IV"), editOf("host5.txt", "5", "V"), editOf("host6.txt", "6", "VI"),
		writeOf("data", "a file now\n"),
	}},
}

// buildScript is a program of the project's own, which takes a moment.
const buildScript = `#!/bin/sh
mkdir -p made
for n in 1 2 3 4 5 6 7 8 9 10 11 12; do
	echo "made $n${1:+ and $1 $n}" > made/$n.txt
done
chmod 600 made/1.txt
rm -f made/4.txt
mv made/5.txt made/five.txt
echo "built $1" >> a.txt
test "$1" = "" || echo use refuse > .envrc
`

// storyProject makes the project in which the story plays.
func storyProject(t *testing.T, root string) {
	t.Helper()
	for path, content := range map[string]string{
		"a.txt": "one\nuno\n", "doc/guide.md": "two\nthree\nfour\n", "run.sh": "echo 1\n", "build.sh": buildScript,
		"old/1.txt": "three\n", "old/2.txt": "three\n", "data/naïve ü.txt": "ü\n", ".gitignore": "*.log\n.envrc\n",
		"big.txt": "begin\n" + strings.Repeat("a long line of a large file\n", 50_000), "some.log": "ignored\n",
	} {
		at := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(root, "build.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	if git, err := exec.LookPath("git"); err == nil {
		for _, args := range [][]string{{"init", "-q"}, {"add", "."},
			{"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"}} {
			if out, err := exec.Command(git, append([]string{"-C", root}, args...)...).CombinedOutput(); err != nil {
				t.Fatalf("git %s: %v\n%s", args, err, out)
			}
		}
	}
}

// replies are the model's replies to one request after the other. Without a sandbox
// no command can ask to leave it.
func replies(confined bool) (all []providertest.Reply) {
	for _, turn := range told {
		for _, call := range turn.calls {
			args := maps.Clone(call.input)
			if !confined {
				delete(args, "unconfined")
				delete(args, "reason")
			}
			input, err := json.Marshal(args)
			if err != nil {
				panic(err)
			}
			all = append(all, providertest.Chat(providertest.Call(fmt.Sprintf("call%d", len(all)), call.tool, string(input))))
		}
		if turn.calls != nil {
			all = append(all, providertest.Chat(providertest.Text("That is done.")))
		}
	}
	return all
}

// tree is every path of the project with its kind, mode and content. Of .git only the
// index counts, as git lists it, since times and inodes differ from one run to the
// next; without layers it does not count, since commands change it unseen.
func (k *storyRun) tree() map[string]string {
	k.Helper()
	root, tree := k.root, map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.Name() == ".git" {
			out, err := exec.Command("git", "-C", root, "ls-files", "-s").Output()
			if k.layers {
				tree[".git"] = string(out)
			}
			return cmp.Or(err, fs.SkipDir)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		what := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			what += " " + string(content)
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			what += " " + target
		}
		tree[strings.TrimPrefix(path, root)] = what
		return nil
	})
	if err != nil {
		k.Error(err)
	}
	return tree
}

func oneOf(tree map[string]string, states []map[string]string) bool {
	return slices.ContainsFunc(states, func(s map[string]string) bool { return maps.Equal(tree, s) })
}

// nearest says how a tree differs from the state that it is most like.
func nearest(tree map[string]string, states []map[string]string) string {
	best := ""
	for _, s := range states {
		if d := differences(tree, s); best == "" || len(d) < len(best) {
			best = d
		}
	}
	return best
}

// differences say how a tree is not another one.
func differences(got, expected map[string]string) string {
	var b bytes.Buffer
	paths := maps.Clone(got)
	maps.Copy(paths, expected)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if got[path] != expected[path] {
			fmt.Fprintf(&b, "%s is %.60q, not %.60q\n", path, got[path], expected[path])
		}
	}
	return b.String()
}
