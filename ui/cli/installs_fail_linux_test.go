package cli

import (
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"artoo/provider/providertest"
	"artoo/tool/needs"
	"artoo/tool/sweep"
)

// npmShop, pipShop and cargoShop are projects that install good, without settings of the user's.
var (
	npmShop = manager{program: "npm", set: "@npm", fill: (*packages).npm,
		project: fileTree{"package.json": `{"name":"shop","version":"1.0.0"}`},
		line:    "npm install --no-audit --no-fund good"}
	pipShop = manager{program: "python3", set: "@pypi", fill: (*packages).pypi, setup: venv,
		line: ".venv/bin/pip install --retries 0 good"}
	pipKeyed = manager{program: "python3", set: "@pypi", fill: (*packages).pypi, setup: venv,
		line: ".venv/bin/pip install --retries 0 good", env: "PIP_INDEX_URL=URL/" + pathKey + "/simple/"}
	cargoShop = manager{program: "cargo", set: "@crates", fill: (*packages).crates,
		project: fileTree{"Cargo.toml": "[package]\nname = \"shop\"\nversion = \"1.0.0\"\n",
			"src/main.rs": "fn main() {}\n"},
		line: "cargo add good && cargo fetch"}
)

const (
	// pathKey is one as services put into the paths of private registries.
	pathKey   = "a1B2c3D4e5F6g7H8i9J0k1L2"
	ownCrates = "[source.crates-io]\nreplace-with = \"own\"\n[source.own]\nregistry = \"sparse+URL/\"\n"
	// pastProxy asks a host as it should, and then connects without the proxy.
	pastProxy = "import socket, urllib.request\nurllib.request.urlopen('URL/good').read()\n" +
		"socket.create_connection(('93.184.216.34', 5432), 5)\n"
	pastOnly = "import socket\nsocket.create_connection(('93.184.216.34', 5432), 5)\n"
)

// failures of installs. home and project are files in addition, where HOST stands for the registry's host. elsewhere is
// the part of the registry's addresses that another host serves.
var failures = []struct {
	name          string
	m             manager
	home, project fileTree
	elsewhere     string
	says, try     string
}{
	{"npm takes a key", npmShop, fileTree{".npmrc": "registry=URL/\n//HOST/:_authToken=" + canary + "\n"}, nil, "",
		"127.0.0.1 takes the key of ~/.npmrc", noFlag},
	{"npm takes a key for a host of the project", npmShop, fileTree{".npmrc": "//HOST/:_authToken=" + canary + "\n"},
		fileTree{".npmrc": "@corp:registry=URL/\n"}, "",
		"127.0.0.1 (named by .npmrc) takes the key of ~/.npmrc", noFlag},
	{"pip takes a key", pipShop, fileTree{".config/pip/pip.conf": "[global]\nindex-url = http://u:" + canary +
		"@HOST/simple/\n"}, nil, "", "127.0.0.1 takes the key of its URL", noFlag},
	{"npm takes a key in a path", npmShop, fileTree{".npmrc": "registry=URL/" + pathKey + "/npm/\n"}, nil, "",
		"127.0.0.1 takes the key of its URL", noFlag},
	{"pip takes a key in a variable", pipKeyed, nil, nil, "", "127.0.0.1 takes the key of its URL", noFlag},
	{"pip takes a key for a host of the project", pipShop, fileTree{".netrc": "machine 127.0.0.1 login u password " +
		canary + "\n"}, fileTree{"requirements.txt": "--extra-index-url URL/simple/\n"}, "",
		"127.0.0.1 (named by requirements.txt) takes the key of ~/.netrc", noFlag},
	{"cargo takes a key", cargoShop, fileTree{".cargo/config.toml": ownCrates +
		"[registries.own]\nindex = \"sparse+URL/\"\n",
		".cargo/credentials.toml": "[registries.own]\ntoken = \"" + canary + "\"\n"}, nil, "",
		"127.0.0.1 takes the key of ~/.cargo/credentials.toml", noFlag},

	{"npm needs another host", npmShop, fileTree{".npmrc": "registry=URL/\n"}, nil, "/good/-/", notListed,
		"--hosts 'cdn.example for npm install --no-audit --no-fund good'"},
	{"pip needs another host", pipShop, fileTree{".config/pip/pip.conf": "[global]\nindex-url = URL/simple/\n"}, nil,
		"/files/", notListed, "--hosts 'cdn.example for .venv/bin/pip install --retries 0 good'"},
	{"cargo needs another host", cargoShop, fileTree{".cargo/config.toml": ownCrates}, nil, "/dl/", notListed,
		"--hosts 'cdn.example for cargo add good && cargo fetch'"},

	{"past the proxy", manager{program: "python3", set: "@npm", hosts: "HOST for python3 past.py",
		fill: (*packages).npm, project: fileTree{"past.py": pastOnly}, line: "python3 past.py"}, nil, nil, "",
		pastSaid, "run the line outside the sandbox"},
	{"by the proxy and past it", manager{program: "python3", set: "@npm", hosts: "HOST for python3 past.py",
		fill: (*packages).npm, project: fileTree{"past.py": pastProxy}, line: "python3 past.py"}, nil, nil, "",
		pastSaid, "run the line outside the sandbox"},
}

const (
	noFlag    = "start artoo without -p"
	notListed = "cdn.example is not one of this line's hosts"
	pastSaid  = "a program connected past the proxy, where there is no network"
)

// An install that fails for want of a key, of a host, or of a program that uses the proxy says so to the user and to
// the model, and what to do about it.
func TestAnyFailedInstallNamesItsCauseAndTheNextStep(t *testing.T) {
	t.Parallel()
	needs.Git(t)
	for _, f := range sweep.Of(t, 2, failures) {
		t.Run(strings.ReplaceAll(f.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			needs.Program(t, f.m.program)
			var result string
			model := newModel(t, func(n int, r providertest.Request) providertest.Reply {
				result = lastMessage(t, r.Body).Content
				return line(t, f.m.line)(n, r)
			})
			env := model.env(t, "container=test", "ARTOO_SANDBOX=auto", "ARTOO_STDIN=never",
				"npm_config_update_notifier=false")
			env = append(env, toolchains(t)...)
			p := newPackages(t, f.m.fill, "", "", func(string) string { return "" })
			host := strings.TrimPrefix(p.URL, "http://")
			env = append(env, strings.ReplaceAll(f.m.env, "=URL", "="+p.URL))
			p.moveTo("http://cdn.example/", f.elsewhere)
			env = slices.DeleteFunc(env, func(kv string) bool { return kv == "" })
			artoo := buildProgram(t, moduleDir)
			needsLayers(t, artoo, env)
			m := f.m
			m.home, m.project = f.home.with("HOST", host), m.project.and(f.project.with("HOST", host))
			cmd := exec.Command(artoo, "-p", "--approval", "auto", "--hosts", strings.TrimSuffix(f.m.set+","+
				strings.ReplaceAll(f.m.hosts, "HOST", host), ","), "go")
			cmd.Dir, cmd.Env = m.shop(t, p.URL, env), env
			said, err := cmd.CombinedOutput()
			user := string(said)
			if !strings.Contains(user, f.says) || !strings.Contains(user, f.try) {
				t.Errorf("the user reads, after %v:\n%s", err, user)
			}
			if !strings.Contains(result, f.says) || f.try != noFlag && !strings.Contains(result, f.try) {
				t.Errorf("the model reads:\n%s", result)
			}
			if strings.Contains(user+result, canary) || strings.Contains(user+result, pathKey) {
				t.Errorf("the key is shown:\n%s\n%s", user, result)
			}
		})
	}
}

// moveTo has the archives of a part of the registry served elsewhere; "" moves none.
func (p *packages) moveTo(address, part string) {
	for name, data := range p.served {
		if part != "" {
			p.served[name] = []byte(strings.ReplaceAll(string(data), p.URL+part, address))
		}
	}
}

func (t fileTree) with(word, value string) fileTree {
	all := fileTree{}
	for name, text := range t {
		all[name] = strings.ReplaceAll(text, word, value)
	}
	return all
}

func (t fileTree) and(others fileTree) fileTree {
	all := fileTree{}
	maps.Copy(all, t)
	maps.Copy(all, others)
	return all
}
