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
	found  map[extension.Kind][]Item // the kinds that were looked for have entries
	shadow map[extension.Kind][]string
	wrong  map[extension.Kind][]string
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
	l.places, l.hidden = places, hidden
	l.found = map[extension.Kind][]Item{}
	l.shadow, l.wrong = map[extension.Kind][]string{}, map[extension.Kind][]string{}
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
func (l *Library) Items(kind extension.Kind) []Item {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.look(kind)
	return slices.Clone(l.found[kind])
}

// Find is the item of a kind and name.
func (l *Library) Find(kind extension.Kind, name string) (Item, bool) {
	items := l.Items(kind)
	i := slices.IndexFunc(items, func(i Item) bool { return i.Name == name })
	if i < 0 {
		return Item{}, false
	}
	return items[i], true
}

// Skipped says of a kind which files cannot be used, and why, a line each.
func (l *Library) Skipped(kind extension.Kind) []string {
	l.Items(kind)
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wrong[kind]
}

// Shadowed says of a kind which files another one hides, and what restricts nothing in one, a line each.
func (l *Library) Shadowed(kind extension.Kind) []string {
	l.Items(kind)
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.shadow[kind]
}

// look finds the items of a kind, unless they were found. l.mu is held.
func (l *Library) look(kind extension.Kind) {
	if _, done := l.found[kind]; done {
		return
	}
	buf := make([]byte, headBytes)
	items, by := []Item{}, map[string]int{} // The values are indexes of items.
	for _, p := range l.places {
		if p.Kind != kind {
			continue
		}
		rels, notices := p.list()
		l.wrong[kind] = append(l.wrong[kind], notices...)
		for _, rel := range rels {
			i, err := p.item(rel, buf)
			if err != nil {
				l.wrong[kind] = append(l.wrong[kind], err.Error())
				continue
			}
			if slices.Contains(l.hidden, i.Name) && p.Source != extension.SourcePolicy {
				continue
			}
			if first, there := by[i.Name]; there {
				if items[first].File != i.File { // a directory may be named twice
					l.shadow[kind] = append(l.shadow[kind], i.Source()+" is hidden by "+items[first].Source())
				}
				continue
			}
			if len(i.Unused) > 0 {
				l.shadow[kind] = append(l.shadow[kind], i.Source()+": ignored here, so it restricts nothing: "+strings.Join(i.Unused, ", "))
			}
			by[i.Name] = len(items)
			items = append(items, i)
		}
	}
	slices.SortStableFunc(items, func(a, b Item) int { return strings.Compare(a.Name, b.Name) })
	l.found[kind] = items
}
