package config

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestATrustedProjectTakesToolsAwayAndBringsRules(t *testing.T) {
	home := world(t)
	writeFile(t, 0o600, "[permissions]\ndeny = [\"read(mine)\"]\n", home, ".config", "artoo", "config.toml")
	c := mustLoad(t, LoadOptions{})
	err := c.ApplyProject("/src/shop", []byte("[agent]\ntools = [\"-web_*\", \"-bash\"]\n[permissions]\n"+
		"ask = [\"write(db/**)\"]\ndeny = [\n  \"read(secrets/**)\",\n  \"bash(git push:*)\",\n]\n"))
	if err != nil {
		t.Fatal(err)
	}
	var rules []string
	for _, r := range c.AllRules("/src/shop") {
		rules = append(rules, r.List+" "+r.Text+", "+r.Origin)
		if r.List == "ask" && r.InFile() {
			t.Error("a rule of the project reopens denied files as one of the user's does")
		}
	}
	if diff := cmp.Diff([]string{"deny read(mine), config.toml line 2", "ask write(db/**), .artoo/config.toml line 4",
		"deny read(secrets/**), .artoo/config.toml line 6", "deny bash(git push:*), .artoo/config.toml line 7"}, rules); diff != "" {
		t.Error(diff)
	}
	all := []string{"read", "bash", "web_fetch", "web_search", "todo"}
	for _, tools := range [][]string{nil, {"all"}, {"+bash"}, {"read", "bash", "web_fetch"}} {
		c.Tools = tools
		got, err := c.SelectTools(all, all[:3])
		if err != nil || strings.Join(got, " ") != map[bool]string{true: "read todo", false: "read"}[len(tools) == 1 && tools[0] == "all"] {
			t.Errorf("%v: %v, %v", tools, got, err)
		}
	}
	wrong := c.AllRules("/src/shop")[1].Wrong("no such tool", "")
	if !strings.HasPrefix(wrong.Error(), "/src/shop/.artoo/config.toml line 4: ") {
		t.Error(wrong)
	}
}

func TestAProjectCanOnlyTighten(t *testing.T) {
	world(t)
	const mine = "~/.config/artoo/config.toml"
	for text, want := range map[string][2]string{
		"[provider]\nbase_url = \"http://evil\"": {"line 2: provider.base_url: a project can only set restrictions: " +
			"agent.tools with -NAME, the caps on effects, permissions.ask, permissions.deny and permissions.hide", "provider.base_url in " + mine},
		"[permissions]\n\nallow = [\"bash\"]": {"line 3: permissions.allow: a project can only set restrictions",
			`allow under [project."/src/shop"] in ` + mine},
		"[permissions]\napproval = \"auto\"":  {"line 2: permissions.approval: ", "permissions.approval in " + mine},
		"[permissions]\nsandbox = \"off\"":    {"line 2: permissions.sandbox: ", ""},
		"[permissions]\npass_env = [\"X\"]":   {"line 2: permissions.pass_env: ", ""},
		"[project.\"/\"]\nallow = [\"bash\"]": {"line 1: project./: ", ""},
		"[provider.x]\nbase_url = \"y\"":      {"line 1: provider.x: ", ""},
		"[provider]\n[provider.x]\na = 1":     {"line 2: provider.x: ", ""},
		"[provider.mine]\nwire = \"messages\"\nauth = \"bearer\"\npath = \"/x\"\nextra_body = { a = 1 }": {"line 1: provider.mine: ", ""},
		"deny = [\"read(x)\"]":         {"line 1: deny: a project can only set restrictions", "move the line below [permissions]"},
		"[provider]\nask = [\"bash\"]": {"line 2: provider.ask: ", "move the line below [permissions]"},
		"tools = [\"-bash\"]":          {"line 1: tools: ", "move the line below [agent]"},
		"[hooks]\nx = 1":               {"line 1: hooks must be an array of tables, not a table", "[[hooks]]"},
		"[[hooks]]\non = \"question\"\ncommand = \"x\"\nmay_answer = true":    {"line 2: hooks[0].on: a project's hook can only deny", ""},
		"[[hooks]]\non = \"message\"\ncommand = \"x\"\non_failure = \"warn\"": {"line 2: hooks[0].on: a project's hook can only deny", ""},
		"[mcp.x]\ncommand = \"x\"": {"line 1: mcp.x: ", ""},
		"model = \"x\"":            {"line 1: model: ", ""},
		"[agent]\nsystem = \"x\"":  {"line 2: agent.system: ", ""},
		"[agent]\ntools = [\"+bash\"]": {`line 2: agent.tools: "+bash": a project can only take tools away`,
			`tools = ["-bash"], or agent.tools in ` + mine},
		"[agent]\ntools = [\"-\"]":          {`line 2: agent.tools: "-"`, ""},
		"[agent]\ntools = \"-bash\"":        {"line 2: agent.tools must be an array of strings, not a string", ""},
		"[permissions]\ndeny = [1]":         {"line 2: permissions.deny must be an array of strings", ""},
		"[permissions]\nDENY = [\"write\"]": {"line 2: permissions.DENY: ", ""},
		"not toml [[":                       {"line 1: ", "fix the line, or --no-project for a run without the file"},
	} {
		c := mustLoad(t, LoadOptions{})
		err := c.ApplyProject("/src/shop", []byte(text))
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Kind != kindConfig || !strings.HasPrefix(e.Error(), "/src/shop/.artoo/config.toml "+want[0]) ||
			want[1] != "" && e.Hint != want[1] {
			t.Errorf("%s: %v, %+v", text, err, e)
		}
	}
}

func TestAProjectTightensTheCapsOnEffects(t *testing.T) {
	world(t)
	t.Setenv("ARTOO_MAX_FILES", "3")
	t.Setenv("ARTOO_MAX_LINES", "100")
	t.Setenv("ARTOO_ONLY", "docs/**,*.md")
	c := mustLoad(t, LoadOptions{})
	if err := c.ApplyProject("/src/shop", []byte("[agent]\nmax_files = 9\nmax_lines = 10\nonly = [\"src/**\"]\nno_delete = true\n")); err != nil {
		t.Fatal(err)
	}
	if c.MaxFiles != 3 || c.MaxLines != 10 || !bool(c.NoDelete) {
		t.Errorf("%d files, %d lines, no delete %v", c.MaxFiles, c.MaxLines, c.NoDelete)
	}
	if want := [][]string{{"docs/**", "*.md"}, {"src/**"}}; !slices.EqualFunc(c.OnlyPaths(), want, slices.Equal) {
		t.Errorf("%q", c.OnlyPaths())
	}
	if got := c.Origin("max_lines"); got != "/src/shop/.artoo/config.toml line 3" {
		t.Error(got)
	}
}

func TestAToolThatAProjectTakesAwayMustBeOne(t *testing.T) {
	world(t)
	c := mustLoad(t, LoadOptions{})
	if err := c.ApplyProject("/src/shop", []byte("[agent]\ntools = [\"-bsah\"]\n")); err != nil {
		t.Fatal(err)
	}
	_, err := c.SelectTools([]string{"read", "bash"}, []string{"read", "bash"})
	if err == nil || err.Error() != "/src/shop/.artoo/config.toml line 2: no such tool: bsah, did you mean bash?" {
		t.Error(err)
	}
}
