//go:build unix

package cli

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"artoo/provider/providertest"
	"artoo/tool/needs"
)

// sshLine is a line to this machine by ssh: an sshd for each connection, which needs no port of its own.
type sshLine struct {
	testing.TB
	dir string
	// slow makes it slow once it is closed.
	slow chan struct{}
}

// slowLine is how many bytes come over it in a second then.
const slowLine = 2000

func newSSHLine(t testing.TB) *sshLine {
	t.Helper()
	needs.Programs(t, "ssh", "ssh-keygen")
	if os.Geteuid() == 0 {
		_, err := os.Stat("/run/sshd")
		needs.Thing(t, "the directory of an sshd that root starts", err)
	}
	l := &sshLine{TB: t, dir: t.TempDir(), slow: make(chan struct{})}
	for _, name := range []string{"host", "key"} {
		generate := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(l.dir, name))
		if out, err := generate.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	config := fmt.Sprintf("HostKey %s/host\nAuthorizedKeysFile %[1]s/key.pub\nStrictModes no\n", l.dir) +
		"UsePAM no\nPermitRootLogin yes\nPidFile none\n"
	if err := os.WriteFile(filepath.Join(l.dir, "config"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return l
}

// serve gives the address behind which the sshd stands.
func (l *sshLine) serve() *net.TCPAddr {
	l.Helper()
	sshd := needs.Program(l, sshdPath())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			daemon := exec.Command(sshd, "-i", "-f", filepath.Join(l.dir, "config"), "-E", filepath.Join(l.dir, "log"))
			out, err := daemon.StdoutPipe()
			if err == nil {
				daemon.Stdin = conn
				err = daemon.Start()
			}
			if err != nil {
				l.Error(err)
				return
			}
			go func() {
				_, _ = io.Copy(conn, slowedReader{out, l.slow})
				_, _ = conn.Close(), daemon.Wait()
			}()
		}
	}()
	return listener.Addr().(*net.TCPAddr)
}

// sshdPath is where the sshd is: most users have no sbin in their PATH.
func sshdPath() string {
	if _, err := os.Stat("/usr/sbin/sshd"); err == nil {
		return "/usr/sbin/sshd"
	}
	return "sshd"
}

// slowedReader gives few bytes a second once slow is closed.
type slowedReader struct {
	io.Reader
	slow <-chan struct{}
}

func (r slowedReader) Read(p []byte) (int, error) {
	select {
	case <-r.slow:
	default:
		return r.Reader.Read(p)
	}
	n, err := r.Reader.Read(p[:min(len(p), slowLine/20)])
	<-time.After(time.Duration(n) * time.Second / slowLine)
	return n, err
}

// start begins a conversation at the other end.
func (l *sshLine) start(env []string) *terminal {
	l.Helper()
	who, err := user.Current()
	if err != nil {
		l.Fatal(err)
	}
	artoo, err := exec.LookPath("artoo")
	if err != nil {
		l.Fatal(err)
	}
	remote := fmt.Sprintf(`cd '%s' && exec env -i "SSH_CONNECTION=$SSH_CONNECTION" '%s' '%s'`,
		l.TempDir(), strings.Join(env, "' '"), artoo)
	return startTerminal(l, l.dir, os.Environ(), "ssh", "-F", "none", "-tt", "-i", filepath.Join(l.dir, "key"),
		"-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile="+os.DevNull, "-o", "LogLevel=ERROR",
		"-p", fmt.Sprint(l.serve().Port), who.Username+"@127.0.0.1", remote)
}

// answers has the terminal answer, as terminals do.
func (k *terminal) answers() {
	const query, answer = "\x1b[5n", "\x1b[0n"
	from, to := k.lines, make(chan []byte, 1)
	k.lines = to
	go func() {
		defer close(to)
		var rest []byte
		for piece := range from {
			rest = append(rest, piece...)
			for range bytes.Count(rest, []byte(query)) {
				_, _ = io.WriteString(k.tty, answer)
			}
			if at := bytes.LastIndex(rest, []byte(query)); at >= 0 {
				rest = rest[at+len(query):]
			}
			rest = bytes.Clone(rest[max(0, len(rest)-len(query)+1):])
			to <- piece
		}
	}()
}

func TestAnInterruptOverASlowSSHLineShowsSoon(t *testing.T) {
	t.Parallel()
	for name, answers := range map[string]bool{"a terminal that answers": true, "one that does not": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newSSHLine(t)
			text := strings.Repeat(strings.Repeat("well met, ", 7)+"\n\n", 1000)
			k := l.start(onTerminal(t, []providertest.Reply{says(pieces(text, 100)...)}).Env)
			if answers {
				k.answers()
			}
			k.expect("you: ", 0)
			close(l.slow)
			k.type_("go\r")
			at, enough := len(k.shown), len(k.shown)+2*slowLine
			for len(k.shown) < enough {
				at = k.expect("well met", at)
			}
			began := time.Now()
			k.type_("\x03")
			k.expect("you: ", k.expect("stopped", at))
			if took := time.Since(began); took > 1500*time.Millisecond {
				t.Errorf("the prompt came after %v", took)
			}
			k.leave()
		})
	}
}
