package permission

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"artoo/agent/permission/line"
	"artoo/tool"
	"artoo/tool/sandbox"
)

// hostsPolicy is the policy of a project on a machine that can open hosts to lines. Its lock file names a host besides.
func hostsPolicy(t *testing.T, mode Mode, rules ...string) *Policy {
	t.Helper()
	p := dayPolicy(t, mode, true)
	p.Confinement.Proxy = true
	p.Fetches = func(set string) (Fetches, error) {
		switch set {
		case "npm":
			return Fetches{Hosts: []Host{{Name: "registry.npmjs.org"}},
				Files: map[string]string{"/home/.npmrc": "registry"}}, nil
		case "pypi":
			return Fetches{Hosts: []Host{{Name: "pypi.org"}, {Name: "files.pythonhosted.org"}},
				Named: []NamedHost{{Host{Name: "pypi.org"}, "uv.lock"}, {Host{Name: "other.example"}, "uv.lock"}}}, nil
		case "crates":
			return Fetches{}, errors.New("crates.corp.example takes a token of ~/.cargo/credentials.toml")
		case "rubygems":
			return Fetches{Hosts: []Host{{Name: "rubygems.org"}}, Key: "gems.example takes the key of ~/.bundle"}, nil
		}
		return Fetches{}, errors.New("it cannot be asked")
	}
	for _, text := range rules {
		verdict, text, _ := strings.Cut(text, " ")
		r, err := ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		list := map[string]*[]Rule{"allow": &p.AllowRules, "ask": &p.AskRules, "deny": &p.DenyRules}[verdict]
		*list = append(*list, r)
	}
	return p
}

// TestHosts: which hosts a line may reach, what it asks, and where it runs.
func TestHosts(t *testing.T) {
	t.Parallel()
	npm, curl := "registry.npmjs.org", "curl -s https://api.github.com/x"
	for _, c := range []struct {
		line, rules string // rules by ;
		mode        Mode
		verdict     Verdict
		place       Place
		hosts       string
		narrow      string
	}{
		{"npm ci", "", ModeAsk, Ask, PlaceLayer, npm, "hosts(@npm for npm ci)"},
		{"npm ci", "", ModeAuto, Ask, PlaceLayer, npm, "hosts(@npm for npm ci)"},
		{"npm ci", "", ModePlan, Refuse, PlaceHost, "", ""},
		{"npm ci", "allow hosts(@npm)", ModePlan, Refuse, PlaceHost, "", ""},
		{"npm ci", "allow hosts(@npm)", ModeAsk, Run, PlaceLayer, npm, ""},
		{"cd sub && npm ci", "allow hosts(@npm)", ModeAsk, Run, PlaceLayer, npm, ""},
		{"npm ci", "allow hosts(@npm for npm ci)", ModeAsk, Run, PlaceLayer, npm, ""},
		{"npm ci --prefix x", "allow hosts(@npm for npm ci)", ModeAsk, Ask, PlaceLayer, npm, "hosts(@npm for npm ci --prefix x)"},
		{"npm ci --prefix x", "allow hosts(@npm for npm ci:*)", ModeAsk, Run, PlaceLayer, npm, ""},
		{"npm ci", "allow hosts(@pypi)", ModeAsk, Ask, PlaceLayer, npm, "hosts(@npm for npm ci)"},
		{"npm ci", "allow hosts(registry.npmjs.org)", ModeAsk, Ask, PlaceLayer, npm, "hosts(@npm for npm ci)"}, // a name serves words
		{"npm ci", "allow hosts(@npm);deny hosts(registry.npmjs.org)", ModeAsk, Refuse, PlaceHost, "", ""},
		{"npm ci", "allow hosts(@npm);deny hosts(@npm)", ModeAsk, Refuse, PlaceHost, "", ""},
		{"npm ci", "allow hosts(@npm);deny hosts(npmjs.org)", ModeAsk, Refuse, PlaceHost, "", ""},
		{"make test", "allow hosts(*.api.example for make test);deny hosts(eu.api.example)", ModeAsk, Refuse, PlaceHost, "", ""},
		{"make test", "allow hosts(*.api.example for make test);deny hosts(other.example)", ModeAsk, Run, PlaceLayer, "*.api.example", ""},
		{"npm ci", "allow hosts(@npm);ask hosts(@npm)", ModeAsk, Ask, PlaceLayer, npm, ""},
		{"npm ci", "allow hosts(@npm);deny bash(npm ci)", ModeAsk, Refuse, PlaceHost, "", ""},
		{"npm ci", "allow bash(npm ci)", ModeAsk, Ask, PlaceLayer, npm, "hosts(@npm for npm ci)"},
		{"npm ci", "allow bash!(npm ci)", ModeAsk, Run, PlaceHost, "", ""},
		{"npm ci && git push", "allow hosts(@npm)", ModeAsk, Ask, PlaceHost, "", ""},
		{"npm publish", "allow hosts(@npm)", ModeAsk, Ask, PlaceHost, "", ""},
		{"sudo npm ci", "allow hosts(@npm)", ModeAsk, Ask, PlaceHost, "", ""},
		{"pip install requests", "allow hosts(@pypi)", ModeAsk, Ask, PlaceLayer, "pypi.org files.pythonhosted.org other.example",
			"hosts(other.example for pip install requests)"},
		{"pip install requests", "allow hosts(@pypi);allow hosts(other.example for pip install requests)", ModeAsk, Run, PlaceLayer,
			"pypi.org files.pythonhosted.org other.example", ""},
		{"cargo fetch", "allow hosts(@crates)", ModeAsk, Ask, PlaceHost, "", ""},
		{"bundle install", "allow hosts(@rubygems)", ModeAsk, Ask, PlaceHost, "", ""},
		{curl, "", ModeAsk, Ask, PlaceLayer, "api.github.com", "hosts(api.github.com for " + curl + ")"},
		{curl, "allow hosts(api.github.com)", ModeAsk, Run, PlaceLayer, "api.github.com", ""},
		{curl, "allow hosts(*.github.com)", ModeAsk, Run, PlaceLayer, "api.github.com", ""},
		{curl, "allow hosts(github.com)", ModeAsk, Ask, PlaceLayer, "api.github.com", "hosts(api.github.com for " + curl + ")"},
		{curl, "allow hosts(@npm)", ModeAsk, Ask, PlaceLayer, "api.github.com", "hosts(api.github.com for " + curl + ")"},
		{"curl https://a.example https://b.example:8443/x", "allow hosts(a.example)", ModeAsk, Ask, PlaceLayer, "a.example b.example:8443",
			"hosts(b.example:8443 for curl https://a.example https://b.example:8443/x)"},
		{"curl -K conf https://a.example", "allow hosts(a.example)", ModeAsk, Ask, PlaceHost, "", ""},
		{"curl -n https://a.example", "allow hosts(a.example)", ModeAsk, Ask, PlaceHost, "", ""},
		{"curl https://u:p@a.example", "allow hosts(a.example)", ModeAsk, Ask, PlaceHost, "", ""},
		{"curl https://$HOST/", "allow hosts(a.example)", ModeAsk, Ask, PlaceHost, "", ""},
		{"curl http://192.168.1.1/", "allow hosts(192.168.1.1)", ModeAsk, Ask, PlaceHost, "", ""},
		{"https_proxy=http://x curl https://a.example", "allow hosts(a.example)", ModeAsk, Ask, PlaceHost, "", ""},
		{"make test", "allow hosts(api.example for make test)", ModeAsk, Run, PlaceLayer, "api.example", ""},
		{"make test V=1", "allow hosts(api.example for make test)", ModeAsk, Run, PlaceLayer, "", ""},
		{"make test", "allow hosts(api.example)", ModeAsk, Run, PlaceLayer, "", ""},
	} {
		p := hostsPolicy(t, c.mode, slices.DeleteFunc(strings.Split(c.rules, ";"), func(s string) bool { return s == "" })...)
		d := p.Decide("bash", tool.Access{Kind: tool.KindRun, Command: c.line, Dir: p.Root})
		hosts := strings.Join(line.Each(d.Hosts, Host.String), " ")
		if d.Verdict != c.verdict || d.Place != c.place || hosts != c.hosts || c.narrow != "" && d.Narrow != c.narrow {
			t.Errorf("%s, %s, with %q: %s in %q, hosts %q, rule %q: %s", c.line, c.mode, c.rules, d.Verdict, d.Place, hosts, d.Narrow, d.Reason())
		}
	}
}

// The answer a opens hosts for this very line, and covers its own programs.
func TestAnAnswerOpensHostsForALine(t *testing.T) {
	t.Parallel()
	p := hostsPolicy(t, ModeAsk)
	p.TrustsPrograms = false
	call := func(text string) tool.Access { return tool.Access{Kind: tool.KindRun, Command: text, Dir: p.Root} }
	d := p.Decide("bash", call("npm ci"))
	if !d.Has(NeedsHosts) || d.Has(OwnPrograms) || len(d.Own) == 0 {
		t.Fatalf("asked %q with the own programs %q", d.Reason(), d.Own)
	}
	if err := p.AllowInSession(d.Narrow, "bash", call("npm ci")); err != nil {
		t.Fatal(err)
	}
	if d := p.Decide("bash", call("npm ci")); d.Verdict != Run || len(d.Hosts) != 1 {
		t.Errorf("after the answer: %s, %s", d.Verdict, d.Reason())
	}
	for _, other := range []string{"npm ci -d", "npm install", "npm ci && make"} {
		if d := p.Decide("bash", call(other)); d.Verdict != Ask {
			t.Errorf("%s: %s", other, d.Verdict)
		}
	}
	elsewhere := call("npm ci")
	elsewhere.Dir = filepath.Join(p.Root, "scripts")
	if d := p.Decide("bash", elsewhere); d.Verdict != Ask {
		t.Errorf("in another directory: %s", d.Verdict)
	}
	background := call("npm ci")
	background.Background = true
	if d := p.Decide("bash", background); d.Place != PlaceHost || d.Verdict != Ask {
		t.Errorf("in the background: %s in %q", d.Verdict, d.Place)
	}
}

// Only a rule that the user wrote, and that names the host, opens an address of this machine.
func TestOwnHosts(t *testing.T) {
	t.Parallel()
	for rule, own := range map[string]bool{"hosts(api.github.com)": true, "hosts(*.github.com)": false} {
		p := hostsPolicy(t, ModeAsk, "allow "+rule)
		d := p.Decide("bash", tool.Access{Kind: tool.KindRun, Command: "curl https://api.github.com/x", Dir: p.Root})
		if len(d.Hosts) != 1 || d.Hosts[0].Own != own {
			t.Errorf("%s: %v", rule, d.Hosts)
		}
	}
}

func TestRulesThatListHosts(t *testing.T) {
	t.Parallel()
	for text, good := range map[string]bool{
		"hosts(@npm)": true, "hosts(@npm @pypi registry.example:8443)": true, "hosts(api.example for make test:*)": true,
		"hosts": false, "hosts(*)": false, "hosts()": false, "hosts(@nosuch)": false, "hosts(http://x/y)": false, "hosts( for make)": false,
		"hosts(a.example for )": false, "hosts!(@npm)": false,
	} {
		if _, err := ParseRule(text); (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// What a line that only installs put into its set's directory, and git ignores, lands with the line; the rest is judged.
func TestInstalledPackagesLand(t *testing.T) {
	t.Parallel()
	p := hostsPolicy(t, ModeAsk, "allow hosts(@npm)")
	created := func(rel string, mode fs.FileMode, target string) sandbox.Change {
		return sandbox.Change{Path: filepath.Join(p.Root, rel), Kind: sandbox.Created, Mode: mode, Target: target}
	}
	changes := []sandbox.Change{
		created("node_modules/a/index.js", 0o644, ""), created("node_modules/a/.npmrc", 0o644, ""),
		created("node_modules/.bin/a", fs.ModeSymlink|0o777, "../a/index.js"), created("node_modules/a", fs.ModeDir|0o755, ""),
		created("sub/node_modules/b/run.sh", 0o755, ""),
	}
	judged := []sandbox.Change{
		created("node_modules/a/.git/config", 0o644, ""), created("node_modules/out", fs.ModeSymlink|0o777, "/home/user/x"),
		created("node_modules/hook", fs.ModeSymlink|0o777, "../.git/hooks/pre-commit"), created("package.json", 0o644, ""),
		created("tracked/node_modules/x.js", 0o644, ""),
	}
	facts := Facts{Ignored: func(paths []string) map[string]bool {
		found := map[string]bool{}
		for _, path := range paths {
			rel, _ := strings.CutSuffix(path, "/")
			found[rel] = !strings.Contains(rel, "package.json") && !strings.Contains(rel, "tracked")
		}
		return found
	}}
	judge := func(text string, changes []sandbox.Change) Judgement {
		d := p.Decide("bash", tool.Access{Kind: tool.KindRun, Command: text, Dir: p.Root})
		return p.Judge(t.Context(), d, changes, facts)
	}
	if j := judge("npm ci", changes); j.Verdict != Run || j.Effects.Built.String() != "3 created, 1 linked, 1 new directory" {
		t.Errorf("npm ci: %s, %s, %s", j.Verdict, j.Reason(), j.Effects.Summary())
	}
	for _, c := range judged {
		if j := judge("npm ci", []sandbox.Change{c}); len(j.Effects.Built) > 0 {
			t.Errorf("%s lands as installed: %s", c.Path, j.Effects.Summary())
		}
	}
	for _, text := range []string{"npm ci && make", "npm ci > node_modules/x", "npm test", "make"} {
		if j := judge(text, changes[:1]); len(j.Effects.Built) > 0 {
			t.Errorf("%s: %s", text, j.Effects.Summary())
		}
	}
}

// A hook's allow opens no host, as a rule for every line opens none.
func TestAHooksAllowOpensNoHosts(t *testing.T) {
	t.Parallel()
	p := hostsPolicy(t, ModeAsk)
	d := p.Decide("bash", tool.Access{Kind: tool.KindRun, Command: "npm ci", Dir: p.Root})
	if d = d.Heeding(Opinion{Verdict: Run, Object: "guard"}, ModeAsk); d.Verdict != Ask || !d.Has(NeedsHosts) {
		t.Errorf("%s: %s", d.Verdict, d.Reason())
	}
}

// A server reaches the hosts that the user named for it, and those of sets that need no key.
func TestHostsOfAServer(t *testing.T) {
	t.Parallel()
	p := hostsPolicy(t, ModeAsk)
	of, err := p.HostsOf([]string{"@npm", "api.example", "*.lan.example:8443"})
	hosts := of.Hosts
	if of.Files["/home/.npmrc"] == "" {
		t.Errorf("it sees %v", of.Files)
	}
	if got := strings.Join(line.Each(hosts, Host.String), " "); err != nil || got != "registry.npmjs.org api.example *.lan.example:8443" ||
		hosts[0].Own || !hosts[1].Own || hosts[2].Own {
		t.Errorf("%v, %v", hosts, err)
	}
	p.DenyRules = []Rule{hostRule("denied.example"), hostRule("npm.example for npm ci")}
	if _, err := p.HostsOf([]string{"npm.example"}); err != nil {
		t.Error(err)
	}
	if of, err := p.HostsOf([]string{"@rubygems"}); err != nil || len(of.Hosts) != 1 {
		t.Errorf("a key for a host of the project: %v, %v", of.Hosts, err)
	}
	for _, names := range [][]string{{"@nosuch"}, {"http://x/y"}, {"@crates"}, {"@go"},
		{"denied.example"}, {"sub.denied.example"}, {"*.example"}} {
		if hosts, err := p.HostsOf(names); err == nil {
			t.Errorf("%v opens %v", names, hosts)
		}
	}
}
