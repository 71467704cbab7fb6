package agent_test

import (
	"strings"
	"testing"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/provider/fake"
	"artoo/tool/proxy"
	"artoo/tool/sandbox"
)

// hostsOf is an agent whose model runs the line, on a machine that can open hosts to it.
func hostsOf(t *testing.T, c *confinement, line string) *agent.Agent {
	t.Helper()
	c.trusted = true
	a := c.scripted(t, permission.ModeEdits, fake.Calls(fake.ToolCall("c1", "bash", `{"command":"`+line+`"}`)), fake.Say("ok"))
	p := a.Policy()
	p.Confinement.Proxy = true
	p.Fetches = func(set string) (permission.Fetches, error) {
		return permission.Fetches{Hosts: []permission.Host{{Name: set + ".example"}}}, nil
	}
	return a
}

// What a line reached and was refused stands in its result, and in what the turn reached.
func TestAResultNamesTheHostsOfALine(t *testing.T) {
	t.Parallel()
	c := &confinement{network: proxy.Report{Reached: []proxy.Reached{{Host: "npm.example", Requests: 214}},
		Refused: []proxy.Refused{{Host: "telemetry.example", Why: "is not one of this line's hosts", Unlisted: true}}}}
	a := hostsOf(t, c, "npm ci || true")
	r := &recorder{answers: []agent.Answer{{Verdict: agent.Yes}}}
	response := mustSend(t, a, r, "go")
	got := toolResults(a)[0]
	if !strings.Contains(got, "[network: npm.example, 214 requests; refused: telemetry.example is not one of this line's hosts]") {
		t.Errorf("the result is %q", got)
	}
	if len(response.Reach.Network) != 1 || response.Reach.Network[0] != "npm.example" {
		t.Errorf("the turn reached %v", response.Reach.Network)
	}
	if hosts := c.lines[0].Hosts; len(hosts) != 1 || hosts[0].Name != "npm.example" {
		t.Errorf("it was started with %v", hosts)
	}
}

// A line that failed for want of a host is offered it, and runs again with the user's yes.
func TestALineRunsAgainWithTheHostsThatItLacked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]*confinement{
		"refused": {network: proxy.Report{Refused: []proxy.Refused{{Host: "telemetry.example", Why: "is not listed", Unlisted: true}}}},
		"no way":  {denials: []sandbox.Denial{{Kind: sandbox.DenialNetwork, What: "there is no network"}}},
	} {
		a := hostsOf(t, c, "go build ./nosuch")
		r := &recorder{answers: []agent.Answer{{Verdict: agent.Yes}, {Verdict: agent.No}}}
		mustSend(t, a, r, "go")
		if len(c.lines) != 2 || len(r.asked) == 0 {
			t.Fatalf("%s: %d runs, %d questions", name, len(c.lines), len(r.asked))
		}
		want := map[string]string{"refused": "telemetry.example", "no way": "go.example"}[name]
		if hosts := c.lines[1].Hosts; len(hosts) != 1 || hosts[0].Name != want || !strings.HasPrefix(r.asked[0].Reason, "it reaches ") {
			t.Errorf("%s: asked %q, and ran again with %v", name, r.asked[0].Reason, hosts)
		}
	}
}

// A package may ask for any address of this machine or network. None is offered, to the model or the user: only the
// user's own settings open one.
func TestNoAddressOfThisMachineOrNetworkIsOffered(t *testing.T) {
	t.Parallel()
	var refused []proxy.Refused
	for _, host := range []string{"10.0.0.1", "localhost:8080", "[::1]:22", "169.254.169.254:80", "cdn.example"} {
		refused = append(refused, proxy.Refused{Host: host, Why: "is not one of this line's hosts", Unlisted: true})
	}
	c := &confinement{network: proxy.Report{Refused: refused}}
	a := hostsOf(t, c, "npm ci")
	r := &recorder{answers: []agent.Answer{{Verdict: agent.Yes}, {Verdict: agent.No}}}
	mustSend(t, a, r, "go")
	if len(r.asked) != 2 || r.asked[1].Reason != "it reaches cdn.example" ||
		r.asked[1].Suggested != r.asked[1].Rule {
		t.Fatalf("asked %+v", r.asked)
	}
}
