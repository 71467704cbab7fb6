package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"artoo/tool/spelling"
)

// field is the option's field.
func (c *Config) field(o *Option) reflect.Value {
	return reflect.ValueOf(&c.Settings).Elem().Field(o.field)
}

// assign decodes texts into the option's field, as envconfig does with a variable, and
// checks the result. A list takes all texts, any other setting the last. The error says
// what is wrong with the value, not where it stands.
func (c loader) assign(o *Option, texts []string) error {
	field := c.field(o)
	text := strings.Join(texts[max(0, len(texts)-1):], "")
	switch p := field.Addr().Interface().(type) {
	case adder:
		p.add(texts)
	case decoder:
		if err := p.Decode(text); err != nil {
			return err
		}
	default:
		field.SetString(text)
	}
	return o.check(field, text)
}

// check looks at the choices and ranges of the tags, which the type of a setting does not
// know, and trims a string. The value was written as text.
func (o *Option) check(field reflect.Value, text string) error {
	switch {
	case field.Kind() == reflect.Slice:
		for i := range field.Len() {
			if strings.TrimSpace(field.Index(i).String()) == "" {
				return errors.New("has an empty element")
			}
		}
	case o.empty:
	case strings.TrimSpace(text) == "":
		return errors.New("is empty")
	case field.Kind() == reflect.String:
		right, err := o.checkText(strings.TrimSpace(field.String()))
		field.SetString(right)
		return err
	case field.CanInt():
		return o.inRange(float64(field.Int()), text)
	case field.CanFloat():
		return o.inRange(field.Float(), text)
	}
	return nil
}

// checkText is the text as it counts: a choice without its synonym and in lower case.
func (o *Option) checkText(text string) (string, error) {
	switch {
	case o.Kind == KindEnum:
		word := strings.ToLower(text)
		if other, choice, ok := strings.Cut(o.synonym, "="); ok && word == other {
			word = choice
		}
		if !slices.Contains(o.Choices, word) {
			return text, fmt.Errorf("%q is not one of %s", text, strings.Join(o.Choices, ", "))
		}
		return word, nil
	case strings.HasSuffix(o.Key, "_url"):
		return text, checkURL(text)
	case o.Key == "colors":
		_, err := parseColors(text)
		return text, err
	}
	return text, nil
}

// checkURL wants an http or https address with a host. The message never
// shows the address, which may hold a password.
func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return errors.New("is not an address like https://example.org/v1")
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return errors.New("is not an address like https://example.org/v1: it must begin with http:// or https://")
	}
	return nil
}

func (o *Option) inRange(n float64, text string) error {
	switch {
	case n <= 0 && !o.zero:
		return fmt.Errorf("%s is too small, it must be more than 0", text)
	case n < 0:
		return fmt.Errorf("%s is too small, it must be 0 or more", text)
	case o.max > 0 && n > o.max:
		return fmt.Errorf("%s is too large, the most is %s", text, Number(o.max))
	}
	return nil
}

// examples are right values of settings whose kind does not say enough.
var examples = map[string]string{"searxng_url": "http://localhost:8888", "models_url": "https://models.dev/api.json",
	"base_url": "http://localhost:8080/v1", "colors": "error=31:add=32"}

// example is a value that is right, as text.
func (o *Option) example(wrong string) string {
	if o.Kind == KindBool {
		return "true"
	}
	near := spelling.Nearest(strings.ToLower(wrong), o.Choices)
	first := strings.Join(o.Choices[:min(1, len(o.Choices))], "")
	ofKind := map[Kind]string{KindInt: "200000", KindFloat: "1.5", KindDuration: "10m"}[o.Kind]
	return cmp.Or(near, examples[o.Key], o.Default, first, ofKind, strings.ToUpper(o.Key))
}
