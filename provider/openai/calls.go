package openai

import (
	"cmp"
	"encoding/json"
	"strings"

	"artoo/provider/internal/wire"
)

type fragment struct {
	Index    *int   `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"` // a string; a few servers send the object itself
	} `json:"function"`
}

// calls gathers the tool calls of one reply: parallel ones may share an index or ID, or have none.
type calls struct {
	list    []*slot
	byIndex map[int]int    // an index's newest call
	byID    map[string]int // an id's first call
}

type slot struct {
	*wire.Piece
	index  int
	extent wire.Extent // bytes of the arguments
}

// add works a fragment in and returns its call, -1 for none; fresh says that it begins one.
func (c *calls) add(f *fragment) (n int, fresh bool) {
	args := wire.Text(f.Function.Arguments)
	n = c.find(f, args)
	if n < 0 {
		if f.ID == "" && f.Function.Name == "" && args == "" {
			return -1, false
		}
		n, fresh = len(c.list), true
		s := &slot{Piece: &wire.Piece{Form: wire.FormCall}, index: n}
		if f.Index != nil {
			s.index = *f.Index
		}
		c.list = append(c.list, s)
		if c.byIndex == nil {
			c.byIndex, c.byID = map[int]int{}, map[string]int{}
		}
		c.byIndex[s.index] = n
	}
	s := c.list[n]
	if s.ID == "" {
		s.ID = f.ID
		if _, ok := c.byID[s.ID]; !ok {
			c.byID[s.ID] = n
		}
	}
	s.Name = cmp.Or(s.Name, f.Function.Name)
	s.Text.WriteString(args)
	s.extent.Add(args)
	return n, fresh
}

// find returns the call a fragment continues, -1 when it begins one.
func (c *calls) find(f *fragment, args string) int {
	current := len(c.list) - 1
	if f.Index != nil {
		n, ok := c.byIndex[*f.Index]
		if !ok {
			return -1
		}
		current = n
	}
	if current < 0 {
		return -1
	}
	s := c.list[current]
	switch {
	case f.ID != "" && s.ID != "" && f.ID != s.ID:
		// Another call at the same index; perhaps an older one that goes on.
		if n, ok := c.byID[f.ID]; ok && (f.Index == nil || c.list[n].index == *f.Index) {
			return n
		}
		return -1
	case f.Function.Name != "" && s.Name != "" && s.complete(f, args):
		return -1
	}
	return current
}

// complete reports whether a fragment with a name comes after the end of the call.
func (s *slot) complete(f *fragment, args string) bool {
	if !s.extent.Begun {
		return f.Function.Name != s.Name
	}
	if args = strings.TrimSpace(args); args != "" && args[0] != '{' && args[0] != '"' {
		return false
	}
	return s.extent.Ended()
}

// whole reports whether there are calls and the arguments of all have come.
func (c *calls) whole() bool {
	for _, s := range c.list {
		if !json.Valid([]byte(s.Text.String())) {
			return false
		}
	}
	return len(c.list) > 0
}
