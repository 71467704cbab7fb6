package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"artoo/tool/extension"
	"artoo/tool/text"
)

// foreignServer is a server as the files of several programs have it.
type foreignServer struct {
	Type        string            `json:"type"`
	Command     json.RawMessage   `json:"command"` // a text; opencode has an array
	Args        []scalar          `json:"args"`
	Env         map[string]scalar `json:"env"`
	Environment map[string]scalar `json:"environment"`
	Dir         string            `json:"cwd"`
	URL         string            `json:"url"`
	ServerURL   string            `json:"serverUrl"`
	HTTPURL     string            `json:"httpUrl"`
	Headers     map[string]scalar `json:"headers"`
	Disabled    bool              `json:"disabled"`
	Enabled     *bool             `json:"enabled"`
	Timeout     float64           `json:"timeout"` // milliseconds
	Description string            `json:"description"`
	Include     []string          `json:"includeTools"`
	Exclude     []string          `json:"excludeTools"`
	Without     []string          `json:"disabledTools"`
	AlwaysLoad  bool              `json:"alwaysLoad"`
	OAuth       json.RawMessage   `json:"oauth"`
	EnvFile     string            `json:"envFile"`
	Helper      string            `json:"headersHelper"`
}

// scalar is a text; a number, true and false are taken as they are written.
type scalar string

// UnmarshalJSON implements json.Unmarshaler.
func (s *scalar) UnmarshalJSON(data []byte) error {
	if data[0] == '"' || data[0] == '{' || data[0] == '[' {
		return json.Unmarshal(data, (*string)(s))
	}
	*s = scalar(data)
	return nil
}

// scalarTexts are the texts of scalars by their names; nil stays nil.
func scalarTexts(scalars map[string]scalar) map[string]string {
	if scalars == nil {
		return nil
	}
	texts := map[string]string{}
	for name, value := range scalars {
		texts[name] = string(value)
	}
	return texts
}

// foreignServers gathers the servers of a file.
type foreignServers struct {
	mask    func(string) string // may be nil
	servers []extension.Server
	notes   []string // why some are left out
}

// add adds the server that the file calls name, unless err or something else is against it.
func (all *foreignServers) add(name string, s extension.Server, err error) {
	mask := all.mask
	if mask == nil {
		mask = func(text string) string { return text }
	}
	if err == nil {
		if key, why, hint := checkServer(s, mask); why != "" {
			err = errors.New(strings.TrimPrefix(key+": ", ": ") + why)
			if hint != "" {
				err = fmt.Errorf("%w; %s", err, hint)
			}
		}
	}
	if err == nil && slices.ContainsFunc(all.servers, func(other extension.Server) bool { return other.Name == s.Name }) {
		err = fmt.Errorf("another server is called %s, too", s.Name)
	}
	if err != nil {
		all.notes = append(all.notes, fmt.Sprintf("server %s: %v", name, err))
		return
	}
	all.servers = append(all.servers, s)
}

// ParseMCP reads servers from JSON in the form of .mcp.json: below mcpServers, as VS Code and opencode
// have them below servers and mcp, or by their names alone, as plugins have them. Comments and commas at
// an end are allowed. Notes name the servers that are left out, and why; the error is of a file that is
// not read at all. p has the home directory. mask is as in LoadOptions, and may be nil.
func ParseMCP(data []byte, origin extension.Origin, p Paths, mask func(string) string) (servers []extension.Server, notes []string, err error) {
	all := foreignServers{mask: mask}
	plain := extension.PlainJSON(data)
	var file map[string]json.RawMessage
	if err := json.Unmarshal(plain, &file); err != nil {
		if at, ok := errors.AsType[*json.SyntaxError](err); ok {
			return nil, nil, fmt.Errorf("line %d: %w", 1+bytes.Count(plain[:min(int(at.Offset), len(plain))], []byte("\n")), err)
		}
		return nil, nil, errors.New("is not an object with servers")
	}
	found, ok := serversIn(file)
	if !ok {
		return nil, nil, errors.New("names no servers: it has no mcpServers")
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		var f foreignServer
		if err := json.Unmarshal(found[name], &f); err != nil {
			all.add(name, extension.Server{}, text.Misread(err))
			continue
		}
		if f.Disabled || f.Enabled != nil && !*f.Enabled {
			continue
		}
		s, err := f.server(name, origin, p)
		all.add(name, s, err)
	}
	return all.servers, all.notes, nil
}

// serversIn finds the servers of a file, by their names; ok is false where it has no place for any.
func serversIn(file map[string]json.RawMessage) (found map[string]json.RawMessage, ok bool) {
	object := func(raw json.RawMessage) (inner map[string]json.RawMessage) {
		if json.Unmarshal(raw, &inner) != nil {
			return nil
		}
		return inner
	}
	isServer := func(raw json.RawMessage) bool {
		inner := object(raw)
		return slices.ContainsFunc([]string{"command", "url", "httpUrl", "serverUrl"}, func(key string) bool { return inner[key] != nil })
	}
	for _, key := range []string{"mcpServers", "servers", "mcp"} {
		if inner := object(file[key]); inner != nil && !isServer(file[key]) {
			if below := object(inner["servers"]); key == "mcp" && below != nil {
				inner = below
			}
			return inner, true
		}
	}
	found = maps.Clone(file)
	maps.DeleteFunc(found, func(_ string, raw json.RawMessage) bool { return !isServer(raw) })
	return found, len(found) > 0
}

// server is the server as artoo has it. A server that artoo would not run as the file means is an error.
func (f foreignServer) server(name string, origin extension.Origin, p Paths) (extension.Server, error) {
	s := extension.Server{Name: serverName(name), Origin: origin, About: f.Description, Dir: dirIn(origin.Root, p.inHome(f.Dir)), Headers: scalarTexts(f.Headers), Env: scalarTexts(f.Env),
		URL: f.URL, SSE: f.Type == "sse", Timeout: time.Duration(f.Timeout * float64(time.Millisecond)), Tools: f.Include}
	for _, other := range []string{f.HTTPURL, f.ServerURL} {
		if s.URL == "" {
			s.URL = other
		}
	}
	if s.Env == nil {
		s.Env = scalarTexts(f.Environment)
	}
	for _, glob := range slices.Concat(f.Exclude, f.Without) {
		s.Tools = append(s.Tools, "-"+glob)
	}
	if f.AlwaysLoad {
		s.Direct = []string{"*"}
	}
	if len(f.Command) > 0 {
		var word string
		var words []string
		if json.Unmarshal(f.Command, &word) == nil && word != "" {
			words = []string{word}
		} else if err := json.Unmarshal(f.Command, &words); err != nil {
			return s, errors.New("command is neither a string nor a list of strings")
		}
		for _, word := range f.Args {
			words = append(words, string(word))
		}
		s.Command = words
	}
	var oauth struct {
		ClientID     string `json:"clientId"`
		CallbackPort int    `json:"callbackPort"`
	}
	if len(f.OAuth) > 0 && json.Unmarshal(f.OAuth, &oauth) == nil { // opencode has a truth value there
		s.ClientID, s.CallbackPort = oauth.ClientID, oauth.CallbackPort
	}
	named := slices.Concat(s.Command, slices.Collect(maps.Values(s.Env)), slices.Collect(maps.Values(s.Headers)), []string{s.URL, s.Dir})
	slices.Sort(named)
	switch name := extension.NoValue(strings.Join(named, " ")); {
	case name != "":
		return s, errors.New(name + " has no value here, since artoo keeps no plugin data or settings; artoo mcp add accepts the server with a value")
	case f.Helper != "":
		return s, errors.New("headersHelper is not known here; token = { command = \"…\" } in config.toml runs a command")
	case f.EnvFile != "":
		return s, errors.New("envFile is not known here; name the variables in env as ${NAME}")
	case strings.Contains(strings.Join(s.Command, " "), "${input:"):
		return s, errors.New("${input:…} is not known here; use ${NAME} and export NAME")
	}
	return s, nil
}

// dirIn is a directory that a server names; one of a repository or a bundle may be relative to its root.
func dirIn(root, dir string) string {
	if dir != "" && root != "" && !filepath.IsAbs(dir) && !strings.HasPrefix(dir, "${") {
		return filepath.Join(root, dir)
	}
	return dir
}

// serverName makes a name of one that another program allows.
func serverName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	for strings.Contains(name, "__") {
		name = strings.ReplaceAll(name, "__", "_")
	}
	return strings.Trim(name[:min(len(name), 24)], "_")
}

// ParseCodex reads servers from Codex's config.toml, as ParseMCP reads JSON.
func ParseCodex(data []byte, origin extension.Origin, p Paths, mask func(string) string) (servers []extension.Server, notes []string, err error) {
	all := foreignServers{mask: mask}
	var file struct {
		Servers map[string]struct {
			Command    string            `toml:"command"`
			Args       []string          `toml:"args"`
			Env        map[string]string `toml:"env"`
			EnvVars    []string          `toml:"env_vars"`
			Dir        string            `toml:"cwd"`
			URL        string            `toml:"url"`
			TokenEnv   string            `toml:"bearer_token_env_var"`
			Headers    map[string]string `toml:"http_headers"`
			EnvHeaders map[string]string `toml:"env_http_headers"`
			Tools      []string          `toml:"enabled_tools"`
			Without    []string          `toml:"disabled_tools"`
			Required   bool              `toml:"required"`
			Timeout    float64           `toml:"tool_timeout_sec"`
			Enabled    *bool             `toml:"enabled"`
		} `toml:"mcp_servers"`
	}
	if err := decode(string(data), &file); err != nil {
		return nil, nil, err
	}
	if len(file.Servers) == 0 {
		return nil, nil, errors.New("names no servers: it has no mcp_servers")
	}
	for _, name := range slices.Sorted(maps.Keys(file.Servers)) {
		f := file.Servers[name]
		if f.Enabled != nil && !*f.Enabled {
			continue
		}
		s := extension.Server{Name: serverName(name), Origin: origin, Env: f.Env, PassEnv: f.EnvVars, Dir: p.inHome(f.Dir), URL: f.URL,
			TokenEnv: f.TokenEnv, Headers: f.Headers, Tools: f.Tools, Required: f.Required, Timeout: time.Duration(f.Timeout * float64(time.Second))}
		if f.Command != "" {
			s.Command = append([]string{f.Command}, f.Args...)
		}
		for _, glob := range f.Without {
			s.Tools = append(s.Tools, "-"+glob)
		}
		for header, variable := range f.EnvHeaders {
			if s.Headers == nil {
				s.Headers = map[string]string{}
			}
			s.Headers[header] = "${" + variable + "}"
		}
		all.add(name, s, nil)
	}
	return all.servers, all.notes, nil
}
