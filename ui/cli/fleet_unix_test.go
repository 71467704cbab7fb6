//go:build unix

package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"artoo/provider/providertest"
	"artoo/tool/needs"
	"artoo/tool/sweep"
	"artoo/ui/result"
)

// recipesDir has the files that docs/fleet.md shows.
var recipesDir = filepath.Join(moduleDir, "docs", "fleet")

// fleet is a directory with the recipes, a task and its repositories, and a model behind them.
type fleet struct {
	testing.TB
	dir     string
	environ []string
	model   *providertest.Server
	failed  map[int]int // failed requests by the exit code that each causes
}

// fault is a reply that ends a run with an exit code.
type fault struct {
	code  int
	reply providertest.Reply
}

// faults are one of each kind that matters to a queue.
func faults() []fault {
	return []fault{
		{5, providertest.Fail(529, "overloaded_error", "Overloaded")},
		{3, providertest.Fail(401, "authentication_error", "invalid x-api-key")},
		{5, providertest.Fail(429, "rate_limit_error", "Slow down")},
		{4, providertest.Fail(500, "api_error", "Internal server error")},
		{9, providertest.Anthropic(providertest.Stop("refusal"))},
		{4, providertest.Anthropic(providertest.Text("I will")).Events(2).Ends(providertest.Reset)},
	}
}

// newFleet makes the directory. fails may be nil; a fault of the n-th request, from 0, with another code than
// 0 replaces its reply.
func newFleet(t testing.TB, repositories int, fails func(n int) fault) *fleet {
	t.Helper()
	needs.Git(t)
	f := &fleet{TB: t, dir: t.TempDir(), failed: map[int]int{}}
	f.model = providertest.Serve(t, &providertest.Handler{NoList: true, Next: func(n int, r providertest.Request) providertest.Reply {
		if fails != nil {
			if bad := fails(n); bad.code != 0 {
				f.failed[bad.code]++
				return bad.reply
			}
		}
		switch bytes.Count(r.Body, []byte(`"type":"tool_result"`)) {
		case 0:
			return providertest.Anthropic(providertest.Call("c1", "read", `{"path":"count.txt"}`))
		case 1:
			return providertest.Anthropic(providertest.Call("c2", "edit", `{"path":"count.txt","old_string":"count 0","new_string":"count 0\ncount 1"}`))
		}
		return providertest.Anthropic(providertest.Text("Counted."))
	}})
	f.environ = home(t, "container=test", "ANTHROPIC_API_KEY=sk-test", "ANTHROPIC_BASE_URL="+f.model.URL, "ARTOO_PROVIDER=anthropic",
		"ARTOO_MODEL=claude-sonnet-4-5", "ARTOO_DAILY_COST=100", "ARTOO_MAX_RETRY_TIME=0", "PAUSE=0",
		"PATH="+filepath.Dir(buildProgram(t, moduleDir))+string(filepath.ListSeparator)+os.Getenv("PATH"),
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	f.run("sh", "-c", `cp "$0"/* . && echo "Count on." >task.md && git init -q -b main first && echo "count 0" >first/count.txt &&
		git -C first add -A && git -C first commit -q -m first
		n=0; while [ $n -lt $1 ]; do n=$((n + 1)); git clone -q --bare first repo$n.git && echo "$PWD/repo$n.git"; done >repos.txt`,
		abs(t, recipesDir), strconv.Itoa(repositories))
	return f
}

func abs(t testing.TB, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func (f *fleet) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = f.dir, f.environ
	return cmd
}

// run returns the exit code and the output.
func (f *fleet) run(name string, args ...string) (code int, out string) {
	f.Helper()
	text, err := f.command(name, args...).CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		f.Fatalf("%s: %v", name, err)
	} else if err != nil {
		code = exit.ExitCode()
	}
	return code, string(text)
}

func (f *fleet) file(name string) string {
	f.Helper()
	text, err := os.ReadFile(filepath.Join(f.dir, name))
	if err != nil {
		f.Fatal(err)
	}
	return string(text)
}

// result is the object of task n's last try.
func (f *fleet) result(n int) (r result.Result) {
	f.Helper()
	if err := json.Unmarshal([]byte(f.file(fmt.Sprintf("out/%d/result.json", n))), &r); err != nil {
		f.Fatalf("task %d: %v", n, err)
	}
	return r
}

// ended is the exit code of each task, from 1 on: as artoo's object says it and as task.sh does.
func (f *fleet) ended(tasks int) (codes []int) {
	f.Helper()
	for n := 1; n <= tasks; n++ {
		code := f.result(n).ExitCode
		if got := f.file(fmt.Sprintf("out/%d/exit", n)); got != strconv.Itoa(code)+"\n" {
			f.Errorf("task %d: exit is %q, result.json says %d\n%s", n, got, code, f.file(fmt.Sprintf("out/%d/log", n)))
		}
		codes = append(codes, code)
	}
	return codes
}

// lands pushes the patches twice, and looks at each repository: the patch is there once where the
// task ended with 0, and not at all elsewhere.
func (f *fleet) lands(codes []int) {
	f.Helper()
	for range 2 {
		if code, out := f.run("sh", "land.sh", "counted"); code != 0 || out != "" {
			f.Fatalf("land.sh: %d\n%s", code, out)
		}
	}
	for i, code := range codes {
		repo := fmt.Sprintf("repo%d.git", i+1)
		_, log := f.run("git", "-C", repo, "log", "--format=%s", "--all")
		_, text := f.run("git", "-C", repo, "show", "main:count.txt")
		want := "first\n"
		if code == 0 {
			want = "Count on.\nfirst\n"
			if _, landed := f.run("git", "-C", repo, "show", "counted:count.txt"); landed != "count 0\ncount 1\n" {
				f.Errorf("%s has %q", repo, landed)
			}
		}
		if log != want || text != "count 0\n" {
			f.Errorf("task %d ended with %d: commits %q, main has %q", i+1, code, log, text)
		}
	}
}

// adds compares the tasks' codes, and the tries that were begun again, with the requests that failed. It
// returns how many were begun again.
func (f *fleet) adds(codes []int) int {
	f.Helper()
	again := -len(codes)
	for _, r := range f.model.Requests() {
		if !bytes.Contains(r.Body, []byte(`"type":"tool_result"`)) {
			again++
		}
	}
	never, later, last := map[int]int{}, 0, 0
	for _, code := range codes {
		switch code {
		case 0:
		case 4, 5:
			last++
		default:
			never[code]++
		}
	}
	for code, n := range f.failed {
		if code == 4 || code == 5 {
			later += n
		} else if never[code] != n {
			f.Errorf("%d requests failed with code %d, and %d tasks ended so", n, code, never[code])
		}
	}
	if again+last != later {
		f.Errorf("%d requests may be tried again; %d tries were begun again, %d tasks gave up", later, again, last)
	}
	return again
}

func TestAnyTaskOfAFleetRetriesByExitCode(t *testing.T) {
	t.Parallel()
	all := faults()
	for _, test := range sweep.Of(t, 3, []struct {
		name  string
		fails []fault
		code  int
		tries int
	}{
		{"done at once", nil, 0, 1},
		{"later", []fault{all[3], all[0], all[2]}, 0, 4},
		{"never", []fault{all[1]}, 3, 1},
		{"refused later", []fault{all[5], all[4]}, 9, 2},
		{"a network that stays away", []fault{all[3], all[5], all[3], all[3]}, 4, 3},
		{"an overloaded server", slices.Repeat([]fault{all[0]}, 6), 5, 5},
	}) {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 1, func(n int) (bad fault) {
				if n < len(test.fails) {
					bad = test.fails[n]
				}
				return bad
			})
			code, out := f.run("sh", "again.sh", "sh", "task.sh", "repo1.git", "out/1")
			if code != test.code {
				t.Fatalf("exit code %d, want %d\n%s", code, test.code, out)
			}
			requests := len(f.model.Requests())
			tries := requests
			if code == 0 {
				tries -= 2 // the last try has two more
			}
			if tries != test.tries {
				t.Errorf("%d tries, want %d", tries, test.tries)
			}
			f.lands(f.ended(1))
			if code != 0 {
				return
			}
			// A queue that starts a finished task again, as after a lost node, changes nothing.
			patch := f.file("out/1/changes.patch")
			if again, out := f.run("sh", "task.sh", "repo1.git", "out/1"); again != 0 || len(f.model.Requests()) != requests || f.file("out/1/changes.patch") != patch {
				t.Errorf("a finished task: exit code %d\n%s", again, out)
			}
		})
	}
}

// Slurm signals all processes of a job, Kubernetes the first one only.
func TestAStoppedTaskLeavesASession(t *testing.T) {
	t.Parallel()
	for name, group := range map[string]bool{"Slurm": true, "Kubernetes": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked := make(chan struct{}, 8)
			f := newFleet(t, 1, func(n int) fault {
				if n != 1 {
					return fault{}
				}
				asked <- struct{}{}
				return fault{143, providertest.Silent()}
			})
			cmd := f.command("sh", "task.sh", "repo1.git", "out/1")
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			select {
			case <-asked:
			case <-time.After(endless):
				_ = cmd.Process.Kill()
				t.Fatal("the model is not asked")
			}
			pid := cmd.Process.Pid
			if group {
				pid = -pid
			}
			if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // with 143, which is looked at next
			if code := cmd.ProcessState.ExitCode(); code != 143 {
				t.Errorf("the task ended with %v", cmd.ProcessState)
			}
			if codes := f.ended(1); codes[0] != 143 {
				t.Errorf("its object has exit code %d", codes[0])
			}
			if code, out := f.run("artoo", "-p", "-r", f.result(1).SessionID, "--approval", "plan", "go on"); code != 0 {
				t.Errorf("its session: exit code %d\n%s", code, out)
			}
			if code, out := f.run("sh", "task.sh", "repo1.git", "out/1"); code != 0 {
				t.Errorf("the next try: exit code %d\n%s", code, out)
			}
			f.lands(f.ended(1))
		})
	}
}

// Programs in one home, begun at once, forty at most: each has its session, and the ledger their sum.
func TestAnyNumberOfRunsShareAStateDirectory(t *testing.T) {
	t.Parallel()
	runs := len(sweep.Cases(t, 6, 40))
	f := newFleet(t, 1, func(int) fault { return fault{1, providertest.Anthropic(providertest.Text("Seen."))} })
	var group sync.WaitGroup
	for range runs {
		group.Go(func() {
			if code, out := f.run("artoo", "-p", "-q", "--max-cost", "1", "--stdin", "never", "look"); code != 0 || out != "Seen.\n" {
				t.Errorf("exit code %d\n%s", code, out)
			}
		})
	}
	group.Wait()
	_, list := f.run("artoo", "sessions", "list", "--json")
	_, usage := f.run("artoo", "usage", "--json")
	var day struct{ Requests int }
	if err := json.Unmarshal([]byte(usage), &day); err != nil {
		t.Fatalf("%v\n%s", err, usage)
	}
	if sessions := strings.Count(list, "\n"); sessions != runs || day.Requests != runs {
		t.Errorf("%d sessions, %d requests in the ledger", sessions, day.Requests)
	}
}

// TestTheFleetPageShowsItsFiles compares docs/fleet.md with the files that the tests run.
func TestTheFleetPageShowsItsFiles(t *testing.T) {
	files, err := os.ReadDir(recipesDir)
	if err != nil || len(files) < 8 {
		t.Fatalf("%d recipes, %v", len(files), err)
	}
	page := docsPage(t, "fleet.md")
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(recipesDir, file.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(page, "\n"+string(text)+"```\n") {
			t.Errorf("docs/fleet.md does not show %s", file.Name())
		}
	}
}

// The shell lines of the recipes for GitHub and GitLab, each with the variables that the engine
// gives it.
func TestFleetsInCI(t *testing.T) {
	t.Parallel()
	var github struct {
		Jobs map[string]struct {
			Steps []struct{ Run string }
		}
	}
	var gitlab struct {
		Task struct {
			Parallel int
			Retry    struct {
				Max       int
				ExitCodes []int `yaml:"exit_codes"`
			}
			Script []string
		}
	}
	f := newFleet(t, 2, func(n int) (bad fault) {
		if n == 1 {
			bad = faults()[0]
		}
		return bad
	})
	if err := errors.Join(yaml.Unmarshal([]byte(f.file("github.yml")), &github), yaml.Unmarshal([]byte(f.file("gitlab.yml")), &gitlab)); err != nil {
		t.Fatal(err)
	}
	f.environ = append(f.environ, "GITHUB_OUTPUT=output", "TASK=2", "CI_NODE_INDEX=1")
	for _, line := range []string{github.Jobs["list"].Steps[1].Run, github.Jobs["task"].Steps[2].Run, strings.Join(gitlab.Task.Script, "\n")} {
		if code, out := f.run("sh", "-e", "-c", line); code != 0 {
			t.Errorf("%s: exit code %d\n%s", line, code, out)
		}
	}
	if got := f.file("output"); got != "tasks=[1,2]\n" {
		t.Errorf("the list of tasks is %q", got)
	}
	if r := gitlab.Task.Retry; r.Max != 2 || !slices.Equal(r.ExitCodes, []int{4, 5}) {
		t.Errorf("GitLab tries again %v", r)
	}
	codes := f.ended(2)
	f.lands(codes)
	if again := f.adds(codes); again != 1 {
		t.Errorf("%d tries were begun again", again)
	}
}
