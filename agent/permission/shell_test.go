package permission

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestShellLinesThatMustBeAsked lists lines that write, execute, read outside
// the project or read secrets, and look as if they did not.
func TestShellLinesThatMustBeAsked(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("testdata", "shell_asked.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(strings.ReplaceAll(string(data), "\r\n", "\n")) {
		mustBe(t, Ask, strings.TrimSuffix(line, "\n"))
	}
	for _, line := range []string{
		"ls\x01", "ls\x7f", "ls `rm x`", "echo `ls`", "ls # x\nrm x", "cat .\\\nenv", "ls \\\n../x",
		"cat <<EOF\n$(rm x)\nEOF", "cat <<EOF\n$x\nEOF", "cat <<EOF\nEO\\\nF\nrm x\nEOF\n", "cat <<EOF\nx\nEOF\nrm x",
		"cat <<-EOF\n\tEOF\nrm x", "cat <<< $x", "cat <<< $(rm x)", "cat <<$(rm x)\nx", "cat << 'E F'\nx\nE F\n",
		"ls \\", "ls # \\\nrm x", "ls \\\n # \\\nrm x", "ls a\r\nls", "ls a\r", "ls a\u00a0\nrm\u00a0x", "ls\x00x",
		"for f in a\ndo cat ../x\ndone", strings.Repeat("(", 100000), strings.Repeat("ls && ", 20000) + "ls",
		strings.Repeat("$(", 30000), "ls " + strings.Repeat("a", 64<<10), nestedScripts(8), "", "# nothing",
	} {
		mustBe(t, Ask, line)
	}
}

// nestedScripts is ls within n shells.
func nestedScripts(n int) string {
	line := "ls"
	for range n {
		line = "sh -c '" + strings.ReplaceAll(line, "'", `'\''`) + "'"
	}
	return line
}

func mustBe(t *testing.T, want Verdict, line string) {
	t.Helper()
	began := time.Now()
	got := testPolicy(t, ModeAsk, "", "", "").Decide("bash", run(line))
	if len(line) > 80 {
		line = line[:80] + "…"
	}
	if got.Verdict != want {
		t.Errorf("%q: got %s (%s), want %s", line, got.Verdict, got.Reason(), want)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("%q took %s", line, took)
	}
}

// TestShellLinesThatOnlyRead lists lines that models write all the time and that must not raise a question.
func TestShellLinesThatOnlyRead(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"ls", "ls -la", "ls -R sub", "ls *", "ls -d */", "pwd", "pwd && ls", "cat a.go", "cat -A a.go b.go",
		"cat 'a b'", "cat *.go", "head -20 a", "head -n 20 a", "head -n20 a", "head -c 100 a", "tail -n +5 a",
		"tail -5 a", "tail --lines=5 a", "wc -l *.go", "wc -l < a.go", "stat a", "stat -c '%n %s' a", "file a",
		"file --mime-type -b a", "cut -d: -f1 a", "sort a | sort -rn | head",
		"sort -u a b", "diff a b", "diff -u a b", "diff -u5 a b", "grep -n x a",
		"grep -rn --include='*.go' foo sub/x.go",
		"grep -E 'a|b' a", "grep -c '^$' a", "grep -5 x a", "grep -C 3 x a",
		"grep x a | wc -l", "rg -n x sub/a.go", "rg -n --glob='*.go' x sub/a.go", "find .",
		"find . -type f -name '*.go' | head -20", "find . -name '*.go' -not -path './vendor/*'",
		"find . \\( -name a -o -name b \\) -print", "find . -maxdepth 2 -type d ! -name '.*'",
		"find sub -newer a -size +10k -mtime -2", "find . -regex '.*/x' -printf '%p\\n'", "echo", "echo done",
		"true", "false || true", "cd sub && ls", "cd sub && cat a && cd .. && cat b",
		"cd /p/sub && ls ..", "(cd sub && ls); ls", "cat a 2>/dev/null || true", "ls 2>&1", "ls >/dev/null 2>&1",
		"ls &>/dev/null", "ls &", "! ls", "time ls", "time -p ls", "{ ls; pwd; }", "(ls; pwd)",
		"if ls a; then cat a; else echo no; fi", "if grep -q x a; then echo yes; elif ls; then pwd; fi",
		"ls # what is here\npwd", "# look\nls", "cat <<'EOF'\n$(rm x)\nEOF", "cat <<EOF\ntext\nEOF", "cat <<< x",
		"command -v go", "which go", "command ls", "nice ls", "timeout 5 ls", "bash -c 'ls sub'", "eval ls",
		"bash -c 'cd sub && ls'", "ls \\\n  -la", "\\ls", "'ls' a", "ls --color=never", "ls a{ b}", "ls a$ b",
		"cat a=b", "ls HEAD~1", "git status", "git status --short --branch", "git diff", "git diff --stat",
		"git diff HEAD~1 -- a.go", "git diff main...HEAD", "git diff --cached", "git log --oneline -5",
		"git log -n 5 --format='%h %s'", "git log -p -1", "git log --since='2 weeks ago' --author=me",
		"git log a..b -- sub", "git show", "git show HEAD~1", "git show HEAD:a.go", "git show --stat HEAD",
		"git show HEAD@{1}", "git blame a.go", "git blame -L 10,20 a.go", "git ls-files '*.go'", "git ls-files | wc -l",
		"git rev-parse HEAD", "git rev-parse --show-toplevel", "git --no-pager log -3", "git --no-pager diff",
		"git -C sub status", "git log --graph --all --decorate", "git log -S'foo' --oneline", "git diff HEAD^ HEAD",
		"git log --oneline | head -5", "git diff :a.go",
	} {
		mustBe(t, Run, line)
	}
}
