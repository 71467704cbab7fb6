package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"artoo/agent"
	"artoo/conversation"
	"artoo/conversation/foreign"
	"artoo/provider"
	"artoo/tool/journal"
	"artoo/tool/text"
	"artoo/ui/export"
	"artoo/ui/sanitize"
	"artoo/ui/screen"
)

// sessionsCommand is `artoo sessions`.
type sessionsCommand struct {
	app    *app
	json   *bool
	format *string
	older  *string
	// decisions prints those on calls in place of the conversation.
	decisions *bool
	store     conversation.Store
	age       time.Duration // --older as a duration, 0 where it was not given
}

func newSessions(l commandLine) *cobra.Command {
	c := l.command("sessions [list|show|export|grep|rm|import]", "list, show, search, export and delete sessions", common())
	s := &sessionsCommand{app: l.app, json: jsonFlag(c),
		format:    l.textFlag(c, "format", "", "FORMAT", "format of an export to stdout: md or json", "md", "json"),
		older:     l.textFlag(c, "older", "", "AGE", "rm: sessions not written for this long, like 30d or 12h"),
		decisions: c.PersistentFlags().Bool("decisions", false, "show: who decided on each call, and by which rule")}
	one := l.words(1, 1, "which session?")
	verbs := []struct {
		use     string
		args    cobra.PositionalArgs
		offered cobra.CompletionFunc
		run     func(words []string) error
	}{
		{"list", l.words(0, 0, ""), nil, s.list},
		{"show ID", one, l.offerKnown(1, "resume"), func(words []string) error { return s.write(words, true) }},
		{"export ID [FILE]", l.words(1, 2, "which session?"), l.offerKnown(1, "resume"),
			func(words []string) error { return s.write(words, false) }},
		{"grep WORD ...", l.words(1, -1, "which words?"), nil, s.grep},
		{"rm ID ...", cobra.ArbitraryArgs, l.offerKnown(-1, "resume"), s.remove},
		{"import FILE", l.words(1, 1, "which file?"), offerFile, s.importFile},
	}
	for _, v := range verbs {
		name, _, _ := strings.Cut(v.use, " ")
		verb := l.verb(c, v.use, func(_ context.Context, words []string) error {
			if err := s.open(name, words); err != nil {
				return err
			}
			return v.run(words)
		})
		verb.Args = v.args
		if v.offered != nil {
			verb.ValidArgsFunction = v.offered
		}
		if name == "list" { // "sessions" alone lists them too
			c.RunE = verb.RunE
		}
	}
	return c
}

// open looks whether the flags go with the verb, and opens the store.
func (c *sessionsCommand) open(verb string, words []string) error {
	wrong := func(why, hint string) error { return usage("sessions "+verb, why, "artoo sessions "+hint) }
	const exporting = "export ID [FILE]"
	switch {
	case verb == "show" && *c.format != "":
		return wrong("does not take --format", "show ID")
	case verb != "export" && *c.format != "":
		return wrong("does not take --format", "list --json")
	case *c.format != "" && *c.json:
		return wrong("takes --json or --format, not both", exporting)
	case verb == "export" && len(words) == 2 && (*c.format != "" || *c.json):
		return wrong("the file's extension decides the format", exporting)
	case verb == "rm" && *c.older == "" && len(words) == 0:
		return wrong("which session?", "rm ID ..., or --older 30d")
	case *c.decisions && verb != "show":
		return wrong("does not take --decisions", "show --decisions ID")
	case *c.older != "" && (verb != "rm" || len(words) > 0):
		return usage("sessions", "--older goes with rm, without an ID", "artoo sessions rm --older 30d")
	}
	if err := c.readAge(*c.older); err != nil {
		return err
	}
	if err := c.app.load(false, false); err != nil {
		return err
	}
	dir, err := c.app.cfg.Paths.Sessions()
	c.store = conversation.Store{Dir: dir}
	return err
}

func (c *sessionsCommand) list([]string) error {
	list, err := c.store.List()
	if err != nil {
		return err
	}
	out := bufio.NewWriter(c.app.process.Out)
	return errors.Join(printEach(out, list, *c.json, sessionLine), out.Flush())
}

func sessionLine(s conversation.Info) string {
	cost := "-"
	if s.CostUSD != nil {
		cost = text.Dollars(*s.CostUSD)
	}
	about := s.First
	if s.Name != "" {
		about = "[" + s.Name + "] " + about
	}
	return fmt.Sprintf("%s  %s  %4d  %7s  %s  %s", s.ID, s.Updated.Format("2006-01-02 15:04"), s.Messages, cost,
		sanitize.Text(cmp.Or(s.CWD, "-"), sanitize.Line), sanitize.Text(about, sanitize.Line))
}

// printEach prints a list, a line each: as JSON, or as text makes it.
func printEach[T any](w io.Writer, list []T, asJSON bool, text func(T) string) error {
	for _, v := range list {
		if err := printOne(w, v, asJSON, text); err != nil {
			return err
		}
	}
	return nil
}

func printOne[T any](w io.Writer, v T, asJSON bool, text func(T) string) error {
	var line string
	if asJSON {
		data, err := provider.Marshal(v)
		if err != nil {
			return err
		}
		line = sanitize.JSON(string(data))
	} else {
		line = text(v)
	}
	_, err := fmt.Fprintln(w, line)
	return err
}

// write is `artoo sessions show` and `export`.
func (c *sessionsCommand) write(words []string, show bool) error {
	kept, err := c.store.Read(words[0])
	if err != nil {
		return err
	}
	for _, n := range kept.Notices() {
		c.app.warn(n)
	}
	session, err := export.Of(kept)
	switch {
	case err != nil:
		return err
	case *c.decisions:
		return printEach(c.app.process.Out, session.Decisions, *c.json, export.Decision)
	case show && !*c.json:
		return export.Summary(c.app.process.Out, session)
	case len(words) == 1:
		name := *c.format
		if *c.json {
			name = "json"
		}
		format, err := export.FormatOf(name)
		if err != nil {
			return err
		}
		return export.Write(c.app.process.Out, format, session)
	}
	path, err := export.File(c.app.project.Dir, words[1], session)
	if err == nil {
		c.app.screen.Note("written: " + sanitize.Text(path, sanitize.Line))
	}
	return err
}

// grep is `artoo sessions grep`: a line for each message that holds all words.
func (c *sessionsCommand) grep(words []string) error {
	out := bufio.NewWriter(c.app.process.Out)
	found := false
	var failed error
	err := c.store.Grep(words, nil, func(m conversation.Match) bool {
		found = true
		failed = printOne(out, m, *c.json, matchLine)
		return failed == nil
	})
	if !found && err == nil {
		c.app.screen.Note("no message contains all of: " + sanitize.Text(strings.Join(words, " "), sanitize.Line))
	}
	return errors.Join(err, failed, out.Flush())
}

func matchLine(m conversation.Match) string {
	return fmt.Sprintf("%s  %s  %-9s  %s", m.Session.ID, m.Time.Local().Format("2006-01-02 15:04"), m.Role,
		sanitize.Text(m.Text, sanitize.Line))
}

// readAge understands --older.
func (c *sessionsCommand) readAge(text string) (err error) {
	if text == "" {
		return nil
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n int
		n, err = strconv.Atoi(days)
		c.age = time.Duration(n) * 24 * time.Hour
	} else {
		c.age, err = time.ParseDuration(text)
	}
	if err != nil || c.age <= 0 {
		return usage("sessions rm", "--older "+text+" is not an age", "artoo sessions rm --older 30d, or 12h")
	}
	return nil
}

// remove is `artoo sessions rm`: the sessions with their outputs, and their undo journals. Journals without a session,
// as those of artoo try, count as sessions.
func (c *sessionsCommand) remove(ids []string) error {
	list, err := c.store.List()
	if err != nil {
		return err
	}
	state, err := c.app.cfg.Paths.StateDir()
	if err != nil {
		return err
	}
	orphans, err := journal.Orphans(state, func(id string) bool {
		return slices.ContainsFunc(list, func(info conversation.Info) bool { return info.ID == id })
	})
	if err != nil {
		c.app.warn("some undo journals could not be read: " + err.Error())
	}
	for _, o := range orphans {
		list = append(list, conversation.Info{ID: o.ID, Path: o.Dir, Updated: o.Time, First: "(only an undo journal)"})
	}
	for _, info := range list {
		if c.age > 0 && time.Since(info.Updated) > c.age {
			ids = append(ids, info.ID)
		}
	}
	alone := func(id string) bool {
		return slices.ContainsFunc(orphans, func(o journal.Session) bool { return o.ID == id })
	}
	removed, err := c.store.Remove(slices.DeleteFunc(slices.Clone(ids), alone)...)
	for _, info := range list {
		if err == nil && alone(info.ID) && slices.Contains(ids, info.ID) {
			removed = append(removed, info)
		}
	}
	for _, info := range removed {
		err = errors.Join(err, removeJournals(state, info.ID))
	}
	err = errors.Join(err, printEach(c.app.process.Out, removed, *c.json, func(info conversation.Info) string {
		return "deleted: " + sessionLine(info)
	}))
	if len(ids) == 0 {
		c.app.screen.Note("no session is that old")
	}
	return err
}

// removeJournals deletes the undo journals of a session, in whatever project.
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

// importFile makes a session of another agent's file.
func (c *sessionsCommand) importFile(words []string) (err error) {
	name := words[0]
	f, err := c.app.openFile(name)
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
		dir = c.app.project.Dir
	}
	imported := c.store.Create(conversation.Header{CWD: dir, Version: c.app.process.build().Version, Model: found.Model})
	defer func() { err = errors.Join(err, imported.Close()) }()
	if err := c.app.marks.begin(imported); err != nil {
		return err
	}
	written := conversation.New(conversation.Config{ToolResultMaxChars: int(c.app.cfg.ToolResultMaxChars), OutputDir: imported.OutputDir(),
		Mask: c.app.mask}, imported)
	for _, m := range found.Messages {
		if err := written.AppendMasked(m); err != nil {
			return err
		}
	}
	if err := written.Sync(); err != nil {
		return err
	}
	if found.Skipped > 0 {
		c.app.warn(fmt.Sprintf("%s of the file cannot be read and are left out", screen.Count(found.Skipped, "line")))
	}
	c.app.screen.Note(fmt.Sprintf("imported from %s: %s; artoo -r %s continues it", found.Agent,
		screen.Count(len(found.Messages), "message"), imported.ID()))
	info, err := imported.Info()
	if err != nil {
		return err
	}
	return printOne(c.app.process.Out, info, *c.json, sessionLine)
}
