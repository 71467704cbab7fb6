package cli

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
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
func (a *app) wire(choice config.Choice) (provider.Provider, *config.KeySource, error) {
	server, keys, err := a.server(choice.Provider)
	if err != nil {
		return nil, nil, err
	}
	if a.scripted != nil {
		return a.scripted, keys, nil
	}
	made := registry.Settings{Server: server, Window: a.window(choice), Pace: a.pace()}
	if isProgram(choice.Provider) {
		if made.CLI, err = a.codingCLI(choice.Provider); err != nil {
			return nil, nil, err
		}
	}
	return registry.New(made), keys, nil
}

// window is the context to ask a server for, 0 where the user says nothing.
func (a *app) window(choice config.Choice) int {
	asked := a.cfg.Providers[choice.Provider].Models[choice.Model].Context
	if a.cfg.IsSet("max_context_tokens") {
		if budget := int(a.cfg.MaxContextTokens + a.cfg.MaxTokens); asked == 0 || budget < asked {
			return budget
		}
	}
	return asked
}

// isLocal reports whether a provider's server is on this machine or network.
func (a *app) isLocal(name string) bool {
	address, _, err := a.cfg.Endpoint(name)
	return err == nil && localAddress(registry.Address(name, address))
}

func localAddress(address string) bool {
	u, err := url.Parse(address)
	return err == nil && address != "" && transport.Local(u.Hostname())
}

// server holds the settings of a provider's server.
func (a *app) server(name string) (provider.Server, *config.KeySource, error) {
	address, source, err := a.cfg.Endpoint(name)
	if err != nil {
		return provider.Server{}, nil, err
	}
	if source != "" && strings.ContainsAny(source, " /.") { // a file; else a variable
		source = "base_url in " + source
	}
	address = registry.Address(name, address)
	if u, err := url.Parse(address); err == nil && address != "" {
		if err := a.cfg.Policy.CheckHost(u.Host); err != nil {
			return provider.Server{}, nil, err
		}
	}
	local := localAddress(address)
	idle := time.Duration(a.cfg.IdleTimeout)
	switch {
	case !a.cfg.IsSet("idle_timeout") && local:
		idle = 0 // a local server may think for as long as it likes
	case idle == 0:
		idle = -1
	}
	headers := map[string]string{}
	for k, v := range a.cfg.Providers[name].ExtraHeaders {
		headers[k] = v.Reveal()
	}
	keys, form, client := a.cfg.KeySource(name), a.cfg.Form(name), a.http
	if form.Keyless() && client != nil {
		client = &http.Client{Transport: a.signer(form.Auth)}
	}
	return provider.Server{
		Form: form, Name: name, BaseURL: address, Key: keys.Key, HTTP: client, Headers: headers,
		Idle: idle, RequestTimeout: time.Duration(a.cfg.RequestTimeout), Local: local, Setting: source,
		Catalog: a.catalog,
	}, keys, nil
}

// signer signs requests with a cloud's credentials, which all its servers share.
func (a *app) signer(auth provider.Auth) *cloud.Transport {
	made, _ := a.signers.LoadOrStore(auth, cloud.New(a.http.Transport, cloud.Options{Auth: auth, HTTP: a.tokens, Beside: a.beside,
		Secret: a.cfg.Keep, Run: a.cfg.RunCredentials}))
	return made.(*cloud.Transport)
}

// codingCLI holds the settings of an installed coding CLI.
func (a *app) codingCLI(name string) (*cli.CLI, error) {
	if a.cfg.Offline {
		why := errors.New("it connects to its vendor, and " + a.cfg.Origin("offline") + " forbids that")
		return nil, fail(agent.KindConfig, name, why, "a local server, with ARTOO_BASE_URL")
	}
	c := &cli.CLI{
		Name: name, Dir: a.project.Dir, Root: a.project.Root, Limit: time.Duration(a.cfg.RequestTimeout), Trace: a.log.Record,
		Mode:         func() string { return string(a.agent.Policy().Mode) },
		Instructions: strings.TrimSpace(a.cfg.System + "\n\n" + a.cfg.AppendSystem),
		Announce:     a.streams.headless || a.agent != nil, // else the banner tells
		MaxRetry:     cmp.Or(time.Duration(a.cfg.MaxRetryTime), -1), Catalog: a.catalog,
		Caps: a.caps, Reads: a.longInput, Trusted: a.trustsNow,
	}
	if a.cfg.IsSet("idle_timeout") {
		c.Idle = cmp.Or(time.Duration(a.cfg.IdleTimeout), -1)
	}
	c.Environ, c.Withheld = cli.Environ(name, a.environ, os.Environ(), a.cfg.PassEnv)
	if err := c.Check(); err != nil {
		return nil, err
	}
	a.found.closers = append(a.found.closers, c.Close)
	return c, nil
}

// caps are the caps that a coding CLI is given. It counts its steps only if the user says so.
func (a *app) caps() cli.Caps {
	money, tokens := a.agent.Left()
	caps := cli.Caps{Money: money, Tokens: tokens}
	if a.cfg.IsSet("max_turns") {
		caps.Steps = int(a.cfg.MaxTurns)
	}
	return caps
}

// longInput is the directory that holds the session's long input, if there is any.
func (a *app) longInput() []string {
	if a.agent == nil {
		return nil
	}
	dir := a.agent.OutputDir()
	if files, err := filepath.Glob(filepath.Join(dir, "stdin-*")); err != nil || len(files) == 0 {
		return nil
	}
	return []string{dir}
}

// pace lets the user watch the demo.
func (a *app) pace() func(context.Context, time.Duration) {
	if a.streams.headless || bool(a.cfg.Interactive) {
		return nil
	}
	return demo.Wait
}
