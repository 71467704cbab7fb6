package cli

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"artoo/agent"
	"artoo/config"
	"artoo/provider"
	"artoo/provider/cli"
	"artoo/provider/cloud"
	"artoo/provider/demo"
	"artoo/provider/registry"
	"artoo/provider/transport"
)

// wire makes the provider that speaks the chosen one's protocol, and finds its keys.
func (m *models) wire(choice config.Choice) (provider.Provider, *config.KeySource, error) {
	server, keys, err := m.server(choice.Provider)
	if err != nil {
		return nil, nil, err
	}
	if m.scripted != nil {
		return m.scripted, keys, nil
	}
	made := registry.Settings{Server: server, Window: m.window(choice), Pace: m.pace()}
	if isProgram(choice.Provider) {
		if made.CLI, err = m.codingCLI(choice.Provider); err != nil {
			return nil, nil, err
		}
	}
	return registry.New(made), keys, nil
}

// window is the context to ask a server for, 0 where the user says nothing.
func (m *models) window(choice config.Choice) int {
	asked := m.cfg.Providers[choice.Provider].Models[choice.Model].Context
	if m.cfg.IsSet("max_context_tokens") {
		if budget := int(m.cfg.MaxContextTokens + m.cfg.MaxTokens); asked == 0 || budget < asked {
			return budget
		}
	}
	return asked
}

// isLocal reports whether a provider's server is on this machine or network.
func (m *models) isLocal(name string) bool {
	address, _, err := m.cfg.Endpoint(name)
	return err == nil && localAddress(registry.Address(name, address))
}

func localAddress(address string) bool {
	u, err := url.Parse(address)
	return err == nil && address != "" && transport.Local(u.Hostname())
}

// server holds the settings of a provider's server.
func (m *models) server(name string) (provider.Server, *config.KeySource, error) {
	address, source, err := m.cfg.Endpoint(name)
	if err != nil {
		return provider.Server{}, nil, err
	}
	if source != "" && strings.ContainsAny(source, " /.") { // a file; else a variable
		source = "base_url in " + source
	}
	address = registry.Address(name, address)
	if u, err := url.Parse(address); err == nil && address != "" {
		if err := m.cfg.Policy.CheckHost(u.Host); err != nil {
			return provider.Server{}, nil, err
		}
	}
	local := localAddress(address)
	idle := time.Duration(m.cfg.IdleTimeout)
	switch {
	case !m.cfg.IsSet("idle_timeout") && local:
		idle = 0 // a local server may think for as long as it likes
	case idle == 0:
		idle = -1
	}
	headers := map[string]string{}
	for k, v := range m.cfg.Providers[name].ExtraHeaders {
		headers[k] = v.Reveal()
	}
	places, err := m.cfg.KeyPlaces(name)
	if err != nil {
		return provider.Server{}, nil, err
	}
	hint := ""
	switch {
	case len(places) == 0:
	case slices.Contains([]string{"keyring", "credentials"}, places[0]):
		hint = "artoo login " + name + ", which replaces the refused key"
	default:
		hint = "put a valid key in " + places[0] + ", which has the refused one"
	}
	keys, form, client := m.cfg.KeySource(name), m.cfg.Form(name), m.http
	if form.Keyless() && client != nil {
		client = &http.Client{Transport: m.signer(form.Auth)}
	}
	return provider.Server{
		Form: form, Name: name, BaseURL: address, Key: keys.Key, HTTP: client, Headers: headers,
		Idle: idle, RequestTimeout: time.Duration(m.cfg.RequestTimeout), Local: local, Setting: source, KeyHint: hint,
		Catalog: m.catalog,
	}, keys, nil
}

// signer signs requests with a cloud's credentials, which all its servers share.
func (m *models) signer(auth provider.Auth) *cloud.Transport {
	made, _ := m.signers.LoadOrStore(auth, cloud.New(m.http.Transport, cloud.Options{Auth: auth, Environ: m.process.Environ, HTTP: m.tokens, Beside: m.beside,
		Secret: m.cfg.Keep, Run: m.cfg.RunCredentials}))
	return made.(*cloud.Transport)
}

// codingCLI holds the settings of an installed coding CLI.
func (m *models) codingCLI(name string) (*cli.CLI, error) {
	if m.cfg.Offline {
		why := errors.New("it connects to its vendor, and " + m.cfg.Origin("offline") + " forbids that")
		return nil, fail(agent.KindConfig, name, why, "a local server, with ARTOO_BASE_URL")
	}
	c := &cli.CLI{
		Name: name, Own: m.process.Environ, Dir: m.project.Dir, Root: m.project.Root,
		Idle: cli.Silence, Limit: cmp.Or(time.Duration(m.cfg.RequestTimeout), cli.Unlimited), MaxRetry: time.Duration(m.cfg.MaxRetryTime),
		Trace: m.log.Record, Terms: m.terms, Catalog: m.catalog,
		Instructions: strings.TrimSpace(m.cfg.System + "\n\n" + m.cfg.AppendSystem),
		// In a conversation the banner reports the rules of the first model.
		Announce: m.streams.headless || m.agent != nil,
	}
	if m.cfg.IsSet("idle_timeout") {
		c.Idle = cmp.Or(time.Duration(m.cfg.IdleTimeout), cli.Unlimited)
	}
	c.Environ, c.Withheld = cli.Environ(name, m.environ, m.process.Environ, m.cfg.PassEnv, m.cfg.Keep)
	if err := c.Check(); err != nil {
		return nil, err
	}
	m.closers = append(m.closers, c.Wait)
	return c, nil
}

// terms are what holds for the next run of a coding CLI. It counts its steps only if the user says so.
func (m *models) terms() cli.Terms {
	t := cli.Terms{Mode: string(m.agent.Policy().Mode), Reads: m.longInput()}
	t.Trusted, t.Untrusted = m.extensions.trustsNow()
	t.Money, t.Tokens = m.agent.Left()
	if m.cfg.IsSet("max_turns") {
		t.Steps = int(m.cfg.MaxTurns)
	}
	return t
}

// longInput is the directory that holds the session's long input, if there is any.
func (m *models) longInput() []string {
	if m.agent == nil {
		return nil
	}
	dir := m.agent.OutputDir()
	if files, err := filepath.Glob(filepath.Join(dir, "stdin-*")); err != nil || len(files) == 0 {
		return nil
	}
	return []string{dir}
}

// pace lets the user watch the demo.
func (m *models) pace() func(context.Context, time.Duration) {
	if m.streams.headless || bool(m.cfg.Interactive) {
		return nil
	}
	return demo.Wait
}
