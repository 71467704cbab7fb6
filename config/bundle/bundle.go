// Package bundle keeps plugin bundles: Claude Code plugins and Gemini extensions, copied into
// artoo's own directory, pinned by their commit and content. It runs nothing of a bundle.
package bundle

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"artoo/tool/extension"
	"artoo/tool/skill"
	"artoo/tool/text"
)

// Record is artoo's record of a bundle that the user added.
type Record struct {
	Name    string    `json:"name"`
	Version string    `json:"version,omitempty"`
	About   string    `json:"about,omitempty"`
	Source  string    `json:"source"` // a directory or an address, as the user gave it
	Ref     string    `json:"ref,omitempty"`
	Commit  string    `json:"commit,omitempty"`
	Sum     string    `json:"sum"` // SHA-256 of names, modes and contents, in hex
	Added   time.Time `json:"added"`
}

// Bundle is a bundle with its content.
type Bundle struct {
	Record
	Root   string        // the absolute directory of the copy
	Files  []File        // sorted by name
	Places []skill.Place // where its skills, commands and agents lie
	// Servers are objects with mcpServers, in the form of .mcp.json; Hooks those with hooks, in the
	// form of Claude Code's hooks.json.
	Servers, Hooks []Part
	Unused         []string // the parts that artoo does not use, in words
}

// Part is a piece of JSON of a bundle, at a place such as "review: hooks/hooks.json".
type Part struct {
	extension.Origin
	Data []byte
}

// File is one file of a bundle.
type File struct {
	Name string // below the root, with slashes
	Exec bool
	Data []byte
}

// origin is that of a piece of the bundle.
func (b *Bundle) origin(place string) extension.Origin {
	return extension.Origin{Source: extension.SourceBundle, Bundle: b.Name, Root: b.Root, Place: place}
}

// Data is the content of a file, nil where there is none.
func (b Bundle) Data(name string) []byte {
	if f := b.file(name); f != nil {
		return f.Data
	}
	return nil
}

func (b Bundle) file(name string) *File {
	if at := slices.IndexFunc(b.Files, func(f File) bool { return f.Name == name }); at >= 0 {
		return &b.Files[at]
	}
	return nil
}

// Error is a bundle that cannot be used. Where names the bundle or its file.
type Error struct {
	Where, Why, Hint string
	Err              error // the cause; may be nil
}

// Error is "WHERE: WHY".
func (e *Error) Error() string { return e.Where + ": " + e.Why }

// Unwrap returns the cause, which may be nil.
func (e *Error) Unwrap() error { return e.Err }

// ErrorKind names the kind for the exit table.
func (*Error) ErrorKind() string { return "config" }

// ErrorHint is the text after "try:".
func (e *Error) ErrorHint() string { return e.Hint }

func wrong(where, why, hint string, err error) *Error { return &Error{where, why, hint, err} }

// The manifests.
const (
	claudeManifest = ".claude-plugin/plugin.json"
	GeminiManifest = "gemini-extension.json"
)

// manifest has the fields of both kinds.
type manifest struct {
	Name        string          `json:"name"`
	Version     string          `json:"version"`
	Description string          `json:"description"`
	Commands    json.RawMessage `json:"commands"` // a path or paths, besides the usual ones
	Agents      json.RawMessage `json:"agents"`
	Skills      json.RawMessage `json:"skills"`
	Hooks       json.RawMessage `json:"hooks"` // paths, or the object itself
	MCPServers  json.RawMessage `json:"mcpServers"`
	LSPServers  json.RawMessage `json:"lspServers"`
	Strict      *bool           `json:"strict"` // of a marketplace's entry
	ContextFile json.RawMessage `json:"contextFileName"`
}

// read finds the extensions in a bundle's files. The record's name, version and description are the
// manifest's.
func (b *Bundle) read() error {
	at := claudeManifest
	data := b.Data(at)
	if data == nil {
		at = GeminiManifest
		data = b.Data(at)
	}
	if data == nil && byConvention(b.Files) { // a plugin may do without
		data = fmt.Appendf(nil, `{"name":%q}`, cmp.Or(b.Name, nameOf(b.Source)))
	}
	if data == nil {
		return wrong(b.Source, "neither a Claude Code plugin ("+claudeManifest+") nor an extension ("+GeminiManifest+")",
			"a directory or address of one; #DIR after it names a directory in it", nil)
	}
	var m manifest
	if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), &m); err != nil {
		return wrong(at, "is not the JSON of a manifest: "+text.Misread(err).Error(), "report it to the author of the bundle", err)
	}
	if fixed := nameOf(m.Name); !ValidName(m.Name) && !strings.ContainsAny(m.Name, "./#") {
		m.Name = fixed
	}
	if !ValidName(m.Name) {
		return wrong(at, fmt.Sprintf("%q cannot be a bundle's name", m.Name), "lower-case letters, digits and single hyphens, at most 64; not mcp or skill", nil)
	}
	b.Name, b.Version, b.About, b.Unused, b.Places = m.Name, m.Version, m.Description, nil, nil
	named := map[extension.Kind]json.RawMessage{extension.KindSkill: m.Skills, extension.KindCommand: m.Commands,
		extension.KindAgent: m.Agents}
	for _, kind := range extension.FileKinds() {
		names, inline, err := paths(named[kind])
		if err != nil {
			return wrong(at, kind.Dir()+": "+err.Error(), "report it to the author of the bundle", err)
		}
		if inline != nil {
			b.Unused = append(b.Unused, kind.Dir()+" within the manifest")
		}
		all := append([]string{kind.Dir()}, names...)
		if m.Strict != nil && !*m.Strict && names != nil { // The entry of a marketplace is all that counts.
			all = append([]string{""}, names...)
		}
		for i, name := range all {
			if name == "" || slices.Contains(all[:i], name) {
				continue
			}
			if dir, only, ok := b.find(kind, name); ok {
				b.add(kind, dir, only)
			} else if i > 0 {
				b.Unused = append(b.Unused, kind.Dir()+" of "+name+": none are there")
			}
		}
	}
	b.Servers, b.Hooks = nil, nil
	if err := b.parts(at, "mcpServers", ".mcp.json", m.MCPServers, &b.Servers); err != nil {
		return err
	}
	if err := b.parts(at, "hooks", "hooks/hooks.json", m.Hooks, &b.Hooks); err != nil {
		return err
	}
	for i := range b.Servers { // they are exec'd, so the path stands in no shell line
		b.Servers[i].Data = b.rooted(b.Servers[i].Data)
	}
	for _, part := range b.Hooks {
		_, left, err := extension.ClaudeHooks(part.Data, part.Origin)
		if err != nil {
			left = []string{err.Error()}
		}
		b.Unused = append(b.Unused, left...)
	}
	if len(m.LSPServers) > 0 {
		b.Unused = append(b.Unused, "language servers (lspServers)")
	}
	if len(m.ContextFile) > 0 || at == GeminiManifest && b.Data("GEMINI.md") != nil {
		b.Unused = append(b.Unused, "the context file, which every request would carry")
	}
	for _, f := range b.Files {
		name := extension.NoValue(string(f.Data))
		part := slices.ContainsFunc(slices.Concat(b.Servers, b.Hooks), func(p Part) bool { return p.Place == b.Name+": "+f.Name })
		if name != "" && !part && path.Dir(f.Name) != "." { // Files at the top are for people.
			b.Unused = append(b.Unused, f.Name+" names "+name+", which has no value here")
		}
		if strings.HasPrefix(f.Name, "policies/") && at == GeminiManifest {
			b.Unused = append(b.Unused, "the extension's own rules in "+f.Name)
		}
		if rel, ok := strings.CutPrefix(f.Name, "commands/"); ok && at == GeminiManifest && path.Ext(rel) == ".toml" {
			b.add(extension.KindCommand, filepath.Join(b.Root, "commands"), rel)
		}
	}
	return nil
}

// ValidName reports whether a name can be a bundle's. /mcp:NAME and /skill:NAME have a meaning already.
func ValidName(name string) bool {
	return name != "" && name != "mcp" && name != "skill" && len(name) <= 64 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" &&
		name[0] != '-' && name[len(name)-1] != '-' && !strings.Contains(name, "--")
}

// find is where a path of the bundle leads: to a directory, to a Markdown file in it, or to the own
// directory of a skill. ok is false where there are no files of the kind.
func (b *Bundle) find(kind extension.Kind, name string) (dir, only string, ok bool) {
	full, end := filepath.Join(b.Root, filepath.FromSlash(name)), ".md"
	if kind == extension.KindSkill {
		end = "/SKILL.md"
	}
	switch {
	case kind == extension.KindSkill && b.file(path.Join(name, end)) != nil:
		return filepath.Dir(full), filepath.Base(full) + end, true
	case kind != extension.KindSkill && strings.HasSuffix(name, end) && b.file(name) != nil:
		return filepath.Dir(full), filepath.Base(full), true
	}
	return full, "", slices.ContainsFunc(b.Files, func(f File) bool {
		return (name == "." || strings.HasPrefix(f.Name, name+"/")) && strings.HasSuffix(f.Name, end)
	})
}

// add adds a place, named for messages by its path in the bundle.
func (b *Bundle) add(kind extension.Kind, dir, only string) {
	name := "bundle " + b.Name
	if rel, err := filepath.Rel(b.Root, dir); err == nil {
		name += ": " + filepath.ToSlash(rel)
	}
	b.Places = append(b.Places, skill.Place{Kind: kind, Dir: dir, Only: only, Origin: b.origin(name)})
}

// parts reads the pieces of JSON under a key: of the usual file, of those that the manifest names,
// and in the manifest itself.
func (b *Bundle) parts(at, key, usual string, named json.RawMessage, into *[]Part) error {
	names, inline, err := paths(named)
	if err != nil {
		return wrong(at, key+": "+err.Error(), "report it to the author of the bundle", err)
	}
	if !slices.Contains(names, usual) && b.Data(usual) != nil {
		names = append([]string{usual}, names...)
	}
	for _, name := range names {
		data := b.Data(name)
		if data == nil {
			return wrong(at, key+": no such file: "+name, "report it to the author of the bundle", nil)
		}
		if !json.Valid(data) {
			return wrong(name, "is not JSON", "report it to the author of the bundle", nil)
		}
		*into = append(*into, Part{b.origin(b.Name + ": " + name), data})
	}
	if inline != nil {
		whole, err := json.Marshal(map[string]json.RawMessage{key: inline})
		if err != nil {
			return wrong(at, key+": "+err.Error(), "", err)
		}
		*into = append(*into, Part{b.origin(b.Name + ": " + at), whole})
	}
	return nil
}

// paths reads a path, several, or the object itself. A path stays inside the bundle.
func paths(raw json.RawMessage) (names []string, inline json.RawMessage, err error) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 || bytes.Equal(raw, []byte("null")):
		return nil, nil, nil
	case raw[0] == '{':
		return nil, raw, nil
	case raw[0] == '"':
		names = make([]string, 1)
		err = json.Unmarshal(raw, &names[0])
	default:
		err = json.Unmarshal(raw, &names)
	}
	if err != nil {
		return nil, nil, errors.New("is neither a path nor paths")
	}
	for i, name := range names {
		if names[i] = path.Clean(strings.TrimPrefix(name, "./")); !fs.ValidPath(names[i]) {
			return nil, nil, fmt.Errorf("%q leads out of the bundle", name)
		}
	}
	return names, nil, nil
}

// rooted is a piece of JSON with the bundle's directory in place of the variables for it.
func (b *Bundle) rooted(data []byte) []byte {
	root, err := json.Marshal(b.Root)
	if err != nil {
		return data // a string always can be marshalled
	}
	inside := string(root[1 : len(root)-1])
	return []byte(strings.NewReplacer("${CLAUDE_PLUGIN_ROOT}", inside, "${extensionPath}", inside).Replace(string(data)))
}
