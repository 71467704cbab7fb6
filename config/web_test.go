package config

import (
	"slices"
	"testing"
)

func TestTheSearchEngineIsTheFirstThatIsSetUp(t *testing.T) {
	const brave, tavily = "BSA-0123456789abcdef", "tvly-0123456789abcdef"
	for _, c := range []struct {
		environ map[string]string
		want    string
	}{
		{nil, " "},
		{map[string]string{"TAVILY_API_KEY": tavily}, "tavily " + tavily},
		{map[string]string{"TAVILY_API_KEY": tavily, "BRAVE_SEARCH_API_KEY": brave}, "brave " + brave},
		{map[string]string{"BRAVE_API_KEY": "another-0123456789", "ARTOO_BRAVE_API_KEY": brave}, "brave " + brave},
		{map[string]string{"SEARXNG_URL": "http://localhost:8888", "BRAVE_API_KEY": brave}, "searxng http://localhost:8888"},
		{map[string]string{"ARTOO_SEARXNG_URL": "https://s.example", "SEARXNG_URL": "http://localhost:8888"}, "searxng https://s.example"},
		{map[string]string{"SEARXNG_URL": "localhost"}, "error"},
	} {
		t.Run(c.want, func(t *testing.T) {
			for _, v := range searchVariables {
				t.Setenv(v.name, "")
			}
			for name, value := range c.environ {
				t.Setenv(name, value)
			}
			config := mustLoad(t, LoadOptions{})
			e, err := config.SearchEngine()
			got := e.Name + " " + e.Address + e.Key.Reveal()
			if err != nil {
				got = "error"
			}
			if got != c.want {
				t.Errorf("%v: %s, want %s", c.environ, got, c.want)
			}
			for name, value := range c.environ {
				if name == "SEARXNG_URL" || name == "ARTOO_SEARXNG_URL" {
					continue
				}
				if !slices.Contains(config.SeenKeys(), value) || !slices.Contains(config.KeyVariables(), name) {
					t.Errorf("%s is not kept from texts and children", name)
				}
			}
		})
	}
}
