package config

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"artoo/provider"
)

// Form is how the settings have a provider's server spoken to.
func (c *Config) Form(name string) provider.Form {
	form := c.Providers[name].Form
	f, _ := provider.FactsOf(name)
	if f.TokenVar != "" {
		form.Token = func(key string) bool {
			for _, v := range f.KeyVars { // the first of them that is set is the key
				if text, _ := os.LookupEnv(v); strings.TrimSpace(text) == key {
					return v == f.TokenVar
				}
			}
			return false
		}
	}
	return form
}

// form reads how a server is spoken to. Coding CLIs and the demo are none, and a
// server of models of the user's own has its one wire.
func (t *table) form(name string) (form provider.Form) {
	form.Wire = oneOf(t, "wire", provider.Wires(), "converse")
	form.Auth = oneOf(t, "auth", provider.Auths(), "sigv4", "google")
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
			t.doc.wrong(t.at(key), t.name(key)+": "+name+" has its own way, which cannot be changed",
				`a table of another name, with base_url = "https://…"`)
		}
	}
	return form
}

// oneOf is the word at a key, "" where there is none or it is not among the known
// ones. Words that a later version may know have an error of their own.
func oneOf[T ~string](t *table, key string, known []T, later ...string) T {
	var word string
	if !t.store(key, &word) || slices.Contains(known, T(word)) {
		return T(word)
	}
	list := make([]string, 0, len(known))
	for _, k := range known {
		list = append(list, string(k))
	}
	why := fmt.Sprintf("%s: %s is not one of %s", t.name(key), strconv.Quote(word), strings.Join(list, ", "))
	if slices.Contains(later, word) {
		why = fmt.Sprintf("%s: %s is not in this version of artoo", t.name(key), strconv.Quote(word))
	}
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
			t.doc.wrong(t.at(key), t.name(key)+" must be what JSON has: no date, time, nan or inf", "")
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
