package permission

import (
	"strings"
	"testing"

	"artoo/tool"
)

func TestRulesForHosts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		allow, ask, deny, host string
		want                   Verdict
		own                    bool
	}{
		{"web_fetch(go.dev)", "", "", "go.dev:443", Run, false},
		{"web_fetch(go.dev)", "", "", "go.dev:8443", Run, false},
		{"web_fetch(go.dev:8443)", "", "", "go.dev:8443", Run, true},
		{"web_fetch(go.dev:8443)", "", "", "go.dev:443", Ask, false},
		{"web_fetch(*.go.dev:8443)", "", "", "pkg.go.dev:8443", Run, false},
		{"web_fetch(MÜNCHEN.de)", "", "", "xn--mnchen-3ya.de:443", Run, false},
		{"web_fetch", "", "", "go.dev:443", Run, false},
		{"web_fetch", "", "", "localhost:80", Ask, false},
		{"web_fetch", "", "", "127.0.0.1:80", Ask, false},
		{"web_*", "", "", "169.254.169.254:80", Ask, false},
		{"web_fetch(*.localhost)", "", "", "a.localhost:80", Run, false},
		{"web_fetch(localhost)", "", "", "localhost:8080", Run, true},
		{"web_fetch(127.0.0.1:8080)", "", "", "127.0.0.1:8080", Run, true},
		{"web_fetch(127.0.0.1)", "", "", "127.0.0.1:8080", Run, true},
		{"web_fetch(127.0.0.1:8080)", "", "", "127.0.0.1:8081", Ask, false},
		{"web_fetch([::1])", "", "", "[::1]:80", Run, true},
		{"web_fetch(wiki.lan:443)", "web_fetch", "", "wiki.lan:443", Ask, true},
		{"web_fetch", "", "web_fetch(go.dev)", "go.dev:8443", Refuse, false},
		{"web_fetch", "", "web_fetch(go.dev)", "pkg.go.dev:443", Refuse, false},
		{"web_fetch(localhost)", "", "web_fetch", "localhost:80", Refuse, false},
		{"", "", "", "go.dev:443", Ask, false},
	} {
		p := testPolicy(t, ModeAuto, c.allow, c.ask, c.deny)
		d := p.Decide("web_fetch", tool.Access{Kind: tool.KindNetwork, Host: c.host})
		unasked, own := p.Hosts("web_fetch")(c.host)
		if d.Verdict != c.want || unasked != (c.want == Run) || own != c.own {
			t.Errorf("allow %q ask %q deny %q: %s is %s, own %v; want %s, %v", c.allow, c.ask, c.deny, c.host,
				d.Verdict, own, c.want, c.own)
		}
	}
}

func TestTheQuestionSaysThatAHostIsThisMachine(t *testing.T) {
	t.Parallel()
	p := testPolicy(t, ModeAsk, "", "", "")
	for host, want := range map[string]string{
		"localhost:8080":     "localhost is this machine; web_fetch(localhost:8080)",
		"169.254.169.254:80": "169.254.169.254 is a link-local address, where clouds give out a machine's credentials; web_fetch(169.254.169.254:80)",
		"go.dev:8443":        "; web_fetch(go.dev)",
		"[2606:4700::1]:443": "; web_fetch([2606:4700::1])",
	} {
		d := p.Decide("web_fetch", tool.Access{Kind: tool.KindNetwork, Host: host})
		if got := strings.Join([]string{d.Reason(), d.Narrow}, "; "); got != want {
			t.Errorf("%s: %s, want %s", host, got, want)
		}
	}
	d := p.Decide("web_search", tool.Access{Kind: tool.KindNetwork, Object: "weather"})
	if d.Verdict != Ask || d.Narrow != "web_search" {
		t.Errorf("%+v", d)
	}
}
