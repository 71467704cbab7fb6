package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"artoo/agent"
	"artoo/config/bundle"
	"artoo/config/trust"
	"artoo/tool/edit"
	"artoo/tool/extension"
	"artoo/tool/git"
	"artoo/ui"
	"artoo/ui/sanitize"
	"artoo/ui/screen"
)

// bundleCommand is `artoo bundle`.
type bundleCommand struct {
	app       *app
	json, yes *bool
}

func newBundle(l commandLine) *cobra.Command {
	c := l.command("bundle [list|add|show|update|rm] [--yes]", "plugin bundles: skills, commands, servers and hooks", common())
	b := bundleCommand{app: l.app, json: jsonFlag(c), yes: c.PersistentFlags().Bool("yes", false, "do not ask before adding or updating")}
	list := func(context.Context, []string) error { return b.list() }
	c.RunE = func(*cobra.Command, []string) error { return b.list() }
	l.verb(c, "list", list)
	add := l.verb(c, "add DIR|URL[@REF][#PLUGIN]", func(ctx context.Context, words []string) error { return b.add(ctx, words[0]) })
	add.Args, add.ValidArgsFunction = l.words(1, 1, "which directory or address?"), nil
	for _, verb := range []struct {
		use string
		run func(ctx context.Context, name string) error
	}{{"show NAME", b.show}, {"update NAME", b.update}, {"rm NAME", b.remove}} {
		v := l.verb(c, verb.use, func(ctx context.Context, words []string) error { return verb.run(ctx, words[0]) })
		v.Args = l.words(1, 1, "which bundle?")
	}
	return c
}

// bundleStore is where bundles are kept. The error is of a machine that allows none, or without a
// home.
func (x *extensions) bundleStore() (bundle.Store, error) {
	if err := x.cfg.Policy.CheckBundles(); err != nil {
		return bundle.Store{}, err
	}
	dir, err := x.cfg.Paths.Bundles()
	return bundle.Store{Dir: dir}, err
}

func (c bundleCommand) open() (bundle.Store, error) {
	if err := c.app.load(false, false); err != nil {
		return bundle.Store{}, err
	}
	return c.app.extensions.bundleStore()
}

// bundles are those in use, each as the user approved it. Bundles that are not used are reported once.
func (x *extensions) bundles() []bundle.Bundle {
	x.bundlesOnce.Do(func() { x.bundled = x.findBundles() })
	return x.bundled
}

func (x *extensions) findBundles() (list []bundle.Bundle) {
	dir, err := x.cfg.Paths.Bundles()
	if err != nil {
		return nil // without a home there are none
	}
	store := bundle.Store{Dir: dir}
	names, err := store.Names()
	if err != nil {
		x.warn("bundles: " + err.Error())
	}
	if err := x.cfg.Policy.CheckBundles(); err != nil && names != nil {
		x.warn(err.Error())
		return nil
	}
	for _, name := range names {
		b, err := store.Open(name)
		if err != nil {
			x.warn(err.Error())
			continue
		}
		list = append(list, b)
	}
	return list
}

// useBundles takes over the hooks and servers of bundles, and the tools that they take away.
func (x *extensions) useBundles() {
	for _, b := range x.bundles() {
		for _, part := range b.Hooks {
			x.takeHooks(part.Data, part.Origin)
		}
		if data := b.Data(bundle.GeminiManifest); data != nil {
			x.foreignRules(data, "bundle "+b.Name)
		}
		for _, part := range b.Servers {
			x.takeServers(part.Data, part.Origin)
		}
	}
}

// listedBundle is a row of the list.
type listedBundle struct {
	bundle.Record
	Problem string `json:"problem,omitempty"` // why it is not used
}

func (c bundleCommand) list() error {
	store, err := c.open()
	if err != nil {
		return err
	}
	names, err := store.Names()
	if err != nil {
		return err
	}
	if names == nil && !*c.json {
		c.app.screen.Note("no bundles; artoo bundle add DIR or URL adds one")
	}
	var rows []listedBundle
	for _, name := range names {
		b, err := store.Open(name)
		row := listedBundle{Record: b.Record}
		if err != nil {
			row.Name, row.Problem = name, err.Error()
		}
		rows = append(rows, row)
	}
	return printEach(c.app.process.Out, rows, *c.json, func(r listedBundle) string {
		commit := r.Commit[:min(12, len(r.Commit))]
		line := strings.Join(strings.Fields(fmt.Sprintf("%s  %s %s  %s", r.Name, r.Version, commit, r.Source)), "  ")
		if r.Problem != "" {
			line += "  " + r.Problem
		}
		return sanitize.Text(c.app.shown(line), sanitize.Line)
	})
}

func (c bundleCommand) show(_ context.Context, name string) error {
	store, err := c.open()
	if err != nil {
		return err
	}
	b, err := store.Open(name)
	if err != nil {
		return err
	}
	return printEach(c.app.process.Out, c.lines(b), false, func(line string) string {
		return sanitize.Text(line, sanitize.Line)
	})
}

func (c bundleCommand) remove(_ context.Context, name string) error {
	store, err := c.open()
	if err != nil {
		return err
	}
	if _, err := store.Open(name); errors.Is(err, os.ErrNotExist) || !bundle.ValidName(name) {
		return err
	}
	if err := store.Remove(name); err != nil {
		return fail(agent.KindInternal, "bundle "+name, err, "check the owner of "+store.Dir)
	}
	c.app.screen.Note("removed: " + name)
	return nil
}

func (c bundleCommand) add(ctx context.Context, given string) error {
	store, err := c.open()
	if err != nil {
		return err
	}
	source, ref := bundle.SplitRef(given)
	if !bundle.IsAddress(source) {
		source = c.app.abs(source)
	}
	b, done, err := store.Fetch(ctx, c.app.process.Environ, source, ref)
	defer done()
	if m, ok := errors.AsType[*bundle.MarketError](err); ok {
		if err := printMarket(c.app.process.Out, m.Plugins, *c.json); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	if old, err := store.Open(b.Name); err == nil || !errors.Is(err, os.ErrNotExist) {
		return fail(agent.KindUsage, "bundle "+b.Name, fmt.Errorf("already exists, from %s", cmp.Or(old.Source, "elsewhere")),
			"artoo bundle update "+b.Name+", or artoo bundle rm "+b.Name)
	}
	return c.approve(ctx, store, bundle.Bundle{}, b, "artoo bundle add --yes "+given)
}

// printMarket lists the plugins of a marketplace, each with the line that adds it.
func printMarket(w io.Writer, plugins []bundle.Listed, asJSON bool) error {
	return printEach(w, plugins, asJSON, func(p bundle.Listed) string {
		line := "  artoo bundle add " + p.Source
		if p.Source == "" {
			line = "  artoo cannot fetch from its source"
		}
		return sanitize.Text(strings.TrimSuffix(p.Name+": "+p.About, ": "), sanitize.Line) + "\n" + sanitize.Text(line, sanitize.Line)
	})
}

// update fetches a bundle again and shows its changes.
func (c bundleCommand) update(ctx context.Context, name string) error {
	store, err := c.open()
	if err != nil {
		return err
	}
	old, broken := store.Open(name)
	if old.Source == "" {
		return broken
	}
	now, done, err := store.Fetch(ctx, c.app.process.Environ, old.Source, old.Ref)
	defer done()
	if err != nil {
		return err
	}
	switch {
	case now.Name != name:
		return fail(agent.KindConfig, "bundle "+name, fmt.Errorf("is called %s now", now.Name), "artoo bundle rm "+name+", and add it again")
	case broken == nil && now.Sum == old.Sum:
		c.app.screen.Note("unchanged: " + name)
		return nil
	}
	if broken != nil { // The copy there is may be anything, so it is nothing to compare with.
		old = bundle.Bundle{}
	}
	return c.approve(ctx, store, old, now, "artoo bundle update --yes "+name)
}

// approve asks whether a bundle is put in force: as its changes to an approved version, or whole
// where old is empty.
func (c bundleCommand) approve(ctx context.Context, store bundle.Store, old, b bundle.Bundle, again string) error {
	var diff, all strings.Builder
	err := bundle.Changes(old, b, func(name string, before, after *bundle.File) error {
		was, is := cmp.Or(before, &bundle.File{}), cmp.Or(after, &bundle.File{})
		both := before != nil && after != nil
		if both && was.Exec != is.Exec {
			now := "no longer executable"
			if is.Exec {
				now = "executable now"
			}
			fmt.Fprintf(&diff, "%s: %s\n", git.Quote(name), now)
		}
		if both && bytes.Equal(was.Data, is.Data) {
			return nil
		}
		if after != nil && (old.Files == nil || !inDiff(was.Data) || !inDiff(is.Data)) {
			all.WriteString(contentOf(name, is.Data))
		}
		if old.Files == nil {
			return nil
		}
		diff.WriteString(edit.DiffFiles(name, was.Data, is.Data, before != nil, after != nil))
		return nil
	})
	if err != nil {
		return err
	}
	q := screen.BundleQuestion{Name: b.Name, Diff: diff.String(), All: all.String(), Lines: c.lines(b)}
	yes, err := c.app.confirm("bundle", q, *c.yes, again+", once you have looked",
		func() (bool, error) { return ui.ConfirmOnTTY(ctx, c.app.screen, q) })
	if err != nil || !yes {
		return err
	}
	return store.Keep(b, time.Now().UTC())
}

// contentOf shows a file: its name and size, and its text, or the sum of one that is no text.
func contentOf(name string, data []byte) string {
	head := git.Quote(name) + ", " + screen.Count(len(data), "byte")
	if !utf8.Valid(data) || bytes.ContainsRune(data, 0) {
		return fmt.Sprintf("%s, no text, SHA-256 %x\n\n", head, sha256.Sum256(data))
	}
	return head + ":\n\n" + strings.TrimRight(string(data), "\n") + "\n\n"
}

// inDiff reports whether a diff has all of a content, which one of binary data, or of line ends, has not.
func inDiff(data []byte) bool { return utf8.Valid(data) && !bytes.ContainsAny(data, "\x00\r\ufeff") }

// lines describe a bundle as far as they may be shown; its files have the rest.
func (c bundleCommand) lines(b bundle.Bundle) []string {
	return strings.Split(c.app.shown(strings.Join(append(bundleHead(b), c.app.extensions.bundleLines(b)...), "\n")), "\n")
}

// bundleHead names a bundle, with its version, its description and its source.
func bundleHead(b bundle.Bundle) []string {
	about := b.Name + " " + b.Version
	if b.About != "" {
		about = strings.TrimSpace(about) + ": " + b.About
	}
	head := []string{strings.Join(strings.Fields(about), " "), "from " + b.Source} // a line of the manifest's own could pass for one of artoo's
	if b.Commit != "" {
		head[1] += ", commit " + b.Commit
	}
	return head
}

// bundleLines lists the contents of a bundle: servers and hooks as they are used, and all its files.
func (x *extensions) bundleLines(b bundle.Bundle) (lines []string) {
	add := func(e extension.Extension) {
		e = trust.Summed(e)
		lines = append(lines, fmt.Sprintf("%s %s, confined (%s):", e.Kind, e.Name, e.Place))
		for _, text := range append([]string{e.Command}, e.Details...) {
			for line := range strings.Lines(strings.ReplaceAll(text, b.Root, "${CLAUDE_PLUGIN_ROOT}")) {
				lines = append(lines, "  "+strings.TrimRight(line, "\n"))
			}
		}
	}
	var notes []string
	for _, part := range b.Servers {
		servers, wrong, err := x.serversIn(part.Data, part.Origin)
		if err != nil {
			wrong = append(wrong, part.Place+": "+err.Error())
		}
		for _, s := range servers {
			add(s.Extension())
		}
		notes = append(notes, wrong...)
	}
	for _, part := range b.Hooks {
		// A file that is left out, or a part of one, is among the unused parts.
		hooks, _, _ := extension.ClaudeHooks(part.Data, part.Origin)
		for _, h := range hooks {
			add(h.Extension())
		}
	}
	for _, p := range b.Places {
		if rel, err := filepath.Rel(b.Root, filepath.Join(p.Dir, p.Only)); err == nil {
			lines = append(lines, p.Kind.Dir()+": "+git.Quote(filepath.ToSlash(rel)))
		}
	}
	for _, unused := range append(notes, b.Unused...) {
		lines = append(lines, "not used: "+strings.Join(strings.Fields(unused), " "))
	}
	for _, f := range b.Files {
		line := fmt.Sprintf("file: %s  (%s)", git.Quote(f.Name), screen.Count(len(f.Data), "byte"))
		if f.Exec {
			line += ", executable"
		}
		lines = append(lines, line)
	}
	return lines
}
