package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"artoo/tool"
	"artoo/tool/environ"
	"artoo/tool/git/gittest"
	"artoo/tool/shell"
)

// quickShell is bash with less patience than in earnest.
func quickShell(t testing.TB) tool.Tool {
	t.Helper()
	path := shell.Find(nil)
	if path == "" {
		t.Fatal("these tests need a shell")
	}
	s := commandShell{BashOptions: BashOptions{Path: path}, waits: shell.Waits{Kill: 200 * time.Millisecond, Pipe: 100 * time.Millisecond,
		Live: time.Millisecond}}
	return tool.New(tool.Def{Name: "bash", Kind: tool.KindRun}, s.plan, s.run)
}

func command(line string) string {
	raw, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// took stands for how long a command ran.
var took = regexp.MustCompile(`\d+\.\ds`)

func TestBash(t *testing.T) {
	t.Parallel()
	env := treeEnv(t, map[string]string{"sub/f": ""})
	for _, test := range []struct {
		name, input, want, summary string
		failed                     bool
	}{
		{"output", command("echo hi"), "hi\n[exit status 0]\n", "exit 0 in T", false},
		{"none", command("true"), "[no output]\n[exit status 0]\n", "exit 0 in T", false},
		{"status", command("printf oops; exit 3"), "oops\n[exit status 3]\n", "exit 3 in T", true},
		{"streams in order", command("echo a; echo b >&2; echo c; echo d >&2"), "a\nb\nc\nd\n[exit status 0]\n",
			"exit 0 in T", false},
		{"no input", command("cat; read x; echo \"$? $x\""), "1 \n[exit status 0]\n", "exit 0 in T", false},
		{"no terminal", command("(: </dev/tty) 2>/dev/null || echo none"), "none\n[exit status 0]\n", "exit 0 in T", false},
		{"directory", command("basename \"$PWD\"; test \"$PWD\" = \"$(pwd -P)\" && ls"),
			filepath.Base(env.Dir) + "\nsub\n[exit status 0]\n", "exit 0 in T", false},
		{"cwd", `{"command":"ls; pwd | sed 's,.*/,,'","cwd":"sub"}`, "f\nsub\n[exit status 0]\n", "exit 0 in T", false},
		{"dash first", command("-x"), "", "exit 127 in T", true},
		{"several lines", command("for i in 1 2; do\n  echo $i\ndone"), "1\n2\n[exit status 0]\n", "exit 0 in T", false},
		{"quiet environment", command("echo $TERM $NO_COLOR $PAGER $EDITOR"), "dumb 1 cat false\n[exit status 0]\n",
			"exit 0 in T", false},
		{"no escapes", command(`printf '\033[31mred\033[0m\r\n10%%\r20%%\n'`), "red\n20%\n[exit status 0]\n",
			"exit 0 in T", false},
		{"not UTF-8", command(`printf 'a\377b'`), "a\ufffdb\n[exit status 0]\n", "exit 0 in T", false},
		{"unknown command", command("no-such-command 2>/dev/null"),
			"[no output]\n[exit status 127, command not found]\n", "exit 127 in T", true},
		{"capped timeout", `{"command":"true","timeout":99999}`,
			"[no output]\n[a timeout of 99999 seconds is more than the maximum, so it was 1800 seconds]\n[exit status 0]\n", "exit 0 in T", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := mustCall(t, quickShell(t), env, test.input)
			got.Summary = took.ReplaceAllString(got.Summary, "T")
			if test.want == "" {
				test.want = got.Text // the shell's own words
			}
			want := tool.Result{Text: test.want, Summary: test.summary, IsError: test.failed, Printed: got.Printed}
			if diff := cmp.Diff(want, got); diff != "" || !strings.HasPrefix(got.Text, *got.Printed) {
				t.Error(diff)
			}
		})
	}
}

func TestBashPlan(t *testing.T) {
	t.Parallel()
	env := treeEnv(t, map[string]string{"sub/f": "", ".ssh/f": ""})
	access, _, err := call(t, quickShell(t), env, `{"command":"ls","cwd":"sub"}`)
	if err != nil {
		t.Fatal(err)
	}
	want := tool.Access{Kind: tool.KindRun, Command: "ls", Dir: filepath.Join(env.Dir, "sub"), Verb: "run", Object: "ls"}
	if diff := cmp.Diff(want, access); diff != "" {
		t.Error(diff)
	}
	access, _, err = call(t, quickShell(t), env, `{"command":"ls","cwd":"/"}`)
	if !access.Outside || err == nil || !strings.Contains(err.Error(), "outside the project") {
		t.Errorf("cwd outside: %+v, %v", access, err)
	}
	for input, want := range map[string]string{
		`{"command":" "}`:                      "empty",
		`{"command":"ls","cwd":"nowhere"}`:     "no directory nowhere",
		`{"command":"ls","cwd":"sub/f"}`:       "no directory sub/f",
		`{"command":"ls","timeout":-1}`:        "negative",
		`{"command":"printf 'a\u0000b'"}`:      "NUL",
		command(strings.Repeat("x", 3<<20)):    "too long",
		`{"command":"echo x","cwd":"a\u0000"}`: "NUL",
	} {
		if _, _, err := call(t, quickShell(t), env, input); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: error %v, want %q", input, err, want)
		}
	}
	if _, _, err := call(t, Bash(BashOptions{Path: ""}), env, command("ls")); err == nil ||
		!strings.Contains(err.Error(), "neither bash nor sh") {
		t.Errorf("without a shell: %v", err)
	}
}

func TestBashDescription(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"/bin/bash": "bash -c", "/bin/sh": "sh -c"} {
		d := Bash(BashOptions{Path: path}).Description
		if len(d) >= 700 || !strings.Contains(d, want) {
			t.Errorf("%d bytes: %s", len(d), d)
		}
	}
	if strings.Contains(Bash(BashOptions{Path: "/bin/bash"}).Description, "POSIX") ||
		!strings.Contains(Bash(BashOptions{Path: "/bin/sh"}).Description, "POSIX") {
		t.Error("the description does not say which shell it is")
	}
}

func TestBashWithSh(t *testing.T) {
	t.Parallel()
	env := treeEnv(t, nil)
	s := commandShell{BashOptions: BashOptions{Path: "/bin/sh"}, waits: shell.DefaultWaits()}
	sh := tool.New(tool.Def{Name: "bash", Kind: tool.KindRun}, s.plan, s.run)
	if got := mustCall(t, sh, env, command("echo hi; exit 2")).Text; got != "hi\n[exit status 2]\n" {
		t.Errorf("%q", got)
	}
}

// Profiles and the environment's own start-up files must not be read.
func TestBashReadsNoProfiles(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	gittest.WriteTree(t, home, map[string]string{".bashrc": "echo rc\n", ".profile": "echo profile\n",
		".bash_profile": "echo profile\n", "env": "echo env\n"})
	env := treeEnv(t, nil)
	env.Environ, _ = environ.ChildEnviron([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "BASH_ENV=" + home + "/env",
		"ENV=" + home + "/env"}, environ.Withholding{})
	if got := mustCall(t, quickShell(t), env, command("echo hi")).Text; got != "hi\n[exit status 0]\n" {
		t.Errorf("%q", got)
	}
}

// A call may ask to run unconfined only where commands are confined and someone can
// answer. An option that is not offered is accepted, and has no effect.
func TestUnconfinedIsOfferedWhereItCanBeGranted(t *testing.T) {
	t.Parallel()
	for _, o := range []BashOptions{{}, {Ask: true}, {Confined: true}, {Confined: true, Ask: true}} {
		o.Path = "/bin/sh"
		made, offers := Bash(o), o.Confined && o.Ask
		schema := string(made.Schema())
		if strings.Contains(schema, `"unconfined"`) != offers || strings.Contains(schema, `"reason"`) != offers ||
			strings.Contains(made.Description, "unconfined") != offers ||
			strings.Contains(made.Description, "loopback") {
			t.Errorf("%+v: %s %s", o, made.Description, schema)
		}
		access, _, err := call(t, made, treeEnv(t, nil), `{"command":"true","unconfined":true,"reason":"the network"}`)
		if err != nil || (access.Unconfined != "") != offers {
			t.Errorf("%+v: %+v, %v", o, access, err)
		}
	}
}

func TestBashNamesTheTimeAfterWhichACommandGoesOn(t *testing.T) {
	t.Parallel()
	for timeout, want := range map[time.Duration]string{0: "after 120s.", 90 * time.Second: "after 90s.",
		1500 * time.Millisecond: "after 1.5s."} {
		if d := Bash(BashOptions{Path: "/bin/sh", Timeout: timeout}).Description; !strings.Contains(d, want) {
			t.Errorf("%s: %s", timeout, d)
		}
	}
}

func TestBashSaysWhatWasWithheld(t *testing.T) {
	t.Parallel()
	env := treeEnv(t, nil)
	env.Environ, env.Withheld = environ.ChildEnviron(append(os.Environ(), "MY_SERVICE_TOKEN=hunter2", "OTHER_TOKEN=x"),
		environ.Withholding{Pass: []string{"OTHER_TOKEN"}})
	env.Withheld = []string{"MY_SERVICE_TOKEN"}
	failed := mustCall(t, quickShell(t), env, command("echo [$MY_SERVICE_TOKEN$OTHER_TOKEN]; exit 1"))
	if !strings.HasPrefix(failed.Text, "[x]\n[variables withheld from commands: MY_SERVICE_TOKEN; ") {
		t.Errorf("%q", failed.Text)
	}
	for line, named := range map[string]bool{"echo MY_SERVICE_TOKEN is missing; exit 1": true, "my --version": true, "false": false,
		"printf '%sy own\\n' m; exit 1": false, "echo process.env.MY_SERVICE_TOKEN; exit 1": true, "printf '%s_TOKEN\\n' MY_SERVICE; exit 1": true,
		"echo OLD_MY_SERVICE_TOKEN MY_SERVICE_TOKENS; exit 1": false} {
		if failed := mustCall(t, quickShell(t), env, command(line)); strings.Contains(failed.Text, "withheld") != named {
			t.Errorf("%s: %q", line, failed.Text)
		}
	}
	if ok := mustCall(t, quickShell(t), env, command("true")); strings.Contains(ok.Text, "withheld") {
		t.Errorf("%q", ok.Text)
	}
}

func TestBashLiveOutput(t *testing.T) {
	t.Parallel()
	env := treeEnv(t, nil)
	screen := &gate{text: "first\n", file: filepath.Join(env.Dir, "gate")}
	input := json.RawMessage(command(`echo first; until test -e gate; do :; done; echo second`))
	result, err := quickShell(t).Run(t.Context(), env, input, screen)
	if err != nil {
		t.Fatal(err)
	}
	if result.Text != "first\nsecond\n[exit status 0]\n" || screen.shown != "first\nsecond\n" {
		t.Errorf("model %q, screen %q", result.Text, screen.shown)
	}
}

// gate is a screen that lets the command go on once it has shown a text.
type gate struct {
	shown, text, file string
}

func (g *gate) Write(p []byte) (int, error) {
	g.shown += string(p)
	if g.shown == g.text {
		return len(p), os.WriteFile(g.file, nil, 0o644)
	}
	return len(p), nil
}

func TestBashTimeout(t *testing.T) {
	t.Parallel()
	env := treeEnv(t, nil)
	got := mustCall(t, quickShell(t), env, `{"command":"echo begun; sleep 600","timeout":1}`)
	want := tool.Result{Text: "begun\n[stopped: it was not done after 1s (raise timeout, in seconds)]\n",
		Summary: "timed out after 1s", IsError: true, Stopped: true, Printed: new("begun\n")}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	env.ShellTimeout = 100 * time.Millisecond
	if got := mustCall(t, quickShell(t), env, command("sleep 600")); got.Summary != "timed out after 0.1s" {
		t.Errorf("default timeout: %+v", got)
	}
}

func TestBashManyBytes(t *testing.T) {
	t.Parallel()
	env := treeEnv(t, nil)
	_, result, screen, err := callLive(context.Background(), t, quickShell(t),
		env, command("yes 0123456789 | head -c 3000000"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(result.Text); n < 3_000_000 || n > 3_000_100 {
		t.Errorf("the model's text has %d bytes", n)
	}
	if !strings.HasSuffix(screen, "\n0123456789\n012") {
		t.Errorf("the screen got %d bytes, the last of them %q", len(screen), screen[max(len(screen)-40, 0):])
	}
}

func TestBashSideBySide(t *testing.T) {
	t.Parallel()
	env := treeEnv(t, nil)
	done := make(chan string)
	for i := range 8 {
		go func() {
			result, err := quickShell(t).Run(t.Context(), env, json.RawMessage(command(fmt.Sprintf("echo %d", i))),
				&strings.Builder{})
			done <- fmt.Sprint(result.Text, err)
		}()
	}
	got := map[string]bool{}
	for range 8 {
		got[<-done] = true
	}
	for i := range 8 {
		if want := fmt.Sprintf("%d\n[exit status 0]\n<nil>", i); !got[want] {
			t.Errorf("%q is missing: %v", want, got)
		}
	}
}
