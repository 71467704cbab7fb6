//go:build unix

package permission

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"artoo/agent/permission/line"
	"artoo/tool"
	"artoo/tool/files"
	"artoo/tool/needs"
	"artoo/tool/sweep"
)

// A trial runs lines that pass in real shells, in a tree where every command is
// a stub that writes down its arguments.
type trial struct {
	root, log string
	p         *Policy
	shells    []trialShell
	before    string // the tree as it was
	ran       int    // runs of lines that passed
}

// trialShell is a shell under the name by which artoo would start it.
type trialShell struct {
	name string // its name in the policy: bash or sh
	path string
	bin  string // the PATH for its commands
}

// trialRules are those in force beside the read-only commands.
const trialRules = "bash(go test:*)|bash(make:*)|bash(npm run build)"

func newTrial(t testing.TB) *trial {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	tr := &trial{root: filepath.Join(base, "tree"), log: filepath.Join(base, "log")}
	for name, text := range map[string]string{
		"a.txt": "hello\nworld\n", "b.txt": "x\n", "sub/b.go": "package sub\n", "main.go": "package main\n",
		"x": "touch PWN\n", ".env": "A=1\n",
		"u/a.txt": "a\n", "u/b.txt": "b\n", "d/%n": "", "d/PATH": "", "d/-n": "", "v/-o": "", "e f.txt": "z\n",
		".hidden": "h\n",
	} {
		path := filepath.Join(tr.root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := files.Open(files.Config{Root: tr.root})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	rules, err := ParseRules(strings.Split(trialRules, "|"))
	if err != nil {
		t.Fatal(err)
	}
	tr.p = &Policy{Mode: ModeAsk, Root: tr.root, World: World{Files: files}, AllowRules: rules}
	tr.findShells(t, base)
	tr.before = treeState(t, tr.root)
	return tr
}

// findShells makes a PATH of stubs for each shell that is there.
func (tr *trial) findShells(t testing.TB, base string) {
	for _, s := range []struct{ program, as string }{{"bash", "bash"}, {"bash", "sh"}, {"dash", "sh"}, {"zsh", "sh"},
		{"busybox", "sh"}} {
		real, err := exec.LookPath(s.program)
		if err != nil {
			continue
		}
		bin := filepath.Join(base, s.program+"-as-"+s.as)
		if err := os.MkdirAll(bin, 0o755); err != nil {
			t.Fatal(err)
		}
		stub := "#!/bin/sh\nprintf '%s\\0' \"$PWD\" \"$#\" \"${0##*/}\" \"$@\" >>'" + tr.log + "'\n"
		for _, name := range append(readerNames(), "git", "go", "make", "npm", "uniq", "touch", "rm", "tee",
			"cp", "mv", "awk", "jq", "xargs",
			"node", "python3", "yarn", "vi", "less", "ps", "env", "perl", "ln", "dd", "mkdir", "chmod", "busybox",
			"dash", "zsh", "ksh", "x", "sudo") {
			if err := os.WriteFile(filepath.Join(bin, name), []byte(stub), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"timeout", "nice", "nohup", "bash",
			s.as} { // A program that runs others is itself.
			if name == s.as {
				link(t, real, filepath.Join(bin, name))
			} else if path, err := exec.LookPath(name); err == nil {
				link(t, path, filepath.Join(bin, name))
			}
		}
		tr.shells = append(tr.shells, trialShell{name: s.as, path: filepath.Join(bin, s.as), bin: bin})
	}
}

func link(t testing.TB, from, to string) {
	t.Helper()
	if err := os.Remove(to); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	if err := os.Symlink(from, to); err != nil {
		t.Fatal(err)
	}
}

// treeState sums up names, modes and contents.
func treeState(t testing.TB, root string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %s", path, info.Mode())
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %x", sha256.Sum256(data))
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// try runs a line in every shell for which it passes, and checks the commands that ran.
func (tr *trial) try(t testing.TB, text string) {
	t.Helper()
	for _, shell := range tr.shells {
		tr.p.Shell.Name = shell.name
		if tr.p.Decide("bash", tool.Access{Kind: tool.KindRun, Command: text, Dir: tr.root}).Verdict != Run {
			continue
		}
		tr.ran++
		for _, c := range tr.run(t, shell, text) {
			if !tr.mayRun(c) {
				t.Errorf("%s -c %q ran %q in %s", shell.path, text, line.Texts(c.Words), c.Dir)
			}
		}
		if after := treeState(t, tr.root); after != tr.before {
			t.Fatalf("%s -c %q changed the tree:\n%s", shell.path, text, after)
		}
	}
}

// run runs a line as the tool does, and reads the notes of the stubs.
func (tr *trial) run(t testing.TB, shell trialShell, text string) (ran []line.Command) {
	t.Helper()
	if err := os.WriteFile(tr.log, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	limit := 700 * time.Millisecond
	if strings.Contains(text, "while") || strings.Contains(text, "until") {
		limit = 200 * time.Millisecond // without end, since the stubs say yes to everything
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	args := []string{"-c", "--", text}
	if shell.name == "bash" {
		args = append([]string{"--noprofile", "--norc"}, args...)
	}
	cmd := exec.CommandContext(ctx, shell.path, args...)
	cmd.Dir = tr.root
	cmd.Env = []string{"PATH=" + shell.bin, "HOME=" + filepath.Dir(tr.log), "PWD=" + tr.root, "LANG=C.UTF-8", "USER=me"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second
	// How it ends is of no matter: most stubs give nothing to go on with.
	_ = cmd.Run()
	data, err := os.ReadFile(tr.log)
	if err != nil {
		t.Fatal(err)
	}
	fields := bytes.Split(data, []byte{0})
	for len(fields) > 2 {
		n, err := strconv.Atoi(string(fields[1]))
		if err != nil || len(fields) < 3+n {
			break // two wrote at once
		}
		c := line.Command{Dir: string(fields[0])}
		for _, w := range fields[2 : 3+n] {
			c.Words = append(c.Words, line.Word{Text: string(w), Known: true})
		}
		ran, fields = append(ran, c), fields[3+n:]
	}
	return ran
}

// mayRun judges a command as it was really run.
func (tr *trial) mayRun(c line.Command) bool {
	if ok, _ := tr.p.reading(c); ok {
		return true
	}
	words := line.Texts(c.Words)
	return words[0] == "make" || len(words) > 1 && words[0] == "go" && words[1] == "test" ||
		slices.Equal(words, []string{"npm", "run", "build"})
}

// lineMaker makes lines from a grammar and from those of a corpus.
type lineMaker struct {
	*rand.Rand
	corpus []string
}

func newLineMaker(t testing.TB, seed uint64) *lineMaker {
	m := &lineMaker{Rand: rand.New(rand.NewPCG(seed, 7))}
	for _, name := range []string{"harmless.txt", "expected.txt", "hostile.txt", "shell_asked.txt"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		m.corpus = append(m.corpus, strings.Split(strings.TrimSpace(string(data)), "\n")...)
	}
	m.corpus = append(m.corpus, "go test ./...", "make all", "npm run build", "go test ./... 2>&1 | tail -5",
		"make; echo $?")
	return m
}

func (m *lineMaker) pick(list ...string) string { return list[m.IntN(len(list))] }

func (m *lineMaker) word() string {
	return m.pick("a.txt", "b.txt", "*.txt", "u/*.txt", "sub", ".", "..", "/etc/passwd", "-n", "-o", "-e", "-r",
		"--", "-c", "x", ".env", "'a b'", "\"$f\"", "$f",
		"$HOME", "\"$HOME\"", "$?", "*", "[a]*", "?.txt", "~", "{a,b}", "\\", "'", "\"", "`", "$(ls)", "\"$(ls)\"",
		"$x", "1", "+%s", "p", "1p", "%s", "%n", "%d",
		"x[0]", "-v", "=", "HEAD", "e\\ f.txt", "$'a'", "<(ls)", "!", "[", "]", "é", "中", "#", "d/*", "v/*",
		"**/x", "PATH", "IFS")
}

func (m *lineMaker) name() string {
	return m.pick(append(readerNames(), "git", "go test", "make", "uniq", "touch", "rm", "env", "timeout 5",
		"nice", "command", "eval", "exec", "bash -c",
		"sh -c", "bash -euc", "bash -O dotglob -c", "dash -c", "x=1", "PATH=.", "time", "noglob", "builtin",
		"busybox", "nohup")...)
}

func (m *lineMaker) glue() string {
	return m.pick(";", "&&", "||", "|", "&", "\n", "|&", "&>", "&>>", ">&", ">", "<", "<<<", "2>&1", ">/dev/null",
		"&>/dev/null ", "2>/dev/null ", ">|", "<>",
		"&|", "&!", " # ", "; do ", "; done", "\\\n", "<<EOF\n", "\nEOF\n", "()", "{", "}", "(", ")", ";;", "1>&2 ",
		"2>", "$(", "<(", "\"", "'", "`")
}

// simple is a command of the grammar.
func (m *lineMaker) command() string {
	words := []string{m.name()}
	for range m.IntN(4) {
		words = append(words, m.word())
	}
	return strings.Join(words, " ")
}

func (m *lineMaker) line() string {
	line := m.corpus[m.IntN(len(m.corpus))]
	if m.IntN(5) == 0 {
		return line
	}
	if m.IntN(4) == 0 {
		line = m.command()
	}
	for range m.IntN(4) {
		other := m.corpus[m.IntN(len(m.corpus))]
		at := m.IntN(len(line) + 1)
		switch m.IntN(11) {
		case 0:
			line += " " + m.glue() + " " + other
		case 1:
			line += " " + m.glue() + " " + m.command()
		case 2:
			line = line[:at] + m.glue() + line[at:]
		case 3:
			line = line[:at] + " " + m.word() + " " + line[at:]
		case 4:
			end := min(len(line), at+1+m.IntN(4))
			line = line[:at] + line[end:]
		case 5:
			quoted := "'" + strings.ReplaceAll(line, "'", `'\''`) + "'"
			line = m.pick("bash -c ", "sh -c ", "dash -c ", "eval ", "timeout 5 bash -c ", "bash -euo pipefail -c ",
				"command bash -c ", "sh -ec ") + quoted
		case 6:
			line = m.pick("(", "{ ", "! ", "if ", "for f in *.txt; do ", "for f in a.txt 'e f.txt' x; do ", "echo \"$(",
				"while ", "time ") + line +
				m.pick(")", "; }", "", "; then ls; fi", "; done", "; done", ")\"", "; do ls; done")
		case 7:
			words := strings.Fields(line)
			if len(words) > 0 {
				words[m.IntN(len(words))] = m.word()
			}
			line = strings.Join(words, " ")
		case 8:
			line = strings.Replace(line, " ", " "+m.word()+" ", 1)
		case 9:
			line = "for f in " + m.word() + " " + m.word() + "; do " + m.command() + " \"$f\"; done"
		case 10:
			line = m.command() + " " + m.glue() + " " + line
		}
	}
	return line
}

// TestAnythingThatPassesRunsNothingElse runs lines that would pass unasked, in the shells
// that are there.
func TestAnythingThatPassesRunsNothingElse(t *testing.T) {
	t.Parallel()
	tr := newTrial(t)
	needs.True(t, "bash, dash, zsh or busybox", len(tr.shells) > 0)
	for _, seed := range sweep.Cases(t, 1, 4) {
		m := newLineMaker(t, uint64(seed))
		before := tr.ran
		for range 20_000 {
			if tr.try(t, m.line()); tr.ran >= before+75 {
				break
			}
		}
		if tr.ran < before+75 {
			t.Errorf("only %d of 20000 lines pass", tr.ran-before)
		}
	}
}

// FuzzShellLines is TestAnythingThatPassesRunsNothingElse at length.
func FuzzShellLines(f *testing.F) {
	tr := newTrial(f)
	f.Add(uint64(2), "cat a.txt")
	f.Fuzz(func(t *testing.T, seed uint64, line string) {
		began := time.Now()
		tr.try(t, line)
		m := newLineMaker(t, seed)
		for range 3 { // an input that takes 10 s counts as one that hangs
			if time.Since(began) < 3*time.Second {
				tr.try(t, m.line())
			}
		}
	})
}

// readerNames are the programs of the reading table except git.
func readerNames() (names []string) {
	for _, r := range readers {
		for name := range strings.FieldsSeq(r.names) {
			if !strings.HasPrefix(name, "git/") {
				names = append(names, name)
			}
		}
	}
	return names
}
