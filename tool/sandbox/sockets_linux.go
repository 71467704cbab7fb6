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

// open lets in the loopback ports that the user named, and the one that is served: each socket listens in the commands'
// network.
func (s *Sandbox) open(sockets []*os.File) {
	for i, socket := range sockets {
		listener, err := net.FileListener(socket)
		socket.Close()
		if err != nil || i > len(s.config.Loopback) {
			continue // it is none of the launcher's
		}
		s.doors = append(s.doors, listener)
		if i < len(s.config.Loopback) {
			address := "127.0.0.1:" + strconv.Itoa(s.config.Loopback[i])
			go accept(listener, func(inside net.Conn) { forward(inside, address) })
			continue
		}
		if at, ok := listener.Addr().(*net.TCPAddr); ok {
			s.served = at.Port
		}
		go accept(listener, s.config.Served)
	}
}

// ServedAt is the port of Config.Served in the commands' network, 0 for none.
func (s *Sandbox) ServedAt() int { return s.served }

func accept(listener net.Listener, serve func(net.Conn)) {
	for {
		inside, err := listener.Accept()
		if err != nil {
			return // it was closed
		}
		go serve(inside)
	}
}

// forward passes a connection on to a port of the machine.
func forward(inside net.Conn, address string) {
	defer inside.Close()
	outside, err := net.Dial("tcp", address)
	if err != nil {
		return // The command sees its connection end.
	}
	defer outside.Close()
	go pipe(outside, inside)
	pipe(inside, outside)
}

// pipe copies until one side ends, and then ends the other.
func pipe(to, from net.Conn) {
	_, _ = io.Copy(to, from) // either side may end it at any time
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// sockets are the unix sockets that programs of this machine bound, by absolute paths, in the commands'
// view of it: the system's directories too, which are too large to be searched as Config.Denied searches
// the project. A namespace keeps no process from connecting to one by its path.
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
		// The path comes last, and may hold spaces.
		if at := strings.Index(line, " /"); at >= 0 {
			if path := strings.TrimSuffix(line[at+1:], "\n"); within(path, dirs) {
				list = append(list, path)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}
