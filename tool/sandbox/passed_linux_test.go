//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"artoo/tool/needs"
)

// passer has the process that holds the project open give its descriptor away, by every socket that it can bind, and
// waits. taker asks for it, looks for it in /proc, and makes the file planted in the project if it gets there. It also
// runs unconfined, so that it leaves the directories of other processes alone.
const (
	passer = `
import array, os, select, socket, sys
held, ears = os.open(".", os.O_RDONLY), []
name = sys.argv[1]
for at in ["\0" + name, "/tmp/" + name, os.environ.get("TMPDIR", "/tmp") + "/own-" + name, name]:
    try:
        ear = socket.socket(socket.AF_UNIX); ear.bind(at); ear.listen(); ears.append(ear)
    except OSError: pass
print("READY", os.getpid(), flush=True)
os.close(1); os.close(2)
while True:
    for ear in select.select(ears, [], [])[0]:
        c, _ = ear.accept()
        c.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [held]))]); c.close()
`
	taker = `
import array, glob, os, socket, sys
def plant(**how):
    try: os.close(os.open(how.pop("at"), os.O_CREAT | os.O_WRONLY, **how)); print("planted")
    except OSError: pass
name = sys.argv[1]
for at in ["\0" + name, "/tmp/" + name, name, *glob.glob("/tmp/*/own-" + name), *glob.glob("/tmp/*/*/own-" + name)]:
    try:
        c = socket.socket(socket.AF_UNIX); c.settimeout(5); c.connect(at)
        _, found, _, _ = c.recvmsg(1, socket.CMSG_SPACE(4))
        for _, _, data in found: plant(at="planted", dir_fd=array.array("i", data)[0])
    except OSError: pass
for fd in glob.glob("/proc/[0-9]*/fd/*"):
    if os.path.exists(fd + "/passer.py"): plant(at=fd + "/planted")
for root in glob.glob("/proc/[0-9]*/root"):
    plant(at=root + os.getcwd() + "/planted")
`
)

// A command on a layer gets no descriptor of the project from one that has it, and none by way of /proc.
func TestNoDescriptorLeadsAroundALayer(t *testing.T) {
	const python = "python3"
	needs.Program(t, python)
	// A socket's path has to be short.
	t.Setenv("TMPDIR", "/tmp")
	s, root := open(t, nil)
	write(t, root, "passer.py", passer)
	write(t, root, "taker.py", taker)
	planted, name := filepath.Join(root, "planted"), fmt.Sprint("artoo-passer-", os.Getpid())
	// Without a sandbox around both, the project is reached.
	server := exec.Command(python, "passer.py", name)
	server.Dir = root
	ready, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err == nil {
		_, err = ready.Read(make([]byte, 10))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The process is there until it is waited for, and the files are where it could bind them.
		_ = server.Process.Kill()
		_ = server.Wait()
		_ = os.Remove("/tmp/" + name)
		_ = os.Remove("/tmp/own-" + name)
	})
	client := exec.Command(python, "taker.py", name)
	client.Dir = root
	if out, err := client.CombinedOutput(); err != nil || !exists(planted) {
		t.Fatalf("unconfined, nothing is planted: %v\n%s", err, out)
	}
	for _, options := range []Options{{Job: true, Whole: true}, {Job: true}} {
		_, say := talk(t, s, options)
		ready := say(`mkfifo "$TMPDIR/f"; python3 passer.py ` + name + ` < /dev/null > "$TMPDIR/f" &
			read line < "$TMPDIR/f"; echo "$line"`)
		if !strings.HasPrefix(ready, "READY") {
			t.Fatal(ready)
		}
		for name, line := range map[string]Options{"layer": {Layer: true}, "trusted": {Layer: true, Exec: true},
			"reading": {ReadOnly: true}} {
			if err := os.Remove(planted); err != nil && !os.IsNotExist(err) {
				t.Fatal(err)
			}
			out, _, p := run(t, s, line, python+" taker.py "+name)
			if exists(planted) {
				t.Errorf("%s, beside %+v: it wrote to the project: %s", name, options, out)
			}
			if err := p.Discard(); err != nil {
				t.Error(err)
			}
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
