package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"artoo/provider"
	"artoo/tool"
	"artoo/tool/extension"
	"artoo/tool/skill"
	"artoo/tool/spelling"
	"artoo/tool/text"
)

type skillInput struct {
	Name  string `json:"name,omitempty"`
	Query string `json:"query,omitempty" jsonschema:"words to find skills by"`
}

// Bounds of the tool with its catalogue, of the results of a query and of the files a loaded skill names.
const (
	skillBytes   = 1750 // the tool's share of a request, with all around it
	skillFraming = 90   // a wire's share of these, around name, description and schema
	mostFound    = 20
	mostFiles    = 50
)

const skillPurpose = "Load a skill: instructions for a kind of task, with files. Call it with a name before you begin such a task; " +
	"with a query it lists more. Skills:\n"

// skillTool offers these skills; the loop runs it.
func skillTool(items []skill.Item) tool.Tool {
	def := tool.Def{Name: Skill, Kind: tool.KindRead, Description: skillPurpose}
	make := func() tool.Tool {
		return tool.New(def, func(_ context.Context, _ *tool.Env, in skillInput) (tool.Access, error) {
			if in.Name == "" && strings.TrimSpace(in.Query) == "" {
				return tool.Access{}, errors.New("skill: give a name, or a query")
			}
			object := in.Name
			if object == "" {
				object = "find " + in.Query
			}
			return tool.Access{Kind: tool.KindRead, Verb: "skill", Object: firstLine(object)}, nil
		}, nil)
	}
	if len(items) == 0 {
		return make()
	}
	room := skillBytes - skillFraming - len(make().Schema()) - len(skillPurpose)
	def.Description += skill.Catalogue(items, room, "query finds them")
	return make()
}

// forModel are the skills that the model may load.
func (s *session) forModel() []skill.Item {
	return slices.DeleteFunc(s.opt.Skills.Items(extension.KindSkill), func(i skill.Item) bool { return i.NoModel })
}

// lookForSkills looks meanwhile for the skills and agents that the session offers. Commands are looked for when
// one is called or listed.
func (s *session) lookForSkills() {
	s.skills, s.skillsTaken, s.loaded = nil, false, nil
	if s.opt.Skills == nil {
		return
	}
	if s.conv != nil && s.parent == nil { // A new session of the run offers the skills found by then.
		s.opt.Skills.Forget()
	}
	go guarded(func() { // A crash comes again where they are taken.
		s.opt.Skills.Items(extension.KindSkill)
		s.opt.Skills.Items(extension.KindAgent)
	})
}

// takeSkills offers the skills that were found, for the whole session, and reports files that are
// left out.
func (s *session) takeSkills() {
	if s.skillsTaken || s.opt.Skills == nil {
		return
	}
	s.skillsTaken = true
	if at := slices.IndexFunc(s.opt.Tools, func(t tool.Tool) bool { return t.Name == Skill && t.ByLoop() }); at >= 0 {
		s.skills = s.forModel()
		s.opt.Tools = slices.Clone(s.opt.Tools)
		s.opt.Tools[at] = skillTool(s.skills)
		s.conv.SetOverhead(s.system, s.specs)
	}
	if s.parent != nil {
		return
	}
	var skipped, shadowed []string
	for _, kind := range extension.FileKinds() {
		if !s.opt.Skills.Looked(kind) {
			continue // No one has used a command.
		}
		skipped = append(skipped, s.opt.Skills.Skipped(kind)...)
		shadowed = append(shadowed, s.opt.Skills.Shadowed(kind)...)
	}
	if skipped != nil {
		s.notifyOnce("skipped: " + text.UpTo(3, skipped))
	}
	if shadowed != nil {
		s.notifyOnce(text.UpTo(3, shadowed))
	}
}

// openSkill makes a skill's directory readable. A repository's lies in the project.
func (s *session) openSkill(i skill.Item) error {
	files := s.opt.Env.Files
	if files == nil || i.Place.Taken != nil {
		return nil
	}
	return files.AllowRead(i.Dir())
}

// loadSkill makes a skill's directory readable and returns its text, of which body is the present content;
// had means that the model has it already.
func (s *session) loadSkill(i skill.Item, body string) (text string, had bool, err error) {
	if err := s.openSkill(i); err != nil {
		return "", false, err
	}
	text = s.skillText(i, body)
	had = s.sends(text)
	s.loaded = append(slices.DeleteFunc(s.loaded, func(l loadedSkill) bool { return l.name == i.Name }), loadedSkill{i.Name, text})
	return text, had, nil
}

func (s *session) skillText(i skill.Item, body string) string {
	dir := i.Dir()
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real // The sandbox shows it there, without the links that lead to it.
	}
	head := fmt.Sprintf("[The skill %s. Its directory is %s", i.Name, text.Printable(dir))
	if files, more := i.Files(mostFiles); len(files) > 0 {
		for n := range files {
			files[n] = text.Printable(files[n])
		}
		head += ", with " + strings.Join(files, ", ")
		if more {
			head += " and more"
		}
	}
	if most := s.pageMax(); len(body) > most {
		body = text.CutLines(body, most) + "\n[… the rest is in " + text.Printable(i.File) + ": read it]"
	}
	return strings.TrimSpace(s.masked(head + "]\n" + body))
}

// sends reports whether a text is in the messages to the model, except old reminders: only the newest one stays.
func (s *session) sends(text string) bool {
	for _, m := range s.conv.Messages() {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case provider.Text:
				if p.Note != provider.NoteReminder && strings.Contains(p.Text, text) {
					return true
				}
			case provider.ToolResult:
				if strings.Contains(p.Text, text) {
					return true
				}
			}
		}
	}
	return false
}

func (t *turn) runSkill(d decided) (tool.Result, error) {
	in, err := tool.Decode[skillInput](*d.tool, d.call.Input)
	if err != nil {
		return tool.Result{}, err
	}
	s := t.session
	if in.Name == "" {
		return findSkills(s.skills, in.Query), nil
	}
	at := slices.IndexFunc(s.skills, func(i skill.Item) bool { return strings.EqualFold(i.Name, in.Name) })
	if at < 0 {
		var names []string
		for _, i := range s.skills {
			names = append(names, i.Name)
		}
		if near := spelling.Nearest(in.Name, names); near != "" {
			return tool.Result{}, fmt.Errorf("skill: there is no skill %q; did you mean %s?", in.Name, near)
		}
		return tool.Result{}, fmt.Errorf("skill: there is no skill %q; call skill with a query to find one", in.Name)
	}
	body, err := s.skills[at].Text()
	if err != nil {
		return tool.Result{}, fmt.Errorf("skill: %w", err)
	}
	loaded, had, err := s.loadSkill(s.skills[at], body)
	switch {
	case err != nil:
		return tool.Result{}, fmt.Errorf("skill: %w", err)
	case had:
		return tool.Result{Text: "The skill " + s.skills[at].Name + " is loaded already: its text stands above.", Summary: "already loaded"}, nil
	}
	return tool.Result{Text: loaded, Summary: text.Count(strings.Count(loaded, "\n"), "line"), Paged: true}, nil
}

func findSkills(items []skill.Item, query string) tool.Result {
	found := skill.Search(items, query)
	if len(found) == 0 {
		return tool.Result{Text: "No skill has these words.", Summary: "none"}
	}
	var b strings.Builder
	for _, i := range found[:min(len(found), mostFound)] {
		fmt.Fprintf(&b, "%s: %s\n", i.Name, i.Description)
	}
	if more := len(found) - mostFound; more > 0 {
		fmt.Fprintf(&b, "[%d more; use other words]\n", more)
	}
	return tool.Result{Text: b.String(), Summary: text.Count(len(found), "skill")}
}

// givenAgain is how many tokens of loaded skills are given again after a trim.
const givenAgain = 5000

// skillReminder has the text of loaded skills that is no longer sent, the last one first, as far
// as it may be; "" for nothing. A skill that is too long counts as not loaded.
func (s *session) skillReminder(notice func(text string)) string {
	left := givenAgain
	if budget := s.conv.Budget(); budget > 0 {
		left = min(left, budget/4)
	}
	var given, lost []string
	for _, l := range slices.Backward(slices.Clone(s.loaded)) {
		if s.sends(l.text) {
			continue
		}
		if tokens := s.conv.TextTokens(l.text); tokens <= left {
			left -= tokens
			given = append(given, l.text)
			continue
		}
		lost = append(lost, l.name)
		s.loaded = slices.DeleteFunc(s.loaded, func(other loadedSkill) bool { return other.name == l.name })
	}
	text := strings.Join(given, "\n\n")
	if text != "" {
		text = "These skills were loaded before:\n" + text
	}
	if len(lost) > 0 {
		names := strings.Join(lost, ", ")
		text = joined(text, "No longer here, to be loaded again before use: skill "+names)
		notice("no longer in the context: skill " + names + " (too long to be given again); the model can load it again")
	}
	return text
}

// remind gives plan and skills again, where they are no longer sent.
func (s *session) remind(notice func(text string)) error {
	text := joined(s.todoReminder(), s.skillReminder(notice))
	if text == "" {
		return nil
	}
	return s.conv.Remind(text)
}

// remindOf reports something to the model between two steps. It repeats the last reminder's part on skills, since only
// the newest one is sent.
func (t *turn) remindOf(text string) error {
	notice := func(text string) { t.cb.notice(NoticeInfo, text) }
	return t.session.conv.Remind(joined(text, t.session.skillReminder(notice)))
}

// loadedIn are the skills that the user or the model loaded in a history.
func (s *session) loadedIn(history []provider.Message) (loaded []loadedSkill) {
	load := func(name, text string, byModel bool) { // text is as it was sent, or "".
		i, ok := s.opt.Skills.Find(extension.KindSkill, name)
		if !ok || byModel && i.NoModel || slices.ContainsFunc(loaded, func(l loadedSkill) bool { return l.name == i.Name }) {
			return
		}
		body, err := i.Text()
		if err != nil || s.openSkill(i) != nil {
			return // It cannot be given again; a call will say why.
		}
		if text == "" || text == loadedAlready(i) {
			text = s.skillText(i, body)
		}
		loaded = append(loaded, loadedSkill{i.Name, text})
	}
	failed := map[string]bool{} // The keys are IDs of calls.
	for _, m := range history {
		for _, part := range m.Parts {
			if r, ok := part.(provider.ToolResult); ok && r.IsError {
				failed[r.CallID] = true
			}
		}
	}
	for _, m := range history {
		for _, part := range m.Parts {
			if t, ok := part.(provider.Text); ok && t.Skill != "" {
				load(t.Skill, t.Text, false)
			}
		}
		for _, c := range m.Calls() {
			var in skillInput
			if c.Name == Skill && !failed[c.ID] && json.Unmarshal(c.Input, &in) == nil {
				load(in.Name, "", true)
			}
		}
	}
	return loaded
}

// Skills are the user's skills, commands and agents; nil for none.
func (a *Agent) Skills() *skill.Library { return a.session.opt.Skills }

// LoadSkill is the text of a skill that the user calls, for the next message, with its expanded body. Its
// directory may be read from then on.
func (a *Agent) LoadSkill(i skill.Item, body string) (provider.Text, error) {
	text, had, err := a.session.loadSkill(i, body)
	if had {
		text = loadedAlready(i)
	}
	return provider.Text{Text: text, Skill: i.Name}, err
}

func loadedAlready(i skill.Item) string {
	return "[The skill " + i.Name + " is loaded already: its text stands above.]"
}

// lineOutput is how much of a line's output becomes part of a message, in characters.
const lineOutput = 10000

func (s *session) takeFound() {
	s.takeSkills()
	if s.looking == nil {
		return
	}
	s.kinds, s.looking = append(s.kinds, <-s.looking...), nil
	s.conv.SetOverhead(s.system, s.specs)
}

// joined are the texts that are not empty, one a paragraph.
func joined(texts ...string) string {
	said := slices.DeleteFunc(texts, func(text string) bool { return strings.TrimSpace(text) == "" })
	return strings.Join(said, "\n\n")
}

// skillDirs lists the directories of the user's skills, loaded or not: the programs of a skill run confined,
// too, and the sandbox is made before any is loaded.
func skillDirs(skills *skill.Library) func() []string {
	return func() (dirs []string) {
		for _, i := range skills.Items(extension.KindSkill) {
			dirs = append(dirs, i.Dir())
		}
		return dirs
	}
}
