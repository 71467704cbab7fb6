package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"artoo/provider/providertest"
	"artoo/tool/needs"
)

// strict is the policy that users try to loosen; artoo's messages name its line numbers.
const strict = `deny = ["bash(touch forbidden:*)", "read(secret.txt)"]
ask = ["bash(touch asked:*)", "write(asked.txt)"]
modes = ["ask", "edits"]
sandbox = "auto"
providers = ["compatible"]
hosts = ["127.0.0.1"]
models = ["test-*"]
max_total_tokens = 5000
max_turns = 2
trust = "never"
hooks_only = true
no_bundles = true
[[hooks]]
on = "before_tool"
match = "bash(touch hooked:*)"
command = "echo not this one >&2; exit 2"
`

// TestNobodyLoosensThePolicy tries all ways that a user has. None may have an effect, and each is
// answered with the line of the policy that forbids it.
func TestNobodyLoosensThePolicy(t *testing.T) {
	if !inNamespaces(t) {
		return
	}
	mountEtc(t, strict, "", nil)
	// Calls of the model, as NAME JSON.
	bash := func(line string) string {
		input, err := json.Marshal(map[string]string{"command": line})
		if err != nil {
			t.Fatal(err)
		}
		return "bash " + string(input)
	}
	forbidden, asked := bash("touch forbidden"), bash("touch asked")
	write := `write {"path":"asked.txt","content":"x\n"}`
	const denied, asks = "policy.toml line 1", "policy.toml line 2"
	for name, row := range map[string]struct {
		call  string // of the model, after each message; "" for none
		args  string // of artoo, split at spaces; -p go if it is empty
		env   string // a variable
		user  string // the user's config.toml
		setup string // a shell line in the project
		stdin string // lines of a conversation
		says  string
	}{
		"deny":                       {call: forbidden, says: denied},
		"allow flag":                 {call: forbidden, args: "--allow bash(touch:*)", says: denied},
		"allow all":                  {call: forbidden, args: "--allow bash", says: denied},
		"allow outside":              {call: forbidden, args: "--allow bash!(touch:*)", says: denied},
		"allow variable":             {call: forbidden, env: "ARTOO_ALLOW=bash", says: denied},
		"allow of the file":          {call: forbidden, user: "[permissions]\nallow = [\"bash\"]\n", says: denied},
		"allow of the project":       {call: forbidden, user: "[project.\"DIR\"]\nallow = [\"bash\"]\n", says: denied},
		"ask instead":                {call: forbidden, args: "--ask bash(touch:*)", says: denied},
		"mode edits":                 {call: forbidden, args: "--approval edits", says: denied},
		"another config":             {call: forbidden, args: "--config empty.toml", setup: "touch empty.toml", says: denied},
		"config variable":            {call: forbidden, env: "ARTOO_CONFIG=/dev/null", says: denied},
		"another home":               {call: forbidden, env: "HOME=ELSEWHERE", says: denied},
		"another XDG":                {call: forbidden, env: "XDG_CONFIG_DIRS=/tmp", says: denied},
		"by path":                    {call: bash("/bin/touch forbidden"), args: "--allow bash", says: denied},
		"wrapped":                    {call: bash("env A=1 nice touch forbidden"), args: "--allow bash", says: denied},
		"in a shell":                 {call: bash("sh -c 'touch forbidden'"), args: "--allow bash", says: denied},
		"chained":                    {call: bash("true && touch forbidden"), args: "--allow bash", says: denied},
		"hidden in a variable":       {call: bash("T=touch; $T forbidden"), args: "--allow bash", says: denied},
		"sub-agent":                  {call: `task {"prompt":"touch forbidden"}`, args: "--allow bash", says: denied},
		"denied file":                {call: `read {"path":"secret.txt"}`, args: "--allow read", says: denied},
		"shown file":                 {call: `read {"path":"secret.txt"}`, user: "[permissions]\nshow = [\"secret.txt\"]\n", says: denied},
		"hidden file by a command":   {call: bash("cat secret.txt"), args: "--allow bash(cat:*)", says: "secret.txt is hidden here"},
		"asked":                      {call: asked, says: asks},
		"asked with a rule":          {call: asked, args: "--allow bash", says: asks},
		"asked with an exact rule":   {call: asked, user: "[permissions]\nallow = [\"bash(touch asked)\"]\n", says: asks},
		"asked write in edits":       {call: write, args: "--approval edits --allow write", says: asks},
		"mode flag":                  {args: "--approval auto", says: "approval auto of --approval is not allowed"},
		"mode variable":              {env: "ARTOO_APPROVAL=auto", says: "policy.toml line 3: approval auto of ARTOO_APPROVAL"},
		"mode of the file":           {user: "[permissions]\napproval = \"auto\"\n", says: "approval auto of config.toml line 2"},
		"mode in a conversation":     {args: "--interactive", stdin: "/approval auto\n", says: "not allowed by /etc/artoo/policy.toml line 3"},
		"sandbox variable":           {env: "ARTOO_SANDBOX=off", says: "policy.toml line 4: sandbox off of ARTOO_SANDBOX"},
		"sandbox of the file":        {user: "[permissions]\nsandbox = \"off\"\n", env: "ARTOO_SANDBOX=", says: "policy.toml line 4"},
		"provider":                   {args: "--provider demo --model demo", says: "policy.toml line 5"},
		"provider variable":          {env: "ARTOO_PROVIDER=ollama", says: "policy.toml line"},
		"provider in a conversation": {args: "--interactive", stdin: "/model ollama/test-x\n", says: "policy.toml line 5"},
		"own provider":               {args: "-m own/test-model", user: "[provider.own]\nbase_url = \"SERVER/v1\"\n", says: "provider own is not allowed"},
		"model":                      {args: "-m other", says: "policy.toml line 7: model compatible/other is not allowed"},
		"model in a conversation":    {args: "--interactive", stdin: "/model other\ny\n", says: "policy.toml line 7"},
		"model of a sub-agent":       {call: `task {"prompt":"hello","agent":"x"}`, user: "[agents.x]\nmodel = \"other\"\n", says: "policy.toml line 7"},
		"model of a fallback":        {args: "doctor --offline", env: "ARTOO_FALLBACK=other", says: "other would be skipped: /etc/artoo/policy.toml line 7: model compatible/other is not allowed"},
		"host":                       {env: "ARTOO_BASE_URL=http://localhost:PORT/v1", says: "policy.toml line 6: host localhost:PORT is not allowed"},
		"host of a page":             {call: `web_fetch {"url":"http://localhost:PORT/page"}`, args: "--allow web_fetch(localhost:PORT)", says: "policy.toml line 6"},
		"host of a redirect":         {call: `web_fetch {"url":"http://127.0.0.1:PORT/away"}`, args: "--allow web_fetch(localhost:PORT) --allow web_fetch(127.0.0.1:PORT)", says: "policy.toml line 6"},
		"tokens":                     {args: "-p go --verbose", env: "ARTOO_MAX_TOTAL_TOKENS=9000000", says: "policy.toml line 8: max_total_tokens 9000000 of ARTOO_MAX_TOTAL_TOKENS is lowered to 5000"},
		"steps":                      {call: bash("true") + "\n" + bash("true"), args: "--max-turns 90", says: "policy.toml line 9: max_turns 90 of --max-turns is lowered to 2"},
		"trust":                      {args: "trust --yes", setup: "mkdir .artoo; touch .artoo/config.toml", says: "policy.toml line 10: no project is trusted"},
		"trust to run":               {args: "trust --run --yes", says: "policy.toml line 10: no project is trusted"},
		"hook":                       {call: bash("touch hooked"), args: "--allow bash --no-project", says: "(/etc/artoo/policy.toml line 13): not this one"},
		"hook that allows": {call: bash("touch hooked"), user: "[[hooks]]\non = \"before_tool\"\ncommand = \"echo '{\\\"decision\\\":\\\"allow\\\"}'\"\n",
			says: "policy.toml line 11: only the hooks of the policy run, not that of config.toml line 1"},
		"hook that answers": {call: asked, user: "[[hooks]]\non = \"question\"\nmay_answer = true\ncommand = \"echo '{\\\"decision\\\":\\\"allow\\\"}'\"\n",
			says: asks},
		"model of a command": {args: "/other", user: "[skills]\ndirs = [\"s\"]\n", says: "policy.toml line 7: model compatible/other is not allowed",
			setup: `mkdir -p s/commands; printf -- '---\nmodel: other\n---\nGo.' > s/commands/other.md`},
		"bundle": {args: "bundle add --yes .", setup: "mkdir .claude-plugin; echo '{\"name\":\"x\"}' > .claude-plugin/plugin.json",
			says: "policy.toml line 12: plugin bundles are not allowed"},
		"server": {args: "mcp list", user: "[mcp.x]\nurl = \"http://localhost:PORT/mcp\"\n", says: "policy.toml line 6: host localhost:PORT is not allowed"},
		"trust of earlier": {args: "-p go", setup: "mkdir .artoo; echo '[agent]' > .artoo/config.toml",
			says: "policy.toml line 10: no project is trusted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var fetched atomic.Bool
			var given atomic.Pointer[string]
			mux := http.NewServeMux()
			pages := httptest.NewServer(mux)
			defer pages.Close()
			port := pages.URL[strings.LastIndex(pages.URL, ":")+1:]
			mux.HandleFunc("/page", func(http.ResponseWriter, *http.Request) { fetched.Store(true) })
			mux.Handle("/away", http.RedirectHandler("http://localhost:"+port+"/page", http.StatusFound))
			calls := strings.Split(row.call, "\n")
			m := newModel(t, func(n int, r providertest.Request) providertest.Reply {
				text := string(r.Body)
				given.Store(&text)
				if message := lastMessage(t, r.Body); message.Role != "user" {
					return providertest.Chat(providertest.Text("well done"))
				}
				if strings.Contains(text, "You are a sub-agent") {
					return providertest.Chat(providertest.Call("s1", "bash", strings.TrimPrefix(forbidden, "bash ")))
				}
				var items []providertest.Item
				for _, call := range calls {
					if name, input, ok := strings.Cut(call, " "); ok {
						input = strings.ReplaceAll(input, "PORT", port)
						items = append(items, providertest.Call("c"+name, name, input))
					}
				}
				if items == nil {
					items = append(items, providertest.Text("well done"))
				}
				return providertest.Chat(items...)
			})
			dir := projectFrom(t, "echo 42 > secret.txt; "+row.setup)
			fill := strings.NewReplacer("PORT", port, "SERVER", m.URL, "DIR", dir, "ELSEWHERE", t.TempDir()).Replace
			env := m.env(t, "container=test", "ARTOO_SANDBOX=auto")
			if row.user != "" {
				config := filepath.Join(strings.TrimPrefix(env[slices.IndexFunc(env, isHome)], "HOME="), ".config", "artoo")
				err := os.MkdirAll(config, 0o700)
				if err == nil {
					err = os.WriteFile(filepath.Join(config, "config.toml"), []byte(fill(row.user)), 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			env = append(env, strings.Fields(fill(row.env))...)
			args := strings.Fields(fill(row.args))
			if row.args == "" || strings.HasPrefix(row.args, "-") && row.stdin == "" {
				args = append(args, "-p", "go")
			}
			said, code := ran(t, dir, env, row.stdin, args...)
			if text := given.Load(); text != nil {
				said += *text
			}
			if want := fill(row.says); !strings.Contains(said, want) {
				t.Errorf("it ended with %d and did not say %q:\n%s", code, want, said)
			}
			for _, made := range []string{"forbidden", "asked", "asked.txt", "hooked"} {
				if _, err := os.Lstat(filepath.Join(dir, made)); err == nil {
					t.Errorf("%s was made:\n%s", made, said)
				}
			}
			if strings.Contains(said, "42\\n") || fetched.Load() {
				t.Errorf("it reached what is forbidden:\n%s", said)
			}
		})
	}
}

func isHome(variable string) bool { return strings.HasPrefix(variable, "HOME=") }

// inNamespaces runs the test again in a process that is root in namespaces of its own, where it may mount, and reports
// whether this is that process.
func inNamespaces(t *testing.T) bool {
	t.Helper()
	const variable = "TEST_IN_NAMESPACES"
	if os.Getenv(variable) == t.Name() {
		if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
			t.Fatal(err)
		}
		return true
	}
	t.Parallel()
	needs.Namespaces(t) // config has tests of the same without them
	cmd := exec.Command("/proc/self/exe", "-test.run", "^"+t.Name()+"$", "-test.timeout=5m",
		fmt.Sprint("-shipped=", *shippedOnly))
	cmd.Env = append(os.Environ(), variable+"="+t.Name())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// mountEtc has /etc hold a policy with this text, and what programs need there, until the test ends. A shell line may
// change it before.
func mountEtc(t *testing.T, policy, line string, env []string) {
	t.Helper()
	etc := t.TempDir()
	err := os.Mkdir(filepath.Join(etc, "artoo"), 0o755)
	for _, name := range []string{"passwd", "group", "hosts", "nsswitch.conf", "resolv.conf"} {
		data, readErr := os.ReadFile(filepath.Join("/etc", name))
		if errors.Is(readErr, fs.ErrNotExist) {
			continue
		}
		err = errors.Join(err, readErr, os.WriteFile(filepath.Join(etc, name), data, 0o644))
	}
	err = errors.Join(err, os.WriteFile(filepath.Join(etc, "artoo", "policy.toml"), []byte(policy), 0o644),
		unix.Mount(etc, "/etc", "", unix.MS_BIND, ""))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount("/etc", unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	cmd := exec.Command("/bin/sh", "-ec", line)
	if cmd.Env = env; line == "" {
		return
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestThePolicyIsRootsAndNamed: files that others may write are refused, and artoo names the policy
// and the defaults beside it.
func TestThePolicyIsRootsAndNamed(t *testing.T) {
	if !inNamespaces(t) {
		return
	}
	m := newModel(t, func(_ int, r providertest.Request) providertest.Reply {
		if strings.Contains(string(r.Body), "an agent of the policy") {
			return providertest.Chat(providertest.Text("well chosen"))
		}
		return providertest.Chat(providertest.Text("well done"))
	})
	blocks := blocksOfPages(t)
	example := blocks[slices.IndexFunc(blocks, func(b block) bool { return strings.HasPrefix(b.text, policyBlock) })].text
	const loose = "could loosen the policy of this machine"
	for name, row := range map[string]struct {
		before, args, stdin string
		policy              string // strict for ""
		code                int
		says                string
	}{
		"sound":                {args: "-p go", says: "well done"},
		"file of a group":      {before: "chmod g+w /etc/artoo/policy.toml", args: "-p go", code: 2, says: loose},
		"file of all":          {before: "chmod o+w /etc/artoo/policy.toml", args: "-p go", code: 2, says: loose},
		"directory of all":     {before: "chmod o+w /etc/artoo", args: "-p go", code: 2, says: loose},
		"directory, no policy": {before: "rm /etc/artoo/policy.toml; chmod o+w /etc/artoo", args: "-p go", code: 2, says: loose},
		"directory above":      {before: "chmod g+w /etc", args: "-p go", code: 2, says: "artoo: /etc: can be written by users other than root"},
		"defaults of all":      {before: "touch /etc/artoo/config.toml; chmod o+w /etc/artoo/config.toml", args: "-p go", code: 2, says: loose},
		"link to a loose file": {before: "mkdir /etc/x; mv /etc/artoo/policy.toml /etc/x; chmod o+w /etc/x; ln -s ../x/policy.toml /etc/artoo", args: "-p go",
			code: 2, says: "artoo: /etc/x: can be written"},
		"rules of the page": {policy: example, args: "rules", says: "ask    write(infra/**)   /etc/artoo/policy.toml line 3\n"},
		"mode of the page": {policy: example, args: "--approval auto", code: 2,
			says: "artoo: /etc/artoo/policy.toml line 4: approval auto of --approval is not allowed\n  try: --approval plan, ask or edits\n"},
		"broken link":     {before: "ln -sf none /etc/artoo/policy.toml", args: "-p go", code: 2, says: "no such file"},
		"directory":       {before: "rm /etc/artoo/policy.toml; mkdir /etc/artoo/policy.toml", args: "-p go", code: 2, says: "is a directory"},
		"unknown key":     {before: "echo 'mode = []' >> /etc/artoo/policy.toml", args: "-p go", code: 2, says: "/etc/artoo/policy.toml line 17: no such key: hooks[0].mode"},
		"not TOML":        {before: "echo 'x' >> /etc/artoo/policy.toml", args: "-p go", code: 2, says: "/etc/artoo/policy.toml line 17"},
		"no such tool":    {before: `sed -i 's/bash(touch f/bsh(touch f/' /etc/artoo/policy.toml`, args: "-p go", code: 2, says: "artoo: /etc/artoo/policy.toml line 1: rule bsh"},
		"rules":           {args: "rules", says: "deny   bash(touch forbidden:*)  /etc/artoo/policy.toml line 1"},
		"explain":         {args: "rules explain touch\tforbidden", says: "deny: the deny rule bash(touch forbidden:*) (/etc/artoo/policy.toml line 1)"},
		"doctor":          {args: "doctor --offline", says: "/etc/artoo/policy.toml sets ask, deny, hooks, hooks_only, hosts, max_total_tokens", code: 0},
		"status":          {args: "--interactive", stdin: "/status\n", says: "policy     /etc/artoo/policy.toml sets ask, deny"},
		"config":          {args: "--interactive", stdin: "/config\n", says: "(/etc/artoo/policy.toml line 8)"},
		"server":          {policy: "[mcp.corp]\ncommand = [\"x\"]\nabout = \"the orders\"\n", args: "--interactive", stdin: "/mcp\n", says: "the orders"},
		"server of a run": {policy: "[mcp.corp]\ncommand = [\"/none/x\"]\nrequired = true\n", args: "-p go", code: 4, says: "server corp"},
		"skill that the user hides and replaces": {policy: "skills = [\"/etc/artoo/skills\"]\n", args: "--interactive", stdin: "/skills\n",
			before: `skill() { mkdir -p "$1/x"; printf -- '---\ndescription: y\n---\n' > "$1/x/SKILL.md"; }
skill /etc/artoo/skills; skill "$HOME/.agents/skills"; mkdir -p "$HOME/.config/artoo"; printf '[skills]\ndirs = ["-x"]\n' > "$HOME/.config/artoo/config.toml"`,
			says: "/etc/artoo/skills/x/SKILL.md"},
		"agent that the user replaces": {policy: "skills = [\"/etc/artoo/skills\"]\n", args: "-p go",
			before: `mkdir -p /etc/artoo/skills/agents "$HOME/.config/artoo"; printf -- '---\ndescription: an agent of the policy\n---\nx\n' > /etc/artoo/skills/agents/x.md
printf '[agents.x]\ndescription = "mine"\n' > "$HOME/.config/artoo/config.toml"`,
			says: "well chosen"},
		"skills of all": {policy: "skills = [\"/etc/artoo/skills\"]\n", before: "mkdir -m 777 /etc/artoo/skills", args: "-p go", code: 2, says: loose},
		"skills that all may make": {policy: "skills = [\"/etc/artoo/a/b/skills\"]\n", before: "mkdir -m 777 /etc/artoo/a", args: "-p go",
			code: 2, says: loose},
		"skills to come": {policy: "skills = [\"/etc/artoo/a/b/skills\"]\n", args: "-p go", says: "well done"},
		"defaults": {before: "printf '[provider]\\neffort = \"high\"\\n' > /etc/artoo/config.toml", args: "--interactive", stdin: "/config\n",
			says: "(/etc/artoo/config.toml line 2)"},
	} {
		t.Run(name, func(t *testing.T) {
			env := m.env(t, "container=test", "ARTOO_SANDBOX=auto")
			mountEtc(t, cmp.Or(row.policy, strict), row.before, env)
			said, code := ran(t, projectFrom(t, ":"), env, row.stdin, strings.Split(row.args, " ")...)
			if code != row.code || !strings.Contains(said, row.says) {
				t.Errorf("it ended with %d, expected %d and %q:\n%s", code, row.code, row.says, said)
			}
		})
	}
}
