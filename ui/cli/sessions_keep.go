package cli

// artoo sessions grep, rm and import.

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"artoo/agent"
	"artoo/conversation"
	"artoo/conversation/foreign"
	"artoo/tool/journal"
	"artoo/ui/sanitize"
	"artoo/ui/screen"
)

// grepSessions is `artoo sessions grep`: a line for each message that holds all words.
func (a *app) grepSessions(store conversation.Store, inv Invocation) error {
	out := bufio.NewWriter(a.process.Out)
	found := false
	var failed error
	err := store.Grep(inv.Words, nil, func(m conversation.Match) bool {
		found = true
		failed = printOne(out, m, inv.has("json"), matchLine)
		return failed == nil
	})
	if !found && err == nil {
		a.screen.Note("no message of any session holds all of: " + sanitize.Text(strings.Join(inv.Words, " "), sanitize.Line))
	}
	return errors.Join(err, failed, out.Flush())
}

func matchLine(m conversation.Match) string {
	return fmt.Sprintf("%s  %s  %-9s  %s", m.Session.ID, m.Time.Local().Format("2006-01-02 15:04"), m.Role,
		sanitize.Text(m.Text, sanitize.Line))
}

// olderOf is the age that --older names, 0 for none.
func olderOf(inv Invocation) (time.Duration, error) {
	given := inv.Own["older"]
	switch {
	case given == nil && inv.Verb == "rm" && len(inv.Words) == 0:
		return 0, usage("sessions rm", "which session?", "artoo sessions rm ID ..., or --older 30d")
	case given == nil:
		return 0, nil
	case inv.Verb != "rm" || len(inv.Words) > 0:
		return 0, usage("sessions", "--older stands with rm, without an ID", "artoo sessions rm --older 30d")
	}
	text := given[len(given)-1]
	age, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		n, err = strconv.Atoi(days)
		age = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || age <= 0 {
		return 0, usage("sessions rm", "--older "+text+" is no age", "artoo sessions rm --older 30d, or 12h")
	}
	return age, nil
}

// removeSessions is `artoo sessions rm`: the sessions with their outputs, and what was
// kept of them for undo.
func (a *app) removeSessions(store conversation.Store, inv Invocation, older time.Duration) error {
	ids := inv.Words
	if older > 0 {
		list, err := store.List()
		if err != nil {
			return err
		}
		for _, s := range list {
			if time.Since(s.Updated) > older {
				ids = append(ids, s.ID)
			}
		}
	}
	removed, err := store.Remove(ids...)
	state, stateErr := a.cfg.Paths.StateDir()
	if err = errors.Join(err, stateErr); stateErr == nil {
		for _, s := range removed {
			err = errors.Join(err, removeJournals(state, s.ID))
		}
	}
	err = errors.Join(err, printEach(a.process.Out, removed, inv.has("json"), func(s conversation.Info) string {
		return "deleted: " + sessionLine(s)
	}))
	if len(ids) == 0 {
		a.screen.Note("no session is as old as that")
	}
	return err
}

// removeJournals deletes what was kept of a session for undo, in whatever project.
func removeJournals(state, id string) error {
	projects, err := os.ReadDir(filepath.Join(state, "journal"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, p := range projects {
		err = errors.Join(err, journal.Remove(filepath.Join(state, "journal", p.Name(), id)))
	}
	return err
}

// importSession is `artoo sessions import`: a new session with what another agent's
// file tells. It is of the directory that one was in.
func (a *app) importSession(store conversation.Store, inv Invocation) (err error) {
	name := inv.word()
	f, err := os.Open(name)
	if err != nil {
		return fail(agent.KindUsage, name, errors.Unwrap(err), "artoo sessions import FILE")
	}
	defer f.Close()
	found, err := foreign.Read(f)
	if errors.Is(err, foreign.ErrUnknown) {
		return fail(agent.KindUsage, name, err, "these can be: "+foreign.Known)
	}
	if err != nil {
		return fail(agent.KindInternal, name, err, "check that the file can be read")
	}
	dir := found.Dir
	if !filepath.IsAbs(dir) {
		dir = a.project.Dir
	}
	s := store.Create(conversation.Header{CWD: dir, Version: a.process.build().Version, Model: found.Model})
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := a.marks.begin(s); err != nil {
		return err
	}
	c := conversation.New(conversation.Config{ToolResultMaxChars: int(a.cfg.ToolResultMaxChars), OutputDir: s.OutputDir(),
		Mask: a.mask}, s)
	for _, m := range found.Messages {
		if err := c.AppendMasked(m); err != nil {
			return err
		}
	}
	if err := c.Sync(); err != nil {
		return err
	}
	if found.Skipped > 0 {
		a.warn(fmt.Sprintf("%s of the file cannot be read and are left out", screen.Count(found.Skipped, "line")))
	}
	a.screen.Note(fmt.Sprintf("imported from %s: %s; artoo -r %s goes on with it", found.Agent,
		screen.Count(len(found.Messages), "message"), s.ID()))
	info, err := s.Info()
	if err != nil {
		return err
	}
	return printOne(a.process.Out, info, inv.has("json"), sessionLine)
}
