package openai

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

var _ provider.Describer = (*Chat)(nil)

// describeTimeout is how long a description may take: somebody waits for the
// answer to a message.
const describeTimeout = 3 * time.Second

// Describe implements provider.Describer with the server's list of models, and
// what llama.cpp and LM Studio tell beside it. Guess stays true where the server
// says nothing of the window: it is asked again only where it may know more
// later, as one that is busy or loads its model. A server that cannot be reached,
// or refuses the key, is the error; one that only has no list is none.
func (p *Chat) Describe(ctx context.Context, model string) (provider.ModelInfo, error) {
	p.mu.Lock()
	info, ok := p.described[model]
	p.mu.Unlock()
	if ok {
		return info, nil
	}
	info, settled, err := p.describe(ctx, model)
	if err == nil && settled {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.described == nil {
			p.described = map[string]provider.ModelInfo{}
		}
		p.described[model] = info
	}
	return info, err
}

// describe asks the server; settled says that asking again would tell no more.
func (p *Chat) describe(ctx context.Context, model string) (info provider.ModelInfo, settled bool, err error) {
	info, _ = provider.Lookup(p.Name, model)
	all, err := p.list(ctx, p.BaseURL, "models")
	if e := provider.AsError(err); e != nil {
		mute := e.Status != 0 && e.Kind != provider.KindAuth || e.Kind == provider.KindProvider || e.Kind == provider.KindTimeout
		if !mute {
			return info, false, err
		}
		return info, !passing(e.Status), nil
	}
	m, found := pick(all, model)
	if !found {
		return info, true, nil
	}
	settled = true
	switch {
	case m.OwnedBy == "llamacpp":
		p.slot(ctx, &m, len(all) > 1)
		settled = m.window() > 0 // one that is not loaded has none yet
	case p.Local && m.window() == 0 && strings.HasPrefix(m.OwnedBy, "organization"): // LM Studio's word for nobody
		m, settled = p.loaded(ctx, m)
	}
	info = m.info(p.Name)
	info.ID = model
	if !info.Guess && max(m.TopProvider.Output, m.Output) <= 0 {
		info.MaxOutput = min(info.MaxOutput, info.Context/2) // room for a prompt
	}
	return info, settled, nil
}

// passing reports whether a server that answers with the status may say more
// later. Silence is not among them: who waited for it once does not wait again.
func passing(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusTooManyRequests || status >= 500 && status != http.StatusNotImplemented
}

// pick finds a model in a list. A server that has but one answers to any name.
func pick(all []listed, model string) (listed, bool) {
	if i := slices.IndexFunc(all, func(m listed) bool { return m.ID == model }); i >= 0 {
		return all[i], true
	}
	if len(all) == 1 {
		return all[0], true
	}
	return listed{}, false
}

// slot asks llama.cpp for the window of one conversation, which older servers do
// not list. One of several models is named; a description must not load it.
func (p *Chat) slot(ctx context.Context, m *listed, several bool) {
	var props struct {
		Settings struct {
			Window int `json:"n_ctx"`
		} `json:"default_generation_settings"`
		Modalities struct {
			Vision *bool `json:"vision"`
		} `json:"modalities"`
	}
	r, err := p.asking(ctx, p.root(), []string{"props"})
	if err == nil && several {
		r.URL, err = wire.Query(r.URL, url.Values{"model": {m.ID}, "autoload": {"false"}})
	}
	var data []byte
	if err == nil {
		data, err = wire.Fetch(ctx, p.asked(), r)
	}
	if err != nil || wire.Decode(data, &props) != nil { // what the list says has to do
		return
	}
	if n := wire.Count(props.Settings.Window); n > 0 {
		m.Loaded = n
	}
	if props.Modalities.Vision != nil {
		m.Capabilities.Vision = props.Modalities.Vision
	}
}

// loaded asks LM Studio for the window that a model was loaded with. One that is
// not loaded has none yet: it gets it with the first message.
func (p *Chat) loaded(ctx context.Context, m listed) (found listed, settled bool) {
	all, err := p.list(ctx, p.root(), "api", "v0", "models")
	if err != nil {
		return m, true
	}
	i := slices.IndexFunc(all, func(other listed) bool { return other.ID == m.ID })
	if i < 0 {
		return m, true
	}
	found = all[i]
	found.MaxContext = 0 // what it could have
	return found, found.Loaded > 0
}

// root is the server's address without the /v1 of the API.
func (p *Chat) root() string {
	return strings.TrimSuffix(strings.TrimRight(p.BaseURL, "/"), "/v1")
}

// list fetches a list of models below an address, "" being the vendor's own.
func (p *Chat) list(ctx context.Context, base string, path ...string) ([]listed, error) {
	r, err := p.asking(ctx, base, path)
	if err != nil {
		return nil, wire.Named(err, p.endpoint())
	}
	return fetchList(ctx, p.asked(), r)
}

func (p *Chat) asking(ctx context.Context, base string, path []string) (wire.Request, error) {
	if base == "" {
		return p.request(ctx, path...)
	}
	return request(ctx, base, p.Key, p.Headers, path...)
}

// asked is the endpoint with the patience for a description.
func (p *Chat) asked() wire.Endpoint {
	e := p.endpoint()
	e.RequestTimeout = describeTimeout
	return e
}
