package ui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"artoo/agent"
	"artoo/provider"
	"artoo/tool/extension"
	"artoo/tool/skill"
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
	if i, ok := library.Find(extension.KindCommand, name); ok && !only {
		return i, true
	}
	i, ok := library.Find(extension.KindSkill, name)
	return i, ok && !i.NoUser
}

// Message makes the message of an invocation: m as it was typed, with the expanded text behind it.
// Shell lines of a command run for it. If one was denied, denied has the denial, and the message
// must not be sent. Notes are for the user, a line each, unsanitised.
func (in Invocation) Message(ctx context.Context, a *agent.Agent, m agent.Message, cb agent.Callbacks) (
	sent agent.Message, notes []string, denied *agent.Response, err error,
) {
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
	if in.Item.Kind == extension.KindSkill {
		said, err := a.LoadSkill(in.Item, b.String())
		if err != nil {
			return m, nil, nil, in.failed(err)
		}
		m.Attachments = append(slices.Clip(m.Attachments), said)
		return m, nil, nil, nil
	}
	e := accessOf(a, false).expand(ctx, b.String(), inserted)
	said := provider.Text{Text: fmt.Sprintf("[The user's command /%s stands for:]\n%s", in.Item.Name, strings.TrimSpace(e.Text))}
	name := in.Item.Agent
	if own := in.Item.Place.Full(name); name != "" && a.HasSubAgent(own) { // A bundle's command means the bundle's agent.
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
func UseModel(ctx context.Context, m Models, a *agent.Agent, name string) (o provider.Options, restore func(), note string) {
	restore = func() {}
	if name == "" {
		return o, restore, ""
	}
	found, err := m.FindModel(ctx, name)
	before := a.Model()
	switch {
	case err != nil:
		return o, restore, fmt.Sprintf("the command asks for the model %s: %v; %s answers", name, err, before.Defaults.Model)
	case !found.Known:
		return o, restore, fmt.Sprintf("the command asks for a model %q, which is not known here; %s answers", name, before.Defaults.Model)
	case found.Provider == before.Name:
		return provider.Options{Model: found.Model}, restore, ""
	}
	if err := m.SwitchModel(found.Provider + "/" + found.Model); err != nil {
		return o, restore, fmt.Sprintf("the command asks for the model %s: %v; %s answers", name, err, before.Defaults.Model)
	}
	return o, func() { _ = m.SwitchModel(before.String()) }, "" // The model before could be had.
}

// invoke sends the message of an invocation.
func (t *Terminal) invoke(ctx context.Context, in Invocation, l prompt.Line) error {
	if err := t.followUp(ctx); err != nil {
		return err
	}
	options, restore, note := UseModel(ctx, t.opt.Models, t.opt.Agent, in.Item.Model)
	defer restore()
	if note != "" {
		t.screen.Note(oneLine(note))
	}
	text, parts := t.attach(ctx, l)
	m := agent.Message{Text: text, Attachments: append(t.takeShared(), parts...), Options: options}
	return t.during(ctx, func(ctx context.Context) (*agent.Response, error) {
		m, notes, denied, err := in.Message(ctx, t.opt.Agent, m, t.callbacks())
		for _, note := range notes {
			t.screen.Note(oneLine(note))
		}
		if err != nil || denied != nil {
			t.screen.Note("/" + oneLine(in.Item.Name) + ": nothing was sent")
			if denied == nil {
				denied = &agent.Response{}
			}
			return denied, err
		}
		return t.send(ctx, m)
	})
}
