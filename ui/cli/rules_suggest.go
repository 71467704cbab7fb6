package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"artoo/agent"
	"artoo/agent/permission"
	"artoo/conversation"
	"artoo/tool/names"
	"artoo/tool/text"
	"artoo/ui"
	"artoo/ui/sanitize"
	"artoo/ui/screen"
)

// suggest is `artoo rules suggest`: rules that would have answered the yeses typed in this project, each kept after a
// yes.
func (c rulesCommand) suggest(ctx context.Context) error {
	days, err := strconv.Atoi(cmp.Or(*c.days, "30"))
	if err != nil || days < 1 || days > 36600 {
		why := strconv.Quote(*c.days) + " is not a number of days"
		return usage("rules suggest --days", why, "artoo rules suggest --days 30")
	}
	if err := c.open(); err != nil {
		return err
	}
	said, err := c.said(time.Now().AddDate(0, 0, -days))
	if err != nil {
		return err
	}
	policy, done, err := c.policy(ctx)
	if err != nil {
		return err
	}
	defer done()
	list := policy.Suggest(said)
	if err := printEach(c.app.process.Out, list, *c.json, suggestion); err != nil || *c.json {
		return err
	}
	if len(list) == 0 {
		c.app.screen.Note(fmt.Sprintf("no rule would have answered a question here in the last %s",
			text.Count(days, "day")))
	}
	for _, s := range list {
		q := screen.RuleQuestion{Rule: s.Rule}
		yes := *c.yes
		if yes {
			c.app.screen.Unasked(q, "--yes")
		} else if c.app.streams.watched {
			yes, err = ui.ConfirmOnTTY(ctx, c.app.screen, q)
		}
		if errors.Is(err, agent.ErrNobody) {
			return nil
		}
		if err == nil && yes {
			err = errors.Join(s.Allow(policy), c.app.extensions.keepRule(policy, s.Rule))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// said are the calls of this project's sessions since then, with what was said about them. A copy of a session has the
// decisions of the first one too, which count once.
func (c rulesCommand) said(since time.Time) (said []permission.Said, err error) {
	dir, err := c.app.cfg.Paths.Sessions()
	if err != nil {
		return nil, err
	}
	sessions, err := conversation.Store{Dir: dir}.List()
	if err != nil {
		return nil, err
	}
	about := []string{string(agent.QuestionApproval), string(agent.QuestionChanges), string(agent.QuestionWhole)}
	seen := map[conversation.Decision]bool{}
	root := c.app.project.Root
	for _, info := range sessions {
		if info.Updated.Before(since) || !filepath.IsAbs(info.CWD) || !names.Within(root, info.CWD) {
			continue
		}
		list, err := info.Decisions()
		if err != nil {
			return nil, err
		}
		for _, d := range list {
			if seen[d] || d.Time.Before(since) || !slices.Contains(about, d.Kind) {
				continue
			}
			seen[d] = true
			yes := d.Answer != agent.No.String() && d.Answer != string(agent.StopTurn)
			asked := d.Shown != "" && d.From != string(agent.FromNobody)
			s := permission.Said{Tool: d.Tool, Object: d.Object, Dir: d.Dir, Narrow: d.Narrow, No: !yes && asked}
			s.Yes = yes && d.From == string(agent.FromTyped)
			// A rule with a mark in place of a key would cover nothing.
			s.Yes = s.Yes && !strings.Contains(d.Object+d.Narrow, "‹secret:")
			said = append(said, s)
		}
	}
	return said, nil
}

// suggestion is a suggested rule in a line, safe to show.
func suggestion(s permission.Suggestion) string {
	line := fmt.Sprintf("%-40s  %s", s.Rule, text.Count(s.Questions, "question"))
	if s.Remark != "" {
		line += "; also covers " + s.Remark
	}
	if len(s.Also) > 0 {
		line += "; also seen: " + text.UpTo(5, s.Also)
	}
	return sanitize.Text(line, sanitize.Line)
}
