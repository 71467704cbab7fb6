package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"artoo/provider"
)

// Value is one setting as /config shows it.
type Value struct {
	Option Option
	Value  string // "" when unset; a mask for secrets
	Set    bool   // a source has set it
	Origin string // "default", "config.toml line 4", "ARTOO_MODEL", "--model"
}

// Values are all settings in the order of Options. An address or a command in them may hold a credential.
func (c *Config) Values() []Value {
	var values []Value
	for _, o := range Options() {
		values = append(values, Value{Option: o, Value: c.show(&o), Set: c.IsSet(o.Key), Origin: c.Origin(o.Key)})
	}
	return values
}

// show is the option's value as text.
func (c *Config) show(o *Option) string {
	if o.Default == "" && !c.IsSet(o.Key) && o.Kind != KindString && o.Kind != KindEnum {
		return "" // not the number 0
	}
	return fmt.Sprint(c.field(o).Interface())
}

// colorNames are the styles that ARTOO_COLORS can change.
var colorNames = []string{"you", "ask", "path", "done", "error", "add", "remove", "meta", "frag", "context", "code", "dim"}

// palettes are whole sets of styles by name: those without settings, colours that read on white, and colours that
// the colour-blind can tell apart. A test measures them.
var palettes = []struct{ name, colors string }{
	{"default", ""},
	{"light", "you=34:ask=35:path=34:done=34:add=34"},
	{"colorblind", "done=94:error=91:add=94:remove=91"},
}

// Palettes are the names of palettes that Colors takes.
func Palettes() (names []string) {
	for _, p := range palettes {
		names = append(names, p.name)
	}
	return names
}

// Styles are the styles of Colors by name.
func (c *Config) Styles() map[string]string {
	styles, _ := parseColors(c.Colors) // reading it has refused errors
	return styles
}

// parseColors takes PALETTE:NAME=STYLE:NAME=STYLE apart; of two styles for a name the last one counts. A style is SGR
// parameters; an empty one is no style.
func parseColors(text string) (map[string]string, error) {
	styles := map[string]string{}
	for part := range strings.SplitSeq(text, ":") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, style, ok := strings.Cut(part, "=")
		named := slices.Index(Palettes(), name)
		switch {
		case !ok && named < 0:
			return nil, fmt.Errorf("%s is neither a palette (%s) nor a style, like error=31",
				asWritten(part), orList(Palettes()))
		case !ok:
			palette, err := parseColors(palettes[named].colors)
			if err != nil {
				return nil, err
			}
			maps.Copy(styles, palette)
			continue
		case !slices.Contains(colorNames, name):
			return nil, fmt.Errorf("%s is not one of %s", asWritten(name), strings.Join(colorNames, ", "))
		}
		for code := range strings.SplitSeq(style, ";") {
			if _, err := strconv.ParseUint(code, 10, 8); style != "" && (err != nil) {
				return nil, fmt.Errorf("%s is not a style: numbers of 0 to 255 with ; between them, like 1;31", asWritten(style))
			}
		}
		styles[name] = style
	}
	return styles, nil
}

// searchVariables are the usual variables of search engines, for settings that are
// not set.
var searchVariables = []struct{ key, name, meaning string }{
	{"searxng_url", "SEARXNG_URL", "like ARTOO_SEARXNG_URL, which comes first"},
	{"brave_api_key", "BRAVE_API_KEY", "like ARTOO_BRAVE_API_KEY, which comes first"},
	{"brave_api_key", "BRAVE_SEARCH_API_KEY", "like BRAVE_API_KEY, which comes first"},
	{"tavily_api_key", "TAVILY_API_KEY", "like ARTOO_TAVILY_API_KEY, which comes first"},
}

// SearchEngine is the engine that searches the web.
type SearchEngine struct {
	Name    string // searxng, brave or tavily; "" for none
	Address string // only SearXNG has one
	Key     Secret // only Brave and Tavily have one
}

// SearchEngine is the first of SearXNG, Brave and Tavily that is set up. The error is
// an *Error: an address that is none.
func (c *Config) SearchEngine() (SearchEngine, error) {
	if address := cmp.Or(c.SearxngURL, c.usual("searxng_url")); address != "" {
		if err := checkURL(address); err != nil {
			return SearchEngine{}, because(kindConfig, "SEARXNG_URL", err.Error(), err, "http://localhost:8888")
		}
		return SearchEngine{Name: "searxng", Address: address}, nil
	}
	if key := cmp.Or(c.BraveAPIKey.Reveal(), c.usual("brave_api_key")); key != "" {
		return SearchEngine{Name: "brave", Key: NewSecret(key)}, nil
	}
	if key := cmp.Or(c.TavilyAPIKey.Reveal(), c.usual("tavily_api_key")); key != "" {
		return SearchEngine{Name: "tavily", Key: NewSecret(key)}, nil
	}
	return SearchEngine{}, nil
}

// usual is the value of the first of a setting's usual variables.
func (c *Config) usual(key string) string {
	for _, v := range searchVariables {
		if text := c.Environ.Get(v.name); v.key == key && text != "" {
			return text
		}
	}
	return ""
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

// Endpoint is the address the settings name for a provider and where, "" for its own. ARTOO_BASE_URL is
// for the chosen provider; the environment comes before the file. A local server's address may lack a
// scheme. The error is an *Error for a variable without address.
func (c *Config) Endpoint(name string) (address, source string, err error) {
	general := c.BaseURL != "" && (c.Provider == "" || c.Provider == name)
	if general && c.origins["base_url"].rank >= fromEnvironment {
		return c.BaseURL, c.Origin("base_url"), nil
	}
	if f, _ := provider.FactsOf(name); f.URLVar != "" {
		if text := c.Environ.Get(f.URLVar); text != "" {
			if err := checkURL(text); err != nil && f.Local == nil {
				return "", "", because(kindUsage, f.URLVar, err.Error(), err, "unset "+f.URLVar)
			}
			return text, f.URLVar, nil
		}
	}
	if general {
		return c.BaseURL, c.Origin("base_url"), nil
	}
	if p, ok := c.Providers[name]; ok && p.BaseURL != "" {
		return p.BaseURL, p.Origin, nil
	}
	return "", "", nil
}
