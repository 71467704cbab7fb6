package cli

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

// grep is `artoo sessions grep`: a line for each message that holds all words.
func (s *sessionsCommand) grep(words []string) error {
	out := bufio.NewWriter(s.process.Out)
	found := false
	var failed error
	err := s.store.Grep(words, nil, func(m conversation.Match) bool {
		found = true
		failed = printOne(out, m, *s.json, matchLine)
		return failed == nil
	})
	if !found && err == nil {
		s.screen.Note("no message of any session holds all of: " + sanitize.Text(strings.Join(words, " "), sanitize.Line))
	}
	return errors.Join(err, failed, out.Flush())
}

func matchLine(m conversation.Match) string {
	return fmt.Sprintf("%s  %s  %-9s  %s", m.Session.ID, m.Time.Local().Format("2006-01-02 15:04"), m.Role,
		sanitize.Text(m.Text, sanitize.Line))
}

// age is what --older names, 0 where it was not given.
func (s *sessionsCommand) age() (time.Duration, error) {
	text := *s.older
	if text == "" {
		return 0, nil
	}
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

// remove is `artoo sessions rm`: the sessions with their outputs, and their undo journals.
func (s *sessionsCommand) remove(ids []string) error {
	if older, _ := s.age(); older > 0 { // open has looked at it
		list, err := s.store.List()
		if err != nil {
			return err
		}
		for _, info := range list {
			if time.Since(info.Updated) > older {
				ids = append(ids, info.ID)
			}
		}
	}
	removed, err := s.store.Remove(ids...)
	state, stateErr := s.cfg.Paths.StateDir()
	if err = errors.Join(err, stateErr); stateErr == nil {
		for _, info := range removed {
			err = errors.Join(err, removeJournals(state, info.ID))
		}
	}
	err = errors.Join(err, printEach(s.process.Out, removed, *s.json, func(info conversation.Info) string {
		return "deleted: " + sessionLine(info)
	}))
	if len(ids) == 0 {
		s.screen.Note("no session is as old as that")
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

// importFile is `artoo sessions import`: a new session with the messages of another
// agent's file, in the directory of that session.
func (s *sessionsCommand) importFile(words []string) (err error) {
	name := words[0]
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
		dir = s.project.Dir
	}
	imported := s.store.Create(conversation.Header{CWD: dir, Version: s.process.build().Version, Model: found.Model})
	defer func() { err = errors.Join(err, imported.Close()) }()
	if err := s.marks.begin(imported); err != nil {
		return err
	}
	c := conversation.New(conversation.Config{ToolResultMaxChars: int(s.cfg.ToolResultMaxChars), OutputDir: imported.OutputDir(),
		Mask: s.mask}, imported)
	for _, m := range found.Messages {
		if err := c.AppendMasked(m); err != nil {
			return err
		}
	}
	if err := c.Sync(); err != nil {
		return err
	}
	if found.Skipped > 0 {
		s.warn(fmt.Sprintf("%s of the file cannot be read and are left out", screen.Count(found.Skipped, "line")))
	}
	s.screen.Note(fmt.Sprintf("imported from %s: %s; artoo -r %s continues it", found.Agent,
		screen.Count(len(found.Messages), "message"), imported.ID()))
	info, err := imported.Info()
	if err != nil {
		return err
	}
	return printOne(s.process.Out, info, *s.json, sessionLine)
}
