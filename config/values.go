package config

import (
	"fmt"
	"net/url"
)

// Value is one setting as /config shows it.
type Value struct {
	Option Option
	Value  string // "" when unset; a mask for secrets
	Set    bool   // someone said what it is
	Origin string // "default", "config.toml line 4", "ARTOO_MODEL", "--model"
}

// Values are all settings in the order of Options, safe to show.
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
	if o.Key == "base_url" {
		return redact(c.BaseURL)
	}
	return fmt.Sprint(c.field(o).Interface())
}

// redact hides the password of an address.
func redact(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return hidden
	}
	return u.Redacted()
}
