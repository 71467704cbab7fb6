package cli

import (
	"context"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"artoo/agent"
	"artoo/agent/instructions"
	"artoo/agent/permission"
	"artoo/config"
	"artoo/provider"
	"artoo/tool/extension"
	"artoo/tool/names"
	"artoo/tool/skill"
	"artoo/tool/text"
	"artoo/ui"
)

// repositoryDirs hold a repository's skills, commands and agents, in each directory from its root
// down to the working directory; the first one that has a name wins.
func repositoryDirs() []string { return []string{ownNames()[0], ".agents", ".claude"} }

// sharedNames are the directories that artoo itself reads at each of these levels, besides a project's own file.
func sharedNames() []string { return repositoryDirs()[:2] }

// splitShared splits the name of a file of a skill, a command or an agent into the directory of its
// kind and the rest; ok is false for other files.
func splitShared(name string) (dir, rel string, ok bool) {
	parts := strings.Split(name, "/")
	at := slices.IndexFunc(parts, func(part string) bool { return slices.Contains(repositoryDirs(), part) })
	if at < 0 || at+2 >= len(parts) || !slices.ContainsFunc(extension.FileKinds(), func(k extension.Kind) bool { return k.Dir() == parts[at+1] }) {
		return "", "", false
	}
	return strings.Join(parts[:at+2], "/"), strings.Join(parts[at+2:], "/"), true
}

// isShared reports whether artoo obeys a file, by its name, that other programs obey too.
func isShared(name string) bool {
	_, _, shared := splitShared(name)
	_, rule := ofRules(name)
	return shared || rule
}

// ofRules is the directory that a file of rules for the model is for, by its name below the project's root.
func ofRules(name string) (dir string, ok bool) {
	for _, holder := range []string{"/.artoo/rules/", "/.claude/rules/"} {
		if before, _, ok := strings.Cut("/"+name, holder); ok && path.Ext(name) == ".md" {
			return strings.TrimPrefix(before, "/"), true
		}
	}
	return "", false
}

// pathRules are the rules of the repository as the user trusts them. A dangling link has no data.
func (x *extensions) pathRules() (rules []instructions.Rule) {
	abs := func(name string) string { return filepath.Join(x.project.Root, filepath.FromSlash(name)) }
	for _, f := range x.repoSettings.Files {
		dir, ok := ofRules(f.Name)
		if ok && f.Data != nil {
			rules = append(rules, instructions.NewRule(abs(f.Name), abs(dir), f.Data))
		}
	}
	return rules
}

// skillPlaces are the places of skills, commands and agents, and names that the user hides: those of
// the policy, which no one hides or replaces, then the nearest first. A repository's are as the user
// trusted them.
func (x *extensions) skillPlaces() (places []skill.Place, hidden []string) {
	add := func(dir, name, skills string, source extension.Source) {
		for kind, below := range map[extension.Kind]string{extension.KindSkill: skills,
			extension.KindCommand: extension.KindCommand.Dir(), extension.KindAgent: extension.KindAgent.Dir()} {
			places = append(places, skill.Place{Kind: kind, Dir: filepath.Join(dir, below),
				Origin: extension.Origin{Source: source, Place: path.Join(name, below)}})
		}
	}
	home := x.process.Environ.Home()
	for _, dir := range x.cfg.Policy.Skills {
		add(dir, dir, "", extension.SourcePolicy)
	}
	if x.repoSettings.trusted() {
		places = append(places, x.repositoryPlaces()...)
	}
	if dir, err := x.cfg.Paths.ConfigDir(); err == nil {
		add(dir, homeName(dir, home), extension.KindSkill.Dir(), extension.SourceUser)
	}
	if home != "" {
		add(filepath.Join(home, ".agents"), "~/.agents", extension.KindSkill.Dir(), extension.SourceUser)
	}
	for _, dir := range x.cfg.SkillDirs {
		if name, hides := strings.CutPrefix(dir, "-"); hides {
			hidden = append(hidden, name)
			continue
		}
		add(x.abs(names.InHome(dir, home)), dir, "", extension.SourceUser)
	}
	for _, b := range x.bundles() {
		places = append(places, b.Places...)
	}
	return places, hidden
}

// repositoryPlaces are those of the trusted repository, the nearest first.
func (x *extensions) repositoryPlaces() (places []skill.Place) {
	taken := map[string]map[string][]byte{} // The keys are directories.
	for _, f := range x.repoSettings.Files {
		dir, rel, ok := splitShared(f.Name)
		if !ok || f.Data == nil { // a dangling link
			continue
		}
		if taken[dir] == nil {
			taken[dir] = map[string][]byte{}
		}
		taken[dir][rel] = f.Data
	}
	rel, err := filepath.Rel(x.project.Root, x.project.Dir)
	if err != nil {
		rel = "."
	}
	for at := filepath.ToSlash(rel); ; at = path.Dir(at) {
		for _, name := range repositoryDirs() {
			for _, k := range extension.FileKinds() {
				dir := path.Join(at, name, k.Dir())
				if files := taken[dir]; files != nil {
					places = append(places, skill.Place{Kind: k, Dir: filepath.Join(x.project.Root, filepath.FromSlash(dir)), Taken: files,
						Origin: extension.Origin{Source: extension.SourceRepository, Root: x.project.Root, Place: dir}})
				}
			}
		}
		if at == "." {
			return places
		}
	}
}

// fileAgents are the agents of Markdown files, without those that the settings replace. all are the
// names of all tools. An agent whose model is not known has the caller's. What an agent asks for and
// does not get is said in one line.
func (a *app) fileAgents(all []string) (list []agent.SubAgent) {
	var missing []string
	for _, i := range a.extensions.skills.Items(extension.KindAgent) {
		if i.Place.Source != extension.SourcePolicy && slices.ContainsFunc(a.cfg.Agents, func(t config.AgentTable) bool { return t.Name == i.Name }) {
			continue
		}
		body, err := i.Text()
		if err != nil {
			a.warn(err.Error())
			continue
		}
		s := agent.SubAgent{Name: i.Name, Description: i.Description, Prompt: body, ReadOnly: i.Plan}
		var lacks []string
		s.Tools, lacks = agentTools(i, all)
		choice := a.models.choiceOf(i.Model)
		switch {
		case i.Model == "":
		case isProgram(choice.Provider) || !a.models.catalog.Has(choice.Provider, choice.Model):
			lacks = append(lacks, "the model "+i.Model)
		default:
			s.Model = func() (agent.Model, error) { return a.models.model(choice) }
		}
		if lacks != nil {
			missing = append(missing, i.Name+" ("+strings.Join(lacks, ", ")+")")
		}
		list = append(list, s)
	}
	if missing != nil {
		a.warn("agents that need something unavailable: " + text.UpTo(3, missing))
	}
	return list
}

// agentTools are the tools of an agent, of all that there are; nil for all. lacks names those that are
// not known, and limits on a part of a tool, which have no meaning here.
func agentTools(i skill.Item, all []string) (tools, lacks []string) {
	everything := i.Tools == nil || slices.ContainsFunc(i.Tools, func(name string) bool { return name == "*" || name == "all" })
	if !everything {
		tools = []string{}
	}
	take := func(names []string, each func(tool string)) {
		for _, name := range names {
			named := permission.ToolsNamed(name)
			if slices.Contains(all, name) {
				named = append(named, name)
			}
			if named == nil && name != "*" {
				lacks = append(lacks, name)
			}
			for _, t := range named {
				each(t)
			}
		}
	}
	if !everything {
		take(i.Tools, func(t string) { tools = append(tools, t) })
		limited := func(name string) bool { return strings.Contains(name, "(") && permission.ToolsNamed(name) != nil }
		if at := slices.IndexFunc(i.Tools, limited); at >= 0 {
			lacks = append(lacks, "the limit "+i.Tools[at])
		}
	}
	if i.Without != nil && everything {
		tools = slices.Clone(all)
	}
	for _, name := range i.Without {
		if strings.Contains(name, "(") { // It denies a part of the tool alone.
			lacks = append(lacks, "the limit "+name)
			continue
		}
		take([]string{name}, func(t string) { tools = slices.DeleteFunc(tools, func(have string) bool { return have == t }) })
	}
	return tools, lacks
}

// invocation is the skill or command that a prompt calls; ok is false where it calls none. The
// error is of a name that no one has.
func (x *extensions) invocation(prompt string) (in ui.Invocation, ok bool, err error) {
	name, args, ok := ui.CommandName(prompt)
	if !ok {
		return in, false, nil
	}
	const text = "start with a space to send it as text"
	if ui.IsBuiltIn(name) {
		return in, false, usage("/"+name, "this command works in a conversation only", text)
	}
	if in.Item, ok = ui.FindOwn(x.skills, name); ok {
		in.Args = args
		return in, true, nil
	}
	if line := x.ignored(); line != "" {
		x.warn(line)
	}
	for _, line := range slices.Concat(x.skills.Skipped(extension.KindCommand), x.skills.Skipped(extension.KindSkill)) {
		x.warn("skipped: " + line)
	}
	hint := text
	if near := ui.NearestOwn(x.skills, name); near != "" {
		hint = "/" + near + ", or " + hint
	}
	return in, false, usage("/"+name, "no such skill or command", hint)
}

// calledPrompt is the prompt of a headless run, and the thing it calls: a prompt of an MCP server, a skill
// or command, or nothing.
type calledPrompt struct {
	text                 string
	server, name, values string
	isPrompt             bool
	own                  ui.Invocation
	isOwn                bool
}

// calledBy finds the prompt, skill or command that a prompt calls. The error names an unknown one.
func (x *extensions) calledBy(prompt string) (c calledPrompt, err error) {
	c.text = prompt
	c.server, c.name, c.values, c.isPrompt = ui.PromptCall(x.skills, prompt)
	if !c.isPrompt {
		c.own, c.isOwn, err = x.invocation(prompt)
	}
	return c, err
}

// invoker sends the message of an invocation; it implements headless.Sender.
type invoker struct {
	app     *app
	in      ui.Invocation
	options provider.Options
}

func (i invoker) SendMessage(ctx context.Context, text string, cb agent.Callbacks, attachments ...provider.Part) (*agent.Response, error) {
	m, notes, denied, err := i.in.Message(ctx, i.app.agent, agent.Message{Text: text, Attachments: attachments, Options: i.options}, cb)
	for _, note := range notes {
		i.app.screen.Note(note)
	}
	switch {
	case denied != nil:
		return denied, err
	case err != nil:
		return &agent.Response{}, err
	}
	return i.app.agent.Send(ctx, m, cb)
}

// skippedSkills says which files of skills, commands and agents are left out, and why.
func (x *extensions) skippedSkills() (lines []string) {
	for _, k := range extension.FileKinds() {
		lines = slices.Concat(lines, x.skills.Skipped(k), x.skills.Shadowed(k))
	}
	return lines
}

// homeName is a path with ~ for the home directory.
func homeName(path, home string) string {
	if rel, err := filepath.Rel(home, path); home != "" && err == nil && filepath.IsLocal(rel) {
		return "~/" + filepath.ToSlash(rel)
	}
	return path
}
