package listing

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"artoo/provider"
	"artoo/provider/internal/wire"
)

// DescribeTimeout is how long a whole description may take: a message waits for it.
const DescribeTimeout = 3 * time.Second

// Source is where a list is.
type Source struct {
	provider.Server
	Base   string   // the address that the API's paths are put behind; never empty
	Models []string // the path of the list
	// Ask makes a request to a path below an address, without a body.
	Ask func(ctx context.Context, base string, path ...string) (wire.Request, error)
}

// Facts keep a server's facts about its models, for several goroutines. They must not be copied.
type Facts struct{ known sync.Map }

// Describe implements provider.Describer within 3 seconds by the server's list and the
// additions of llama.cpp and LM Studio. Guess stays true without a window; it asks again only if the
// server may know more later. An unreachable server or a refused key is an error, a missing
// list is not.
func (f *Facts) Describe(ctx context.Context, s Source, model string) (provider.ModelInfo, error) {
	return f.Once(model, func() (provider.ModelInfo, bool, error) {
		asking := &asking{Source: s, until: time.Now().Add(DescribeTimeout)}
		return asking.describe(ctx, model)
	})
}

// Once is the answer of ask about a model, kept if it is final: asking again would tell no more.
func (f *Facts) Once(model string, ask func() (info provider.ModelInfo, final bool, err error)) (provider.ModelInfo, error) {
	if info, ok := f.known.Load(model); ok {
		return info.(provider.ModelInfo), nil
	}
	info, final, err := ask()
	info.ID = model
	if err == nil && final {
		f.known.Store(model, info)
	}
	return info, err
}

// Silent tells a server that says nothing of a model from one that cannot be reached or refuses
// the key, which is an error.
func Silent(e *provider.Error) (final bool, err error) {
	mute := e.Status != 0 && e.Kind != provider.KindAuth || e.Kind == provider.KindProvider || e.Kind == provider.KindTimeout
	if !mute {
		return false, e
	}
	return !Passing(e.Status), nil
}

type asking struct {
	Source
	until time.Time
}

// describe asks the server; final says that asking again would tell no more.
func (s *asking) describe(ctx context.Context, model string) (info provider.ModelInfo, final bool, err error) {
	info, _ = s.Catalog.Lookup(s.Name, model)
	all, err := s.list(ctx, s.Base, s.Models...)
	if e := provider.AsError(err); e != nil {
		final, err = Silent(e)
		return info, final, err
	}
	m, found := pick(all, model)
	if !found {
		return info, true, nil
	}
	final = true
	switch {
	case m.OwnedBy == "llamacpp":
		s.slot(ctx, &m, len(all) > 1)
		final = m.Context() > 0 // one that is not loaded has none yet
	case s.Local && m.Context() == 0 && strings.HasPrefix(m.OwnedBy, "organization"): // LM Studio's word for nobody
		m, final = s.loaded(ctx, m)
	}
	info = m.Info(s.Server)
	if !info.Guess && max(m.TopProvider.Output, m.Output, m.Reply) <= 0 {
		info.MaxOutput = min(info.MaxOutput, info.Context/2) // room for a prompt
	}
	return info, final, nil
}

// Passing reports whether a server that answers with the status may say more later.
func Passing(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusTooManyRequests ||
		status >= 500 && status != http.StatusNotImplemented
}

// pick finds a model in a list. A server that has but one answers to any name.
func pick(all []Model, model string) (Model, bool) {
	if i := slices.IndexFunc(all, func(m Model) bool { return m.ID == model }); i >= 0 {
		return all[i], true
	}
	if len(all) == 1 {
		return all[0], true
	}
	return Model{}, false
}

// slot asks llama.cpp for the window of one conversation. It must not load a model.
func (s *asking) slot(ctx context.Context, m *Model, several bool) {
	var props struct {
		Settings struct {
			Window int `json:"n_ctx"`
		} `json:"default_generation_settings"`
		Modalities struct {
			Vision *bool `json:"vision"`
		} `json:"modalities"`
	}
	r, err := s.Ask(ctx, s.root(), "props")
	if err == nil && several {
		r.URL, err = wire.Query(r.URL, url.Values{"model": {m.ID}, "autoload": {"false"}})
	}
	var data []byte
	if err == nil {
		data, err = wire.Fetch(ctx, s.asked(), r)
	}
	if err != nil || wire.Decode(data, &props) != nil { // fall back to the list
		return
	}
	if n := wire.Count(props.Settings.Window); n > 0 {
		m.Loaded = n
	}
	if props.Modalities.Vision != nil {
		m.Capabilities.Vision = props.Modalities.Vision
	}
}

// loaded asks LM Studio for the window that a model was loaded with.
func (s *asking) loaded(ctx context.Context, m Model) (found Model, final bool) {
	all, err := s.list(ctx, s.root(), "api", "v0", "models")
	if err != nil {
		return m, true
	}
	i := slices.IndexFunc(all, func(other Model) bool { return other.ID == m.ID })
	if i < 0 {
		return m, true
	}
	found = all[i]
	found.MaxContext = 0 // unknown for this server
	return found, found.Loaded > 0
}

func (s *asking) root() string {
	return strings.TrimSuffix(strings.TrimRight(s.Base, "/"), "/v1")
}

func (s *asking) list(ctx context.Context, base string, path ...string) ([]Model, error) {
	r, err := s.Ask(ctx, base, path...)
	if err != nil {
		return nil, err
	}
	return fetch(ctx, s.asked(), r)
}

// asked is the server with the time that is left for this description.
func (s *asking) asked() provider.Server {
	server := s.Server
	server.RequestTimeout = max(time.Until(s.until), time.Millisecond)
	return server
}
