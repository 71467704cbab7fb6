package agent

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"artoo/agent/permission"
	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/tool/text"
)

// guards looks at the files that programs run automatically, before a command that writes to these directories.
func (c *calls) guards(writes []string) (*madeGuarded, error) {
	before, err := c.session.opt.Guard.Look(writes...)
	return &madeGuarded{session: c.session, approved: c.keeper.approved, journal: c.keeper.journal, policy: *c.session.opt.Policy,
		writes: writes, before: before, turn: c.session.turnNumber()}, err
}

// keepGuarded asks whether files stay that a command on the project itself made and that programs
// run or obey automatically. Without a yes they move into the journal; after one, those that
// moved before come back.
func (c *calls) keepGuarded(ctx context.Context, r *ran) error {
	m := r.made
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	effects, paths, err := m.look()
	if err != nil {
		c.warn(r, "artoo could not check whether this command made files that programs run automatically: "+err.Error())
		return nil
	}
	entries, steps := append(m.moved, effects.By[permission.RunsAutomatically]...), m.steps
	effects.By[permission.RunsAutomatically] = entries
	if m.moved, m.steps = nil, nil; len(entries) == 0 {
		return nil
	}
	why := permission.Reason{Code: permission.AlwaysAsked, Object: "it made files that programs run automatically"}
	answer, err := c.askMore(ctx, r.decided, Question{Kind: QuestionChanges, Effects: &effects, Reason: rowsOf(effects),
		Reasons: []permission.Reason{why}})
	r.by = cmp.Or(answer.By, r.by)
	names := pathsOf(entries)
	if err == nil && answer.Verdict == Yes {
		back, err := m.bringBack(ctx, steps)
		if err != nil {
			c.cb.notice(NoticeWarning, "files that were moved away could not be restored, and are in the journal's quarantine: "+err.Error())
		}
		kept := append(paths, back...)
		c.keeper.approved.add(kept...)
		if m.journal != nil {
			if err := m.journal.Approved(m.turn, "files that programs run automatically", kept...); err != nil {
				c.cb.notice(NoticeWarning, "the applied changes cannot be undone: "+err.Error())
			}
		}
		r.Text += "[the user keeps files that programs run automatically: " + names + "]\n"
		return nil
	}
	if len(paths) > 0 {
		if _, err := quarantine(m.journal, m.turn, paths); err != nil {
			c.warn(r, "files that programs run automatically could not be moved away: "+err.Error())
			return nil
		}
	}
	r.lead("moved away, since programs run or obey it automatically: " + names + because(answer.Reason))
	c.response.Denied = append(c.response.Denied,
		r.denial("moved away, since programs run or obey it automatically: "+names, errors.Is(err, ErrNobody)))
	switch {
	case context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case answer.Verdict == StopTurn:
		return ErrStopped
	}
	return nil
}

// warn warns the model and the user.
func (c *calls) warn(r *ran, text string) {
	r.lead(text)
	c.cb.notice(NoticeWarning, text)
}

func rowsOf(e permission.Effects) string { return text.UpTo(mostNamed, e.Short()) }

// followUpServers asks about files that confined servers made and that programs run or obey automatically. said is a
// text for the model, "" for none. An error ends the turn.
func (c *calls) followUpServers(ctx context.Context) (said string, err error) {
	s := c.servers
	if s == nil {
		return "", nil
	}
	s.mu.Lock()
	var names []string
	for _, name := range s.running {
		names = append(names, name)
	}
	s.mu.Unlock()
	slices.Sort(names)
	s.made.mu.Lock()
	s.made.turn = c.session.turnNumber()
	s.made.mu.Unlock()
	object := cmp.Or(strings.Join(slices.Compact(names), ", "), "MCP servers") // They may have ended.
	r := ran{made: s.made}
	r.tool = &tool.Tool{Def: tool.Def{Name: builtin.CallTool}}
	r.call.Access = tool.Access{Kind: tool.KindRun, Verb: "server", Object: object, Command: object, Dir: c.session.opt.Env.Dir}
	err = c.keepGuarded(ctx, &r)
	return r.Text, err
}
