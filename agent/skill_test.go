package agent_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"artoo/agent"
	"artoo/conversation"
	"artoo/provider"
	"artoo/provider/fake"
	"artoo/tool"
	"artoo/tool/extension"
	"artoo/tool/skill"
)

// skills is a library with one skill whose text has so many bytes.
func skills(t *testing.T, name string, size int) *skill.Library {
	t.Helper()
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, name), 0o755))
	text := "---\ndescription: helps\n---\nRead this first.\n" + strings.Repeat("A rule of it. ", size/14)
	must(t, os.WriteFile(filepath.Join(dir, name, "SKILL.md"), []byte(text), 0o644))
	place := skill.Place{Kind: extension.KindSkill, Dir: dir, Origin: extension.Origin{Place: "skills"}}
	return skill.New([]skill.Place{place}, nil)
}

// longTask calls skill, and then look until the history is trimmed several times.
func longTask() *fake.Provider {
	steps := []fake.Step{fake.Call("c0", "skill", `{"name":"pdf"}`)}
	for range 17 {
		steps = append(steps, fake.Call("c", "look", `{"arg":"`+strings.Repeat("x", 3000)+`"}`))
	}
	return &fake.Provider{Steps: append(steps, fake.Say("ok"))}
}

func TestALoadedSkillIsGivenAgainWhenItIsNoLongerSent(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		size  int
		again bool
	}{{2000, true}, {40000, false}} {
		p := longTask()
		opt := testOptions(p, append(ownTools("skill"), makeTool("look", tool.KindRead, nil))...)
		opt.Skills = skills(t, "pdf", row.size)
		a, err := agent.New(opt)
		must(t, err)
		a.Hold(conversation.New(conversation.Config{MaxContextTokens: 12000}, nil))
		cb := &recorder{}
		mustSend(t, a, cb, "go")
		request, _ := p.Last()
		given, lost := 0, 0
		for _, m := range request.Messages {
			given += strings.Count(m.Text(), "These skills were loaded before:\n[The skill pdf. Its directory is ")
			lost += strings.Count(m.Text(), "to be loaded again before use: skill pdf")
		}
		said := slices.ContainsFunc(cb.notices, func(n agent.Notice) bool { return strings.Contains(n.Text, "no longer in the context: skill pdf") })
		if row.again && (given != 1 || said) || !row.again && (given != 0 || !said) {
			t.Errorf("%d bytes: given %d times, reported lost %d times, user notified %t", row.size, given, lost, said)
		}
	}
}

// Its sub-agent loads skills of its own.
func TestASubAgentHasSkills(t *testing.T) {
	t.Parallel()
	p := &fake.Provider{Steps: []fake.Step{
		fake.Call("c1", "skill", `{"name":"pdf"}`), fake.Call("c2", "task", `{"prompt":"do it"}`),
		fake.Call("s1", "skill", `{"name":"pdf"}`), fake.Say("done"),
		fake.Call("c3", "skill", `{"name":"pdf"}`), fake.Say("ok")}}
	opt := testOptions(p, ownTools("task", "skill")...)
	opt.Skills = skills(t, "pdf", 100)
	a, err := agent.New(opt)
	must(t, err)
	cb := &recorder{}
	mustSend(t, a, cb, "go")
	var texts []string
	for _, h := range history(a) {
		if strings.Contains(h, "Read this first.") || strings.Contains(h, "is loaded already") {
			texts = append(texts, h)
		}
	}
	if len(texts) != 2 || !strings.Contains(texts[1], "is loaded already") {
		t.Errorf("%q", texts)
	}
	last := p.Requests()[3].Messages // the sub-agent's second request
	result, _ := last[len(last)-1].Parts[0].(provider.ToolResult)
	if !strings.Contains(result.Text, "Read this first.") {
		t.Errorf("%+v", result)
	}
}
