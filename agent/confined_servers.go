package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"

	"artoo/agent/confine"
	"artoo/agent/permission"
	"artoo/tool/extension"
	"artoo/tool/journal"
	"artoo/tool/mcp"
	"artoo/tool/shell"
)

// confinedServers starts the MCP servers of an agent that run confined, and looks after them as after a background
// command that may write the whole project. nil is that of an agent without any.
type confinedServers struct {
	confiner *confine.Confiner // nil where nothing confines them
	layered  bool              // Each works on a layer of its own.
	notify   func(text string)
	// hosts are those that names stand for, with the files that tell package managers of them.
	hosts func(names []string) (permission.Fetches, error)
	made  *madeGuarded // the files that servers make; it is unknown which server made one

	mu      sync.Mutex
	running map[confine.Confined]string // their names
	few     map[string]bool             // The keys are those that reach a few hosts only.
	over    chan struct{}               // closed when none runs any more
	said    []string                    // The user was notified of these.
	watches sync.WaitGroup
}

// runs reports whether a server runs confined.
func (s *confinedServers) runs(name string) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(slices.Collect(maps.Values(s.running)), name)
}

// limited reports whether a server reaches a few hosts in place of the whole network.
func (s *confinedServers) limited(name string) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.few[name]
}

// network are the hosts that a running server reached, and says of those that it was refused since it was last asked.
func (s *confinedServers) network(name string) (reached, refused []string) {
	if s == nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for confined, of := range s.running {
		if of != name {
			continue
		}
		report := confined.Network()
		for _, at := range report.Reached {
			reached = append(reached, at.Host)
		}
		for _, at := range report.Refused {
			if text := at.Host + " " + at.Why; !slices.Contains(s.said, name+" "+text) {
				s.said, refused = append(s.said, name+" "+text), append(refused, text)
			}
		}
	}
	return reached, refused
}

// keepIn has the files that servers make moved into another journal, nil for none; those made by now go to the old one.
func (s *confinedServers) keepIn(j *journal.Journal) {
	if s != nil {
		s.made.keepIn(j)
	}
}

// watchFor has the files that servers make moved into a journal. It is called once, before the first server
// starts.
func (s *confinedServers) watchFor(k *keeper) {
	policy := *k.session.opt.Policy
	s.made = &madeGuarded{session: k.session, approved: k.approved, journal: k.journal, policy: policy,
		writes: []string{policy.Root}, idle: true}
}

// start starts a server. It is called on any goroutine.
func (s *confinedServers) start(cmd *exec.Cmd, server extension.Server) (shell.Started, error) {
	if s.confiner == nil {
		return nil, &mcp.Error{Server: server.Name, Kind: mcp.KindConfig, Why: "it must run confined, but this machine has no sandbox",
			Hint: "artoo doctor says why"}
	}
	var opened permission.Fetches
	if server.Hosts != nil {
		var err error
		if opened, err = s.hosts(server.Hosts); err != nil {
			return nil, &mcp.Error{Server: server.Name, Kind: mcp.KindConfig, Err: fmt.Errorf("its hosts: %w", err),
				Hint: `hosts = ["@npm", "api.example"]`}
		}
		// None of them is not the whole network.
		opened.Hosts = append([]permission.Host{}, opened.Hosts...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.running) == 0 && !s.layered {
		if err := s.made.begin(); err != nil {
			return nil, err
		}
	}
	confined, err := s.confiner.StartMCP(cmd, s.layered, opened.Hosts, opened.Files)
	if err != nil && len(s.running) == 0 && !s.layered {
		s.made.rest()
	}
	if hidden, ok := errors.AsType[confine.HiddenError](err); ok {
		return nil, &mcp.Error{Server: server.Name, Kind: mcp.KindConfig, Err: hidden, Hint: hidden.Hint()}
	}
	if err != nil {
		return nil, err
	}
	for _, word := range cmd.Args[1:] {
		if filepath.IsAbs(word) && confined.Hides(word) {
			hidden := confine.HiddenBy(confined.Hides, word)
			if text := "server " + server.Name + ": " + hidden.Error() + "; " + hidden.Hint(); !slices.Contains(s.said, text) {
				s.said = append(s.said, text)
				s.notify(text)
			}
		}
	}
	if s.running == nil {
		s.running = map[confine.Confined]string{}
	}
	if s.few == nil {
		s.few = map[string]bool{}
	}
	s.few[server.Name] = server.Hosts != nil
	if s.running[confined] = server.Name; s.layered {
		s.watches.Go(func() { s.awaitLayered(confined) })
		return confined, nil
	}
	if len(s.running) == 1 {
		over := make(chan struct{})
		s.over = over
		s.watches.Go(func() { s.made.watch(over) })
	}
	s.watches.Go(func() { s.await(confined) })
	return confined, nil
}

// await waits for the end of a server.
func (s *confinedServers) await(confined confine.Confined) {
	<-confined.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.running, confined); len(s.running) > 0 {
		return
	}
	close(s.over)
	if err := guarded(s.made.rest); err != nil {
		s.notify(err.Error())
	}
}

// awaitLayered waits for the end of a server on a layer, which is gone then unless a call landed it.
func (s *confinedServers) awaitLayered(confined confine.Confined) {
	<-confined.Done()
	s.mu.Lock()
	_, left := s.running[confined]
	delete(s.running, confined)
	s.mu.Unlock()
	if !left {
		return
	}
	if confined.Wrote(context.Background()) {
		s.notify("server ended; its writes since the last call are discarded")
	}
	if err := confined.Discard(); err != nil {
		s.notify("a layer could not be removed: " + err.Error())
	}
}

// landing ends a server that wrote on its layer, which the caller lands or discards; nil for one that did not. It
// starts again when it is next used.
func (s *confinedServers) landing(ctx context.Context, servers *mcp.Manager, name string) (confine.Confined, error) {
	if s == nil || !s.layered {
		return nil, nil
	}
	s.mu.Lock()
	var found confine.Confined
	for confined, of := range s.running {
		if of == name && confined.Wrote(ctx) {
			found = confined
		}
	}
	delete(s.running, found)
	s.mu.Unlock()
	if found == nil {
		return nil, nil
	}
	if err := servers.End(name); err != nil {
		return nil, errors.Join(err, found.Discard())
	}
	<-found.Done()
	return found, nil
}

// wait waits until the files of ended servers are handled.
func (s *confinedServers) wait() error {
	s.watches.Wait()
	return nil
}

// protect protects the files that a landing replaced.
func (s *confinedServers) protect(cb *serial) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for confined, name := range s.running {
		if err := confined.Protect(); err != nil {
			cb.notice(NoticeWarning, "server "+name+" may write files that programs run automatically: "+err.Error())
		}
	}
}

// moved reports whether files of servers moved away about which the user was not asked yet.
func (s *confinedServers) moved() bool {
	if s == nil {
		return false
	}
	s.made.mu.Lock()
	defer s.made.mu.Unlock()
	return len(s.made.moved) > 0
}
