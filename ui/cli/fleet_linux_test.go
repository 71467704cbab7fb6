//go:build fleet

package cli

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"artoo/provider/providertest"
)

// engineLimit bounds the time of an engine.
const engineLimit = 5 * time.Minute

// TestFleetSlurm runs an array of forty tasks on the two processors of a Slurm of the test's own. Each
// tenth request to the model fails.
func TestFleetSlurm(t *testing.T) {
	conf := slurm(t)
	const tasks = 40
	all := faults()
	f := newFleet(t, tasks, func(n int) (bad fault) {
		if n%10 == 9 {
			bad = all[n/10%len(all)]
		}
		return bad
	})
	f.environ = append(f.environ, conf)
	_, out := f.run("timeout", "300", "sbatch", "--wait", "array.sh") // The code of --wait is a task's.
	again, codes := 0, f.ended(tasks)
	jobs := f.jobs()
	if len(jobs) != tasks {
		t.Fatalf("Slurm has %d tasks\n%s", len(jobs), out)
	}
	for n, job := range jobs {
		again += job.restarts
		if want := fmt.Sprintf("%d:0", codes[n-1]); job.exit != want {
			t.Errorf("task %d: Slurm has exit code %s, want %s", n, job.exit, want)
		}
	}
	requests := len(f.model.Requests())
	if again == 0 || f.failed[3] == 0 || f.failed[9] == 0 {
		t.Errorf("%d tries begun again, %v of %d requests failed: too little was tried", again, f.failed, requests)
	}
	if begun := f.adds(codes); begun != again {
		t.Errorf("the model saw %d tries begun again, Slurm began %d", begun, again)
	}
	f.lands(codes)
	t.Logf("%d requests, failed by exit code %v, %d tries begun again, tasks ended with %v", requests, f.failed, again, codes)

	// scancel is SIGTERM to all processes of a task, then SIGKILL.
	asked := make(chan struct{}, 8)
	f = newFleet(t, 1, func(int) fault {
		asked <- struct{}{}
		return fault{143, providertest.Silent()}
	})
	f.environ = append(f.environ, conf)
	if code, out := f.run("sbatch", "--array=1", "array.sh"); code != 0 {
		t.Fatal(out)
	}
	select {
	case <-asked:
	case <-time.After(engineLimit):
		t.Fatal("the model is not asked")
	}
	f.run("scancel", "--name=array.sh")
	f.run("timeout", "300", "srun", "--dependency=singleton", "--job-name=array.sh", "true")
	if codes := f.ended(1); codes[0] != 143 || f.result(1).SessionID == "" {
		t.Errorf("a cancelled task ended with %d", codes[0])
	}
}

// job is the state of a task in Slurm.
type job struct {
	exit     string // code:signal
	restarts int
}

var jobFields = regexp.MustCompile(`ArrayTaskId=(\d+) .*Restarts=(\d+) .*ExitCode=(\S+)`)

// jobs are the tasks of the array by number.
func (f *fleet) jobs() map[int]job {
	f.Helper()
	_, text := f.run("scontrol", "--oneliner", "show", "job")
	all := map[int]job{}
	for _, m := range jobFields.FindAllStringSubmatch(text, -1) {
		n, err1 := strconv.Atoi(m[1])
		restarts, err2 := strconv.Atoi(m[2])
		if err1 != nil || err2 != nil {
			f.Fatal(m[0])
		}
		all[n] = job{m[3], restarts}
	}
	return all
}

// slurm starts a controller and a node with two processors, and returns the variable that names
// their configuration. Requeued jobs wait until a credential has expired, which is two minutes elsewhere.
func slurm(t *testing.T) string {
	t.Helper()
	dir := shortDir(t)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ = strings.Cut(host, ".")
	key, conf := filepath.Join(dir, "key"), filepath.Join(dir, "slurm.conf")
	writeFile(t, key, strings.Repeat("a key of the test only, 32 bytes", 4))
	writeFile(t, conf, strings.NewReplacer("DIR", dir, "HOST", host, "CONTROL", freePort(t), "NODE", freePort(t)).Replace(`ClusterName=test
SlurmctldHost=HOST(127.0.0.1)
SlurmctldPort=CONTROL
SlurmdPort=NODE
AuthType=auth/munge
AuthInfo=socket=DIR/munge,cred_expire=5
SlurmUser=root
StateSaveLocation=DIR/state
SlurmdSpoolDir=DIR/spool
SlurmctldPidFile=DIR/control.pid
SlurmdPidFile=DIR/node.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,bf_interval=1
MinJobAge=3600
ReturnToService=1
MpiDefault=none
NodeName=HOST NodeAddr=127.0.0.1 CPUs=2
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
`))
	for _, name := range []string{"state", "spool"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	daemon(t, "munged", "--foreground", "--force", "--key-file="+key, "--socket="+dir+"/munge", "--pid-file="+dir+"/munge.pid",
		"--log-file="+dir+"/munge.log", "--seed-file="+dir+"/seed")
	daemon(t, "slurmctld", "-D", "-f", conf)
	daemon(t, "slurmd", "-D", "-f", conf)
	variable := "SLURM_CONF=" + conf
	ready(t, "the node is idle", func() bool {
		cmd := exec.Command("sinfo", "--noheader", "--format=%T")
		cmd.Env = append(os.Environ(), variable)
		out, err := cmd.Output()
		return err == nil && strings.TrimSpace(string(out)) == "idle"
	})
	return variable
}

// TestFleetParallel runs six tasks on two hosts, which are this one behind sshd.
func TestFleetParallel(t *testing.T) {
	const tasks = 6
	all := faults()
	f := newFleet(t, tasks, func(n int) (bad fault) {
		if n%5 == 4 {
			bad = all[n/5%len(all)]
		}
		return bad
	})
	dir, port := shortDir(t), freePort(t)
	remote := filepath.Join(dir, "home")
	if err := os.Mkdir(remote, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"host", "user"} {
		f.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, name))
	}
	// The hosts' users have a home, programs, and the model's address.
	set := []string{"HOME=" + remote}
	for _, variable := range f.environ {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "ARTOO_") && name != "ARTOO_DAILY_COST" ||
			name == "ANTHROPIC_BASE_URL" || name == "PATH" || name == "container" || name == "PAUSE" {
			set = append(set, variable)
		}
	}
	server := filepath.Join(dir, "sshd_config")
	writeFile(t, server, strings.NewReplacer("DIR", dir, "PORT", port, "SET", strings.Join(set, " ")).Replace(`ListenAddress 127.0.0.1
Port PORT
HostKey DIR/host
AuthorizedKeysFile DIR/user.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin yes
SetEnv SET
ForceCommand cd && exec sh -c "$SSH_ORIGINAL_COMMAND"
`))
	client := filepath.Join(dir, "ssh_config")
	writeFile(t, client, strings.NewReplacer("DIR", dir, "PORT", port).Replace(`Host build1 build2
HostName 127.0.0.1
Port PORT
IdentityFile DIR/user
IdentitiesOnly yes
StrictHostKeyChecking no
UserKnownHostsFile DIR/known
LogLevel ERROR
`))
	sshd, err := exec.LookPath("sshd") // it starts itself again and wants its whole name
	if err != nil {
		t.Fatal(err)
	}
	daemon(t, sshd, "-D", "-e", "-f", server)
	f.environ = append(f.environ, "PARALLEL_SSH=ssh -F "+client, "PARALLEL_HOME="+filepath.Join(dir, "parallel"))
	ready(t, "sshd answers", func() bool {
		code, _ := f.run("ssh", "-F", client, "build1", "true")
		return code == 0
	})
	began := time.Now()
	_, out := f.run("timeout", "300", "sh", "parallel.sh", "1/build1,1/build2") // The code is the number of failed tasks.
	if left, err := filepath.Glob(filepath.Join(remote, ".parallel", "tmp", "*")); err != nil || len(left) > 0 {
		t.Errorf("left on the hosts: %v %v", left, err)
	}
	t.Logf("%d tasks in %s", tasks, time.Since(began).Round(time.Second))
	codes := f.ended(tasks)
	lines := strings.Split(strings.TrimSpace(f.file("jobs.log")), "\n")[1:]
	for _, line := range lines {
		fields := strings.Split(line, "\t")
		n, err := strconv.Atoi(fields[0])
		if err != nil || fields[6] != strconv.Itoa(codes[n-1]) {
			t.Errorf("GNU parallel has %q, the task ended with %d", line, codes[n-1])
		}
	}
	if len(lines) != tasks {
		t.Errorf("GNU parallel has %d tasks\n%s", len(lines), out)
	}
	if f.adds(codes) < 1 || f.failed[3] == 0 {
		t.Errorf("failed by exit code: %v: too little was tried", f.failed)
	}
	f.lands(codes)
}

// shortDir is a directory with a name that is short enough for sockets.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fleet")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// daemon runs a program in the foreground until the test ends.
func daemon(t *testing.T, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(name, args...)
	log := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		gone := make(chan struct{})
		go func() { _ = cmd.Wait(); close(gone) }()
		select {
		case <-gone:
		case <-time.After(10 * time.Second):
			_ = cmd.Process.Kill()
			<-gone
		}
		if t.Failed() {
			t.Logf("%s:\n%s", name, log)
		}
	})
}

// ready asks again until it is so.
func ready(t *testing.T, state string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(time.Minute); !is(); {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("it never came so far that %s", state)
		}
	}
}
