package mcp

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"artoo/tool/atomicfile"
	"artoo/tool/extension"
)

// keeper keeps the catalogue of a server between runs. A file belongs to a configuration and a
// user: another server of the same name has another one.
type keeper struct {
	dir  string // "" keeps it in memory
	name string // the file's, without extension

	mu       sync.Mutex
	outlined *outline   // nil before it is read
	kept     *catalogue // nil before it is read; never changed, only replaced
}

// newKeeper opens nothing.
func newKeeper(c Config, s extension.Server) *keeper {
	dir := ""
	if c.State != "" {
		dir = filepath.Join(c.State, "mcp")
	}
	id, err := json.Marshal([]any{s.Command, s.Dir, s.Env, s.PassEnv, s.URL, s.SSE, s.Headers, s.TokenEnv, s.TokenCommand, s.ClientID, os.Getuid()})
	if err != nil { // strings and maps of them always have a form in JSON
		panic(err)
	}
	sum := sha256.Sum256(id)
	return &keeper{dir: dir, name: strings.ReplaceAll(s.Name, ":", ".") + "-" + hex.EncodeToString(sum[:4])}
}

// logs is the directory for the server's log, "" for none.
func (k *keeper) logs() string { return k.dir }

func (k *keeper) path() string { return filepath.Join(k.dir, k.name+".json") }

// outline is the summary that a session begins with. It stands before the catalogue in its file. The rest is read
// once it is used: definitions take long to read and check.
type outline struct {
	Protocol string    `json:"protocol,omitempty"`
	Listed   time.Time `json:"listed"`
	Usable   []Outline `json:"tools"` // whatever the server's globs are

	offered []Outline // by the globs
}

// catalogue is the offer of a server when it was last listed, with the pins.
type catalogue struct {
	outline `json:"-"`
	Old     bool   `json:"sse,omitempty"` // the HTTP server has the old transport only
	Issuer  string `json:"issuer,omitempty"`
	TTL     int    `json:"ttl_ms,omitempty"`
	Title   string `json:"instructions,omitempty"`
	// Definitions are as the server sent them, in its order; Pinned are those seen first or accepted,
	// by name.
	Definitions []definition          `json:"tools"`
	Pinned      map[string]definition `json:"pinned"`
	// Same are, in the file, the names whose pin is the definition itself, which Pinned leaves out there.
	Same  []string `json:"same,omitempty"`
	Shown string   `json:"shown,omitempty"` // a digest of the changes that the user was shown last

	tools   []Tool
	dropped []string
}

// definition is a tool as the server defines it.
type definition struct {
	Name        string          `json:"name"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Input       json.RawMessage `json:"inputSchema,omitempty"`
	Output      json.RawMessage `json:"outputSchema,omitempty"`
	Annotations json.RawMessage `json:"annotations,omitempty"`
	Refused     string          `json:"refused,omitempty"`   // why the tool is not offered; there is only its name then
	Unchecked   string          `json:"unchecked,omitempty"` // why its output schema is not used

	bytes int    // the size, once it is measured
	sum   string // the digest; "" before it is measured
}

func (d definition) json() []byte {
	text, err := json.Marshal(d)
	if err != nil { // its parts were JSON
		panic(err)
	}
	return text
}

// measured is the definition with its size and digest.
func (d definition) measured() definition {
	if d.sum == "" {
		text := d.json()
		sum := sha256.Sum256(text)
		d.bytes, d.sum = len(text), hex.EncodeToString(sum[:16])
	}
	return d
}

// size is how many bytes the definition takes where it is kept.
func (d definition) size() int { return d.measured().bytes }

func (d definition) digest() string { return d.measured().sum }

func (d definition) text() string {
	var text bytes.Buffer
	if err := json.Indent(&text, d.json(), "", "  "); err != nil { // it is JSON
		panic(err)
	}
	return text.String() + "\n"
}

// fresh reports whether the server said that the catalogue need not be listed again yet.
func (c *catalogue) fresh() bool {
	return !c.Listed.IsZero() && time.Since(c.Listed) < time.Duration(c.TTL)*time.Millisecond
}

func (c *catalogue) find(full string) (Tool, bool) {
	for _, t := range c.tools {
		if t.Full == full {
			return t, true
		}
	}
	return Tool{}, false
}

// catalogue is the catalogue kept of the server. It is never nil.
func (s *server) catalogue() *catalogue {
	k := s.keep
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kept != nil {
		return k.kept
	}
	k.kept = &catalogue{}
	c := &catalogue{}
	// A missing or damaged catalogue is listed again.
	if k.readFile(func(from *json.Decoder) error { return cmp.Or(from.Decode(&c.outline), from.Decode(c)) }) == nil {
		c.open(s.Name)
		c.prepare(s)
		k.kept = c
	}
	k.outlined = &k.kept.outline
	return k.kept
}

// outline is the outline kept of the server, read without its definitions. It is never nil.
func (s *server) outline() *outline {
	k := s.keep
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.outlined == nil {
		o := &outline{}
		if k.readFile(func(from *json.Decoder) error { return from.Decode(o) }) != nil {
			o = &outline{}
		}
		o.offer(s)
		k.outlined = o
	}
	return k.outlined
}

// readFile decodes the kept file: an outline and a catalogue. k.mu is held.
func (k *keeper) readFile(decode func(from *json.Decoder) error) error {
	if k.dir == "" {
		return fs.ErrNotExist
	}
	// A link is not followed, and a FIFO not waited for.
	if info, err := os.Lstat(k.path()); err != nil || !info.Mode().IsRegular() || info.Size() > 2*maxCatalogue {
		return errors.Join(err, errors.New("not a file, or too long"))
	}
	f, err := os.Open(k.path())
	if err != nil {
		return err
	}
	defer f.Close()
	return decode(json.NewDecoder(f))
}

// open reverses closed: it restores the pins that the file leaves out.
func (c *catalogue) open(server string) {
	if c.Pinned == nil {
		c.Pinned = map[string]definition{}
	}
	for i, d := range c.Definitions {
		c.Definitions[i] = d.measured()
		full := FullName(server, d.Name)
		if _, pinned := c.Pinned[full]; !pinned && slices.Contains(c.Same, full) {
			c.Pinned[full] = c.Definitions[i]
		}
	}
	c.Same = nil
}

// closed is the catalogue as its file has it, in which nothing stands twice.
func (c *catalogue) closed(server string) *catalogue {
	kept := *c
	kept.Pinned = maps.Clone(c.Pinned)
	seen := map[string]bool{}
	for _, d := range c.Definitions {
		full := FullName(server, d.Name)
		if pin, pinned := c.Pinned[full]; pinned && !seen[full] && pin.digest() == d.digest() {
			delete(kept.Pinned, full)
			kept.Same = append(kept.Same, full)
		}
		seen[full] = true
	}
	return &kept
}

// store puts a catalogue in the place of the kept one.
func (s *server) store(c *catalogue) {
	c.prepare(s)
	if n := len(c.dropped); n > 0 {
		text := strings.Join(c.dropped[:min(n, 3)], "; ")
		if n > 3 {
			text += fmt.Sprintf("; and %d more, see artoo mcp tools %s", n-3, s.Name)
		}
		s.noticeOnce("dropped", "not offered, since its definition is faulty: "+text)
	}
	k := s.keep
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept, k.outlined = c, &c.outline
	if k.dir == "" {
		return
	}
	var data bytes.Buffer
	to := json.NewEncoder(&data)
	err := cmp.Or(to.Encode(c.outline), to.Encode(c.closed(s.Name)))
	if err == nil {
		err = k.write(data.Bytes())
	}
	if err != nil {
		s.m.notice(fmt.Sprintf("server %s: its catalogue is not kept: %v", s.Name, err))
	}
}

// write replaces the kept file. A non-regular file in its place is removed first: a link would lead the
// catalogue elsewhere.
func (k *keeper) write(data []byte) error {
	if info, err := os.Lstat(k.path()); err == nil && !info.Mode().IsRegular() {
		if err := os.Remove(k.path()); err != nil {
			return err
		}
	}
	return errors.Join(os.MkdirAll(k.dir, 0o700), atomicfile.Write(k.path(), data, 0o600))
}

// Change is a definition that is not the one seen first or accepted. Old and New are JSON, indented.
type Change struct {
	Tool, Old, New string
	definition     definition // New
}

// Changes are the changed definitions of a server by the kept catalogue.
func (m *Manager) Changes(server string) ([]Change, error) {
	s, err := m.find(server)
	if err != nil {
		return nil, err
	}
	var list []Change
	c := s.catalogue()
	for _, d := range c.Definitions {
		if old, pinned := c.Pinned[FullName(s.Name, d.Name)]; pinned && d.Refused == "" && old.digest() != d.digest() {
			list = append(list, Change{Tool: d.Name, Old: old.text(), New: d.text(), definition: d})
		}
	}
	return list, nil
}

// Shown notes that the user is shown these changes, and reports whether it was just these the last time.
func (m *Manager) Shown(server string, changes []Change) (again bool, err error) {
	s, err := m.find(server)
	if err != nil {
		return false, err
	}
	sum := sha256.New()
	for _, change := range changes {
		sum.Write([]byte(change.definition.digest()))
	}
	shown := hex.EncodeToString(sum.Sum(nil))
	c := *s.catalogue()
	again = c.Shown == shown
	c.Shown = shown
	s.store(&c)
	return again, nil
}

// Accept pins changed definitions just as they are given, whatever the server defines by now.
func (m *Manager) Accept(server string, changes []Change) error {
	s, err := m.find(server)
	if err != nil {
		return err
	}
	c := *s.catalogue()
	c.Pinned = maps.Clone(c.Pinned)
	var list []definition
	for _, change := range changes {
		delete(c.Pinned, FullName(s.Name, change.Tool))
		list = append(list, change.definition)
	}
	c.pin(s.Name, list)
	s.store(&c)
	return nil
}
