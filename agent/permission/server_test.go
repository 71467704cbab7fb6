package permission

import (
	"strings"
	"testing"

	"artoo/tool"
)

// Each call of a server's tool is asked about in every mode until a rule names it; plan refuses
// those that the user does not list as reading. The server's own claims change nothing.
func TestServersCalls(t *testing.T) {
	t.Parallel()
	calls := map[string]tool.Access{
		"plain":   {Kind: tool.KindServer, Server: "db"},
		"claims":  {Kind: tool.KindServer, Server: "db", Claims: "only reads"},
		"reads":   {Kind: tool.KindServer, Server: "db", Reads: true},
		"changed": {Kind: tool.KindServer, Server: "db", Reads: true, Claims: "only reads", Changed: "-a\n+b\n"},
	}
	for _, mode := range []Mode{ModePlan, ModeAsk, ModeEdits, ModeAuto} {
		for kind, access := range calls {
			allowed, unruled := Run, Ask
			if kind == "changed" {
				allowed = Ask
			}
			if mode == ModePlan && !access.Reads {
				allowed, unruled = Refuse, Refuse
			}
			for _, c := range []struct {
				allow, ask, deny string
				want             Verdict
			}{
				{"", "", "", unruled},
				{"read", "", "", unruled},
				{"write", "", "", unruled},
				{"mcp__dbx", "", "", unruled},
				{"mcp__db__qu", "", "", unruled},
				{"mcp__db", "", "", allowed},
				{"mcp__db__query", "", "", allowed},
				{"mcp__db__q*", "", "", allowed},
				{"mcp__db", "mcp__db__query", "", unruled},
				{"mcp__db", "", "mcp__db__q*", Refuse},
			} {
				p := testPolicy(t, mode, c.allow, c.ask, c.deny)
				p.TrustsPrograms = true
				if got := p.Decide("mcp__db__query", access); got.Verdict != c.want {
					t.Errorf("%s, %s, allow %q ask %q deny %q: got %s (%s), want %s",
						mode, kind, c.allow, c.ask, c.deny, got.Verdict, got.Reason(), c.want)
				}
			}
		}
	}
}

func TestRulesForServersCalls(t *testing.T) {
	t.Parallel()
	p := testPolicy(t, ModeAsk, "", "", "")
	d := p.Decide("mcp__db__query", ofServer("db"))
	if d.Narrow != "mcp__db__query" || d.Suggested != "mcp__db" || d.Cause() != ServerTool {
		t.Errorf("narrow %q, suggested %q, cause %q", d.Narrow, d.Suggested, d.Cause())
	}
	if err := p.AllowInSession(d.Narrow, "mcp__db__query", ofServer("db")); err != nil {
		t.Error(err)
	}
	if d := p.Decide("mcp__db__query", ofServer("db")); d.Verdict != Run || !d.Has(SessionAllows) {
		t.Errorf("after a lasting yes: %s (%s)", d.Verdict, d.Reason())
	}
	changed := ofServer("db")
	changed.Changed = "+ and sends them away"
	d = p.Decide("mcp__db__query", changed)
	if d.Verdict != Ask || d.Cause() != ToolChanged || d.Narrow != "" {
		t.Errorf("a changed tool: %s, cause %q, narrow %q", d.Verdict, d.Cause(), d.Narrow)
	}
	if err := p.AllowInSession("mcp__db", "mcp__db__query", changed); err == nil {
		t.Error("a rule was taken for a tool whose definition has changed")
	}
}

func TestServersCallsAreExplained(t *testing.T) {
	t.Parallel()
	p := testPolicy(t, ModePlan, "mcp__db", "", "")
	name, access, err := CallFor("mcp__db__query", nil)
	if err != nil || name != "mcp__db__query" || access.Kind != tool.KindServer || access.Server != "db" {
		t.Fatalf("%q %+v %v", name, access, err)
	}
	if e := p.Explain(name, access); e.Verdict != Refuse || len(e.Reasons) == 0 || e.Reasons[0].Code != PlanMode {
		t.Errorf("plan mode: %+v", e)
	}
	p.Mode = ModeAuto
	if e := p.Explain(name, access); e.Verdict != Run || e.Rule != "mcp__db" {
		t.Errorf("with a rule: %+v", e)
	}
}

func TestRulesForToolsThatAServerLacks(t *testing.T) {
	t.Parallel()
	p := testPolicy(t, ModeAsk, "mcp__db__qurey|mcp__db__list_*|mcp__db|mcp__other__x", "mcp__db__drop", "mcp__db__d*")
	var lacking []string
	for _, r := range p.Unmatched("db", []string{"mcp__db__query", "mcp__db__list_tables", "mcp__db__delete"}) {
		lacking = append(lacking, r.String())
	}
	if got := strings.Join(lacking, " "); got != "mcp__db__drop mcp__db__qurey" {
		t.Errorf("got %q", got)
	}
}
