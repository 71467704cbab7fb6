package cli

// The provider that speaks to a server or a coding CLI.

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"artoo/agent"
	"artoo/config"
	"artoo/provider"
	"artoo/provider/anthropic"
	"artoo/provider/cli"
	"artoo/provider/demo"
	"artoo/provider/gemini"
	"artoo/provider/ollama"
	"artoo/provider/openai"
	"artoo/provider/transport"
)

// wire makes the provider that speaks the chosen one's protocol.
func (a *app) wire(choice config.Choice) (provider.Provider, error) {
	name := choice.Provider
	s, err := a.server(name)
	if err != nil {
		return nil, err
	}
	switch name {
	case demo.Name:
		return &demo.Provider{Pace: a.pace()}, nil
	case "anthropic":
		return &anthropic.Provider{Name: name, BaseURL: s.address, Key: s.key, HTTP: a.http, Headers: s.headers, Idle: s.idle, RequestTimeout: a.cfg.RequestTimeout, Local: s.local, Setting: s.setting}, nil
	case "gemini":
		return &gemini.Provider{Name: name, BaseURL: s.address, Key: s.key, HTTP: a.http, Headers: s.headers, Idle: s.idle, RequestTimeout: a.cfg.RequestTimeout, Local: s.local, Setting: s.setting}, nil
	case "ollama":
		p, err := a.ollama(name)
		if err == nil {
			p.Window = a.window(choice)
		}
		return p, err
	case cli.ClaudeName, cli.CodexName, cli.GeminiName:
		return a.codingCLI(name)
	}
	if name == "openai" && openai.SpeaksResponses(s.address) {
		return &openai.Responses{Name: name, BaseURL: s.address, Key: s.key, HTTP: a.http, Headers: s.headers, Idle: s.idle, RequestTimeout: a.cfg.RequestTimeout, Local: s.local, Setting: s.setting}, nil
	}
	return &openai.Chat{Name: name, BaseURL: s.address, Key: s.key, HTTP: a.http, Headers: s.headers, Idle: s.idle, RequestTimeout: a.cfg.RequestTimeout, Local: s.local, Setting: s.setting, Quirks: openai.QuirksAt(name, s.address)}, nil
}

// ollama makes the provider of that name without its model's window.
func (a *app) ollama(name string) (*ollama.Provider, error) {
	s, err := a.server(name)
	return &ollama.Provider{Name: name, BaseURL: s.address, Key: s.key, HTTP: a.http, Headers: s.headers, Idle: s.idle, RequestTimeout: a.cfg.RequestTimeout, Local: s.local, Setting: s.setting}, err
}

// window is the context to ask a server for, 0 where the user says nothing.
func (a *app) window(choice config.Choice) int {
	want := a.cfg.Providers[choice.Provider].Models[choice.Model].Context
	if a.cfg.IsSet("max_context_tokens") {
		if budget := a.cfg.MaxContextTokens + a.cfg.MaxTokens; want == 0 || budget < want {
			return budget
		}
	}
	return want
}

// server is what the settings say of a provider's server.
type server struct {
	address string // "" is the provider's own
	setting string // what names it: a variable, or a place in the file
	local   bool   // on a loopback or private address
	idle    time.Duration
	key     func(context.Context) (string, error)
	headers map[string]string
}

// isLocal reports whether a provider's server is on this machine or network.
func (a *app) isLocal(name string) bool {
	address, _, err := a.cfg.Endpoint(name)
	return err == nil && localAddress(address)
}

func localAddress(address string) bool {
	u, err := url.Parse(address)
	return err == nil && address != "" && transport.Local(u.Hostname())
}

func (a *app) server(name string) (server, error) {
	address, source, err := a.cfg.Endpoint(name)
	if err != nil {
		return server{}, err
	}
	if source != "" && strings.ContainsAny(source, " /.") { // a file; else a variable
		source = "base_url in " + source
	}
	if name == "ollama" {
		address = ollama.Address(address)
	}
	local := localAddress(address)
	idle := a.cfg.IdleTimeout
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
	keys := a.cfg.KeySource(name)
	a.keys.Store(name, keys)
	return server{address: address, setting: source, local: local, idle: idle, key: keys.Key, headers: headers}, nil
}

// codingCLI makes the provider that runs an installed coding CLI.
func (a *app) codingCLI(name string) (provider.Provider, error) {
	if a.cfg.Offline {
		return nil, &agent.Failure{Kind: agent.KindConfig, What: name, Err: errors.New("it connects to its vendor, and " + a.cfg.Origin("offline") + " forbids that"), Hint: "a local server, with ARTOO_BASE_URL"}
	}
	c := &cli.CLI{
		Name: name, Dir: a.project.Dir, Root: a.project.Root, Mode: func() string { return string(a.agent.Policy().Mode) }, Limit: a.cfg.RequestTimeout, Trace: a.log.Record,
		Instructions: strings.TrimSpace(a.cfg.System + "\n\n" + a.cfg.AppendSystem),
		Announce:     a.who.headless || a.agent != nil, // else the banner tells
	}
	c.Caps, c.Reads = a.caps, a.longInput
	if a.cfg.IsSet("idle_timeout") {
		if c.Idle = a.cfg.IdleTimeout; c.Idle == 0 {
			c.Idle = -1
		}
	}
	c.Environ, c.Withheld = cli.Environ(name, a.environ, os.Environ(), a.cfg.PassEnv)
	if err := c.Check(); err != nil {
		return nil, err
	}
	a.closers = append(a.closers, c.Close)
	return c, nil
}

// caps are what a coding CLI is told of them. Its steps are its own affair unless
// the user says how many.
func (a *app) caps() cli.Caps {
	money, tokens := a.agent.Left()
	caps := cli.Caps{Money: money, Tokens: tokens}
	if a.cfg.IsSet("max_turns") {
		caps.Steps = a.cfg.MaxTurns
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

// pace lets a person watch the demo.
func (a *app) pace() func(context.Context, time.Duration) {
	if a.who.headless || a.cfg.Interactive {
		return nil
	}
	return demo.Wait
}
