//go:build amd64 || arm64

package sandbox

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"artoo/tool/needs"
)

// A command that has the network resolves names where resolv.conf leads out of /etc, as with systemd-resolved. Without the
// network none is resolved.
func TestACommandWithTheNetworkResolvesNames(t *testing.T) {
	if os.Getenv("ARTOO_TEST_NAMES") == "" {
		inNetworkOfItsOwn(t, "ARTOO_TEST_NAMES=1")
		return
	}
	linkResolvers(t)
	serveNames(t, "127.0.0.53:53")
	for _, network := range []bool{true, false} {
		s, _ := open(t, func(c *Config) { c.Network = network })
		for _, options := range []Options{{Layer: true, Exec: true}, {Job: true, Whole: true, Exec: true}} {
			out, _, _ := run(t, s, options, "getent hosts name.example; getent hosts localhost")
			if found := strings.Contains(out, "192.0.2.7"); found != network || !strings.Contains(out, "localhost") {
				t.Errorf("network %v, %+v: %q", network, options, out)
			}
		}
	}
}

// inNetworkOfItsOwn runs this test as root of namespaces with an empty network.
func inNetworkOfItsOwn(t *testing.T, variable string) {
	t.Helper()
	needs.Programs(t, "getent", "ip")
	needs.Namespaces(t)
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), variable)
	ids := func(of int) []syscall.SysProcIDMap { return []syscall.SysProcIDMap{{HostID: of, Size: 1}} }
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWNET,
		UidMappings: ids(os.Geteuid()), GidMappings: ids(os.Getegid())}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
}

// linkResolvers makes /etc/resolv.conf a link to a file of /run, and starts the loopback.
func linkResolvers(t *testing.T) {
	t.Helper()
	const of, upper, work = "/run/systemd/resolve", "/run/upper", "/run/work"
	for _, err := range []error{
		unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
		unix.Mount("tmpfs", "/run", "tmpfs", 0, ""),
		os.MkdirAll(of, 0o755), os.Mkdir(upper, 0o755), os.Mkdir(work, 0o755),
		os.WriteFile(of+"/stub-resolv.conf", []byte("nameserver 127.0.0.53\n"), 0o644),
		os.Symlink(".."+of+"/stub-resolv.conf", upper+"/resolv.conf"),
		os.WriteFile(upper+"/nsswitch.conf", []byte("hosts: files dns\n"), 0o644),
		os.WriteFile(upper+"/hosts", []byte("127.0.0.1 localhost\n"), 0o644),
		unix.Mount("overlay", "/etc", "overlay", 0, "userxattr,lowerdir=/etc,upperdir="+upper+",workdir="+work),
		exec.Command("ip", "link", "set", "lo", "up").Run(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// serveNames is a name server that has one address for every name.
func serveNames(t *testing.T, address string) {
	t.Helper()
	server, err := net.ListenPacket("udp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	go func() {
		for question := make([]byte, 512); ; {
			n, from, err := server.ReadFrom(question)
			if err != nil {
				return
			}
			end := 12 + strings.IndexByte(string(question[12:n]), 0) + 5
			answer := append([]byte{question[0], question[1], 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0}, question[12:end]...)
			answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 7)
			_, _ = server.WriteTo(answer, from) // It may have gone.
		}
	}()
}
