//go:build amd64 || arm64

package sandbox

import (
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
)

// open lets the loopback ports of the machine in that the user named: each of the
// sockets listens in the commands' network, and what connects there is passed on
// to the machine's own.
func (s *Sandbox) open(sockets []*os.File) {
	for i, socket := range sockets {
		listener, err := net.FileListener(socket)
		socket.Close()
		if err != nil || i >= len(s.config.Loopback) {
			continue // it is none of the launcher's
		}
		s.doors = append(s.doors, listener)
		go forward(listener, "127.0.0.1:"+strconv.Itoa(s.config.Loopback[i]))
	}
}

func forward(listener net.Listener, address string) {
	for {
		inside, err := listener.Accept()
		if err != nil {
			return // it was closed
		}
		go func() {
			defer inside.Close()
			outside, err := net.Dial("tcp", address)
			if err != nil {
				return // The command sees its connection end.
			}
			defer outside.Close()
			go pipe(outside, inside)
			pipe(inside, outside)
		}()
	}
}

// pipe copies until one side ends, and tells the other.
func pipe(to, from net.Conn) {
	_, _ = io.Copy(to, from) // either side may end it at any time
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// sockets are the unix sockets that programs of this machine bound, by absolute paths,
// in what commands see of it: the system's directories too, which are too large to be
// searched as Config.Denied searches the project. A namespace keeps nobody from
// connecting to one by its path.
func (p places) sockets() ([]string, error) {
	table, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, step := range p.steps {
		if step.From == step.To {
			dirs = append(dirs, step.To)
		}
	}
	var list []string
	for line := range strings.Lines(string(table)) {
		// The path comes last, and may hold blanks.
		if at := strings.Index(line, " /"); at >= 0 {
			if path := strings.TrimSuffix(line[at+1:], "\n"); within(path, dirs) {
				list = append(list, path)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}
