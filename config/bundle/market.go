package bundle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// marketManifest lists the plugins of a marketplace.
const marketManifest = ".claude-plugin/marketplace.json"

// market is a marketplace's list. An entry is a manifest with the source of its plugin.
type market struct {
	Metadata struct {
		Root string `json:"pluginRoot"`
	} `json:"metadata"`
	Plugins []json.RawMessage `json:"plugins"`
}

// entry has the fields of a plugin in the list that are no manifest's.
type entry struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Source      json.RawMessage `json:"source"`
}

// elsewhere is the source of a plugin in another repository.
type elsewhere struct {
	URL  string `json:"url"`
	Repo string `json:"repo"` // of GitHub
	Path string `json:"path"`
	Ref  string `json:"ref"`
	SHA  string `json:"sha"`
}

// MarketError is of a marketplace of which no plugin was named.
type MarketError struct {
	Source  string
	Plugins []Listed
}

// Listed is a plugin of a marketplace: what artoo bundle add takes for it, or "" where it cannot be had.
type Listed struct {
	Name   string `json:"name"`
	About  string `json:"about,omitempty"`
	Source string `json:"source,omitempty"`
}

func (e *MarketError) Error() string {
	return fmt.Sprintf("%s: is a marketplace of %d plugins; name one", e.Source, len(e.Plugins))
}

// ErrorKind names the kind for the exit table.
func (*MarketError) ErrorKind() string { return "usage" }

// ErrorHint is the text after "try:".
func (e *MarketError) ErrorHint() string {
	at := slices.IndexFunc(e.Plugins, func(p Listed) bool { return strings.HasPrefix(p.Source, e.Source) })
	if at < 0 {
		return "one of the lines above"
	}
	return "artoo bundle add " + e.Plugins[at].Source
}

// partOf finds a part of the copy at dir: a directory, or a plugin that the marketplace there lists, with its entry. An
// empty part is all of it, unless that is a marketplace alone. The source is for messages.
func partOf(dir, part, source, ref string) (at string, found json.RawMessage, err error) {
	if part == "" && hasManifest(dir) {
		return dir, nil, nil
	}
	if at, ok := directoryIn(dir, part); ok && part != "" {
		return at, nil, nil
	}
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(marketManifest)))
	switch {
	case err != nil && part != "":
		return "", nil, wrong(source, "has no directory "+part, "a directory in it that has a plugin", err)
	case errors.Is(err, fs.ErrNotExist):
		return dir, nil, nil
	case err != nil:
		return "", nil, wrong(source, marketManifest+" cannot be read: "+err.Error(), "check its mode", err)
	}
	var m market
	if err := json.Unmarshal(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), &m); err != nil {
		return "", nil, wrong(source, marketManifest+" is not the JSON of a marketplace: "+err.Error(), "a directory in it that has a plugin", err)
	}
	market := &MarketError{Source: source}
	for _, raw := range m.Plugins {
		var e entry
		if err := json.Unmarshal(raw, &e); err != nil || e.Name == "" {
			continue // It has nothing to be called by.
		}
		rel, other := e.place(m.Metadata.Root)
		listed := Listed{Name: e.Name, About: strings.Join(strings.Fields(e.Description), " "), Source: other}
		if other == "" && fs.ValidPath(rel) {
			listed.Source = withRef(source, ref) + "#" + e.Name
		}
		if part == e.Name {
			if other != "" || listed.Source == "" {
				return "", nil, wrong(source, e.Name+" lies in another repository", "artoo bundle add "+other, nil)
			}
			at, ok := directoryIn(dir, rel)
			if !ok {
				return "", nil, wrong(source, marketManifest+" names no directory of its own for "+e.Name, "report it to the author", nil)
			}
			return at, raw, nil
		}
		market.Plugins = append(market.Plugins, listed)
	}
	if part != "" {
		return "", nil, wrong(source, "has neither a directory nor a plugin "+part, "artoo bundle add "+source+", which lists its plugins", nil)
	}
	return "", nil, market
}

// directoryIn is a directory below dir, without links that lead out of it.
func directoryIn(dir, name string) (at string, ok bool) {
	root, err := filepath.EvalSymlinks(dir)
	at, err2 := filepath.EvalSymlinks(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil || err2 != nil {
		return "", false
	}
	rel, err := filepath.Rel(root, at)
	info, err2 := os.Stat(at)
	return at, err == nil && err2 == nil && filepath.IsLocal(rel) && info.IsDir()
}

// withRef is an address with its ref.
func withRef(source, ref string) string {
	if ref == "" {
		return source
	}
	return source + "@" + ref
}

// place is where a plugin lies: a directory of the marketplace, or the source of another repository.
func (e entry) place(root string) (rel, other string) {
	if json.Unmarshal(e.Source, &rel) == nil {
		return path.Join(root, strings.TrimPrefix(rel, "./"), "."), ""
	}
	var s elsewhere
	if json.Unmarshal(e.Source, &s) != nil {
		return "", ""
	}
	if s.URL == "" && s.Repo != "" {
		s.URL = "https://github.com/" + s.Repo + ".git"
	}
	if s.URL == "" {
		return "", ""
	}
	for _, ref := range []string{s.SHA, s.Ref} {
		if ref != "" {
			s.URL += "@" + ref
			break
		}
	}
	if s.Path != "" {
		s.URL += "#" + s.Path
	}
	return "", s.URL
}

func hasManifest(dir string) bool {
	return slices.ContainsFunc([]string{claudeManifest, GeminiManifest}, func(name string) bool {
		_, err := os.Stat(filepath.Join(dir, filepath.FromSlash(name)))
		return err == nil
	})
}

// withManifest are the files of a plugin, with its entry of the marketplace as the manifest if it has none of its own.
func withManifest(files []File, entry json.RawMessage) []File {
	if entry == nil || slices.ContainsFunc(files, func(f File) bool { return f.Name == claudeManifest }) {
		return files
	}
	files = append(files, File{Name: claudeManifest, Data: append(bytes.TrimSpace(entry), '\n')})
	slices.SortStableFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return files
}

// byConvention reports whether files without a manifest are those of a plugin.
func byConvention(files []File) bool {
	return slices.ContainsFunc(files, func(f File) bool {
		dir, _, _ := strings.Cut(f.Name, "/")
		return f.Name == "hooks/hooks.json" || f.Name == ".mcp.json" || slices.Contains([]string{"commands", "agents", "skills"}, dir) && path.Ext(f.Name) == ".md"
	})
}

// nameOf makes a bundle's name of one that its author or its source gives.
func nameOf(source string) string {
	from, part, _ := strings.Cut(source, "#")
	if part != "" {
		from = part
	}
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(strings.TrimSuffix(path.Base(filepath.ToSlash(from)), ".git")))
	return strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r == '-' }), "-")
}
