package ollama

import (
	"context"
	"slices"
	"sync"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

var _ provider.Lister = (*Provider)(nil)

// tagged is a model in the answer of /api/tags.
type tagged struct {
	Name         string   `json:"name"`
	RemoteHost   string   `json:"remote_host"`
	Window       int      `json:"context_length"`
	Capabilities []string `json:"capabilities"`
	Details      struct {
		Family string `json:"family"`
		Window int    `json:"context_length"`
	} `json:"details"`
}

// How many models are asked for one by one, and how many at a time.
const (
	mostShown  = 32
	showAtOnce = 4
)

// Models implements provider.Lister, the last changed first. Embeddings are left out.
func (p *Provider) Models(ctx context.Context) ([]provider.ModelInfo, error) {
	limited, cancel := context.WithTimeout(ctx, provider.ListTimeout)
	defer cancel()
	r, err := p.request(ctx, "tags", "", nil)
	if err != nil {
		return nil, err
	}
	var tags struct {
		Models []tagged `json:"models"`
	}
	if err := wire.List(ctx, p.Server, r, &tags); err != nil {
		return nil, err
	}
	models := slices.DeleteFunc(tags.Models, func(m tagged) bool {
		return m.Name == "" || len(m.Capabilities) > 0 && !slices.Contains(m.Capabilities, "completion")
	})
	list := make([]provider.ModelInfo, len(models))
	slots := make(chan struct{}, showAtOnce)
	var asking sync.WaitGroup
	for i, m := range models {
		f := m.facts(p)
		if (!f.listed || f.window == 0) && i < mostShown {
			asking.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				// A fact that cannot be asked for stays a guess.
				if found, err := p.lookup(limited, m.Name, describeTimeout); err == nil {
					f = found
				}
				list[i] = f.info(p.Name, m.Name)
			})
			continue
		}
		list[i] = f.info(p.Name, m.Name)
	}
	asking.Wait()
	return list, nil
}

func (m tagged) facts(p *Provider) facts {
	s := show{Capabilities: m.Capabilities, RemoteHost: m.RemoteHost}
	s.Details.Family = m.Details.Family
	f := s.facts(m.Name)
	if limit := wire.Count(max(m.Window, m.Details.Window)); limit > 0 {
		f.window = p.window(limit, f.cloud, s)
	}
	return f
}

// info holds the facts of a model, with the catalogue's guess for the rest.
func (f facts) info(name, model string) provider.ModelInfo {
	info, _ := provider.Lookup("ollama", model)
	info.Provider = name
	if f.window > 0 {
		info.Context, info.MaxOutput, info.Guess = f.window, f.window/2, false
		info.ContextFrom = provider.Source{Name: provider.FromServer}
	}
	if f.listed {
		info.Tools, info.Images, info.Reasoning = f.tools, f.vision, f.thinking
	}
	if f.cloud {
		info.Price, info.PriceFrom = nil, provider.Source{} // another company charges for it
	}
	return info
}
