package agent

import (
	"strings"
	"testing"
	"time"
)

// TestShellLinesThatMustBeAsked lists lines that write, execute, read outside
// the project or read secrets, and look as if they did not.
func TestShellLinesThatMustBeAsked(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(`
cat a >b
cat a >|b
cat a >>b
cat a &>b
cat a &>>b
cat a >&b
cat a <>b
cat a 2>b
cat a >&$x
pwd > x
{ ls; } > x
(ls) >x
if ls; then ls; fi > x
cat < ../x
cat < .env
cat <../x a
cat 3<../x <&3
(cat) < .env
{PATH}</dev/null ls
{fd}<a ls
cat < /dev/tcp/host/80
cat <(rm x)
cat >(tee x)
ls $(rm x)
ls "$(rm x)"
ls ${x:-$(rm y)}
ls $((x[$(rm y)]))
ls $[x]
echo $x
echo ${x:=y}
echo ${!x}
echo ${x@P}
((x[$(rm y)]))
[[ -v x[$(rm y)] ]]
[[ -v 'x[$(rm y)]' ]]
[[ 'x[$(rm y)]' -eq 1 ]]
[[ -f x ]] && ls
test -v 'x[$(rm y)]'
printf -v 'x[$(rm y)]' a
printf '%n' 'x[$(rm y)]'
printf '%-5n' x
printf '%s%hn' a x
let x=1
declare -x PATH=.
export PATH=.; ls
PATH=. ls
PATH=.; ls
PATH+=:. ls
readonly x
local x
for PATH in .; do ls; done
for x in a; do ls; done
for ((;;)); do ls; done
while true; do ls; done
until false; do ls; done
select x in a; do ls; done
case x in x) ls;; esac
ls() { rm x; }; ls
function ls { rm x; }
coproc ls
coproc rm x
alias ls=rm
unalias -a
set -a
shopt -s dotglob; cat *
source x
. ./x
. x
eval 'cat ../x'
eval "$x"
trap 'rm x' EXIT
hash -p ./x ls
enable -f ./x.so ls
exec > x
exec 3<>x
read PATH
mapfile -C x
command rm x
command -p rm x
builtin eval 'rm x'
exec rm x
env -S 'rm x'
env -S'cat ../x'
env -C .. cat x
env --chdir=.. cat x
env -i git log
env -u GIT_PAGER git log
env X=1 ls
env $x
./timeout 5 ls
sub/env ls
timeout 5 ./ls
nice -n 5 rm x
xargs ls
xargs -I ls ls
xargs -I{} cat {}
xargs -a ../list cat
find . | xargs cat
sudo ls
doas ls
busybox rm x
sh -c 'rm x'
sh -c "$x"
bash x
bash -ic ls
bash --rcfile x -c ls
bash -lc 'cat ../x'
chroot . ls
time -o x ls
\time -o x ls
cat ~/x
cat ~root/x
cat x=~/y
cat a:~/b
cat --x=~/y
cat {a,../b}
cat {a,"../b"}
cat {x'',/etc/passwd}
cat {"/etc/passwd",x}
cat a{1..3}
cat $'\x2e\x2e/x'
cat $"x"
cat ..\/x
cat '../x'
cat .\env
cat .e'nv'
cat .\
env
cat ".env"
cat -- .env
cat -n .env
cat ./sub/../.env
cat sub/../../x
cat /p/../x
cat .env.local
head -c1 .env
head -n 1 ../x
tail -f a
tail -F a
tail --follow=name a
tail --retry a
wc --files0-from=x
wc --files0=x
file -f x
file -C -m x
file --files-from=x
file -z x
sort -o a b
sort -oa b
sort --output=a b
sort --o=a b
sort --ou a b
sort -uoa b
sort -T /tmp a
sort --compress-program=./x a
sort --files0-from=a
sort -k1 -o b a
uniq a b
uniq -c a b
uniq -- a b
diff .env x
diff -N . sub
diff . sub
diff --to-file=../x a
diff -l a b
grep x .env
grep -f .env x
grep -f.env x
grep -nf .env x
grep --file=.env x
grep --fil=.env x
grep -e x .env
grep x a -e .env
grep -C 3 ../x
grep -r x
grep -r x .
grep -R x sub
grep -dr x
grep --dereference-recursive x
grep --include=x -r y .
grep x -f ../y
rg x
rg --pre ./x y
rg --pre=./x y
rg -z x
rg --hostname-bin ./x y
rg --search-zip x a
rg -f ../x y
rg --files .
rg --ignore-file ../x y a
find . -delete
find . -exec rm {} +
find . -exec rm {} \;
find . -execdir ls {} \;
find . -ok rm {} \;
find . -fprint x
find . -fprintf x y
find . -fls x
find . -files0-from x
find -L . -name x
find .. -name x
find / -name x
find -f .. . -name x
find . ../x
find . -newer x -fprint0 y
echo ../*
echo /etc/*
echo *; cat .env
cd .. && cat x
cd; cat x
cd - && cat x
cd ~ && cat x
cd "$X" && cat a
cd sub; cat ../x
cd sub || cat ../x
cd nowhere; cat ../x
(cd sub); cat ../x
(cd sub) && cat ../x
cd sub | cat ../x
cd sub & cat ../x
false && cd sub; cat ../x
true || cd sub; cat ../x
! cd sub && cat ../x
if true; then cd sub; fi; cat ../x
if cd sub; then ls; else cat ../x; fi
{ cd sub; }; cat ../x
ls $(cd sub) ; cat ../x
env cd sub; cat ../x
timeout 1 cd sub; cat ../x
cd sub && cd .. && cat ../x
cd sub && cat ../../x
cd -P sub && cat x
cd sub sub && cat x
cd s* && cat x
pushd sub && cat x
git -c core.pager=x log
git -p log
git --paginate log
git --git-dir=x log
git --work-tree=.. diff
git --exec-path=x log
git -C .. log
git -C sub -C ../.. log
git --no-pager -c x=y diff
git diff --output=x
git diff --output x
git diff --outp=x
git log --output=x
git show --output=x
git diff --ext-diff
git log --ext-d
git log --textconv
git diff --no-index a b
git diff --no-i a b
git log --show-signature
git log --format=%G?
git diff --submodule=diff
git diff -Ox
git diff -O../x
git diff .env
git diff -- .env
git diff HEAD -- .env
git diff HEAD .env
git show HEAD:.env
git show :.env
git show :0:.env
git show HEAD:./.env
git show HEAD:../x
git show HEAD:sub/.env
git diff HEAD:.env x
git diff ':(icase).ENV'
git diff -- ':/.env'
git diff -- ':!x'
git diff /etc/passwd /etc/shadow
git diff -- -x/../../etc/passwd x
git blame .env
git blame -- .env
git blame --contents ../x a
git blame --contents=.env a
git blame -S .env a
git log -p -- .env
git log -L1,5:.env
git log -L 1,5:.env
git log -L:x:.env
git rev-parse HEAD:.env
git ls-files --exclude-from=../x
git ls-files -X.env
git grep x
git commit -m x
git config -l
git stash list; rm x
git status; git stash
GIT_EXTERNAL_DIFF=./x git diff
ls; ./x
ls & rm x
ls | sh
ls |& sh
ls && rm x
ls || rm x
! rm x
time rm x
ls # x
rm x
`+"ls\u0001\nls `rm x`\necho `ls`\nls a\r\nls\\\r\nls\x7f"), "\n")
	for _, line := range lines {
		if line == "ls # x" || line == "env" || line == `cat .\` {
			continue // the line after a comment, and one that is continued, are added below
		}
		mustBe(t, Ask, line)
	}
	for _, line := range []string{
		"ls # x\nrm x", "cat .\\\nenv", "ls \\\n../x", "cat <<EOF\n$(rm x)\nEOF", "cat <<EOF\n$x\nEOF", "cat <<EOF\nEO\\\nF\nrm x\nEOF\n",
		"cat <<EOF\nx\nEOF\nrm x", "cat <<-EOF\n\tEOF\nrm x", "cat <<< $x", "cat <<< $(rm x)", "cat <<$(rm x)\nx", "cat << 'E F'\nx\nE F\n",
		"ls \\", "ls # \\\nrm x", "ls \\\n # \\\nrm x", "ls a\r\nls", "ls a\r", "ls a\u00a0\nrm\u00a0x", "ls\x00x", "for f in a\ndo cat ../x\ndone", strings.Repeat("(", 100000), strings.Repeat("ls && ", 20000) + "ls",
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

func mustBe(t *testing.T, want Effect, line string) {
	t.Helper()
	began := time.Now()
	got := testPolicy(t, ModeAsk, "", "", "").Decide("bash", run(line))
	if len(line) > 80 {
		line = line[:80] + "…"
	}
	if got.Effect != want {
		t.Errorf("%q: got %s (%s), want %s", line, got.Effect, got.Reason, want)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("%q took %s", line, took)
	}
}

// TestShellLinesThatOnlyRead lists what models write all the time and must not
// bother anybody.
func TestShellLinesThatOnlyRead(t *testing.T) {
	for _, line := range []string{
		"ls", "ls -la", "ls -R sub", "ls *", "ls -d */", "pwd", "pwd && ls", "cat a.go", "cat -A a.go b.go", "cat 'a b'", "cat *.go",
		"head -20 a", "head -n 20 a", "head -n20 a", "head -c 100 a", "tail -n +5 a", "tail -5 a", "tail --lines=5 a", "wc -l *.go",
		"wc -l < a.go", "stat a", "stat -c '%n %s' a", "file a", "file --mime-type -b a", "cut -d: -f1 a", "cut -d/ -f2 a", "cut -d '/' -f 2 a",
		"sort a | uniq -c | sort -rn | head", "sort -t/ -k2,2 a", "sort -u a b", "uniq -c", "diff a b", "diff -u a b", "diff -u5 a b",
		"grep -n x a", "grep -rn --include='*.go' foo sub/x.go", "grep '/usr/bin' a", "grep -n '\\.\\./x' a", "grep -A 3 -B 3 /etc a", "grep -e /etc -e ../x a",
		"grep -E 'a|b' a", "grep -c '^$' a", "grep -5 x a", "grep -C 3 x a", "grep x a | wc -l",
		"rg -n x sub/a.go", "rg '/api/v1' sub/a.go", "rg -t go -g '*.go' x a.go",
		"find .", "find . -type f -name '*.go' | head -20", "find . -name '*.go' -not -path './vendor/*'", "find . \\( -name a -o -name b \\) -print",
		"find . -maxdepth 2 -type d ! -name '.*'", "find sub -newer a -size +10k -mtime -2", "find . -regex '.*/x' -printf '%p\\n'",
		"echo", "echo done", "echo 'what?' \"* done\"", "echo -e 'a\\nb'", "printf '%s\\n' a b", "printf '%5.2f%%\\n' 1", "printf 'no\\n'", "true", "false || true",
		"cd sub && ls", "cd sub && cat a && cd .. && cat b", "cd sub; ls", "cd /p/sub && ls ..", "(cd sub && ls); ls", "cat a 2>/dev/null || true",
		"ls 2>&1", "ls >/dev/null 2>&1", "ls &>/dev/null", "ls &", "! ls", "time ls", "time -p ls", "{ ls; pwd; }", "(ls; pwd)",
		"if ls a; then cat a; else echo no; fi", "if grep -q x a; then echo yes; elif ls; then pwd; fi", "ls # what is here\npwd", "# look\nls",
		"cat <<'EOF'\n$(rm x)\nEOF", "cat <<EOF\ntext\nEOF", "cat <<< x", "command -v go", "which go", "command ls", "nice ls", "timeout 5 ls", "bash -c 'ls sub'", "eval ls", "sh -c 'cd sub && ls'",
		"ls \\\n  -la", "\\ls", "'ls' a", "ls --color=never", "ls a{ b}", "ls a$ b", "cat a=b", "ls HEAD~1",
		"git status", "git status --short --branch", "git diff", "git diff --stat", "git diff HEAD~1 -- a.go", "git diff main...HEAD", "git diff --cached",
		"git log --oneline -5", "git log -n 5 --format='%h %s'", "git log -p -1", "git log --since='2 weeks ago' --author=me", "git log a..b -- sub", "git show",
		"git show HEAD~1", "git show HEAD:a.go", "git show --stat HEAD", "git show HEAD@{1}", "git blame a.go", "git blame -L 10,20 a.go", "git ls-files '*.go'",
		"git ls-files | wc -l", "git rev-parse HEAD", "git rev-parse --show-toplevel", "git --no-pager log -3", "git --no-pager diff", "git -C sub status",
		"git log --graph --all --decorate", "git log -S'foo' --oneline", "git diff HEAD^ HEAD", "git log --oneline | head -5", "git diff :a.go",
	} {
		mustBe(t, Allow, line)
	}
}

// TestRulesAllowNoMoreThanTheySay tries to get more out of allow rules.
func TestRulesAllowNoMoreThanTheySay(t *testing.T) {
	cases := []struct{ allow, line string }{
		{"bash(go test:*)", "go test > x"},
		{"bash(go test:*)", "go test 2>x"},
		{"bash(go test:*)", "go test &> x"},
		{"bash(go test:*)", "go test <> x"},
		{"bash(go test:*)", "go test < ../x"},
		{"bash(go test:*)", "go test < .env"},
		{"bash(go test:*)", "go test < $x"},
		{"bash(go test:*)", "go test < /dev/tcp/host/1"},
		{"bash(go test:*)", "GOFLAGS=x go test"},
		{"bash(go test:*)", "X=1; go test"},
		{"bash(go test:*)", "env X=1 go test"},
		{"bash(go test:*)", "env -i go test"},
		{"bash(go test:*)", "export X=1 && go test"},
		{"bash(go test:*)", "go test\nrm x"},
		{"bash(go test:*)", "go test & rm x"},
		{"bash(go test:*)", "go test; rm x"},
		{"bash(go test:*)", "(go test; rm x)"},
		{"bash(go test:*)", "go test | sh"},
		{"bash(go test:*)", "go test $(rm x)"},
		{"bash(go test:*)", "go test <(rm x)"},
		{"bash(go test:*)", "go test `ls`"},
		{"bash(go test:*)", "go test $((x))"},
		{"bash(go test:*)", "go test ${x[1]}"},
		{"bash(go test:*)", "go test ${x:=y}"},
		{"bash(go test:*)", "go test <<EOF\n$(rm x)\nEOF"},
		{"bash(go test:*)", "go test <<EOF\nEO\\\nF\nrm x\nEOF"},
		{"bash(go test:*)", "go () { rm x; }; go test"},
		{"bash(go test:*)", "alias go=rm; go test"},
		{"bash(go test:*)", "for PATH in .; do go test; done"},
		{"bash(go test:*)", "for i in 1; do rm x; done"},
		{"bash(go test:*)", "while rm x; do go test; done"},
		{"bash(go test:*)", "coproc go test"},
		{"bash(go test:*)", "[[ -f x ]] && go test"},
		{"bash(go test:*)", "case x in x) go test;; esac"},
		{"bash(go test:*)", "go $x"},
		{"bash(go test:*)", "go te*t"},
		{"bash(go test:*)", "$x go test"},
		{"bash(go test:*)", "./go test"},
		{"bash(go test:*)", "'go test'"},
		{"bash(go test:*)", "go -C .. test"},
		{"bash(go test:*)", "gotest"},
		{"bash(go test:*)", "xargs -I test go test"},
		{"bash(go test:*)", "xargs -Igo go test"},
		{"bash(go test:*)", "xargs -I{} {} test"},
		{"bash(go test:*)", "sudo go test"},
		{"bash(go test:*)", "sh -c 'go test; rm x'"},
		{"bash(go test:*)", "X=1 sh -c 'go test'"},
		{"bash(go test:*)", "sh -c 'go test' > x"},
		{"bash(go test:*)", "eval 'go test; rm x'"},
		{"bash(go test:*)", "./nice go test"},
		{"bash(go test:*)", "cd x && go test && cat ../../y"},
		{"bash(find:*)", "find . -exec rm {} +"},
		{"bash(xargs:*)", "xargs rm > x"},
		{"bash(git:*)", "git log > .git/config"},
		{"bash(eval:*)", "eval rm x; rm y"},
		{"bash(read:*)", "read PATH"},
		{"bash(source:*)", "source x"},
		{"bash(printf:*)", "printf -v PATH ."},
		{"bash(rm \\*)", "rm x"},
		{"bash(rm \\*)", "rm -f x"},
		{"bash(echo a:\\*)", "echo a:b; rm x"},
		{"bash(make build)", "make build x"},
		{"bash(make build)", "make 'build'x"},
		{"bash(rm a b)", "rm 'a b'"},
		{"bash", "cat a > .git/hooks/pre-commit"},
		{"bash", "echo x >> sub/.GIT/config"},
		{"bash", "rm --r x"},
		{"bash", "sudo rm -rf x"},
		{"bash", "git -c x=y --no-pager reset --har"},
		{"bash", "ls 'unclosed"},
		{"bash(@read)", "rm x"},
		{"*", "ls `"},
	}
	for _, c := range cases {
		p := testPolicy(t, ModeAsk, c.allow, "", "")
		if got := p.Decide("bash", run(c.line)); got.Effect != Ask {
			t.Errorf("allow %s: %q was %s (%s)", c.allow, c.line, got.Effect, got.Reason)
		}
	}
	for _, c := range []struct{ allow, line string }{
		{"bash(go test:*)", "go test ./... 2>&1 | tail -20"},
		{"bash(go test:*)", "cd sub && go test -run X ."},
		{"bash(go test:*)", "go test $x"},
		{"bash(go test:*)", "go test \"${x:-./...}\" < a"},
		{"bash(go test:*)", "for i in 1 2 3; do go test; done"},
		{"bash(go test:*)", "while ! go test; do true; done"},
		{"bash(go test:*)", "if go test; then echo ok; fi"},
		{"bash(go test:*)", "time nice -n 5 go test"},
		{"bash(go test:*)", "/usr/bin/env go test"},
		{"bash(go test:*)", "timeout --signal=KILL 5 go test"},
		{"bash(go test:*)", "bash -euo pipefail -c 'go test'"},
		{"bash(go test:*)", "eval 'go test'"},
		{"bash(go test:*)", "go list | xargs go test"},
		{"bash(go test:*)", "go test <<EOF\n$x\nEOF"},
		{"bash(go test:*)|bash(go vet:*)", "go vet && go test"},
		{"bash(go test *)", "go test x"},
		{"bash(go:*)", "go list | xargs go test"},
		{"bash(sudo apt:*)", "sudo apt install x"},
		{"bash(sudo:*)", "sudo -n apt install x"},
		{"bash(make build)", "ls && make build"},
		{"bash(rm \\*)", "rm *"},
		{"bash(echo x \\\\*)", "echo x \\*"},
		{"bash", "X=1 go test > out; [[ -f out ]] && cat out"},
		{"bash", "printf -v x a"},
		{"*", "rm x"},
	} {
		p := testPolicy(t, ModeAsk, c.allow, "", "")
		if strings.HasPrefix(c.line, "go list") {
			p.AllowRules = append(p.AllowRules, Rule{Tool: "bash", Arg: "go list:*", HasArg: true})
		}
		if got := p.Decide("bash", run(c.line)); got.Effect != Allow {
			t.Errorf("allow %s: %q was %s (%s)", c.allow, c.line, got.Effect, got.Reason)
		}
	}
}

// TestDenyAndAskSeeThrough tries to get past deny and ask rules with everything
// else allowed.
func TestDenyAndAskSeeThrough(t *testing.T) {
	for _, c := range []struct{ rule, line string }{
		{"bash(rm:*)", "rm x"}, {"bash(rm:*)", "/bin/rm x"}, {"bash(rm:*)", "../../bin/rm x"}, {"bash(rm:*)", "\\rm x"}, {"bash(rm:*)", "'r'm x"},
		{"bash(rm:*)", "RM x"}, {"bash(rm:*)", "ls; rm x"}, {"bash(rm:*)", "ls | rm x"}, {"bash(rm:*)", "(rm x)"}, {"bash(rm:*)", "{ rm x; }"},
		{"bash(rm:*)", "! rm x"}, {"bash(rm:*)", "time rm x"}, {"bash(rm:*)", "coproc rm x"}, {"bash(rm:*)", "f() { rm x; }"},
		{"bash(rm:*)", "if rm x; then ls; fi"}, {"bash(rm:*)", "while rm x; do ls; done"}, {"bash(rm:*)", "for x in $(rm x); do ls; done"},
		{"bash(rm:*)", "case $(rm x) in a) ls;; esac"}, {"bash(rm:*)", "case a in a) rm x;; esac"}, {"bash(rm:*)", "[[ $(rm x) ]]"},
		{"bash(rm:*)", "echo $(rm x)"}, {"bash(rm:*)", "echo `rm x`"}, {"bash(rm:*)", "echo \"$(rm x)\""}, {"bash(rm:*)", "cat <(rm x)"},
		{"bash(rm:*)", "cat <<EOF\n$(rm x)\nEOF"}, {"bash(rm:*)", "x=$(rm x)"}, {"bash(rm:*)", "ls > $(rm x)"}, {"bash(rm:*)", "((x[$(rm x)]))"},
		{"bash(rm:*)", "sudo rm x"}, {"bash(rm:*)", "sudo -u me rm x"}, {"bash(rm:*)", "env X=1 rm x"}, {"bash(rm:*)", "timeout -k 5 10 rm x"},
		{"bash(rm:*)", "timeout --kill-after 5 10 rm x"}, {"bash(rm:*)", "nice nohup rm x"}, {"bash(rm:*)", "xargs rm"}, {"bash(rm:*)", "xargs -n1 -P 4 rm"},
		{"bash(rm:*)", "xargs -I{} rm {}"}, {"bash(rm:*)", "sh -c 'rm x'"}, {"bash(rm:*)", "bash -o pipefail -ec 'ls; rm x'"}, {"bash(rm:*)", "eval rm x"},
		{"bash(rm:*)", "eval 'r''m x'"}, {"bash(rm:*)", "find . -exec rm {} +"}, {"bash(rm:*)", "find . -execdir sh -c 'rm x' \\;"},
		{"bash(rm:*)", "command rm x"}, {"bash(rm:*)", "builtin command rm x"}, {"bash(rm:*)", "exec rm x"}, {"bash(rm:*)", "busybox rm x"},
		{"bash(rm:*)", "./nice rm x"}, {"bash(rm:*)", "stdbuf -oL rm x"}, {"bash(rm:*)", "sudo sh -c 'sudo rm x'"},
		{"bash(sudo:*)", "sudo ls"}, {"bash(sudo:*)", "ls && sudo -n ls"}, {"bash(env:*)", "env ls"}, {"bash(sh:*)", "sh -c ls"}, {"bash(eval:*)", "eval ls"},
		{"bash(xargs:*)", "ls | xargs echo"}, {"bash(bash -c:*)", "bash -c ls"},
		{"bash(git push:*)", "git push"}, {"bash(git push:*)", "git -C sub push"}, {"bash(git push:*)", "git -c a=b --no-pager push x"},
		{"bash(git push:*)", "/usr/bin/git --git-dir x push"}, {"bash(npm publish:*)", "npm --silent publish"}, {"bash(git push)", "git push"},
		{"bash(rm x)", "ls; rm x"}, {"bash(ls && pwd)", "ls && pwd"}, {"*", "ls"}, {"bash", "ls"}, {"bash(cat:*)", "cat a"}, {"bash(git diff:*)", "git diff"},
	} {
		if got := testPolicy(t, ModeAsk, "bash", "", c.rule).Decide("bash", run(c.line)); got.Effect != Deny {
			t.Errorf("deny %s: %q was %s (%s)", c.rule, c.line, got.Effect, got.Reason)
		}
		if got := testPolicy(t, ModeAsk, "bash", c.rule, "").Decide("bash", run(c.line)); got.Effect != Ask {
			t.Errorf("ask %s: %q was %s (%s)", c.rule, c.line, got.Effect, got.Reason)
		}
	}
	// What cannot be known is asked, not waved through by a rule for all.
	for _, line := range []string{"$x y", "r$x y", "r? x", "eval \"$x\"", "sh -c \"$x\"", "env -S 'rm x'", "timeout --new 5 rm x", "flock l rm x", "xargs $x",
		"git $x", "echo push | xargs git", "parallel rm", "bash -ic 'rm x'", "find . -exec {} x +"} {
		p := testPolicy(t, ModeAsk, "bash", "", "bash(rm:*)|bash(git push:*)")
		if got := p.Decide("bash", run(line)); got.Effect != Ask {
			t.Errorf("%q was %s (%s)", line, got.Effect, got.Reason)
		}
		p = testPolicy(t, ModeAsk, "bash", "", "")
		if got := p.Decide("bash", run(line)); got.Effect != Allow {
			t.Errorf("without deny rules %q was %s (%s)", line, got.Effect, got.Reason)
		}
	}
	for _, c := range []struct{ rule, line string }{
		{"bash(rm:*)", "rmdir x"}, {"bash(rm:*)", "grep rm x"}, {"bash(rm:*)", "echo 'rm x'"}, {"bash(git push:*)", "git log push"}, {"bash(rm x)", "rm x y"},
		{"bash(rm:*)", "git rm x"}, {"bash(git push)", "git push x"}, {"write(docs/**)", "rm x"}, {"bash(@read)", "ls && make"},
	} {
		if got := testPolicy(t, ModeAsk, "bash", "", c.rule).Decide("bash", run(c.line)); got.Effect != Allow {
			t.Errorf("deny %s: %q was %s (%s)", c.rule, c.line, got.Effect, got.Reason)
		}
	}
}

func TestReadRulesHoldForReadingCommands(t *testing.T) {
	for line, want := range map[string]Effect{
		"cat secret/a": Ask, "cat sub/../secret/a": Ask, "cd secret && cat a": Ask, "cat secret/*": Ask, "cat *": Ask, "rg x sub": Ask,
		"git show HEAD:secret/a": Ask, "git diff": Ask, "git log -p": Ask, "wc -l < secret/a": Ask,
		"cat a": Allow, "git log --oneline": Allow, "git status": Allow, "ls sub": Allow, "find . -name x": Allow,
	} {
		for _, effect := range []string{"deny", "ask"} {
			p := testPolicy(t, ModeAsk, "", "", "")
			rules, err := ParseRules([]string{"read(secret/**)"})
			if err != nil {
				t.Fatal(err)
			}
			if p.DenyRules = rules; effect == "ask" {
				p.DenyRules, p.AskRules = nil, rules
			}
			if got := p.Decide("bash", run(line)); got.Effect != want {
				t.Errorf("%s read(secret/**): %q was %s (%s), want %s", effect, line, got.Effect, got.Reason, want)
			}
		}
	}
}

func TestAskRulesForReadingCommands(t *testing.T) {
	for _, c := range []struct {
		ask, session, line string
		want               Effect
	}{
		{"bash(cat:*)", "", "cat a", Ask},
		{"bash(cat:*)", "", "ls && cat a", Ask},
		{"bash(cat:*)", "", "ls", Allow},
		{"bash(@read)", "", "ls", Ask},
		{"bash", "", "ls", Ask},
		{"bash(cat:*)", "bash(cat:*)", "cat b", Allow},
		{"bash(cat:*)", "bash(cat:*)", "cat ../b", Allow},
		{"bash(cat:*)", "bash(ls:*)", "cat b", Ask},
		{"bash", "bash(cat:*)", "cat b", Allow},
		{"bash", "bash(cat:*)", "cat b; ls", Ask},
	} {
		p := testPolicy(t, ModeAsk, "", c.ask, "")
		if c.session != "" {
			r, err := ParseRule(c.session)
			if err != nil {
				t.Fatal(err)
			}
			p.session = []Rule{r}
		}
		if got := p.Decide("bash", run(c.line)); got.Effect != c.want {
			t.Errorf("ask %s, session %q: %q was %s (%s), want %s", c.ask, c.session, c.line, got.Effect, got.Reason, c.want)
		}
	}
}

func TestWithoutAProjectNothingIsFree(t *testing.T) {
	p := testPolicy(t, ModeAsk, "bash(go test:*)", "", "")
	p.NoProject = true
	for line, want := range map[string]Effect{"ls": Ask, "go test": Allow, "ls && go test": Ask, "cd x && go test": Ask} {
		if got := p.Decide("bash", run(line)); got.Effect != want {
			t.Errorf("%q was %s (%s), want %s", line, got.Effect, got.Reason, want)
		}
	}
}
