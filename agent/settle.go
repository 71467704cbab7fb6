package agent

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"artoo/agent/permission"
	"artoo/tool"
	"artoo/tool/sandbox"
	"artoo/tool/shell"
)

// settle says what comes of a command that ran confined: what it did on a layer is
// judged, and where it met a wall the user may let it out. The result is the call's
// for the model. The error ends the turn. A crash discards the layer, and is an error
// of this call.
func (t *turn) settle(ctx context.Context, p *pending, result *tool.Result) error {
	stop, err := guard(func() (error, error) { return t.settleConfined(ctx, p, result), nil })
	if err != nil {
		result.Text += "[its changes were discarded: " + err.Error() + "]\n"
		result.IsError = true
		return nil
	}
	return stop
}

func (t *turn) settleConfined(ctx context.Context, p *pending, result *tool.Result) error {
	if p.confined == nil {
		return nil
	}
	if limit := p.confined.Limit(); limit != "" {
		result.Text += "[it was ended at a limit: " + limit + "]\n"
	}
	switch p.decision.Place {
	case permission.PlaceSandbox, permission.PlaceBackground:
		t.nameWalls(p, result)
		if err := t.keepGuarded(ctx, p, result); err != nil {
			return err
		}
		if metWall(p.confined, sandbox.WallWrite) != "" {
			return t.offerWhole(ctx, p, result)
		}
		return t.offerOutside(ctx, p, result)
	case permission.PlaceReadOnly:
		return t.offerSandbox(ctx, p, result)
	}
	if why := p.unlessDone(result); why != "" {
		lost, err := t.discard(p)
		if err != nil {
			return err
		}
		t.discarded(p, lost, why, false, result)
		return nil
	}
	within, cancel := context.WithTimeout(ctx, longestJudging)
	defer cancel()
	changes, err := p.confined.Changes(within)
	if err != nil {
		why := "they could not be read: " + err.Error()
		if errors.Is(err, context.DeadlineExceeded) {
			why = fmt.Sprintf("reading them took longer than %v", longestJudging)
		}
		t.loses(p, why, result)
		return context.Cause(ctx)
	}
	landed := false
	defer func() {
		if err := changes.Discard(landed); err != nil {
			t.notice(NoticeWarning, "a layer could not be removed: "+err.Error())
		}
	}()
	t.nameWalls(p, result)
	if landed, err = t.judge(ctx, within, p, changes, result); err != nil {
		return err
	}
	return t.offerMore(ctx, p, result)
}

// longestJudging is how long the effects of a command may take to be read and judged.
var longestJudging = 10 * time.Second

// longestNaming is how long those of an interrupted command may take to be read, so that
// they can be named.
const longestNaming = 500 * time.Millisecond

// giveUp discards what an interrupted command did on its layer.
func (t *turn) giveUp(p *pending) {
	if _, err := t.discard(p); err != nil {
		t.notice(NoticeWarning, "a layer could not be removed: "+err.Error())
	}
}

// discard gives the layer of a command up, where it ran on one, and returns what is lost
// with it. A crash is the error.
func (a *Agent) discard(p *pending) (permission.Judgement, error) {
	return guard(func() (lost permission.Judgement, err error) {
		if p.confined == nil || p.decision.Place != permission.PlaceLayer {
			return lost, nil
		}
		select {
		case <-p.confined.Done():
		default:
			return lost, nil // it never ended, and its layer goes with the sandbox
		}
		ctx, cancel := context.WithTimeout(context.Background(), longestNaming)
		defer cancel()
		changes, err := p.confined.Changes(ctx)
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			lost.Effects.By = map[permission.What][]permission.Entry{permission.Never: {{Path: "more changes than could be listed in time"}}}
			return lost, nil
		case err != nil:
			return lost, err
		}
		defer func() { err = errors.Join(err, changes.Discard(false)) }()
		return a.unjudged(p, changes), nil
	})
}

// unjudged is what a command did that is discarded whatever it is. What that comes to in
// git's data is not looked into.
func (a *Agent) unjudged(p *pending, changes Changes) permission.Judgement {
	ofGit := func(path string) bool {
		rel, err := filepath.Rel(a.opt.Policy.Root, path)
		return err == nil && tool.GitData(filepath.ToSlash(rel))
	}
	list, facts := changes.List(), permission.Facts{Repository: ofGit}
	if slices.ContainsFunc(list, func(c sandbox.Change) bool { return ofGit(c.Path) }) {
		facts.Git = []permission.GitRow{{Class: permission.Content, Text: "data of the repository"}}
	}
	j := a.opt.Policy.Judge(context.Background(), p.call.Access, p.decision, list, facts)
	j.Verdict = permission.Refuse
	return j
}

// unlessDone says why a command on a layer counts for nothing, "" for one that ended by
// itself.
func (p *pending) unlessDone(result *tool.Result) string {
	limit := p.confined.Limit()
	switch {
	case limit != "":
		return limit
	case result.Stopped, p.job != nil && p.job.Result().Stop != shell.StopNone:
		return "it was ended before it was done"
	}
	return ""
}

// because sets a reason behind what is said; "" for none.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// askAfter puts a question about a command that has run.
func (t *turn) askAfter(ctx context.Context, p *pending, q Question) (Answer, error) {
	p.asked = true
	p.asks.number++
	p.asks.of = max(p.asks.of, p.asks.number)
	q.Call, q.Dir, q.Number, q.Of = p.call, t.opt.Env.Dir, p.asks.number, p.asks.of
	return t.cb.Ask(ctx, q)
}
