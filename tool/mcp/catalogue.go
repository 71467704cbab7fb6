package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"artoo/tool/schemas"
	"artoo/tool/text"
)

// The limits of a server's definitions.
const (
	maxTools       = 1000
	maxPages       = 20
	maxCatalogue   = 8 << 20   // bytes of all definitions together, as they are kept; as much for the pins
	maxDefinition  = 128 << 10 // bytes of one
	maxCursor      = 4 << 10
	maxDescription = 2 << 10
	maxSchema      = 32 << 10
	maxDepth       = 32
	maxNodes       = 2000
	maxName        = 64
	listPause      = time.Second // between two listings
)

// list is List for one server.
func (s *server) list(ctx context.Context) ([]Tool, error) {
	l, err := s.ready(ctx)
	if err != nil {
		return nil, err
	}
	if c := s.catalogue(); c.fresh() && !l.stale.Load() {
		return slices.Clone(c.tools), nil
	}
	if err := s.renew(ctx, l); err != nil {
		return nil, s.classify(err)
	}
	return slices.Clone(s.catalogue().tools), nil
}

// changed renews the catalogue after the server said that it is another one.
func (s *server) changed(l *link) {
	if l.stale.Swap(true) {
		return // the renewal that is about to begin sees this change, too
	}
	s.m.running.Go(func() {
		<-l.opened
		if l.session == nil {
			return
		}
		ctx, cancel := context.WithTimeout(s.m.closing, startLimit)
		defer cancel()
		if err := s.renew(ctx, l); err != nil && ctx.Err() == nil && !l.lost() {
			s.noticeOnce("changed", fmt.Sprintf("its tools have changed, but cannot be listed: %v", s.classify(err)))
		}
	})
}

// renew lists the tools again and keeps the catalogue. A link that was just listed is not asked twice,
// and one that always has other tools not all the time.
func (s *server) renew(ctx context.Context, l *link) error {
	if err := l.listing.enter(ctx); err != nil {
		return err
	}
	defer l.listing.leave()
	if !l.stale.Load() && !l.listed.IsZero() && time.Since(l.listed) < listPause {
		return nil
	}
	if !sleep(ctx, time.Until(l.asked.Add(listPause))) {
		return context.Cause(ctx)
	}
	l.stale.Store(false)
	l.asked = time.Now()
	init := l.session.InitializeResult()
	old := s.catalogue()
	c := &catalogue{outline: outline{Protocol: init.ProtocolVersion, Listed: time.Now()}, Old: l.old, Issuer: s.issuer(), Title: cut(init.Instructions, maxDescription),
		Pinned: maps.Clone(old.Pinned), Shown: old.Shown}
	if init.Capabilities != nil && init.Capabilities.Tools != nil {
		if err := s.page(ctx, l, c); err != nil {
			return err
		}
	}
	c.pin(s.Name, c.Definitions)
	s.store(c)
	l.listed = time.Now()
	return nil
}

// sleep waits so long, and reports whether ctx let it.
func sleep(ctx context.Context, d time.Duration) bool {
	within(ctx.Done(), d)
	return ctx.Err() == nil
}

// pin keeps those definitions that are seen for the first time, as far as there is room for them: a
// definition without a pin is not offered.
func (c *catalogue) pin(server string, list []definition) {
	if c.Pinned == nil {
		c.Pinned = map[string]definition{}
	}
	room := maxCatalogue - frame
	for full, d := range c.Pinned {
		room -= len(full) + d.size()
	}
	for _, d := range list {
		full := FullName(server, d.Name)
		if _, pinned := c.Pinned[full]; pinned || d.Refused != "" {
			continue
		}
		if need := len(full) + d.size(); need <= room {
			c.Pinned[full] = d
			room -= need
		}
	}
}

// frame is the room that a kept catalogue has besides definitions and pins, in bytes.
const frame = 64 << 10

// page reads all pages of the list of tools.
func (s *server) page(ctx context.Context, l *link, c *catalogue) error {
	ctx, cancel := s.limit(ctx, s.silence())
	defer cancel()
	cursor, seen := "", map[string]bool{}
	room := maxCatalogue - frame
	for n := 0; ; n++ {
		var kept *sdk.ListToolsResult
		r, err := takenOut(ctx, func(ctx context.Context) (r *sdk.ListToolsResult, err error) {
			kept, err = l.session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
			return kept, err
		})
		if err != nil {
			return causeOf(ctx, err)
		}
		c.TTL = max(0, r.TTLMs)
		for _, t := range r.Tools {
			if t == nil || hasHeaders(t) && !slices.Contains(kept.Tools, t) { // The library found wrong ones.
				continue
			}
			d, err := define(t)
			if err != nil {
				return err
			}
			room -= d.size()
			if len(c.Definitions) == maxTools || room < 0 {
				s.noticeOnce("tools", fmt.Sprintf("only the first %d tools are taken: it defines more than %d, or more than %d MiB",
					len(c.Definitions), maxTools, maxCatalogue>>20))
				return nil
			}
			c.Definitions = append(c.Definitions, d)
		}
		cursor = r.NextCursor
		if cursor == "" {
			return nil
		}
		if seen[cursor] || n+1 == maxPages || len(cursor) > maxCursor {
			s.noticeOnce("pages", fmt.Sprintf("its list of tools does not end: only %d pages are used", n+1))
			return nil
		}
		seen[cursor] = true
	}
}

// define is a tool of the library as it is kept. Its schemas are maps, so they always have the same
// bytes. One that is too large or has no input schema that could be used is kept by its name.
func define(t *sdk.Tool) (d definition, err error) {
	whole, err := everything(t)
	if err == nil {
		whole = whole.measured()
	}
	if err != nil || whole.size() > maxDefinition {
		return definition{Name: cut(t.Name, 200), Refused: fmt.Sprintf("its definition is over %d KB", maxDefinition>>10)}, err
	}
	if t.Meta[onlyTask] != nil {
		return definition{Name: t.Name, Refused: "it runs only as a task of the 2025 protocol, and artoo has none"}, nil
	}
	asItIs := func(text string) string { return text }
	if _, err := schema(whole.Input, asItIs); err != nil {
		return definition{Name: t.Name, Refused: fmt.Sprintf("its input schema %v", err)}, nil
	}
	if whole.Output != nil {
		if _, err := schema(whole.Output, asItIs); err != nil {
			whole.sum, whole.Output, whole.Unchecked = "", nil, fmt.Sprintf("results are not checked: its output schema %v", err)
		}
	}
	return whole.measured(), nil
}

func everything(t *sdk.Tool) (d definition, err error) {
	d = definition{Name: t.Name, Title: t.Title, Description: t.Description}
	for _, part := range []struct {
		from any
		to   *json.RawMessage
	}{{t.InputSchema, &d.Input}, {t.OutputSchema, &d.Output}, {t.Annotations, &d.Annotations}} {
		if part.from == nil {
			continue
		}
		if *part.to, err = json.Marshal(part.from); err != nil {
			return d, err
		}
		if string(*part.to) == "null" {
			*part.to = nil
		}
	}
	return d, nil
}

// prepare makes the tools of the definitions, and their outlines.
func (c *catalogue) prepare(s *server) {
	c.tools, c.dropped, c.Usable = nil, nil, nil
	names := map[string]bool{}
	hidden := 0
	for _, d := range c.Definitions {
		t, removed, why := c.tool(s, d)
		if t.Full != "" {
			c.Usable = append(c.Usable, Outline{Name: t.Name, Bytes: len(t.Full) + len(strings.TrimSpace(t.Description)) + len(t.Input)})
		}
		full := FullName(s.Name, d.Name)
		switch {
		case !offered(s.Server.Tools, d.Name):
			continue
		case names[full]:
			c.dropped = append(c.dropped, oneLine(d.Name)+": "+fmt.Sprintf("another tool is called %s, too", full))
			continue
		case why != "":
			c.dropped = append(c.dropped, oneLine(d.Name)+": "+why)
		}
		if t.Full == "" {
			continue
		}
		if removed {
			hidden++
		}
		names[full] = true
		c.tools = append(c.tools, t)
	}
	c.offer(s)
	if hidden > 0 {
		c.dropped = append(c.dropped, fmt.Sprintf("hidden characters were removed from %d definitions", hidden))
	}
}

// tool makes a tool of its definition, the zero Tool where that cannot be used. why is the reason, or names
// the part that is not used; removed means that hidden characters were taken out.
func (c *catalogue) tool(s *server, d definition) (t Tool, removed bool, why string) {
	full := FullName(s.Name, d.Name)
	pin, pinned := c.Pinned[full]
	switch {
	case d.Refused != "":
		return t, false, d.Refused
	case !pinned:
		return t, false, fmt.Sprintf("its definition cannot be kept: those of this server take over %d MiB", maxCatalogue>>20)
	}
	clean := func(text string) string {
		clean, any := withoutHidden(text)
		removed = removed || any
		return clean
	}
	input, err := schema(d.Input, clean)
	if err != nil {
		return t, false, fmt.Sprintf("its input schema %v", err)
	}
	why = d.Unchecked
	output := d.Output
	if output != nil {
		if output, err = schema(output, clean); err != nil {
			output, why = nil, fmt.Sprintf("results are not checked: its output schema %v", err)
		}
	}
	return Tool{Server: s.Name, Name: d.Name, Full: full, Title: cut(clean(d.Title), 200), Description: cut(clean(d.Description), maxDescription),
		Input: input, Output: output, Claims: claims(d.Annotations), Definition: d.digest(),
		Reads: matchesAny(s.Read, d.Name), Direct: matchesAny(s.Direct, d.Name), Changed: pin.digest() != d.digest()}, removed, why
}

// FullName is the name under which a server's tool is known: rules, hooks and the model use it. The
// server's part stays whole.
func FullName(server, tool string) string {
	name := prefix(server) + plain(tool)
	if len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	return name[:max(len(prefix(server)), maxName-7)] + "_" + hex.EncodeToString(sum[:3])
}

// MaxServer is how long a server's name may be, so that its tools have names of their own.
const MaxServer = maxName - len("mcp____") - 8

// prefix is the beginning of the full names of a server's tools.
func prefix(server string) string { return "mcp__" + plain(server) + "__" }

// plain replaces all characters that some provider refuses in names.
func plain(name string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, name)
}

// mayHave reports whether a full name can be of one of the server's tools.
func (s *server) mayHave(full string) bool {
	return strings.HasPrefix(full, prefix(s.Name))
}

// offered reports whether the globs offer a tool. A list that begins with - takes from all tools.
func offered(globs []string, name string) bool {
	ok := len(globs) == 0 || strings.HasPrefix(globs[0], "-")
	for _, glob := range globs {
		glob, not := strings.CutPrefix(glob, "-")
		if match, err := path.Match(glob, name); err == nil && match {
			ok = !not
		}
	}
	return ok
}

func matchesAny(globs []string, name string) bool {
	return len(globs) > 0 && slices.ContainsFunc(globs, func(glob string) bool {
		match, err := path.Match(glob, name)
		return err == nil && match
	})
}

// claims are a tool's annotations in words.
func claims(annotations json.RawMessage) string {
	var a struct {
		ReadOnly    bool  `json:"readOnlyHint"`
		Destructive *bool `json:"destructiveHint"`
		Idempotent  bool  `json:"idempotentHint"`
		OpenWorld   *bool `json:"openWorldHint"`
	}
	if len(annotations) == 0 || json.Unmarshal(annotations, &a) != nil {
		return ""
	}
	var said []string
	switch {
	case a.ReadOnly:
		said = append(said, "only reads")
	case a.Destructive != nil && !*a.Destructive:
		said = append(said, "destroys nothing")
	case a.Destructive != nil:
		said = append(said, "may destroy")
	}
	if a.Idempotent && !a.ReadOnly {
		said = append(said, "the same when repeated")
	}
	if a.OpenWorld != nil && !*a.OpenWorld {
		said = append(said, "stays local")
	}
	return strings.Join(said, ", ")
}

// schema is a schema that a provider takes and that can be checked: an object at its root, bounded,
// without references elsewhere, its texts cleaned.
func schema(raw json.RawMessage, clean func(string) string) (json.RawMessage, error) {
	if len(raw) == 0 {
		return json.RawMessage(`{"type":"object"}`), nil
	}
	if len(raw) > maxSchema {
		return nil, fmt.Errorf("is over %d KB", maxSchema>>10)
	}
	var root any
	if err := json.Unmarshal(raw, &root); err != nil {
		return nil, err
	}
	top, isObject := root.(map[string]any)
	if !isObject {
		return nil, errors.New("is not an object")
	}
	switch top["type"] {
	case nil:
		top["type"] = "object"
	case "object":
	default:
		return nil, errors.New("is not of type object")
	}
	nodes := 0
	checked, err := bounded(top, 1, &nodes, clean)
	if err != nil {
		return nil, err
	}
	left := maxFollowed
	if err := followed(top, top, nil, &left); err != nil {
		return nil, err
	}
	out, err := json.Marshal(checked)
	if err != nil {
		return nil, err
	}
	var parsed jsonschema.Schema
	if err := json.Unmarshal(out, &parsed); err != nil {
		return nil, fmt.Errorf("cannot be read: %w", text.Misread(err))
	}
	if _, err := parsed.Resolve(nil); err != nil {
		return nil, fmt.Errorf("cannot be used: %w", err)
	}
	return out, nil
}

// maxFollowed is how many parts a schema may have with its references followed: the library checks
// a value against all of them, at once and without a bound of its own.
const maxFollowed = 20_000

// followed counts the parts of a schema with its references followed; on are those on the way. It
// refuses references in a circle, with which checking a value might not end.
func followed(root, part any, on []string, left *int) error {
	if *left--; *left < 0 {
		return fmt.Errorf("has over %d parts with its references", maxFollowed)
	}
	switch part := part.(type) {
	case []any:
		for _, p := range part {
			if err := followed(root, p, on, left); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, key := range []string{"$ref", "$dynamicRef"} {
			ref, is := part[key].(string)
			if !is {
				continue
			}
			if slices.Contains(on, ref) {
				return errors.New("refers to itself")
			}
			target, ok := schemas.At(root, ref)
			if !ok {
				return errors.New("has a reference that artoo does not follow")
			}
			if err := followed(root, target, append(slices.Clip(on), ref), left); err != nil {
				return err
			}
		}
		for _, p := range part {
			if err := followed(root, p, on, left); err != nil {
				return err
			}
		}
	}
	return nil
}

var errHidden = errors.New("has hidden characters in names or values")

// bounded cleans the texts that describe a part of a schema. It refuses a part that is too deep or refers
// elsewhere, and hidden characters where another text would have another meaning.
func bounded(v any, depth int, nodes *int, clean func(string) string) (any, error) {
	if *nodes++; *nodes > maxNodes {
		return nil, fmt.Errorf("has over %d parts", maxNodes)
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("is over %d levels deep", maxDepth)
	}
	switch v := v.(type) {
	case string:
		if _, hidden := withoutHidden(v); hidden {
			return nil, errHidden
		}
	case []any:
		for i := range v {
			var err error
			if v[i], err = bounded(v[i], depth+1, nodes, clean); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		if _, is := v["$id"].(string); is && depth > 1 {
			return nil, errors.New("contains another document")
		}
		for _, key := range []string{"$ref", "$dynamicRef"} {
			if ref, is := v[key].(string); is && !strings.HasPrefix(ref, "#") {
				return nil, errors.New("refers to another document, which is never fetched")
			}
		}
		for key, part := range v {
			if _, hidden := withoutHidden(key); hidden {
				return nil, errHidden
			}
			if text, is := part.(string); is && (key == "title" || key == "description" || key == "$comment") {
				part = clean(text)
			}
			cleaned, err := bounded(part, depth+1, nodes, clean)
			if err != nil {
				return nil, err
			}
			v[key] = cleaned
		}
	}
	return v, nil
}
