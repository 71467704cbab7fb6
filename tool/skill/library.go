package skill

import (
	"slices"
	"strings"
	"sync"

	"artoo/tool/extension"
)

// Library finds the items of its places when they are first asked for. Its methods are safe for
// concurrent use.
type Library struct {
	mu     sync.Mutex
	places []Place
	hidden []string
	found  map[extension.Kind]found // the kinds that were looked for have entries
}

// found is the outcome of a search for one kind, with the items sorted by name. It never changes.
type found struct {
	items             []Item
	skipped, shadowed []string
}

// New makes a library of places, of which the first one that has a name wins. Names in hidden are
// left out, except those of the policy.
func New(places []Place, hidden []string) *Library {
	l := &Library{}
	l.Change(places, hidden)
	return l
}

// Change replaces the places and the hidden names. Items are looked for again.
func (l *Library) Change(places []Place, hidden []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.places, l.hidden, l.found = places, hidden, map[extension.Kind]found{}
}

// Forget has everything looked for again when it is next asked for.
func (l *Library) Forget() {
	if l != nil {
		l.Change(l.places, l.hidden)
	}
}

// Looked reports whether the items of a kind were looked for.
func (l *Library) Looked(kind extension.Kind) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, looked := l.found[kind]
	return looked
}

// Items are those of a kind, sorted by name. A nil library has none.
func (l *Library) Items(kind extension.Kind) []Item { return slices.Clone(l.look(kind).items) }

// Find is the item of a kind and name.
func (l *Library) Find(kind extension.Kind, name string) (Item, bool) {
	items := l.look(kind).items
	i := slices.IndexFunc(items, func(i Item) bool { return i.Name == name })
	if i < 0 {
		return Item{}, false
	}
	return items[i], true
}

// Skipped says of a kind which files cannot be used, and why, a line each.
func (l *Library) Skipped(kind extension.Kind) []string { return l.look(kind).skipped }

// Shadowed says of a kind which files another one hides, and what restricts nothing in one, a line each.
func (l *Library) Shadowed(kind extension.Kind) []string { return l.look(kind).shadowed }

// look finds the items of a kind, unless they were found.
func (l *Library) look(kind extension.Kind) (f found) {
	if l == nil {
		return f
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if f, done := l.found[kind]; done {
		return f
	}
	buf := make([]byte, headBytes)
	by := map[string]int{} // The values are indexes of items.
	for _, p := range l.places {
		if p.Kind != kind {
			continue
		}
		rels, notices := p.list()
		f.skipped = append(f.skipped, notices...)
		for _, rel := range rels {
			i, err := p.item(rel, buf)
			if err != nil {
				f.skipped = append(f.skipped, err.Error())
				continue
			}
			if slices.Contains(l.hidden, i.Name) && p.Source != extension.SourcePolicy {
				continue
			}
			if first, there := by[i.Name]; there {
				if f.items[first].File != i.File { // a directory may be named twice
					f.shadowed = append(f.shadowed, i.Source()+" is hidden by "+f.items[first].Source())
				}
				continue
			}
			if len(i.Unused) > 0 {
				f.shadowed = append(f.shadowed, i.Source()+": ignored here, so it restricts nothing: "+strings.Join(i.Unused, ", "))
			}
			by[i.Name] = len(f.items)
			f.items = append(f.items, i)
		}
	}
	slices.SortStableFunc(f.items, func(a, b Item) int { return strings.Compare(a.Name, b.Name) })
	l.found[kind] = f
	return f
}
