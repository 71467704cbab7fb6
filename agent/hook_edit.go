package agent

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"slices"
	"strings"

	"artoo/agent/confine"
	"artoo/agent/permission"
	"artoo/tool"
	"artoo/tool/edit"
	"artoo/tool/extension"
	"artoo/tool/journal"
	"artoo/tool/sandbox"
	"artoo/tool/text"
)

// afterTool shows the hooks after a call its outcome. Their additions follow the result.
func (c *calls) afterTool(ctx context.Context, p *pending, e ended) {
	list := c.session.hooksOnCall(extension.AfterTool, p)
	if len(list) == 0 || ctx.Err() != nil {
		return
	}
	in := c.session.callInput(extension.AfterTool, p)
	said := outcomeOf(ctx, e.result, e.err, e.took)
	in.Status, in.Text, in.Millis = said.Status, &said.Text, new(e.took.Milliseconds())
	for _, k := range list {
		if k.Claude && in.Status != CallOK {
			continue // It runs after calls that succeeded.
		}
		watched := c.watchEdited(p, k, in.Status == CallOK)
		in.land = watched.land
		answer, err := c.session.hooks.ask(ctx, c.session, c.cb, k, in)
		watched.end()
		if err != nil {
			c.session.hooks.warnFailed(c.session, c.cb, k, err)
			continue
		}
		if answer.Decision == permission.Refuse && answer.Reason != "" {
			p.hookContext = append(p.hookContext, k.remark("objects", answer.Reason))
		}
		if answer.Context != "" {
			p.hookContext = append(p.hookContext, k.remark("adds", answer.Context))
		}
		if answer.Stop != nil && *answer.Stop {
			p.stop = cmp.Or(p.stop, k.stopped(answer.Reason))
		}
	}
}

// editedFiles are the files of an edit, for the time of one hook after it: a formatter may change them.
type editedFiles struct {
	calls  *calls
	p      *pending
	k      hook
	before map[string][]byte
	step   *journal.Step // keeps the files as they were before a hook that writes to the project itself
	ours   func()        // marks changes by then as known to the model
	land   func(ctx context.Context, k hook, changes confine.Changes) (left []sandbox.Change)
}

// watchEdited begins to watch the files that a call has edited.
func (c *calls) watchEdited(p *pending, k hook, ok bool) *editedFiles {
	e := &editedFiles{calls: c, p: p, k: k}
	if !ok || p.tool.Kind != tool.KindWrite || c.session.opt.Env.Files == nil {
		return e
	}
	e.before, e.ours = e.read(), c.session.opt.Env.Files.Seen.OwnChanges()
	switch {
	case k.Source.ThirdParty() && c.session.opt.Policy.Confinement.Layer:
		e.land = e.landChanges
	case k.Source.ThirdParty():
		c.session.hooks.warn(c.session, c.cb, k.called()+" reads", k.called()+" sees the project read-only, since there are no layers here: it cannot change files")
	case c.keeper.journal != nil:
		e.step = c.keeper.journal.Begin(c.session.turnNumber(), "hook "+k.String())
		if _, err := e.step.Before(p.call.Access.Paths...); err != nil {
			c.cb.notice(NoticeWarning, lostBy(err))
		}
	}
	return e
}

// read is the content of the files, as far as it can be shown.
func (e *editedFiles) read() map[string][]byte {
	all := map[string][]byte{}
	for _, path := range e.p.call.Access.Paths {
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxShown {
			continue
		}
		if data, err := os.ReadFile(path); err == nil {
			all[path] = data
		}
	}
	return all
}

// landChanges lands a hook's changes of the content of the edited files.
func (e *editedFiles) landChanges(ctx context.Context, k hook, changes confine.Changes) (left []sandbox.Change) {
	c := e.calls
	var mine []sandbox.Change
	for _, change := range changes.List() {
		if change.Kind == sandbox.Modified && change.Mode.IsRegular() && !change.Special &&
			slices.Contains(e.p.call.Access.Paths, change.Path) && !c.session.opt.Policy.IsGuarded(change.Path) {
			mine = append(mine, change)
			continue
		}
		left = append(left, change)
	}
	if len(mine) == 0 {
		return left
	}
	err := c.keeper.tally.admit(ctx, effectsOn(mine, changes.Open))
	if err == nil {
		_, _, err = c.keeper.applyLayer(ctx, "hook "+k.String(), permission.Effects{Apply: mine}, changes, nil, journal.Then{})
	}
	if err != nil {
		c.cb.notice(NoticeWarning, k.called()+": its change of the edited files was not applied: "+err.Error())
		return left
	}
	c.background.protectRunning(c.cb)
	c.keeper.servers.protect(c.cb)
	return left
}

// end shows the changes of the hook to the model and the user.
func (e *editedFiles) end() {
	if e.ours == nil {
		return
	}
	e.ours()
	c := e.calls
	if e.step != nil {
		if lost := lostBy(c.keeper.closeStep(e.step)); lost != "" {
			c.cb.notice(NoticeWarning, lost)
		}
	}
	after, diff := e.read(), ""
	for _, path := range e.p.call.Access.Paths {
		was, is := e.before[path], after[path]
		if was == nil || is == nil || bytes.Equal(was, is) {
			continue
		}
		diff += edit.DiffFiles(c.session.namesOf([]string{path})[0], was, is, true, true)
	}
	if diff == "" {
		return
	}
	diff = c.session.maskedDiff(diff)
	e.p.call.Access.Diff = strings.TrimRight(e.p.call.Access.Diff, "\n") + "\n" + diff
	e.p.hookContext = append(e.p.hookContext, "[the hook "+e.k.called()+" changed the file after this edit:\n"+text.Clip(diff, maxHookContext)+"]")
	c.cb.notice(NoticeInfo, e.k.called()+" changed the file after this edit:\n"+text.Clip(diff, maxHookContext))
}
