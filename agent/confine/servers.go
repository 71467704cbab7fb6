package confine

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"sync"

	"artoo/tool/proxy"
	"artoo/tool/sandbox"
)

// apart is a sandbox beside that of commands, whose caches and temporary files are its own, so that commands reach no
// host by a server. It is opened when the first server comes.
type apart struct {
	once sync.Once
	// confiner is nil before the first one.
	confiner *Confiner
	broken   error
}

// StartMCP starts an MCP server: it writes the whole project except files that programs run automatically, has an
// empty home, and keeps the machine's network, or, with hosts, reaches these alone and sees files as a line does. The
// error is a HiddenError where the sandbox does not show its program. On a layer it writes all of the project there,
// and the project itself does not change.
func (c *Confiner) StartMCP(cmd *exec.Cmd, onLayer bool, hosts []proxy.Host, files map[string]string) (Confined,
	error) {
	of := &c.networked
	if hosts != nil {
		of = &c.hosted
	}
	of.once.Do(func() { of.confiner, of.broken = c.beside(hosts == nil) })
	if of.broken != nil {
		return nil, of.broken
	}
	if hosts != nil && of.confiner.sandbox.ServedAt() == 0 {
		return nil, errors.New("hosts need namespaces, which this machine lacks")
	}
	if onLayer {
		return of.confiner.run(cmd, hosts, sandbox.Options{Layer: true, Exec: true, Grace: background, Files: files})
	}
	return of.confiner.run(cmd, hosts, sandbox.Options{Job: true, Whole: true, Exec: true, Files: files})
}

// beside is the same sandbox with caches and temporary files of its own, open; network leaves it the machine's.
func (c *Confiner) beside(network bool) (*Confiner, error) {
	config := c.given
	name := "hosted"
	if config.Loopback = nil; network {
		config.Network, config.Proxy, name = true, nil, "servers"
	}
	if config.Cache != "" {
		config.Cache = filepath.Join(config.Cache, name)
	}
	other := New(config, c.facts)
	if err := other.open(); err != nil {
		return nil, fmt.Errorf("the sandbox cannot be started: %w", errors.Join(err, other.Close()))
	}
	return other, nil
}
