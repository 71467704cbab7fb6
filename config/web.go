package config

import (
	"cmp"
	"os"
)

// searchVariables are the usual variables of search engines, for settings that are
// not set.
var searchVariables = []struct{ key, name, meaning string }{
	{"searxng_url", "SEARXNG_URL", "as ARTOO_SEARXNG_URL, after it"},
	{"brave_api_key", "BRAVE_API_KEY", "as ARTOO_BRAVE_API_KEY, after it"},
	{"brave_api_key", "BRAVE_SEARCH_API_KEY", "as BRAVE_API_KEY, after it"},
	{"tavily_api_key", "TAVILY_API_KEY", "as ARTOO_TAVILY_API_KEY, after it"},
}

// SearchEngine is what the web is searched with.
type SearchEngine struct {
	Name    string // searxng, brave or tavily; "" for none
	Address string // only SearXNG has one
	Key     Secret // only Brave and Tavily have one
}

// SearchEngine is the first of SearXNG, Brave and Tavily that is set up. The error is
// an *Error: an address that is none.
func (c *Config) SearchEngine() (SearchEngine, error) {
	if address := cmp.Or(c.SearxngURL, usual("searxng_url")); address != "" {
		if err := checkURL(address); err != nil {
			return SearchEngine{}, because(kindConfig, "SEARXNG_URL", err.Error(), err, "http://localhost:8888")
		}
		return SearchEngine{Name: "searxng", Address: address}, nil
	}
	if key := cmp.Or(c.BraveAPIKey.Reveal(), usual("brave_api_key")); key != "" {
		return SearchEngine{Name: "brave", Key: NewSecret(key)}, nil
	}
	if key := cmp.Or(c.TavilyAPIKey.Reveal(), usual("tavily_api_key")); key != "" {
		return SearchEngine{Name: "tavily", Key: NewSecret(key)}, nil
	}
	return SearchEngine{}, nil
}

// usual is what the first of a setting's usual variables holds.
func usual(key string) string {
	for _, v := range searchVariables {
		if text, _ := os.LookupEnv(v.name); v.key == key && text != "" {
			return text
		}
	}
	return ""
}

// searchKeys are the keys of all search engines.
func (c *Config) searchKeys() []string {
	return []string{c.BraveAPIKey.Reveal(), c.TavilyAPIKey.Reveal(), usual("brave_api_key"), usual("tavily_api_key")}
}

// searchKeyVariables are the variables in which keys of search engines may be.
func searchKeyVariables() []string {
	names := []string{"ARTOO_BRAVE_API_KEY", "ARTOO_TAVILY_API_KEY"}
	for _, v := range searchVariables {
		if v.key != "searxng_url" {
			names = append(names, v.name)
		}
	}
	return names
}
