package cli

// artoo sessions.

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"artoo/conversation"
	"artoo/provider"
	"artoo/ui/export"
	"artoo/ui/sanitize"
)

// sessions is `artoo sessions`.
func (a *app) sessions(inv Invocation) error {
	e, err := exportOf(inv)
	if err != nil {
		return err
	}
	older, err := olderOf(inv)
	if err != nil {
		return err
	}
	if err := a.load(inv, false); err != nil {
		return err
	}
	dir, err := a.cfg.Paths.Sessions()
	if err != nil {
		return err
	}
	store := conversation.Store{Dir: dir}
	switch inv.Verb {
	case "show", "export":
		return a.export(store, e)
	case "grep":
		return a.grepSessions(store, inv)
	case "rm":
		return a.removeSessions(store, inv, older)
	case "import":
		return a.importSession(store, inv)
	}
	list, err := store.List()
	if err != nil {
		return err
	}
	out := bufio.NewWriter(a.process.Out)
	return errors.Join(printEach(out, list, inv.has("json"), sessionLine), out.Flush())
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

// exported is a session that is to be written.
type exported struct {
	id     string // or the beginning of it; "" where the list is asked for
	file   string // "" is stdout
	format string // md, json, html; "" where the file's name decides
	brief  bool   // without what the tool calls came to
}

// exportOf is what `artoo sessions show` and `export` are to write.
func exportOf(inv Invocation) (e exported, err error) {
	formats, asJSON := inv.Own["format"], inv.has("json")
	wrong := func(why, hint string) (exported, error) {
		verb := "list"
		if inv.Verb != "" {
			verb = inv.Verb
		}
		return e, usage("sessions "+verb, why, "artoo sessions "+hint)
	}
	const exporting = "export ID [FILE]"
	switch {
	case inv.Verb == "show" && formats != nil:
		return wrong("does not take --format", "show ID")
	case inv.Verb != "export" && formats != nil:
		return wrong("does not take --format", "list --json")
	case formats != nil && asJSON:
		return wrong("takes --json or --format, not both", exporting)
	case len(inv.Words) == 2 && (formats != nil || asJSON):
		return wrong("the end of the file's name decides the format", exporting)
	case len(inv.Words) == 2:
		e.file = inv.Words[1]
	case formats != nil:
		e.format = formats[len(formats)-1]
	case asJSON:
		e.format = "json"
	}
	e.id, e.brief = inv.word(), inv.Verb == "show" && !asJSON
	return e, nil
}

// export writes one session.
func (a *app) export(store conversation.Store, e exported) error {
	kept, err := store.Read(e.id)
	if err != nil {
		return err
	}
	for _, n := range kept.Notices() {
		a.warn(n)
	}
	s := export.Of(kept)
	if e.brief {
		return export.Summary(a.process.Out, s)
	}
	if e.file == "" {
		format, err := export.FormatOf(e.format)
		if err != nil {
			return err
		}
		return export.Write(a.process.Out, format, s)
	}
	path, err := export.File(a.project.Dir, e.file, s)
	if err == nil {
		a.screen.Note("written: " + sanitize.Text(path, sanitize.Line))
	}
	return err
}
