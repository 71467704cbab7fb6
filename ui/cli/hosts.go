package cli

import (
	"context"
	"sync"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/provider/transport"
	"artoo/tool/proxy"
	"artoo/tool/registry"
)

// openHosts lets lines in the sandbox reach the hosts that are named for them, within what the system's policy and
// ARTOO_OFFLINE allow.
func (w *workspace) openHosts(opt *agent.ProjectOptions) {
	if !w.facts.Layer || !w.facts.Network {
		return
	}
	way := proxy.Config{Bound: func(ctx context.Context, host string) error {
		if err := w.cfg.Policy.CheckHost(host); err != nil {
			return err
		}
		if w.cfg.Offline {
			return transport.Offline(ctx, host)
		}
		return nil
	}}
	if w.web != nil && !bool(w.cfg.Offline) {
		way.Upstream, way.TLS = w.web.Base.Proxy, w.web.Base.TLSClientConfig
	}
	opt.Proxy = proxy.New(way)
	opt.Policy.World.Fetches = w.fetches()
}

// fetches asks where the packages of a set come from, once for each set.
func (w *workspace) fetches() func(set string) (permission.Fetches, error) {
	var mu sync.Mutex
	type answer struct {
		from permission.Fetches
		err  error
	}
	answers := map[string]answer{}
	return func(set string) (permission.Fetches, error) {
		mu.Lock()
		defer mu.Unlock()
		a, known := answers[set]
		if !known {
			var place registry.Place
			place, a.err = registry.Of(context.Background(), set, w.process.Environ, w.process.Environ.Home())
			a.from.Hosts, a.from.Key, a.from.Files = place.Hosts, place.Key, place.Files
			answers[set] = a
		}
		named, err := registry.NamedBy(w.project.Root, set)
		for _, other := range named {
			a.from.Named = append(a.from.Named, permission.NamedHost{Host: other.Host, File: other.File})
		}
		if a.err == nil {
			a.err = err
		}
		return a.from, a.err
	}
}
