package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"artoo/tool/extension"
)

// masked hides text that looks like a key, as redact.Mask does.
func masked(text string) string { return strings.ReplaceAll(text, "sk-live-1234567890", "***") }

func TestServersOfTheConfigFile(t *testing.T) {
	t.Parallel()
	c, err := loadText(t, `
[mcp.github]
url = "https://api.example.org/mcp/"
token = { env = "GITHUB_TOKEN" }
client_id = "c"
client_secret = { command = "pass c" }
about = "issues"
[mcp.db]
command = ["uvx", "mcp-postgres"]
env = { PGHOST = "${PGHOST}" }
pass_env = ["PGPASSWORD"]
tools = ["-drop_*"]
read = ["query", "list_*"]
direct = ["query"]
timeout = "90s"
timeout_max = "1h"
required = true
confine = true
[mcp.old]
command = "npx"
args = ["--port", "1"]
`)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.MCPServers) != 3 {
		t.Fatalf("got %+v", c.MCPServers)
	}
	github, db, old := c.MCPServers[0], c.MCPServers[1], c.MCPServers[2]
	if github.URL != "https://api.example.org/mcp/" || github.TokenEnv != "GITHUB_TOKEN" || github.ClientSecretCommand != "pass c" || github.About != "issues" ||
		github.Source != extension.SourceUser || github.Place != "config.toml line 2" {
		t.Errorf("got %+v", github)
	}
	if !slices.Equal(db.Command, []string{"uvx", "mcp-postgres"}) || db.Env["PGHOST"] != "${PGHOST}" || db.Timeout != 90*time.Second ||
		db.TimeoutMax != time.Hour || !db.Required || !db.Confined() || !slices.Equal(db.Read, []string{"query", "list_*"}) {
		t.Errorf("got %+v", db)
	}
	if !slices.Equal(old.Command, []string{"npx", "--port", "1"}) {
		t.Errorf("got %q", old.Command)
	}
}

func TestServersThatAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"[mcp.s]\ncomand = [\"x\"]":                                                              "did you mean command",
		"[mcp.s]\nabout = \"x\"":                                                                 "needs a command or a url",
		"[mcp.s]\ncommand = [\"x\"]\nurl = \"https://a.example/\"":                               "not both",
		"[mcp.Upper]\ncommand = [\"x\"]":                                                         "a-z, 0-9",
		"[mcp.a__b]\ncommand = [\"x\"]":                                                          "a-z, 0-9",
		"[mcp.a_]\ncommand = [\"x\"]":                                                            "a-z, 0-9",
		"[mcp.s]\nurl = \"ftp://a.example/\"":                                                    "http",
		"[mcp.s]\ncommand = [\"x\"]\nenv = { API_KEY = \"abcdef\" }":                             "API_KEY contains a key",
		"[mcp.s]\ncommand = [\"x\"]\nenv = { HOST = \"sk-live-1234567890\" }":                    "HOST contains a key",
		"[mcp.s]\nurl = \"https://a.example/\"\nheaders = { Authorization = \"Bearer abcdef\" }": "Authorization contains a key",
		"[mcp.s]\nurl = \"https://a.example/?api_key=abc\"":                                      "api_key contains a key",
		"[mcp.s]\nurl = \"https://u:p@a.example/\"":                                              "holds a password",
		"[mcp.s]\nurl = \"https://a.example/\"\ntoken = \"abcdef\"":                              "must not hold a secret itself",
		"[mcp.s]\ncommand = [\"x\"]\ntimeout = \"soon\"":                                         "not a time like",
		"[mcp.s]\ncommand = [\"x\"]\ntools = [\"[\"]":                                            "not a glob",
		"[mcp.s]\ncommand = [\"x\"]\ntype = \"tcp\"":                                             "is not one of stdio",
	} {
		if _, err := loadText(t, text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "abcdef") {
			t.Errorf("%s\n got %v, want %q", text, err, want)
		}
	}
	for _, text := range []string{
		"[mcp.s]\ncommand = [\"x\"]\nenv = { API_KEY = \"${API_KEY}\", MODE = \"fast\" }",
		"[mcp.s]\nurl = \"https://a.example/?key=${K}\"\nheaders = { Authorization = \"Bearer ${T:-}\", X-Team = \"a\" }",
	} {
		if _, err := loadText(t, text); err != nil {
			t.Errorf("%s\n got %v", text, err)
		}
	}
}

// loadText loads settings from a config file of this text.
func loadText(t *testing.T, text string) (*Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return load(LoadOptions{Flags: map[string][]string{"config": {path}}, Mask: masked})
}

func TestServersOfOtherPrograms(t *testing.T) {
	t.Parallel()
	servers, notes, err := ParseMCP([]byte(`{
	// a comment, as editors allow
	"mcpServers": {
		"My Server!": {"command": "npx", "args": ["-y", "x"], "env": {"A": "${B:-c}"}, "cwd": "/tmp"},
		"web": {"type": "http", "url": "https://a.example/mcp", "headers": {"Authorization": "Bearer ${T}"}},
		"old": {"type": "sse", "url": "https://a.example/sse"},
		"gemini": {"httpUrl": "https://a.example/g", "includeTools": ["a"], "excludeTools": ["b"], "timeout": 5000},
		"off": {"command": "x", "disabled": true},
		"leaky": {"command": "x", "env": {"TOKEN": "abcdef"}},
		"asks": {"command": "x", "args": ["${input:key}"]}, /* and a comma at the end */
	},
}`), extension.Origin{Source: extension.SourceRepository}, Paths{}, masked)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range servers {
		names = append(names, s.Name)
	}
	if got := strings.Join(names, " "); got != "my-server- gemini old web" {
		t.Errorf("got %s", got)
	}
	if len(notes) != 2 || !strings.Contains(notes[0]+notes[1], "leaky") || strings.Contains(notes[0]+notes[1], "abcdef") {
		t.Errorf("got %q", notes)
	}
	if g := servers[1]; g.URL != "https://a.example/g" || g.Timeout != 5*time.Second || !slices.Equal(g.Tools, []string{"a", "-b"}) {
		t.Errorf("got %+v", g)
	}
	if !servers[2].SSE || servers[0].Dir != "/tmp" || servers[0].Source != extension.SourceRepository {
		t.Errorf("got %+v", servers)
	}
	for text, want := range map[string]string{
		`{"servers":{"a":{"command":"x"}}}`:                                          "a",
		`{"mcp":{"servers":{"a":{"command":"x"}}}}`:                                  "a",
		`{"a":{"command":"x"}}`:                                                      "a",
		`{"mcp":{"command":"x"}}`:                                                    "mcp",
		`{"$schema":"s","servers":{"command":"x"},"note":{}}`:                        "servers",
		`{"mcpServers":{"a":{"command":"x"},"b":{"command":"y","env":3}}}`:           "a",
		`{"mcp":{"a":{"type":"local","command":["x","y"],"environment":{"E":"1"}}}}`: "a",
	} {
		servers, _, err := ParseMCP([]byte(text), extension.Origin{}, Paths{}, nil)
		if err != nil || len(servers) != 1 || servers[0].Name != want || servers[0].Command[0] != "x" {
			t.Errorf("%s: %+v, %v", text, servers, err)
		}
	}
	if _, _, err := ParseMCP([]byte("{\n\"mcpServers\": {\n\"a\": nonsense}}"), extension.Origin{}, Paths{}, nil); err == nil || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("got %v", err)
	}
	if s, _, _ := ParseMCP([]byte(`{"a":{"command":"x","cwd":"sub"}}`), extension.Origin{Root: "/p"}, Paths{}, nil); len(s) != 1 || s[0].Dir != "/p/sub" {
		t.Errorf("got %+v", s)
	}
	if s, _, _ := ParseMCP([]byte(`{"a":{"command":"x","args":["-p",80,"s"],"env":{"PORT":8080,"ON":true}}}`), extension.Origin{}, Paths{}, nil); len(s) != 1 ||
		!slices.Equal(s[0].Command, []string{"x", "-p", "80", "s"}) || s[0].Env["PORT"] != "8080" || s[0].Env["ON"] != "true" {
		t.Errorf("numbers are not as they are written: %+v", s)
	}
	_, notes, err = ParseMCP([]byte(`{"a":{"command":"x","env":{"K":"${user_config.key}"}},"b":{"command":"${CLAUDE_PLUGIN_DATA}/x"},"c":{"command":"x","env":{"K":[]}}}`), extension.Origin{}, Paths{}, nil)
	if err != nil || len(notes) != 3 || !strings.Contains(notes[0], "${user_config.key} has no value here") ||
		!strings.Contains(notes[1], "${CLAUDE_PLUGIN_DATA} has no value here") || !strings.HasSuffix(notes[2], "env cannot be an array") {
		t.Errorf("got %q, %v", notes, err)
	}
	if _, _, err := ParseMCP([]byte(`{}`), extension.Origin{}, Paths{}, nil); err == nil {
		t.Error("a file without servers is taken")
	}
	codex, _, err := ParseCodex([]byte("[mcp_servers.a]\nurl = \"https://a.example/\"\nbearer_token_env_var = \"T\"\nenv_http_headers = { X = \"Y\" }\ntool_timeout_sec = 9\n"+
		"[mcp_servers.b]\ncommand = \"x\"\nargs = [\"y\"]\nenv_vars = [\"Z\"]\ndisabled_tools = [\"c\"]\n"), extension.Origin{}, Paths{}, nil)
	if err != nil || len(codex) != 2 || codex[0].TokenEnv != "T" || codex[0].Headers["X"] != "${Y}" || codex[0].Timeout != 9*time.Second ||
		!slices.Equal(codex[1].Command, []string{"x", "y"}) || !slices.Equal(codex[1].Tools, []string{"-c"}) {
		t.Errorf("got %+v, %v", codex, err)
	}
	twice, notes, err := ParseCodex([]byte("[mcp_servers.\"a b\"]\ncommand = \"x\"\n[mcp_servers.a-b]\ncommand = \"y\"\n[mcp_servers.c]\n"), extension.Origin{}, Paths{}, nil)
	if err != nil || len(twice) != 1 || len(notes) != 2 || !strings.Contains(notes[0], "another server is called a-b, too") ||
		!strings.Contains(notes[1], "needs a command or a url; command = [") {
		t.Errorf("got %+v, %q, %v", twice, notes, err)
	}
}

func TestServersAreAddedAndRemoved(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config.toml")
	const before = "# mine\n[ui]\ncolor = \"never\" # yes\n"
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	s := extension.Server{Name: "db", Command: []string{"x", `a "b"`}, Env: map[string]string{"A": "${A}"}, Headers: nil, About: "rows", Timeout: time.Minute}
	if err := (Paths{}).AddServer(path, s); err != nil {
		t.Fatal(err)
	}
	if err := (Paths{}).AddServer(path, s); err == nil {
		t.Error("a second server of the same name is added")
	}
	c, err := load(LoadOptions{Flags: map[string][]string{"config": {path}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.MCPServers[0]; !slices.Equal(got.Command, s.Command) || got.Env["A"] != "${A}" || got.About != "rows" || got.Timeout != time.Minute {
		t.Errorf("got %+v", got)
	}
	if was, err := RemoveServer(path, "db"); err != nil || !was {
		t.Fatal(was, err)
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(string(after)) != strings.TrimSpace(before) {
		t.Errorf("got %q", after)
	}
	if was, err := RemoveServer(path, "db"); err != nil || was {
		t.Errorf("got %v, %v", was, err)
	}
}

func TestFilesOfServers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, config := filepath.Join(dir, "m.json"), filepath.Join(dir, "config.toml")
	for path, text := range map[string]string{file: `{"mcpServers":{"a":{"command":"new"},"b":{"command":"x"}}}`,
		config: "[mcp.a]\ncommand = [\"old\"]\n[mcp.c]\ncommand = [\"c\"]\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	names := func(files ...string) string {
		c, err := load(LoadOptions{Flags: map[string][]string{"config": {config}, "mcp": files}})
		if err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, s := range c.MCPServers {
			list = append(list, s.Name+"="+s.Command[0])
		}
		slices.Sort(list)
		return strings.Join(list, " ")
	}
	if got := names(); got != "a=old c=c" {
		t.Error(got)
	}
	if got := names(file); got != "a=new b=x c=c" {
		t.Error(got)
	}
	if got := names("none"); got != "" {
		t.Error(got)
	}
	if got := names("none", file); got != "a=new b=x" {
		t.Error(got)
	}
	if _, err := load(LoadOptions{Flags: map[string][]string{"config": {config}, "mcp": {"missing.json"}}}); err == nil {
		t.Error("a missing file is taken")
	}
}

func TestLoginsAreKept(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_DATA_HOME", "")
	c, err := load(LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	logins, ctx := c.MCPLogins(), t.Context()
	if got, err := logins.Load(ctx, "https://a"); got != nil || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
	if err := logins.Save(ctx, "https://a", []byte("secret")); err != nil {
		t.Fatal(err)
	}
	file, _, err := logins.place("https://a")
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if got, err := logins.Load(ctx, "https://a"); string(got) != "secret" || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
	if got, err := logins.Load(ctx, "https://b"); got != nil || err != nil {
		t.Errorf("another server got %s, %v", got, err)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := logins.Load(ctx, "https://a"); err == nil {
		t.Error("a login that others can read is used")
	}
	if err := logins.Save(ctx, "https://a", nil); err != nil {
		t.Fatal(err)
	}
	if got, err := logins.Load(ctx, "https://a"); got != nil || err != nil {
		t.Errorf("forgotten: %s, %v", got, err)
	}
	unlock, err := logins.Lock(ctx, "https://a")
	if err != nil {
		t.Fatal(err)
	}
	unlock()
	if unlock, err = logins.Lock(ctx, "https://a"); err != nil {
		t.Fatal(err)
	}
	unlock()
}

// Tools that a file for another program takes away are taken away, by either name of the key.
func TestToolsThatOtherProgramsTakeAwayAreNotOffered(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"excludeTools", "disabledTools"} {
		servers, notes, err := ParseMCP([]byte(`{"mcpServers": {"db": {"command": "x", "`+key+`": ["drop"]}}}`), extension.Origin{}, Paths{}, nil)
		if err != nil || notes != nil || len(servers) != 1 || !slices.Equal(servers[0].Tools, []string{"-drop"}) {
			t.Errorf("%s: %+v, %q, %v", key, servers, notes, err)
		}
	}
}
