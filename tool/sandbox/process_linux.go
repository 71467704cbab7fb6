//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"artoo/tool/sandbox/launcher"
)

// Process is a command that runs. Wait is called once; Signal and Kill from any
// goroutine, also after the end.
type Process struct {
	socket   *net.UnixConn
	begun    time.Time
	writable []string
	denied   []string
	options  Options
	leave    func()   // has it no longer count as one that runs
	onDisk   bool     // the layer is
	layer    *os.File // what was written; set by Wait for Options.Layer
}

// Wait waits until the command and all it started have ended. The error says that
// the launcher went away, and the command with it.
func (p *Process) Wait() (Exit, error) {
	defer p.leave()
	defer p.socket.Close()
	said, files, err := receive(p.socket)
	if err != nil {
		return Exit{}, fmt.Errorf("sandbox: the launcher has ended: %w", err)
	}
	for _, file := range files {
		if p.options.Layer && p.layer == nil {
			p.layer = file
		} else if err := p.discard(file); err != nil {
			return Exit{}, fmt.Errorf("sandbox: temporary files: %w", err)
		}
	}
	if len(said) != 2 || said[0][0] != launcher.SayExit || len(said[0]) != 4 || len(said[1])%2 != 0 {
		return Exit{}, fmt.Errorf("sandbox: an unknown answer of the launcher: %q", said)
	}
	status, err := strconv.Atoi(said[0][1])
	if err != nil {
		return Exit{}, fmt.Errorf("sandbox: exit status: %w", err)
	}
	exit := Exit{Status: syscall.WaitStatus(status), Limit: said[0][3]}
	if exit.Stopped, err = strconv.Atoi(said[0][2]); err != nil {
		return Exit{}, fmt.Errorf("sandbox: stopped processes: %w", err)
	}
	for i := 0; i < len(said[1]); i += 2 {
		n, err := strconv.Atoi(said[1][i+1])
		if err != nil {
			return Exit{}, fmt.Errorf("sandbox: denials: %w", err)
		}
		exit.Denials = append(exit.Denials, Denial{Wall: said[1][i], What: walls[said[1][i]], N: n})
	}
	return exit, nil
}

// walls words the walls.
var walls = map[string]string{
	launcher.WallNetwork:   "there is no network but a loopback of its own",
	launcher.WallSocket:    "no sockets",
	launcher.WallNamespace: "no new namespaces",
	launcher.WallTrace:     "no looking into other processes",
	launcher.WallHome:      "the home directory is an empty one of the session's own; what is written there goes away",
}

// Signal sends a signal to the command and all it started.
func (p *Process) Signal(signal syscall.Signal) error {
	_, err := p.socket.Write(launcher.Encode([]string{launcher.SaySignal, strconv.Itoa(int(signal))}))
	return err
}

// Kill ends the command and all it started at once.
func (p *Process) Kill() error { return p.Signal(syscall.SIGKILL) }

func readFull(r io.Reader, p []byte) error {
	_, err := io.ReadFull(r, p)
	return err
}

func cutLine(s string) (line, rest string, more bool) { return strings.Cut(s, "\n") }
