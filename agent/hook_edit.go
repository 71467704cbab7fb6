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
	"artoo/tool/files"
	"artoo/tool/journal"
	"artoo/tool/sandbox"
	"artoo/tool/text"
)

// afterTool shows the hooks after a call its outcome. Their additions follow the result.
func (c *calls) afterTool(ctx context.Context, r *ran) {
	list := c.session.hooksOnCall(extension.AfterTool, r.planned)
	if len(list) == 0 || ctx.Err() != nil {
		return
	}
	in := c.session.callInput(extension.AfterTool, r.decided)
	said := outcomeOf(ctx, r.Result, r.err, r.took)
	in.Status, in.Text, in.Millis = said.Status, &said.Text, new(r.took.Milliseconds())
	for _, k := range list {
		if k.Claude && in.Status != CallOK {
			continue // It runs after calls that succeeded.
		}
		watched, lander := c.watchEdited(r, k, in.Status == CallOK)
		in.lander = lander
		answer, err := c.session.hooks.ask(ctx, c.session, c.cb, k, in)
		watched.end()
		if err != nil {
			c.session.hooks.warnFailed(c.session, c.cb, k, err)
			continue
		}
		if answer.Decision == permission.Refuse && answer.Reason != "" {
			r.remarks = append(r.remarks, k.remark("objects", answer.Reason))
		}
		if answer.Context != "" {
			r.remarks = append(r.remarks, k.remark("adds", answer.Context))
		}
		if answer.Stop != nil && *answer.Stop {
			r.stop = cmp.Or(r.stop, k.stopped(answer.Reason))
		}
	}
}

// editedFiles are the files of an edit, for the time of one hook after it: a formatter may change them.
type editedFiles struct {
	calls  *calls
	call   *ran
	k      hook
	before map[string][]byte
	step   *journal.Step // keeps the files as they were before a hook that writes to the project itself
	seen   files.Watched // changes by then become known to the model
}

// watchEdited begins to watch the files that a call has edited. The lander is nil for a hook that has no layer.
func (c *calls) watchEdited(r *ran, k hook, ok bool) (e *editedFiles, land lander) {
	e = &editedFiles{calls: c, call: r, k: k}
	if !ok || r.tool.Kind != tool.KindWrite || c.session.opt.Env.Files == nil {
		return e, nil
	}
	e.before, e.seen = e.read(), c.session.opt.Env.Files.Seen.Watch()
	switch {
	case k.Source.ThirdParty() && c.session.opt.Policy.Confinement.Layer:
		land = e
	case k.Source.ThirdParty():
		c.session.hooks.warn(c.session, c.cb, k.called()+" reads", k.called()+" sees the project read-only, since there are no layers here: it cannot change files")
	case c.keeper.journal != nil:
		e.step = c.keeper.journal.Begin(c.session.turnNumber(), "hook "+k.String())
		if _, err := e.step.Before(r.call.Access.Paths...); err != nil {
			c.cb.notice(NoticeWarning, lostBy(err))
		}
	}
	return e, land
}

// read is the content of the files, as far as it can be shown.
func (e *editedFiles) read() map[string][]byte {
	all := map[string][]byte{}
	for _, path := range e.call.call.Access.Paths {
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
func (e *editedFiles) landChanges(ctx context.Context, changes confine.Changes) (left []sandbox.Change) {
	c := e.calls
	var mine []sandbox.Change
	for _, change := range changes.List() {
		if change.Kind == sandbox.Modified && change.Mode.IsRegular() && !change.Special &&
			slices.Contains(e.call.call.Access.Paths, change.Path) && !c.session.opt.Policy.IsGuarded(change.Path) {
			mine = append(mine, change)
			continue
		}
		left = append(left, change)
	}
	if len(mine) == 0 {
		return left
	}
	layer := layerEffects{changes: changes}
	layer.Effects.Apply = mine
	err := c.tally.admit(ctx, layer.landing())
	if err == nil {
		_, err = c.applyLayer(ctx, c.session.turnNumber(), "hook "+e.k.String(), layer)
	}
	if err != nil {
		c.cb.notice(NoticeWarning, e.k.called()+": its change of the edited files was not applied: "+err.Error())
		return left
	}
	c.background.protectRunning(c.cb)
	c.servers.protect(c.cb)
	return left
}

// end shows the changes of the hook to the model and the user.
func (e *editedFiles) end() {
	if e.before == nil {
		return
	}
	e.seen.Done()
	c := e.calls
	if e.step != nil {
		if lost := lostBy(c.keeper.closeStep(e.step)); lost != "" {
			c.cb.notice(NoticeWarning, lost)
		}
	}
	after, diff := e.read(), ""
	for _, path := range e.call.call.Access.Paths {
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
	e.call.call.Access.Diff = strings.TrimRight(e.call.call.Access.Diff, "\n") + "\n" + diff
	e.call.remarks = append(e.call.remarks, "[the hook "+e.k.called()+" changed the file after this edit:\n"+text.Clip(diff, maxHookContext)+"]")
	c.cb.notice(NoticeInfo, e.k.called()+" changed the file after this edit:\n"+text.Clip(diff, maxHookContext))
}
