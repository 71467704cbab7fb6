package ui

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"artoo/agent"
	"artoo/tool/changes"
	"artoo/tool/skill"
	"artoo/tool/text"
)

// runReview has a change reviewed, with the arguments of artoo review. The findings go along with the next
// message.
func runReview(ctx context.Context, t *Terminal, arg string) error {
	scope, err := readScope(arg)
	if err != nil {
		return err
	}
	return t.during(ctx, func(ctx context.Context) (*agent.Response, error) {
		set, err := t.opt.Agent.Change(ctx, scope)
		if err != nil {
			return nil, err
		}
		if !set.HasText() {
			t.screen.Note("nothing to review")
			return nil, nil
		}
		review, err := t.opt.Agent.ReviewChange(ctx, set, t.callbacks())
		t.showReview(set, review, err == nil)
		return review.Response, err
	})
}

// readScope reads the arguments of a review.
func readScope(arg string) (s changes.Scope, err error) {
	words := skill.Words(arg)
	for i, word := range words {
		switch {
		case word == "--":
			s.Paths = words[i+1:]
			return s, nil
		case word == "--staged":
			s.Staged = true
		case strings.HasPrefix(word, "-"):
			return s, fmt.Errorf("no such option %s: use --staged, or -- before paths", word)
		case s.Range != "":
			return s, errors.New("one range only: /review A..B; paths come after --")
		default:
			s.Range = word
		}
	}
	return s, nil
}

func (t *Terminal) showReview(set *changes.Set, r *agent.Review, whole bool) {
	var left []string
	for _, l := range r.Left {
		left = append(left, set.Name(l.Path)+" ("+l.Why+")")
	}
	if left != nil {
		t.screen.Note(oneLine("not reviewed: " + text.UpTo(10, left)))
	}
	for i, f := range r.Findings {
		t.screen.Text(fmt.Sprintf("%d. %s", i+1, oneLine(f.In(set.Name(f.Path)))))
	}
	switch {
	case len(r.Findings) > 0:
		t.screen.Note("the findings are sent with your next message, such as: fix the second")
	case whole:
		t.screen.Note("reviewed " + text.Count(r.Files, "file") + ": nothing found")
	}
}
