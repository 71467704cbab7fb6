package config

import (
	"errors"
	"slices"
	"testing"
)

const profiles = `[provider]
provider = "openai"
model = "gpt-5"
[agent]
max_turns = 7
max_files = 3
[permissions]
deny = ["bash(curl:*)"]
[profile.review]
approval = "plan"
deny = ["write"]
max_turns = 9
[profile.review.agents.critic]
prompt = "Find faults."
[profile.house.provider]
model = "qwen"
provider = "ollama"
[profile.wrong.ui]
color = "blue"
[profile.twice]
model = "a"
[profile.twice.provider]
model = "b"
`

func TestAProfileLiesOverTheFileAndUnderTheVariables(t *testing.T) {
	home := world(t)
	writeFile(t, 0o600, profiles, home, ".config", "artoo", "config.toml")
	t.Setenv("ARTOO_PROFILE", "review")
	t.Setenv("ARTOO_MAX_TURNS", "11")
	c := mustLoad(t, LoadOptions{})
	for key, want := range map[string]string{"approval": "config.toml line 10 [profile.review]",
		"max_turns": "ARTOO_MAX_TURNS", "max_files": "config.toml line 6", "profile": "ARTOO_PROFILE"} {
		if c.Origin(key) != want {
			t.Errorf("%s is of %s", key, c.Origin(key))
		}
	}
	if c.Approval != "plan" || c.Model != "gpt-5" || len(c.Agents) != 1 ||
		c.Agents[0].Origin != "config.toml line 13 [profile.review]" {
		t.Errorf("%+v\n%+v", c.Settings, c.Agents)
	}
	var rules []string
	for _, r := range c.AllRules("/x") {
		rules = append(rules, r.Text+" of "+r.Origin)
	}
	want := []string{"bash(curl:*) of config.toml line 8", "write of config.toml line 11 [profile.review]"}
	if !slices.Equal(rules, want) {
		t.Errorf("%q", rules)
	}
	c = mustLoad(t, LoadOptions{Flags: map[string][]string{"profile": {"house"}}})
	if c.Provider != "ollama" || c.Model != "qwen" || c.Approval != "ask" || len(c.Warnings) != 0 {
		t.Errorf("%+v %q", c.Settings, c.Warnings)
	}
}

func TestAWrongProfileIsNamed(t *testing.T) {
	for name, want := range map[string]string{
		"reveiw": "--profile: no such profile: \"reveiw\", try house, review, twice or wrong",
		"wrong": `~/.config/artoo/config.toml line 19: ui.color: "blue" is not one of auto, always, never` +
			`, try color = "auto"`,
		"twice": "~/.config/artoo/config.toml line 23: provider.model says the same as config.toml line 21 " +
			"[profile.twice], try keep one of the two lines",
	} {
		home := world(t)
		writeFile(t, 0o600, profiles, home, ".config", "artoo", "config.toml")
		_, err := load(LoadOptions{Flags: map[string][]string{"profile": {name}}})
		if e, ok := errors.AsType[*Error](err); !ok || e.Error()+", try "+e.Hint != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	world(t)
	_, err := load(LoadOptions{Flags: map[string][]string{"profile": {"review"}}})
	if e, ok := errors.AsType[*Error](err); !ok || e.Hint != "write a table [profile.NAME] in config.toml" {
		t.Errorf("without a file: %v", err)
	}
}
