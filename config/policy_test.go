package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"artoo/tool/extension"
)

// policyOf reads a policy, as if it were root's.
func policyOf(t *testing.T, text string) (loader, error) {
	t.Helper()
	c := loader{&Config{origins: map[string]origin{}, Providers: map[string]ProviderTable{}}}
	for _, o := range Options() {
		if o.Default != "" {
			if err := c.assign(&o, []string{o.Default}); err != nil {
				t.Fatal(err)
			}
		}
	}
	d, err := parseDocument("/etc/artoo/policy.toml", []byte(text))
	if err != nil {
		return c, err
	}
	d.rank = fromSystem
	c.cfg.Policy.at = map[string]string{}
	return c, c.cfg.Policy.read(d)
}

func TestPolicyRefusesMistakes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"mode = [\"ask\"]":                   "/etc/artoo/policy.toml line 1: no such key: mode, did you mean modes?",
		"deny = []\n\nhook_only = true":      "line 3: no such key: hook_only, did you mean hooks_only?",
		"[permissions]\ndeny = [\"bash\"]":   "line 1: no such key: permissions",
		"modes = \"ask\"":                    "line 1: modes must be an array of strings, not a string",
		"modes = [\"never\"]":                "line 1: modes: \"never\" is not one of ask, edits, auto, plan",
		"sandbox = \"off\"":                  "line 1: sandbox: off forbids nothing",
		"max_cost = \"much\"":                "line 1: max_cost must be a number, not a string",
		"max_turns = -1":                     "line 1: max_turns: -1 is too small",
		"trust = \"always\"":                 "line 1: trust: \"always\" is not one of never",
		"hooks_only = \"yes\"":               "line 1: hooks_only must be true or false, not a string",
		"skills = [\"skills\"]":              "line 1: skills: skills is not an absolute path",
		"deny = [\"bash\"]\ndeny = [\"ls\"]": "line 2",
	} {
		if _, err := policyOf(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestPolicyBoundsSettings(t *testing.T) {
	t.Parallel()
	const text = "max_cost = 2\nmax_turns = 40\nmax_time = \"1h\"\nsandbox = \"on\"\nmodes = [\"edits\"]"
	c, err := policyOf(t, text)
	if err == nil {
		err = c.applyPolicy()
	}
	if err != nil || c.cfg.MaxCost != 2 || c.cfg.MaxTurns != 40 || c.cfg.MaxTime.String() != "1h" || c.cfg.Sandbox != "on" || c.cfg.Approval != "edits" ||
		c.cfg.Origin("max_cost") != "/etc/artoo/policy.toml line 1" || c.cfg.Origin("approval") != "/etc/artoo/policy.toml line 5" || c.cfg.Warnings != nil {
		t.Errorf("%v: %+v, %v", err, c.cfg.Settings, c.cfg.Warnings)
	}
	c, _ = policyOf(t, text)
	c.cfg.MaxCost, c.cfg.MaxTurns, c.cfg.origins["max_cost"], c.cfg.origins["max_turns"] = 3, 5, origin{fromFlag, "--max-cost"}, origin{fromFlag, "--max-turns"}
	if err := c.applyPolicy(); err != nil || c.cfg.MaxCost != 2 || c.cfg.MaxTurns != 5 || len(c.cfg.Warnings) != 1 ||
		c.cfg.Warnings[0] != "/etc/artoo/policy.toml line 1: max_cost 3 of --max-cost is lowered to 2" {
		t.Errorf("%v: %v %v, %q", err, c.cfg.MaxCost, c.cfg.MaxTurns, c.cfg.Warnings)
	}
	for _, loose := range []func(){
		func() { c.cfg.Approval, c.cfg.origins["approval"] = "auto", origin{fromFlag, "--approval"} },
		func() { c.cfg.Sandbox, c.cfg.origins["sandbox"] = "off", origin{fromFile, "config.toml line 2"} },
	} {
		c, _ = policyOf(t, text)
		loose()
		if err := c.applyPolicy(); err == nil || !strings.HasPrefix(err.Error(), "/etc/artoo/policy.toml line ") {
			t.Errorf("%v, %s %s", err, c.cfg.Approval, c.cfg.Sandbox)
		}
	}
}

func TestPolicyCoversModelsHostsAndServers(t *testing.T) {
	t.Parallel()
	c, err := policyOf(t, `
providers = ["anthropic", "claude-code"]
models = ["claude-*-4*", "openai/gpt-5"]
hosts = ["api.example.org", "*.corp.example", "localhost:8080", "[::1]:80"]
servers = ["https://mcp.corp.example/a/*", "/usr/bin/uvx mcp-*", "/opt/db --readonly *", "/opt/tools/*", "./bin/server"]
`)
	if err != nil {
		t.Fatal(err)
	}
	p := &c.cfg.Policy
	for _, m := range []struct {
		provider, model string
		own, ok         bool
	}{
		{"anthropic", "claude-opus-4", false, true}, {"anthropic", "claude-opus-4-5", false, true},
		{"anthropic", "claude-4", false, false}, {"anthropic", "xclaude-opus-4", false, false}, {"openai", "gpt-5", false, false},
		{"claude-code", "claude-a-4", true, true}, {"anthropic", "claude-a-4", true, true}, {"codex", "claude-a-4", true, false},
	} {
		if err := p.CheckModel(m.provider, m.model, m.own); (err == nil) != m.ok {
			t.Errorf("%v: %v", m, err)
		}
	}
	for host, ok := range map[string]bool{"api.example.org": true, "API.example.org:443": true, "api.example.org.": true,
		"x.api.example.org": false, "a.corp.example": true, "a.b.corp.example:9": true, "corp.example": false, "evilcorp.example": false,
		"localhost:8080": true, "localhost:80": false, "localhost": false, "[::1]:80": true, "127.0.0.1": false, "": false} {
		if err := p.CheckHost(host); (err == nil) != ok {
			t.Errorf("%s: %v", host, err)
		}
	}
	for _, s := range []struct {
		extension.Server
		ok bool
	}{
		{extension.Server{URL: "https://mcp.corp.example/a/b"}, true},
		{extension.Server{URL: "http://mcp.corp.example/a/b"}, false},
		{extension.Server{URL: "https://mcp.corp.example/b"}, false},
		{extension.Server{URL: "https://mcp.corp.example:444/a/b"}, false},
		{extension.Server{URL: "https://mcp.corp.example@evil.corp.example/a/b"}, false},
		{extension.Server{URL: "https://evil.example/https://mcp.corp.example/a/"}, false},
		{extension.Server{Command: []string{"/usr/bin/uvx", "mcp-db"}}, true},
		{extension.Server{Command: []string{"/usr/bin/uvx", "mcp-db", "--write"}}, false},
		{extension.Server{Command: []string{"uvx", "mcp-db"}}, false},
		{extension.Server{Command: []string{"/usr/bin/uvx"}}, false},
		{extension.Server{Command: []string{"/opt/db", "--readonly"}}, true},
		{extension.Server{Command: []string{"/opt/db", "--readonly", "a", "b"}}, true},
		{extension.Server{Command: []string{"/opt/db", "a"}}, false},
		{extension.Server{URL: "https://mcp.corp.example/a/../b"}, false},
		{extension.Server{URL: "https://mcp.corp.example/a/%2e%2e/b"}, false},
		{extension.Server{URL: "https://mcp.corp.example/a/..%2fb"}, false},
		{extension.Server{URL: "https://mcp.corp.example/a/..%5Cb"}, false},
		{extension.Server{URL: "https://mcp.corp.example/a/b..c"}, true},
		{extension.Server{URL: "https://mcp.corp.example/a/${X}"}, false},
		{extension.Server{Command: []string{"/opt/tools/${X}"}}, false},
		{extension.Server{Command: []string{"/opt/db", "--readonly", "../x"}}, false},
		{extension.Server{Command: []string{"/opt/tools/db"}}, true},
		{extension.Server{Command: []string{"/opt/tools/../../home/me/db"}}, false},
		{extension.Server{Command: []string{"./bin/server"}}, true},
		{extension.Server{Command: []string{"./bin/server"}, Dir: "/home/me"}, false},
		{extension.Server{Command: []string{"/usr/bin/uvx", "mcp-db"}, Dir: "/home/me"}, false},
		{extension.Server{Command: []string{"/bin/sh"}, Origin: extension.Origin{Source: extension.SourcePolicy}}, true},
	} {
		if err := p.CheckServer(s.Server); (err == nil) != s.ok {
			t.Errorf("%+v: %v", s.Server, err)
		}
	}
	for _, name := range strings.Fields("PATH LD_PRELOAD DYLD_INSERT_LIBRARIES NODE_OPTIONS PYTHONPATH PYTHONSTARTUP BASH_ENV ENV PERL5OPT " +
		"RUBYOPT JAVA_TOOL_OPTIONS npm_config_prefix UV_INDEX_URL PGHOST") {
		own := extension.Server{Command: []string{"/usr/bin/uvx", "mcp-db"}, Env: map[string]string{name: "x"}}
		passed := extension.Server{Command: []string{"/usr/bin/uvx", "mcp-db"}, PassEnv: []string{name}}
		for _, s := range []extension.Server{own, passed} {
			if err := p.CheckServer(s); err == nil || !strings.Contains(err.Error(), "not allowed with variables") {
				t.Errorf("a server with %s: %v", name, err)
			}
		}
	}
	none := &Policy{}
	if none.CheckModel("x", "y", true) != nil || none.CheckHost("x") != nil || none.CheckServer(extension.Server{URL: "http://x"}) != nil ||
		none.CheckTrust() != nil || none.CheckBundles() != nil || none.String() != "" {
		t.Error("without a policy something is forbidden")
	}
}

func TestPolicyBoundsServers(t *testing.T) {
	t.Parallel()
	const text = "servers = [\"https://mcp.example/*\"]\n[mcp.own]\ncommand = [\"/opt/own\"]\n"
	c, err := policyOf(t, text)
	if err != nil {
		t.Fatal(err)
	}
	server := func(name, url string, required bool) extension.Server {
		return extension.Server{Name: name, URL: url, Required: required, Origin: extension.Origin{Source: extension.SourceUser, Place: "config.toml line 1"}}
	}
	c.cfg.MCPServers = []extension.Server{server("good", "https://mcp.example/a", true), server("own", "https://mcp.example/b", false), server("bad", "https://evil.example/", false)}
	if err := c.applyPolicy(); err != nil || len(c.cfg.MCPServers) != 2 || c.cfg.MCPServers[0].Place != "/etc/artoo/policy.toml line 2" ||
		c.cfg.MCPServers[0].Source != extension.SourcePolicy || c.cfg.MCPServers[1].Name != "good" || len(c.cfg.Warnings) != 2 ||
		c.cfg.Warnings[0] != "/etc/artoo/policy.toml line 2: MCP server own of config.toml line 1 is replaced by the policy's" ||
		c.cfg.Warnings[1] != "/etc/artoo/policy.toml line 1: MCP server bad is not allowed" {
		t.Errorf("%v: %+v, %q", err, c.cfg.MCPServers, c.cfg.Warnings)
	}
	c, _ = policyOf(t, text)
	c.cfg.MCPServers = []extension.Server{server("bad", "https://evil.example/", true)}
	if err := c.applyPolicy(); err == nil || err.Error() != "/etc/artoo/policy.toml line 1: MCP server bad is not allowed" {
		t.Errorf("a required server: %v", err)
	}
}

// A directory that others than root could change is refused, and so is a file in it.
func TestPolicyMustBeRoots(t *testing.T) {
	world(t)
	dir := t.TempDir() // below a directory that everyone may write
	if err := os.WriteFile(filepath.Join(dir, "policy.toml"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := load(LoadOptions{System: dir}); err == nil || !strings.Contains(err.Error(), "the policy of this machine") {
		t.Errorf("read: %v", err)
	}
	if c, err := load(LoadOptions{System: filepath.Join(dir, "none")}); err != nil || c.Policy.String() != "" {
		t.Errorf("%v, %v", c, err)
	}
}

func TestSystemDefaultsAreBelowTheUsers(t *testing.T) {
	t.Parallel()
	read := func(path, text string) *document {
		d, err := parseDocument(path, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	c, _ := policyOf(t, "")
	d := read("/etc/artoo/config.toml", `
[provider]
effort = "high"
[provider.own]
base_url = "http://a.example"
[provider.kept]
base_url = "http://k.example"
[agent]
max_turns = 7
[agents.review]
prompt = "system's"
[permissions]
deny = ["bash(curl:*)"]
`)
	d.rank = fromSystem
	if err := c.applyFile(d); err != nil {
		t.Fatal(err)
	}
	if err := c.over(read("/home/me/config.toml", `
[provider.own]
base_url = "http://b.example"
[agent]
max_turns = 9
[agents.review]
prompt = "mine"
`)); err != nil {
		t.Fatal(err)
	}
	if c.cfg.Effort != "high" || c.cfg.Origin("effort") != "/etc/artoo/config.toml line 3" || c.cfg.MaxTurns != 9 || c.cfg.Origin("max_turns") != "config.toml line 5" ||
		c.cfg.Providers["own"].BaseURL != "http://b.example" || c.cfg.Providers["kept"].Origin != "/etc/artoo/config.toml line 6" ||
		len(c.cfg.Agents) != 1 || c.cfg.Agents[0].Prompt != "mine" || len(c.cfg.AllRules("/")) != 1 || c.cfg.AllRules("/")[0].Origin != "/etc/artoo/config.toml line 13" {
		t.Errorf("%+v\n%+v\n%+v %v", c.cfg.Settings, c.cfg.Providers, c.cfg.Agents, c.cfg.AllRules("/"))
	}
}
