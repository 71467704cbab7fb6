package cli

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/provider/redact"
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
		place registry.Place
		err   error
	}
	answers := map[string]answer{}
	var files registry.Files
	return func(set string) (permission.Fetches, error) {
		mu.Lock()
		defer mu.Unlock()
		a, known := answers[set]
		if !known {
			own := w.process.Environ
			a.place, a.err = registry.Of(context.Background(), set, own, own.Home(), redact.InVariable)
			if a.err == nil && a.place.Key != "" {
				a.err = errors.New(a.place.Key)
			}
			answers[set] = a
		}
		from := permission.Fetches{Hosts: a.place.Hosts, Files: a.place.Files}
		named, err := files.NamedBy(w.project.Root, set, a.place)
		for _, other := range named {
			if other.Key != "" {
				from.Key = cmp.Or(from.Key, other.Host.Name+" (named by "+other.File+") takes the key of "+other.Key)
			}
			from.Named = append(from.Named, permission.NamedHost{Host: other.Host, File: other.File})
		}
		return from, cmp.Or(a.err, err)
	}
}
