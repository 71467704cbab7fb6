package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"golang.org/x/net/http/httpguts"

	"artoo/provider"
)

// AgentTable is an [agents.NAME] table: a sub-agent that the model may call by name.
type AgentTable struct {
	Name        string
	Description string   `toml:"description"`
	Model       string   `toml:"model"`  // the form of -m; "" inherits the caller's model
	Prompt      string   `toml:"prompt"` // added to its system prompt
	Tools       []string `toml:"tools"`  // nil for all that a sub-agent may have
	Origin      string   // "config.toml line 7"
}

// applyAgents reads the tables of [agents], in the order of the file.
func (l loader) applyAgents(t *table) {
	for _, name := range t.keys() {
		sub := t.sub(name)
		if sub == nil {
			continue
		}
		if !validName(name) {
			t.doc.wrong(t.at(name), strconv.Quote(name)+" cannot be a sub-agent's name: letters, digits, - and _ only", "")
			continue
		}
		a := AgentTable{Name: name, Origin: t.doc.where(t.at(name)...)}
		sub.fill(&a)
		sub.leftover(false)
		l.cfg.Agents = append(l.cfg.Agents, a)
	}
}

// LanguageServer is a line of [lsp]: one that is used as it is known, or not at all, or
// the table of one with its command and files.
type LanguageServer struct {
	Name    string
	Off     bool
	Command []string `toml:"command"` // program and arguments; nil for those that are known
	Files   []string `toml:"files"`   // extensions, with their dot; nil for those that are known
}

// applyServers reads [lsp]. An empty table is one too: the servers that are known.
func (l loader) applyServers(t *table) {
	l.cfg.Servers = []LanguageServer{}
	for _, name := range t.keys() {
		if on, ok := t.m[name].(bool); ok {
			t.asked[name] = true
			l.cfg.Servers = append(l.cfg.Servers, LanguageServer{Name: name, Off: !on})
			continue
		}
		sub := t.sub(name)
		if sub == nil {
			continue
		}
		s := LanguageServer{Name: name}
		sub.fill(&s)
		sub.leftover(false)
		l.cfg.Servers = append(l.cfg.Servers, s)
	}
}

// Check is a line of [check]: a command that looks at files after the model changed
// them.
type Check struct {
	Glob    string // matches paths below the project's root, or names
	Command string
}

// applyChecks reads [check], by the globs in order.
func (l loader) applyChecks(t *table) {
	for _, glob := range t.keys() {
		check := Check{Glob: glob}
		if !t.store(glob, &check.Command) {
			continue
		}
		switch {
		case !doublestar.ValidatePattern(glob):
			t.doc.wrong(t.at(glob), "[check]: "+glob+" is not a glob", `"*.go" = "gofmt -l"`)
		case check.Command == "":
			t.doc.wrong(t.at(glob), "[check]: the command of "+glob+" is empty", `"*.go" = "gofmt -l"`)
		default:
			l.cfg.Checks = append(l.cfg.Checks, check)
		}
	}
}

// ProviderTable is a [provider.NAME] table: how to reach a provider, and the facts of its models.
type ProviderTable struct {
	provider.Form
	BaseURL       string   `toml:"base_url"` // "" for the provider's own
	APIKeySource  string   // auto, keyring, env, config, command; "" when left out
	APIKeyEnv     string   `toml:"api_key_env"` // "" when left out
	APIKey        Secret   `toml:"api_key"`     // the sources auto and config use it
	APIKeyCommand []string // program and arguments; one element goes to the shell
	ExtraHeaders  map[string]Secret
	Models        map[string]Model
	Origin        string // "config.toml line 7"
}

// Model holds the user's settings of a model. Zero and nil mean unset.
type Model struct {
	Context   int    `toml:"context"`    // window in tokens
	MaxOutput int    `toml:"max_output"` // tokens of one reply
	Price     *Price `toml:"price"`
	Images    *bool  `toml:"images"`    // whether it sees
	Reasoning *bool  `toml:"reasoning"` // whether it can reason
	Patches   *bool  `toml:"patches"`   // whether it is offered apply_patch instead of edit
}

// Price is in US dollars per million tokens. A nil part was not said.
type Price struct {
	Input      *float64 `toml:"input"`
	Output     *float64 `toml:"output"`
	CacheRead  *float64 `toml:"cache_read"`
	CacheWrite *float64 `toml:"cache_write"`
}

// applyProviders reads the sub-tables of [provider] that are no options.
func (l loader) applyProviders(t *table) {
	for _, name := range t.keys() {
		if t.asked[name] {
			continue
		}
		list, several := tables(t.m[name])
		m, single := t.m[name].(map[string]any)
		if single || several {
			t.asked[name] = true
		}
		switch {
		case single:
			l.addProvider(&table{doc: t.doc, path: t.at(name), m: m, asked: map[string]bool{}}, name)
		case several && name == "openai_compatible":
			l.addCompatible(t, list)
		case several:
			t.doc.wrong(t.at(name), t.name(name)+" must be a table, not an array of tables", "[provider."+name+"]")
		}
	}
}

// addCompatible reads the [[provider.openai_compatible]] tables.
func (l loader) addCompatible(t *table, list []map[string]any) {
	for i, m := range list {
		path := append(t.at("openai_compatible"), "["+strconv.Itoa(i)+"]")
		sub := &table{doc: t.doc, path: path, m: m, asked: map[string]bool{}}
		var name string
		if !sub.store("name", &name) || name == "" {
			if _, given := m["name"]; !given || name == "" {
				t.doc.wrong(path, "[[provider.openai_compatible]] has no name", `name = "my-server"`)
			}
			continue
		}
		l.addProvider(sub, name)
	}
}

func (l loader) addProvider(t *table, name string) {
	if !validName(name) {
		t.doc.wrong(t.path, strconv.Quote(name)+" cannot be a provider's name: letters, digits, - and _ only", "")
		return
	}
	if _, twice := l.cfg.Providers[name]; twice {
		t.doc.wrong(t.path, "the provider "+name+" is defined twice", "keep one of the two tables")
		return
	}
	p := ProviderTable{Origin: t.doc.where(t.path...)}
	t.fill(&p)
	if _, there := t.m["base_url"].(string); there {
		if err := checkURL(p.BaseURL); err != nil {
			t.doc.wrong(t.at("base_url"), t.name("base_url")+" "+err.Error(), `base_url = "http://localhost:8080/v1"`)
		}
	}
	p.APIKeySource = oneOf(t, "api_key_source", []string{"auto", "keyring", "env", "config", "command"})
	p.APIKeyCommand = t.command("api_key_command")
	p.ExtraHeaders = t.headers("extra_headers")
	p.Form = t.form(name)
	p.Models = t.models("models")
	t.leftover(false)
	if _, known := provider.FactsOf(name); !known && p.BaseURL == "" {
		hint := `a new name needs a base_url = "https://…"`
		if cloud := provider.CloudOf(name, p.Form); cloud != nil {
			hint = `a new name needs a base_url = "` + cloud.Address + `"; ` + cloud.Words
		}
		t.doc.wrong(t.path, "unknown provider "+strconv.Quote(name)+didYouMean(name, provider.Names()), hint)
	}
	l.cfg.Providers[name] = p
}

// command reads a command line: a string for the shell, or an array of
// program and arguments.
func (t *table) command(key string) []string {
	v, ok := t.get(key)
	if !ok {
		return nil
	}
	if s, ok := v.(string); ok && strings.TrimSpace(s) != "" {
		return []string{s}
	}
	if list, ok := stringList(v, false); ok && len(list) > 0 && list[0] != "" {
		return list
	}
	t.mismatch(key, "a command as a string, or as an array of strings", v)
	return nil
}

func (t *table) headers(key string) map[string]Secret {
	sub := t.sub(key)
	if sub == nil {
		return nil
	}
	headers := map[string]Secret{}
	for _, name := range sub.keys() {
		var value string
		switch {
		case !sub.store(name, &value):
		case !httpguts.ValidHeaderFieldName(name) || strings.ContainsAny(value, "\r\n\x00"):
			t.doc.wrong(sub.at(name), sub.name(name)+" is not a header that can be sent", "")
		default:
			headers[name] = NewSecret(value)
		}
	}
	return headers
}

func (t *table) models(key string) map[string]Model {
	sub := t.sub(key)
	if sub == nil {
		return nil
	}
	models := map[string]Model{}
	for _, id := range sub.keys() {
		m := sub.sub(id)
		if m == nil {
			continue
		}
		model := Model{}
		m.fill(&model)
		m.leftover(false)
		models[id] = model
	}
	return models
}

// validName keeps names usable in provider/model and in a variable's name.
func validName(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") == ""
}

// Form is how the settings have a provider's server spoken to.
func (c *Config) Form(name string) provider.Form {
	form := c.Providers[name].Form
	f, _ := provider.FactsOf(name)
	form.Wire, form.Auth = cmp.Or(form.Wire, f.Wire), cmp.Or(form.Auth, f.Auth)
	if f.TokenVar != "" {
		form.Token = func(key string) bool {
			for _, v := range f.KeyVars { // the first of them that is set is the key
				if text := c.Environ.Get(v); strings.TrimSpace(text) == key {
					return v == f.TokenVar
				}
			}
			return false
		}
	}
	return form
}

// form reads how a server is spoken to. Coding CLIs, the demo and local servers fix that themselves.
func (t *table) form(name string) (form provider.Form) {
	form.Wire = oneOf(t, "wire", provider.Wires())
	form.Auth = oneOf(t, "auth", provider.Auths())
	if t.store("path", &form.Path) {
		if u, err := url.Parse(form.Path); err != nil || !strings.HasPrefix(form.Path, "/") || u.Host != "" || u.Fragment != "" {
			t.doc.wrong(t.at("path"), t.name("path")+" is not a path such as /v1/messages", `path = "/v1/messages"`)
		}
	}
	if sub := t.sub("extra_body"); sub != nil {
		form.Extra = sub.body()
	}
	facts, _ := provider.FactsOf(name)
	for _, key := range []string{"wire", "auth", "path", "extra_body"} {
		if _, there := t.m[key]; there && (facts.Key == provider.KeyNever || facts.Local != nil && key == "wire") {
			t.doc.wrong(t.at(key), t.name(key)+": "+name+" has a fixed protocol, which cannot be changed",
				`a table of another name, with base_url = "https://…"`)
		}
	}
	return form
}

// oneOf is the known word at a key, else "".
func oneOf[T ~string](t *table, key string, known []T) T {
	var word string
	if !t.store(key, &word) || slices.Contains(known, T(word)) {
		return T(word)
	}
	list := make([]string, 0, len(known))
	for _, k := range known {
		list = append(list, string(k))
	}
	why := fmt.Sprintf("%s: %s is not one of %s", t.name(key), asWritten(word), strings.Join(list, ", "))
	t.doc.wrong(t.at(key), why, fmt.Sprintf("%s = %q", key, list[0]))
	return ""
}

// body is the table as a JSON object, without a field that artoo writes itself.
func (t *table) body() json.RawMessage {
	for _, key := range t.keys() {
		switch v := t.m[key]; {
		case provider.OwnField(key):
			t.doc.wrong(t.at(key), t.name(key)+": artoo writes this field itself", "remove the line")
		case !isJSON(v):
			t.doc.wrong(t.at(key), t.name(key)+" must be a JSON value: no date, time, nan or inf", "")
		}
	}
	raw, err := provider.Marshal(t.m)
	if err != nil { // a value that isJSON refused
		return nil
	}
	return raw
}

// isJSON reports whether a value of TOML has a form in JSON.
func isJSON(v any) bool {
	switch v := v.(type) {
	case string, bool, int64:
		return true
	case float64:
		return !math.IsNaN(v) && !math.IsInf(v, 0)
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !isJSON(e) })
	case map[string]any:
		for _, e := range v {
			if !isJSON(e) {
				return false
			}
		}
		return true
	}
	return false
}
