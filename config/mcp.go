package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"artoo/tool/atomicfile"
	"artoo/tool/environ"
	"artoo/tool/extension"
	"artoo/tool/names"
)

// serverTable is a table [mcp.NAME].
type serverTable struct {
	Args     []string `toml:"args"`
	Dir      string   `toml:"cwd"`
	PassEnv  []string `toml:"pass_env"`
	URL      string   `toml:"url"`
	Type     string   `toml:"type"`
	About    string   `toml:"about"`
	ClientID string   `toml:"client_id"`
	Port     int      `toml:"callback_port"`
	Tools    []string `toml:"tools"`
	Read     []string `toml:"read"`
	Direct   []string `toml:"direct"`
	Timeout  string   `toml:"timeout"`
	Longest  string   `toml:"timeout_max"`
	Required *bool    `toml:"required"`
	Confine  *bool    `toml:"confine"`
	Hosts    []string `toml:"hosts"`
}

// applyMCP reads the tables of [mcp], in the order of the file.
func (l loader) applyMCP(t *table) {
	for _, name := range t.keys() {
		sub := t.sub(name)
		if sub == nil {
			continue
		}
		s := extension.Server{Name: name, Origin: extension.Origin{Source: extension.SourceUser, Place: t.doc.where(sub.path...)}}
		before := len(t.doc.problems)
		var in serverTable
		sub.fill(&in)
		s.Dir, s.PassEnv, s.URL, s.About, s.ClientID, s.CallbackPort = l.cfg.Paths.inHome(in.Dir), in.PassEnv, in.URL, in.About, in.ClientID, in.Port
		s.Tools, s.Read, s.Direct, s.Hosts = in.Tools, in.Read, in.Direct, in.Hosts
		s.Required, s.Confine, s.SSE = in.Required != nil && *in.Required, in.Confine != nil && *in.Confine, in.Type == "sse"
		s.Command = sub.command("command")
		if len(s.Command) == 1 && len(in.Args) == 0 { // a string is a program with arguments, as people type it
			s.Command = strings.Fields(s.Command[0])
		}
		s.Command = append(s.Command, in.Args...)
		s.Env, s.Headers = sub.strings("env"), sub.strings("headers")
		s.Timeout, s.TimeoutMax = sub.time("timeout", in.Timeout), sub.time("timeout_max", in.Longest)
		s.TokenEnv, s.TokenCommand = sub.token("token")
		s.ClientSecretEnv, s.ClientSecretCommand = sub.token("client_secret")
		sub.leftover(true)
		if _, there := sub.m["type"]; there && !slices.Contains([]string{"stdio", "http", "sse"}, in.Type) {
			t.doc.wrong(sub.at("type"), sub.name("type")+": "+asWritten(in.Type)+" is not one of stdio, http, sse", `type = "sse"`)
		}
		if len(t.doc.problems) > before {
			continue // else the rest of the table would be blamed
		}
		if key, why, hint := checkServer(s, l.cfg.mask); why != "" {
			t.doc.wrong(sub.at(key), strings.TrimSuffix(sub.name(key), ".")+": "+why, hint)
			continue
		}
		l.addServer(s)
	}
}

// addServer adds a server in the place of one of the same name that a weaker source has.
func (l loader) addServer(s extension.Server) {
	l.cfg.MCPServers = slices.DeleteFunc(l.cfg.MCPServers, func(old extension.Server) bool { return old.Name == s.Name })
	l.cfg.MCPServers = append(l.cfg.MCPServers, s)
}

// strings reads a table of texts; nil where there is none.
func (t *table) strings(key string) map[string]string {
	sub := t.sub(key)
	if sub == nil {
		return nil
	}
	values := map[string]string{}
	for _, name := range sub.keys() {
		var value string
		if sub.store(name, &value) {
			values[name] = value
		}
	}
	return values
}

// time is a duration that was written as text.
func (t *table) time(key, text string) time.Duration {
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		t.doc.wrong(t.at(key), t.name(key)+" is not a time like 60s or 5m", key+` = "60s"`)
	}
	return d
}

// token reads where a secret comes from: a variable or a command.
func (t *table) token(key string) (variable, command string) {
	if _, isText := t.m[key].(string); isText {
		t.asked[key] = true
		t.doc.wrong(t.at(key), t.name(key)+" must not hold a secret itself", key+` = { env = "NAME" }, or { command = "gh auth token" }`)
		return "", ""
	}
	sub := t.sub(key)
	if sub == nil {
		return "", ""
	}
	sub.store("env", &variable)
	sub.store("command", &command)
	sub.leftover(true)
	return variable, command
}

// checkServer reports the fault of a server: its key, the reason, and the form that works; why is "" if there is none.
func checkServer(s extension.Server, mask func(string) string) (key, why, hint string) {
	switch {
	case !validServerName(s.Name):
		return "", "a server's name has 1 to 24 characters of a-z, 0-9, - and _, no two _ side by side", "[mcp.my-server]"
	case len(s.Command) == 0 && s.URL == "":
		return "", "a server needs a command or a url", `command = ["npx", "my-server"]`
	case len(s.Command) > 0 && s.URL != "":
		return "url", "a server has a command or a url, not both", ""
	case s.Dir != "" && !filepath.IsAbs(s.Dir) && !strings.HasPrefix(s.Dir, "${"):
		return "cwd", "must be an absolute path", ""
	case s.URL != "" && checkURL(s.URL) != nil:
		return "url", checkURL(s.URL).Error(), `url = "https://example.org/mcp"`
	case s.URL != "" && s.Hosts != nil:
		return "hosts", "is for a server with a command", ""
	}
	for _, list := range []struct {
		key   string
		globs []string
	}{{"tools", s.Tools}, {"read", s.Read}, {"direct", s.Direct}} {
		for _, glob := range list.globs {
			if _, err := path.Match(strings.TrimPrefix(glob, "-"), ""); err != nil {
				return list.key, glob + " is not a glob", list.key + ` = ["list_*"]`
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		if isLiteralKey(name, s.Env[name], mask) {
			return "env", name + " contains a key", name + ` = "${` + name + `}", and export ` + name + "=…"
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		if isLiteralKey(name, s.Headers[name], mask) {
			if strings.EqualFold(name, "Authorization") {
				return "headers", name + " contains a key", `token = { env = "NAME" }, or "Bearer ${NAME}"`
			}
			return "headers", name + " contains a key", `"${NAME}", and export NAME=…`
		}
	}
	if u, err := url.Parse(s.URL); err == nil && s.URL != "" {
		if _, secret := u.User.Password(); secret {
			return "url", "holds a password", `token = { env = "NAME" }`
		}
		for _, part := range strings.Split(u.RawQuery, "&") {
			name, value, _ := strings.Cut(part, "=")
			if isLiteralKey(name, value, mask) {
				return "url", name + " contains a key", name + "=${NAME}, and export NAME=…"
			}
		}
		if mask(s.URL) != s.URL {
			return "url", "contains a key", `"https://…/${NAME}", and export NAME=…`
		}
	}
	for _, word := range s.Command {
		if mask(word) != word {
			return "command", "contains a key", `env = { NAME = "${NAME}" }`
		}
	}
	return "", "", ""
}

// CheckServer reports the fault of a server that a command line names. Errors are *Error.
func CheckServer(s extension.Server, mask func(string) string) error {
	key, why, hint := checkServer(s, mask)
	if why == "" {
		return nil
	}
	return wrong(kindUsage, strings.TrimSuffix("server "+s.Name+", "+key, ", "), why, hint)
}

// ServerAt is a server that is named by its address alone.
func ServerAt(address string) (extension.Server, error) {
	s := extension.Server{Name: "url", URL: address, Origin: extension.Origin{Source: extension.SourceUser, Place: "the command line"}}
	if u, err := url.Parse(address); err == nil && u.Hostname() != "" {
		s.Name = serverName(u.Hostname())
	}
	return s, CheckServer(s, func(text string) string { return text })
}

// validServerName keeps the full names of tools short, and separates their parts. Those of bundles
// begin with the bundle's name.
func validServerName(name string) bool {
	if _, own, bundled := strings.Cut(name, ":"); bundled {
		name = own
	}
	return name != "" && len(name) <= 24 && !strings.Contains(name, "__") && strings.Trim(name, "_") == name &&
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") == ""
}

// isLiteralKey reports whether a value is a key itself, not the name of a variable.
func isLiteralKey(name, value string, mask func(string) string) bool {
	if mask(value) != value {
		return true
	}
	rest := value
	for {
		before, after, found := strings.Cut(rest, "${")
		if !found {
			break
		}
		_, behind, closed := strings.Cut(after, "}")
		if !closed {
			break
		}
		rest = before + behind
	}
	for _, scheme := range []string{"Bearer", "Basic", "token", "Token"} {
		rest = strings.TrimPrefix(strings.TrimSpace(rest), scheme)
	}
	return strings.TrimSpace(rest) != "" && environ.IsCredential(strings.ReplaceAll(name, "-", "_"))
}

// loadMCP reads the files of --mcp and ARTOO_MCP. The word none drops all servers named before it.
func (l loader) loadMCP() error {
	for _, file := range l.cfg.MCP {
		if file == "none" {
			l.cfg.MCPServers = nil
			continue
		}
		data, err := os.ReadFile(names.Abs(l.cfg.dir, l.cfg.Paths.inHome(file)))
		if err != nil {
			return because(kindUsage, file, cause(err)+" (named by "+l.cfg.Origin("mcp")+")", err, "--mcp none, or a file like .mcp.json")
		}
		servers, notes, err := ParseMCP(data, extension.Origin{Source: extension.SourceUser, Place: file}, l.cfg.Paths, l.cfg.mask)
		if err != nil {
			return because(kindConfig, file, err.Error(), err, `{"mcpServers":{"NAME":{"command":"npx","args":["…"]}}}`)
		}
		for _, note := range notes {
			return wrong(kindConfig, file, note, "fix the entry, or leave the file out")
		}
		for _, s := range servers {
			l.addServer(s)
		}
	}
	return nil
}

// AddServer writes a table [mcp.NAME] into the config file at path, as AddRule writes. A table that is
// there already is an error.
func (p Paths) AddServer(path string, s extension.Server) error {
	keys := []string{"mcp", s.Name}
	return editFile(path, keys, func(src string, d *document) (string, any, error) {
		if _, there := lookUp(d.root, keys); there {
			return "", nil, wrong(kindUsage, "server "+s.Name, "a server of this name exists in "+p.shorten(path), "artoo mcp rm "+s.Name)
		}
		if src != "" {
			src = strings.TrimSuffix(src, "\n") + "\n\n"
		}
		table := serverTOML(s)
		value := map[string]any{}
		if err := decode(table, &value); err != nil {
			return "", nil, err
		}
		written, _ := lookUp(value, keys)
		return src + table, written, nil
	})
}

// serverTOML is a server as config.toml has it.
func serverTOML(s extension.Server) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[mcp.%s]\n", s.Name)
	text := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s = %s\n", key, quoteTOML(value))
		}
	}
	list := func(key string, values []string) {
		if values == nil {
			return
		}
		quoted := make([]string, len(values))
		for i, v := range values {
			quoted[i] = quoteTOML(v)
		}
		fmt.Fprintf(&b, "%s = [%s]\n", key, strings.Join(quoted, ", "))
	}
	table := func(key string, values map[string]string) {
		if len(values) == 0 {
			return
		}
		var pairs []string
		for _, name := range slices.Sorted(maps.Keys(values)) {
			pairs = append(pairs, quoteTOML(name)+" = "+quoteTOML(values[name]))
		}
		fmt.Fprintf(&b, "%s = { %s }\n", key, strings.Join(pairs, ", "))
	}
	text("url", s.URL)
	if s.SSE {
		text("type", "sse")
	}
	list("command", s.Command)
	text("cwd", s.Dir)
	table("env", s.Env)
	list("pass_env", s.PassEnv)
	table("headers", s.Headers)
	if s.TokenEnv != "" {
		fmt.Fprintf(&b, "token = { env = %s }\n", quoteTOML(s.TokenEnv))
	}
	text("client_id", s.ClientID)
	if s.CallbackPort != 0 {
		fmt.Fprintf(&b, "callback_port = %d\n", s.CallbackPort)
	}
	text("about", s.About)
	list("tools", s.Tools)
	list("direct", s.Direct)
	if s.Timeout != 0 {
		text("timeout", s.Timeout.String())
	}
	if s.Required {
		b.WriteString("required = true\n")
	}
	return b.String()
}

// RemoveServer takes the table [mcp.NAME] and those below it out of the config file at path; all else
// stays byte for byte. It reports whether there was one.
func RemoveServer(path, name string) (was bool, err error) {
	keys := []string{"mcp", name}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, because(kindConfig, path, cause(err), err, "check the owner and mode of the file")
	}
	d, err := parseDocument(path, data)
	if err != nil {
		return false, err
	}
	if _, there := lookUp(d.root, keys); !there {
		return false, nil
	}
	kept, inside := []string{}, false
	for line := range strings.Lines(string(data)) {
		if header := strings.TrimSpace(line); strings.HasPrefix(header, "[") && !strings.HasPrefix(header, "[[") {
			head, _, _ := strings.Cut(strings.TrimPrefix(header, "["), "]")
			head = strings.NewReplacer(" ", "", `"`, "", "'", "").Replace(head)
			inside = head == "mcp."+name || strings.HasPrefix(head, "mcp."+name+".")
		}
		if !inside {
			kept = append(kept, line)
		}
	}
	text, changed := strings.Join(kept, ""), map[string]any{}
	if servers, ok := d.root["mcp"].(map[string]any); ok {
		if delete(servers, name); len(servers) == 0 {
			delete(d.root, "mcp")
		}
	}
	if err := decode(text, &changed); err != nil || !reflect.DeepEqual(changed, d.root) {
		return true, byHand(path, d, keys)
	}
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := atomicfile.Write(path, []byte(text), mode); err != nil {
		return true, because(kindConfig, path, err.Error(), err, "check the owner and mode of the directory")
	}
	return true, nil
}
