package ui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"artoo/agent"
	"artoo/provider"
	"artoo/tool/skill"
	"artoo/tool/spelling"
	"artoo/tool/text"
	"artoo/ui/prompt"
)

// Invocation is a skill or command of the user's that a line calls by its name.
type Invocation struct {
	Item skill.Item
	Args string
}

// explicit stands before the name of a skill that is meant whatever commands there are.
const explicit = "skill:"

// CommandName is the name that a line calls with a slash, and the rest of the line; ok is false
// for a line that calls nothing, such as one that begins with a path.
func CommandName(line string) (name, args string, ok bool) {
	rest, ok := strings.CutPrefix(line, "/")
	if !ok {
		return "", "", false
	}
	name, args = cutWord(rest)
	return name, args, name != "" && !strings.HasPrefix(rest, " ") &&
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-?") == ""
}

// FindOwn finds the skill or command that a user calls by a name: a command before a skill.
func FindOwn(library *skill.Library, name string) (skill.Item, bool) {
	name, only := strings.CutPrefix(name, explicit)
	if i, ok := library.Find(skill.Command, name); ok && !only {
		return i, true
	}
	i, ok := library.Find(skill.Skill, name)
	return i, ok && !i.NoUser
}

// Own are the skills and commands that a user can call, with the names that call them.
func Own(library *skill.Library) (items []skill.Item) {
	for _, i := range slices.Concat(library.Items(skill.Command), library.Items(skill.Skill)) {
		if i.NoUser {
			continue
		}
		if c, builtIn := findCommand(i.Name); builtIn && c.run != nil || slices.ContainsFunc(items, func(o skill.Item) bool { return o.Name == i.Name }) {
			if i.Kind != skill.Skill {
				continue
			}
			i.Name = explicit + i.Name
		}
		items = append(items, i)
	}
	return items
}

// NearestOwn is the skill or command whose name is near, or "".
func NearestOwn(library *skill.Library, name string) string {
	var names []string
	for _, i := range Own(library) {
		names = append(names, i.Name)
	}
	return spelling.Nearest(name, names)
}

// IsBuiltIn reports whether a name is that of a command of artoo's own, which conversations have.
func IsBuiltIn(name string) bool {
	c, ok := findCommand(name)
	return ok && c.run != nil
}

// Message makes the message of an invocation: m as it was typed, with the expanded text behind it.
// Shell lines of a command run for it. If one was denied, denied has the denial, and the message
// must not be sent. Notes are for the user, a line each, unsanitised.
func (in Invocation) Message(ctx context.Context, a *agent.Agent, m agent.Message, cb agent.Callbacks) (
	sent agent.Message, notes []string, denied *agent.Response, err error,
) {
	if in.Item.Kind == skill.Skill {
		// A skill may describe lines that commands run; it has none.
		said, err := a.LoadSkill(in.Item)
		if err != nil {
			return m, nil, nil, in.failed(err)
		}
		m.Attachments = append(slices.Clip(m.Attachments), said)
		return m, nil, nil, nil
	}
	body, err := in.Item.Body()
	if err != nil {
		return m, nil, nil, in.failed(err)
	}
	parts, err := in.Item.Expand(body, in.Args)
	if err != nil {
		return m, nil, nil, in.failed(err)
	}
	var b strings.Builder
	var inserted []prompt.Span // An @ in inserted text attaches nothing.
	for _, p := range parts {
		from := b.Len()
		if !p.Line {
			b.WriteString(p.Text)
		} else {
			output, refused, err := a.RunLine(ctx, p.Text, cb)
			if err != nil {
				return m, nil, nil, err
			}
			if refused != nil {
				refused, err = in.refused(p.Text, refused)
				return m, nil, refused, err
			}
			b.WriteString(output)
		}
		if p.Line || p.Inserted {
			inserted = append(inserted, prompt.Span{From: from, To: b.Len()})
		}
	}
	e := accessOf(a, false).expand(ctx, b.String(), inserted)
	said := provider.Text{Text: fmt.Sprintf("[The user's command /%s stands for:]\n%s", in.Item.Name, strings.TrimSpace(e.Text))}
	name := in.Item.Agent
	if own := in.Item.Place.Prefix + name; name != "" && a.HasSubAgent(own) { // A bundle's command means the bundle's agent.
		name = own
	}
	switch {
	case name == "":
	case !a.HasSubAgent(name):
		e.Notes = append(e.Notes, fmt.Sprintf("the command asks for an agent %q, which is not known here", name))
	default:
		said.Text += fmt.Sprintf("\n[It is work for the sub-agent %s: give it to that one with task.]", name)
	}
	m.Attachments = slices.Concat(m.Attachments, []provider.Part{said}, e.Parts)
	return m, e.Notes, nil, nil
}

func (in Invocation) failed(err error) error {
	return &agent.Failure{Kind: agent.KindConfig, What: "/" + in.Item.Name, Err: err, Hint: "fix " + in.Item.File}
}

// refused returns r, the response with the denied line, and a failure, unless no one could answer
// the question.
func (in Invocation) refused(line string, r *agent.Response) (*agent.Response, error) {
	if slices.ContainsFunc(r.Denied, func(d agent.Denial) bool { return d.Nobody }) {
		return r, nil
	}
	why := "denied"
	if len(r.Denied) > 0 && r.Denied[0].Reason != "" {
		why += ": " + r.Denied[0].Reason
	}
	return r, &agent.Failure{Kind: agent.KindApproval, What: "/" + in.Item.Name + ": !`" + line + "`", Err: errors.New(why),
		Hint: "allow the line, or remove it from " + in.Item.File}
}

// UseModel has the model of a command answer one message: by these options, where it is one of the
// present provider, else until restore is called. The note says that the model is not known.
func UseModel(ctx context.Context, p Program, a *agent.Agent, name string) (o provider.Options, restore func(), note string) {
	restore = func() {}
	if name == "" {
		return o, restore, ""
	}
	found, err := p.FindModel(ctx, name)
	before := a.Model()
	switch {
	case err != nil:
		return o, restore, fmt.Sprintf("the command asks for the model %s: %v; %s answers", name, err, before.Defaults.Model)
	case !found.Known:
		return o, restore, fmt.Sprintf("the command asks for a model %q, which is not known here; %s answers", name, before.Defaults.Model)
	case found.Provider == before.Name:
		return provider.Options{Model: found.Model}, restore, ""
	}
	if err := p.SwitchModel(found.Provider + "/" + found.Model); err != nil {
		return o, restore, fmt.Sprintf("the command asks for the model %s: %v; %s answers", name, err, before.Defaults.Model)
	}
	return o, func() { _ = p.SwitchModel(before.String()) }, "" // The model before could be had.
}

// invocation is the skill or command that a typed line calls, where no command of artoo's own has
// the name.
func (t *Terminal) invocation(line string) (Invocation, bool) {
	name, args, ok := CommandName(strings.TrimSpace(line))
	if !ok || IsBuiltIn(name) {
		return Invocation{}, false
	}
	i, ok := FindOwn(t.opt.Agent.Skills(), name)
	return Invocation{Item: i, Args: args}, ok
}

// invoke sends the message of an invocation.
func (t *Terminal) invoke(ctx context.Context, in Invocation, l prompt.Line) error {
	if err := t.followUp(ctx); err != nil {
		return err
	}
	options, restore, note := UseModel(ctx, t.opt.Program, t.opt.Agent, in.Item.Model)
	defer restore()
	if note != "" {
		t.Note(oneLine(note))
	}
	text, parts := t.attach(ctx, l)
	m := agent.Message{Text: text, Attachments: append(t.takeShared(), parts...), Options: options}
	return t.during(ctx, func(ctx context.Context) (*agent.Response, error) {
		m, notes, denied, err := in.Message(ctx, t.opt.Agent, m, t.callbacks())
		for _, note := range notes {
			t.Note(oneLine(note))
		}
		if err != nil || denied != nil {
			t.Note("/" + oneLine(in.Item.Name) + ": nothing was sent")
			if denied == nil {
				denied = &agent.Response{}
			}
			return denied, err
		}
		return t.send(ctx, m)
	})
}

// runSkills lists skills and commands, with the tokens that each takes once it is used.
func runSkills(_ context.Context, t *Terminal, _ string) error {
	library := t.opt.Agent.Skills()
	var rows [][]string
	for _, i := range Own(library) {
		tokens := "cannot be read"
		if body, err := i.Body(); err == nil {
			tokens = text.Count(t.opt.Agent.Conversation().TextTokens(body), "token")
		}
		use := string(i.Kind)
		if i.NoModel {
			use += ", by you only"
		}
		rows = append(rows, []string{"/" + oneLine(i.Name), use, tokens, oneLine(i.Source())})
	}
	for _, i := range library.Items(skill.Skill) {
		if i.NoUser {
			rows = append(rows, []string{oneLine(i.Name), "skill, by the model only", "", oneLine(i.Source())})
		}
	}
	if rows == nil {
		t.Note("no skills and no commands; /help names their places")
	}
	t.columns(rows)
	for _, kind := range skill.Kinds() {
		for _, line := range library.Skipped(kind) {
			t.Note("skipped: " + oneLine(line))
		}
		for _, line := range library.Shadowed(kind) {
			t.Note(oneLine(line))
		}
	}
	return nil
}

// mostHelped is how many skills and commands the page of help lists.
const mostHelped = 20

// helpOwn lists the skills and commands of the user's.
func (t *Terminal) helpOwn() {
	items := Own(t.opt.Agent.Skills())
	if len(items) == 0 {
		return
	}
	var rows [][]string
	for _, i := range items[:min(len(items), mostHelped)] {
		rows = append(rows, []string{oneLine(strings.TrimSpace("/" + i.Name + " " + i.Hint)), oneLine(text.Clip(i.Description, 60))})
	}
	t.Text("Your skills and commands:")
	t.columns(rows)
	if more := len(items) - mostHelped; more > 0 {
		t.Text(fmt.Sprintf("and %d more: /skills", more))
	}
}
