package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// loadFile loads a config file with these flags, in an environment of its own.
func loadFile(t *testing.T, text string, flags map[string][]string) (*Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{"config": {path}}
	for key, values := range flags {
		all[key] = values
	}
	return load(LoadOptions{Flags: all})
}

func TestEachRuleKnowsWhereItStands(t *testing.T) {
	t.Setenv("ARTOO_DENY", "c,d(e,f)")
	c, err := loadFile(t,
		"[permissions]\nallow = [\n  \"a\", # one\n  \"b(x)\",\n]\nask = \"k\"\n\n[project.\"/p\"]\nallow = [\"own\"]\ndeny = [\n\n\"mine\"]\n",
		map[string][]string{"allow": {"z"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range c.AllRules("/p") {
		got = append(got, r.List+" "+r.Text+": "+r.Origin)
	}
	want := "allow own: config.toml line 9|deny mine: config.toml line 12|allow a: config.toml line 3|allow b(x): config.toml line 4|" +
		"ask k: config.toml line 6|deny c: ARTOO_DENY|deny d(e,f): ARTOO_DENY|allow z: --allow"
	if all := strings.Join(got, "|"); all != want {
		t.Errorf("rules\n%s\nwant\n%s", all, want)
	}
	if n := len(c.AllRules("/q")); n != 6 {
		t.Errorf("in another project there are %d rules, want 6", n)
	}
}

func TestAConversationSaysThatItAnswersInText(t *testing.T) {
	t.Parallel()
	flags := map[string][]string{"interactive": {"true"}, "output": {"json"}}
	if _, err := loadFile(t, "", flags); err == nil || !strings.Contains(err.Error(), "text only") {
		t.Errorf("-o json with --interactive: %v", err)
	}
	c, err := loadFile(t, "[ui]\noutput = \"json\"\n", map[string][]string{"interactive": {"true"}})
	if err != nil || len(c.Warnings) != 1 || !strings.Contains(c.Warnings[0], "headless") {
		t.Errorf("json from the file: %v", err)
	}
}

func TestWhatWasApprovedIsKept(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", filepath.Join(t.TempDir(), "state"))
	c, err := loadFile(t, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Approve("/p", "bash(./x.sh)", Approval{Dir: "/p", Scripts: map[string]string{"/p/x.sh": "1"}}); err != nil {
		t.Fatal(err)
	}
	if err := c.Approve("/p", "bash(ls)", Approval{Dir: "/p"}); err != nil {
		t.Fatal(err)
	}
	a, err := c.Approved("/p", "bash(./x.sh)")
	if err != nil || a == nil || a.Dir != "/p" || a.Scripts["/p/x.sh"] != "1" {
		t.Errorf("kept: %+v, %v", a, err)
	}
	for root, rule := range map[string]string{"/p": "bash(ls)", "/q": "bash(./x.sh)"} {
		if a, err := c.Approved(root, rule); a != nil || err != nil {
			t.Errorf("%s %s: %+v, %v", root, rule, a, err)
		}
	}
}
