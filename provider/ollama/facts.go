package ollama

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"artoo/provider"
	"artoo/provider/internal/listing"
	"artoo/provider/internal/wire"
)

type facts struct {
	window int // window in tokens that requests ask for; 0 leaves it to the server
	// listed says that the server lists the model's abilities; else all is tried.
	listed                  bool
	tools, thinking, vision bool
	levels                  bool // it thinks in levels and cannot do without
	cloud                   bool // it runs elsewhere
	noTools, noThinking     bool // refused, whatever the server says
}

// without are the abilities of a model except those it was found not to have.
func (f facts) without(l wire.Learned) facts {
	f.noTools = l.Without(wire.Tools)
	f.noThinking = l.Without(wire.Thinking)
	f.levels = f.levels && !l.Without(wire.ThinkingLevels)
	return f
}

func (f facts) mayCall() bool  { return !f.noTools && (f.tools || !f.listed) }
func (f facts) maySee() bool   { return f.vision || !f.listed }
func (f facts) mayThink() bool { return !f.noThinking && (f.thinking || !f.listed) }

type show struct {
	Capabilities []string                   `json:"capabilities"`
	Info         map[string]json.RawMessage `json:"model_info"`
	Parameters   string                     `json:"parameters"`
	RemoteHost   string                     `json:"remote_host"`
	Details      struct {
		Family string `json:"family"`
	} `json:"details"`
}

// How long a description may take, and how long where a message waits.
const (
	showTimeout     = 15 * time.Second
	describeTimeout = 3 * time.Second
)

// Describe implements provider.Describer: the window that requests will ask for.
func (p *Provider) Describe(ctx context.Context, model string) (provider.ModelInfo, error) {
	info, _ := provider.Lookup("ollama", model)
	f, err := p.lookup(ctx, model, describeTimeout)
	if err != nil {
		if provider.AsError(err) == nil {
			err = &provider.Error{Kind: provider.KindCanceled, Provider: p.Name, Err: err}
		}
		return info, err
	}
	return f.info(p.Name, model), nil
}

// lookup returns the facts of a model, asked once. A missing model or server is the error.
func (p *Provider) lookup(ctx context.Context, model string, limit time.Duration) (facts, error) {
	if f, ok := p.known.models.Load(model); ok {
		return f.(facts), nil
	}
	var answer show
	err := p.get(ctx, limit, "show", model, &answer)
	failed := provider.AsError(err)
	switch {
	case ctx.Err() != nil:
		return facts{}, context.Cause(ctx)
	case failed != nil && (failed.Status == http.StatusNotFound && strings.Contains(failed.Message, "model") ||
		failed.Kind == provider.KindAuth || failed.Status == 0 && failed.Kind != provider.KindTimeout):
		return facts{}, failed
	}
	f := facts{}
	if err == nil {
		f = answer.facts(model)
	}
	f.window = p.window(f.window, f.cloud, answer)
	if failed == nil || failed.Status >= 400 && !listing.Passing(failed.Status) { // it will not say more later
		p.known.models.Store(model, f)
	}
	return f, nil
}

func (s *show) facts(model string) facts {
	has := func(word string) bool { return slices.Contains(s.Capabilities, word) }
	f := facts{listed: len(s.Capabilities) > 0, tools: has("tools"), thinking: has("thinking"), vision: has("vision"),
		cloud: s.RemoteHost != "" || strings.HasSuffix(model, "cloud")}
	f.window = s.limit()
	f.levels = s.Details.Family == "gptoss" || strings.Contains(model, "gpt-oss")
	return f
}

// limit is the window of the model's architecture, or of its largest part; or 0.
func (s *show) limit() (most int) {
	var arch string
	if json.Unmarshal(s.Info["general.architecture"], &arch) == nil {
		if n, err := strconv.Atoi(string(s.Info[arch+".context_length"])); err == nil {
			return wire.Count(n)
		}
	}
	for name, raw := range s.Info {
		if n, err := strconv.Atoi(string(raw)); err == nil && strings.HasSuffix(name, ".context_length") {
			most = max(most, wire.Count(n))
		}
	}
	return most
}

// window is the window to request of a model with the given limit; 0 is unknown.
func (p *Provider) window(limit int, cloud bool, s show) int {
	size := p.Window
	if size <= 0 {
		size = s.parameter("num_ctx")
	}
	switch {
	case size <= 0 && limit <= 0:
		return 0
	case size <= 0 && cloud: // no memory of this machine is at stake
		size = limit
	case size <= 0:
		size = DefaultWindow
	}
	if limit > 0 {
		size = min(size, limit)
	}
	return size
}

// parameter is a number of the Modelfile, or 0.
func (s *show) parameter(name string) int {
	for line := range strings.Lines(s.Parameters) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == name {
			if n, err := strconv.Atoi(f[1]); err == nil {
				return wire.Count(n)
			}
		}
	}
	return 0
}

// get asks the API for a JSON document, by POST if a model is named. limit bounds its time,
// 0 leaves it to ctx. A decoding error is not a *provider.Error.
func (p *Provider) get(ctx context.Context, limit time.Duration, end, model string, v any) error {
	var body []byte
	var err error
	if model != "" {
		body, err = provider.Marshal(map[string]string{"model": model})
	}
	var r wire.Request
	if err == nil {
		r, err = p.request(ctx, end, model, body)
	}
	if err != nil {
		return err
	}
	s := p.Server
	s.Idle = -1
	if limit > 0 {
		s.RequestTimeout = limit
	}
	data, err := wire.Fetch(ctx, s, r)
	if err == nil {
		err = wire.Decode(data, v)
	}
	return err
}

// Version implements provider.LocalHost.
func (p *Provider) Version(ctx context.Context) (string, error) {
	var v struct {
		Version string `json:"version"`
	}
	err := p.get(ctx, 0, "version", "", &v)
	if err == nil && v.Version == "" {
		err = errors.New("it does not report its version")
	}
	return v.Version, p.failure(err)
}

// Windows implements provider.LocalHost.
func (p *Provider) Windows(ctx context.Context, model string) (most, set int, err error) {
	var answer show
	err = p.get(ctx, 0, "show", model, &answer)
	return answer.limit(), answer.parameter("num_ctx"), p.failure(err)
}

// Loaded implements provider.LocalHost.
func (p *Provider) Loaded(ctx context.Context) ([]provider.LoadedModel, error) {
	var running struct {
		Models []provider.LoadedModel `json:"models"`
	}
	err := p.get(ctx, 0, "ps", "", &running)
	return running.Models, p.failure(err)
}

// failure makes an error of the provider's one type.
func (p *Provider) failure(err error) error {
	if err == nil || provider.AsError(err) != nil {
		return err
	}
	return &provider.Error{Kind: provider.KindProvider, Provider: p.Name, Local: p.Local, Err: err}
}
