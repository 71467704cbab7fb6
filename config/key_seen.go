package config

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"sync"
)

// leastKey is the length from which on a key is looked for in other text. What is
// shorter is a dummy for a server that asks for none, and may be any word.
const leastKey = 16

// seenKeys are the keys that were found in this run.
type seenKeys struct {
	once sync.Once
	mu   sync.Mutex
	keys []string // the longest first
}

func (s *seenKeys) add(key string) {
	key = strings.TrimSpace(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(key) < leastKey || slices.Contains(s.keys, key) {
		return
	}
	s.keys = append(slices.Clone(s.keys), key) // a reader may hold the old list
	slices.SortFunc(s.keys, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
}

// SeenKeys are the keys that nothing may show: those that Key found so far, those
// of the config file, and what the key variables of all providers hold. The
// longest come first. It opens neither keyring nor command, and may be called
// from any goroutine; the list is not the caller's to change.
func (c *Config) SeenKeys() []string {
	c.seen.once.Do(func() {
		c.seen.add(c.APIKey.Reveal())
		for _, key := range c.searchKeys() {
			c.seen.add(key)
		}
		for _, name := range c.ProviderNames() {
			c.seen.add(c.Providers[name].APIKey.Reveal())
			for _, v := range c.keyVariables(name) {
				text, _ := os.LookupEnv(v)
				c.seen.add(text)
			}
		}
	})
	c.seen.mu.Lock()
	defer c.seen.mu.Unlock()
	return c.seen.keys
}
