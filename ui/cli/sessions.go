package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"artoo/conversation"
	"artoo/provider"
	"artoo/ui/export"
	"artoo/ui/sanitize"
)

// sessionsCommand is `artoo sessions`.
type sessionsCommand struct {
	*app
	json   *bool
	format *string
	older  *string
	store  conversation.Store
}

func newSessions(a *app) *cobra.Command {
	c := a.command("sessions [list|show|export|grep|rm|import]", "the sessions kept so far", common())
	s := &sessionsCommand{app: a, json: jsonFlag(c),
		format: a.textFlag(c, "format", "", "FORMAT", "of export to stdout: md, json or html", "md", "json", "html"),
		older:  a.textFlag(c, "older", "", "AGE", "of rm: all not written for so long, as 30d or 12h")}
	list := func(c *cobra.Command, _ []string) error {
		if err := s.open("list", nil); err != nil {
			return err
		}
		return s.list()
	}
	c.RunE = list
	a.verb(c, "list", nil).RunE = list
	one := a.words(1, 1, "which session?")
	verbs := []struct {
		use     string
		args    cobra.PositionalArgs
		offered cobra.CompletionFunc
		run     func(words []string) error
	}{
		{"show ID", one, a.offerKnown(1, "resume"), func(words []string) error { return s.write(words, true) }},
		{"export ID [FILE]", a.words(1, 2, "which session?"), a.offerKnown(1, "resume"),
			func(words []string) error { return s.write(words, false) }},
		{"grep WORD ...", a.words(1, -1, "which words?"), nil, s.grep},
		{"rm ID ...", cobra.ArbitraryArgs, a.offerKnown(-1, "resume"), s.remove},
		{"import FILE", a.words(1, 1, "which file?"), offerFile, s.importFile},
	}
	for _, v := range verbs {
		name, _, _ := strings.Cut(v.use, " ")
		verb := a.verb(c, v.use, func(_ context.Context, words []string) error {
			if err := s.open(name, words); err != nil {
				return err
			}
			return v.run(words)
		})
		verb.Args = v.args
		if v.offered != nil {
			verb.ValidArgsFunction = v.offered
		}
	}
	return c
}

// open looks whether the flags go with the verb, and opens the store.
func (s *sessionsCommand) open(verb string, words []string) error {
	wrong := func(why, hint string) error { return usage("sessions "+verb, why, "artoo sessions "+hint) }
	const exporting = "export ID [FILE]"
	switch {
	case verb == "show" && *s.format != "":
		return wrong("does not take --format", "show ID")
	case verb != "export" && *s.format != "":
		return wrong("does not take --format", "list --json")
	case *s.format != "" && *s.json:
		return wrong("takes --json or --format, not both", exporting)
	case verb == "export" && len(words) == 2 && (*s.format != "" || *s.json):
		return wrong("the end of the file's name decides the format", exporting)
	case verb == "rm" && *s.older == "" && len(words) == 0:
		return wrong("which session?", "rm ID ..., or --older 30d")
	case *s.older != "" && (verb != "rm" || len(words) > 0):
		return usage("sessions", "--older stands with rm, without an ID", "artoo sessions rm --older 30d")
	}
	if _, err := s.age(); err != nil {
		return err
	}
	if err := s.load(false, false); err != nil {
		return err
	}
	dir, err := s.cfg.Paths.Sessions()
	s.store = conversation.Store{Dir: dir}
	return err
}

func (s *sessionsCommand) list() error {
	list, err := s.store.List()
	if err != nil {
		return err
	}
	out := bufio.NewWriter(s.process.Out)
	return errors.Join(printEach(out, list, *s.json, sessionLine), out.Flush())
}

// sessionLine is a session as it is listed.
func sessionLine(s conversation.Info) string {
	cost := "-"
	if s.CostUSD != nil {
		cost = fmt.Sprintf("$%.2f", *s.CostUSD)
	}
	about := s.First
	if s.Name != "" {
		about = "[" + s.Name + "] " + about
	}
	return fmt.Sprintf("%s  %s  %4d  %7s  %s  %s", s.ID, s.Updated.Format("2006-01-02 15:04"), s.Messages, cost,
		sanitize.Text(s.CWD, sanitize.Line), sanitize.Text(about, sanitize.Line))
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
		line = string(data)
	} else {
		line = text(v)
	}
	_, err := fmt.Fprintln(w, line)
	return err
}

// write is `artoo sessions show` and `export`.
func (s *sessionsCommand) write(words []string, show bool) error {
	kept, err := s.store.Read(words[0])
	if err != nil {
		return err
	}
	for _, n := range kept.Notices() {
		s.warn(n)
	}
	session := export.Of(kept)
	switch {
	case show && !*s.json:
		return export.Summary(s.process.Out, session)
	case len(words) == 1:
		name := *s.format
		if *s.json {
			name = "json"
		}
		format, err := export.FormatOf(name)
		if err != nil {
			return err
		}
		return export.Write(s.process.Out, format, session)
	}
	path, err := export.File(s.project.Dir, words[1], session)
	if err == nil {
		s.screen.Note("written: " + sanitize.Text(path, sanitize.Line))
	}
	return err
}
