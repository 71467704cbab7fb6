package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"artoo/config"
)

// credentials are planted in settings: none has the shape of a known token, so only its place gives it away.
type credentials struct {
	server string            // the address of a model and of a collector, without scheme
	at     map[string]string // the place of each
}

// put replaces each ¤ in text by a credential of its own, and ADDRESS by the server's.
func (c *credentials) put(place, text string) string {
	for strings.Contains(text, "¤") {
		one := "cn" + random(9)
		at := strings.Index(text, "¤")
		c.at[one] = place + " " + text[max(0, at-30):at]
		text = strings.Replace(text, "¤", one, 1)
	}
	return strings.ReplaceAll(text, "ADDRESS", c.server)
}

// texts are settings with a credential in them, as they are written; "" is one that has no place for any.
var texts = map[string]string{
	"base_url": "http://me:¤@ADDRESS/v1?api_key=¤&tag=¤", "models_url": "http://me:¤@ADDRESS/¤0a1b2c3d/list?sig=¤", "searxng_url": "http://me:¤@ADDRESS/?key=¤",
	"mcp_client_metadata": "https://me:¤@h.example/client.json?key=¤",
	"until":               "true --token ¤", "ask_program": "", "status": "true --password=¤", "notify": "TOKEN=¤ true", "pager": "cat --api-key ¤",
	"append_system": "", "system": "", "model": "", "provider": "", "api_key_file": "", "ca_file": "", "log": "", "config": "", "profile": "", "schema": "", "resume": "", "colors": "",
	"allow": "bash(curl -H 'Authorization: Bearer ¤':*)", "ask": "bash(deploy --token ¤)", "deny": "bash(deploy --secret=¤ now)",
	"fallback": "", "small_model": "", "only": "", "hide": "", "show": "", "tools": "", "mcp": "", "add_dirs": "", "writable": "", "git_dirs": "", "toolchains": "", "loopback": "", "hosts": "", "pass_env": "", "skill_dirs": "",
}

// file is the user's own file with a credential in each place that can hold one. An error names a setting that is not in texts.
func (c *credentials) file() (string, error) {
	sections := map[string]string{}
	for _, o := range config.Options() {
		text, known := texts[o.Key]
		switch {
		case strings.HasSuffix(o.Key, "_api_key") || o.Key == "api_key":
			text = "¤"
		case o.Kind != config.KindString && o.Kind != config.KindList:
			continue
		case !known:
			return "", fmt.Errorf("the setting %s is in no table of this test", o.Key)
		case text == "" || o.Key == "until":
			continue
		}
		value := fmt.Sprintf("%q", c.put(o.Key, text))
		if o.Kind == config.KindList {
			value = "[" + value + "]"
		}
		sections[o.Section] += o.Key + " = " + value + "\n"
	}
	var b strings.Builder
	for section, lines := range sections {
		b.WriteString("[" + section + "]\n" + lines)
	}
	b.WriteString(c.put("tables", `
[provider.gate]
base_url = "http://¤:¤@ADDRESS/t/¤0a1b2c3d/v1?k=¤#¤"
wire = "chat"
api_key = "¤"
extra_headers = { Authorization = "Bearer ¤", X-Gateway = "¤", Cookie = "¤" }
extra_body = { api_token = "¤", nested = { password = "¤" } }
[provider.made]
base_url = "http://ADDRESS/v1"
api_key_command = ["false", "--token", "¤"]
[provider.line]
base_url = "http://ADDRESS/v1"
api_key_command = "PASSWORD=¤ sh -c 'echo no --secret ¤ >&2; exit 3'"
[agents.helper]
description = "curl -u me:¤"
prompt = "Use -H 'Authorization: Basic ¤'."
[lsp.x]
command = ["false", "--token", "¤"]
files = [".x"]
[check]
"*.go" = "true --api-key ¤"
[mcp.web]
url = "http://ADDRESS/mcp?u=¤"
headers = { X-Route = "¤" }
[mcp.spoken]
url = "http://ADDRESS/other"
token = { command = "false --secret ¤" }
[mcp.local]
command = ["false", "--token", "¤", "http://ADDRESS/?key=¤", "-H", "X-Api-Key: ¤", "--password=¤"]
env = { OPTIONS = "--client-secret ¤" }
[[hooks]]
on = "session_start"
command = ["true", "--token", "¤"]
[[hooks]]
on = "stop"
command = "SECRET=¤ true --password '¤'"
[[hooks]]
on = "before_tool"
command = ["/nowhere/guard", "--key=¤"]
`))
	return b.String(), nil
}

// environ are the variables of a run with credentials.
func (c *credentials) environ(home string) []string {
	env := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + home, "ARTOO_SANDBOX=" + os.Getenv("ARTOO_SANDBOX"),
		"ARTOO_LOG=" + filepath.Join(home, "wire.log"), "OTEL_EXPORTER_OTLP_PROTOCOL=http/json", "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true"}
	for _, line := range []string{"ARTOO_MCP_CLIENT_METADATA=https://h.example/?key=¤", keyVariable() + "=¤",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://me:¤@ADDRESS/otel?key=¤", "OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20¤,x-api-key=¤",
		"HTTPS_PROXY=http://me:¤@ADDRESS", "ALL_PROXY=http://¤@ADDRESS"} {
		name, value, _ := strings.Cut(line, "=")
		env = append(env, name+"="+c.put(name, value))
	}
	return env
}

// repository is what the planted project supplies.
func (c *credentials) repository(project string) error {
	return errors.Join(
		put(filepath.Join(project, ".mcp.json"), c.put(".mcp.json", `{"mcpServers": {"theirs": {"command": "false", "args": ["--token", "¤"]},
			"remote": {"url": "http://ADDRESS/mcp?u=¤", "headers": {"X-Tag": "¤"}}}}`)),
		put(filepath.Join(project, ".claude/settings.json"), c.put(".claude/settings.json",
			`{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true --token ¤"}]}]}}`)),
		put(filepath.Join(project, "more.json"), c.put("--mcp", `{"mcpServers": {"more": {"command": "false", "args": ["--password=¤"]}}}`)),
		put(filepath.Join(project, "plugin/.claude-plugin/plugin.json"), `{"name": "plugin"}`),
		put(filepath.Join(project, "plugin/.mcp.json"), c.put("bundle", `{"mcpServers": {"part": {"command": "false", "args": ["--token", "¤"]}}}`)),
		put(filepath.Join(project, "plugin/hooks/hooks.json"), c.put("bundle",
			`{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true --token ¤"}]}]}}`)))
}

// planted is a server that answers as a model does to requests whose path ends in completions, and refuses all others with
// the request in its words.
func plantedServer() (s *httptest.Server, telemetry func() string) {
	var mu sync.Mutex
	var sent strings.Builder
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a part will do
		switch {
		case strings.Contains(r.URL.Path, "/otel"):
			mu.Lock()
			defer mu.Unlock()
			sent.Write(body)
		case strings.HasSuffix(r.URL.Path, "/completions") && !strings.Contains(string(body), "refuse"):
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"content":"Done."},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
		default:
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"error":{"message":"refused: %s %s"}}`, r.URL, r.Header.Get("Authorization"))
		}
	}))
	return s, func() string { mu.Lock(); defer mu.Unlock(); return sent.String() }
}

// Credentials are in all settings, and in no output of artoo's.
func TestNoOutputShowsACredentialOfASetting(t *testing.T) {
	server, telemetry := plantedServer()
	defer server.Close()
	c := &credentials{server: strings.TrimPrefix(server.URL, "http://"), at: map[string]string{}}
	home, project, shown := t.TempDir(), t.TempDir(), map[string]string{}
	text, err := c.file()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(put(filepath.Join(home, ".config/artoo/config.toml"), text), c.repository(project)); err != nil {
		t.Fatal(err)
	}
	environ := c.environ(home)
	runPlanted(t, project, environ, "", "bundle add plugin --yes") // shows the files as they are
	for _, run := range settingsRuns() {
		shown[run.line] = runPlanted(t, project, environ, run.input, c.put("the command line", run.line))
	}
	if shown["telemetry"] = telemetry(); len(c.at) < 70 {
		t.Errorf("only %d credentials were planted", len(c.at))
	}
	keptFiles(t, home, shown)
	for where, output := range shown {
		if strings.TrimSpace(output) == "" && !strings.Contains(where, "/") {
			t.Errorf("%s shows nothing", where)
		}
		for one, place := range c.at {
			if at := strings.Index(output, one); at >= 0 {
				t.Errorf("%s shows %s in %q", where, place, output[max(0, at-60):min(len(output), at+40)])
			}
		}
	}
	if report := shown["doctor --report"]; !strings.Contains(report, "http://me:***@"+c.server+"/v1?api_key=***&tag=***") {
		t.Errorf("the rest of an address is not shown: %s", report)
	}
}

// keptFiles adds the files that artoo has made in a home.
func keptFiles(t *testing.T, home string, shown map[string]string) {
	t.Helper()
	err := filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(home, path)
		if err != nil || d.IsDir() || name == ".config/artoo/config.toml" || strings.HasPrefix(name, ".local/share/artoo/bundles/") {
			return err
		}
		data, err := os.ReadFile(path)
		shown[name] = string(data)
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// settingsRun is a command line of artoo's, and its input.
type settingsRun struct{ line, input string }

// settingsRuns are the runs whose outputs tell of settings.
func settingsRuns() (all []settingsRun) {
	for _, line := range []string{
		"trust --yes", "trust list", "trust list --json", "bundle", "bundle show plugin", "doctor", "doctor --report",
		"doctor --report --json", "doctor --offline --json", "mcp list", "mcp list --json", "mcp list --mcp more.json", "mcp tools web", "mcp tools local",
		"mcp tools spoken", "mcp tools theirs", "mcp tools http://me:¤@ADDRESS/x?key=¤", "mcp add another http://ADDRESS/mcp?token=¤", "models --update", "rules",
		"bundle add http://me:¤@ADDRESS/x.git?token=¤",
		"-p hi", "-p hi -v", "-p hi -o json", "-p hi -o jsonl", "-p refuse -v", "-p refuse -o json", "-p refuse -o jsonl", "-p hi --until false -o json",
		"-p hi --provider made -m m", "-p hi --provider line -m m -o json", "-p hi --provider gate -m m -v", "-p refuse --provider gate -m m -v -o json",
		"-p hi --base-url http://me:¤@127.0.0.1:1/v1?key=¤ -o json", "-p hi --base-url ftp://me:¤@h/?key=¤", "sessions export --format md",
		"sessions export --format json", "sessions", "usage", "models",
	} {
		all = append(all, settingsRun{line, ""})
	}
	talk := "hi\n/config\n/config all\n/status\n/mcp\n/mcp web\n/mcp local\n/mcp\n/hooks\n/permissions\n/context\n/doctor\n/debug on\nrefuse\n/tools\n/model list\n"
	return append(all, settingsRun{"--interactive", talk}, settingsRun{"-p --input jsonl -o jsonl", `{"type":"user","text":"refuse"}` + "\n"})
}

// runPlanted is all that a run of artoo prints.
func runPlanted(t *testing.T, dir string, environ []string, input, line string) string {
	t.Helper()
	said, _ := ran(t, dir, environ, input, strings.Fields(line)...) // failures are among what is looked at
	return said
}

// A key may be put into the wrong variable: an error of a value does not show it.
func TestAnErrorShowsNoValueThatMayBeAKey(t *testing.T) {
	home := t.TempDir()
	for _, o := range config.Options() {
		if o.Env == "" || o.Kind == config.KindString || o.Kind == config.KindList { // any text is a value
			continue
		}
		key := "cn" + random(9)
		environ := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), o.Env + "=" + key}
		if output := runPlanted(t, home, environ, "", "-p hi -o json"); strings.Contains(output, key) || !strings.Contains(output, o.Env) {
			t.Errorf("%s shows its value: %s", o.Env, output)
		}
	}
}
