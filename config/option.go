package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"artoo/tool/spelling"
)

// Kind is the type of an option's value.
type Kind string

// The kinds; docs/configuration.md says how each is written.
const (
	KindBool     Kind = "bool"
	KindInt      Kind = "int"
	KindFloat    Kind = "float"
	KindDuration Kind = "duration"
	KindBytes    Kind = "bytes"
	KindString   Kind = "string"
	KindList     Kind = "list"
	KindEnum     Kind = "enum"
)

// Option describes one setting, as the tags of its field in Settings do.
type Option struct {
	Key     string // identity, and the key in the file unless NoFile
	Section string // provider, agent, permissions, web, ui, session
	Group   string // heading in the help
	Flag    string // long flag without dashes, "" for none
	Short   string // one letter, "" for none
	Arg     string // names the flag's value in the help; "" for switches
	Env     string // whole name of the variable, "" for none
	NoFile  bool   // not accepted in the file

	Kind        Kind
	Default     string // its text in the file; "" for none
	DefaultNote string // shown instead of Default where that says too little
	Choices     []string
	Aliases     []string // other keys accepted in the file; with a dot, in another section
	Meaning     string   // a line or two for people, lower case, without full stop

	synonym string  // another word for a choice, "other=choice"; "" for none
	unsplit bool    // each occurrence of the flag is one element, commas and all
	empty   bool    // the empty string is a value
	zero    bool    // so is 0
	max     float64 // largest number accepted; 0 for any
	field   int     // index in Settings
	adds    bool    // the values of several places add up instead of replacing each other
}

// Shown is the default as the help and the documentation show it, "" for none.
func (o *Option) Shown() string {
	return cmp.Or(o.DefaultNote, o.Default)
}

// Options are all settings in the order of help and documentation. The slice is not to be changed.
var Options = sync.OnceValue(func() (all []Option) {
	section, group := "", ""
	for settings, i := reflect.TypeFor[Settings](), 0; i < settings.NumField(); i++ {
		f := settings.Field(i)
		if f.Name == "_" {
			section, group = f.Tag.Get("section"), f.Tag.Get("group")
			continue
		}
		o := describe(f)
		o.Section, o.Group, o.field = section, group, i
		all = append(all, o)
	}
	return all
})

// keysIn are the keys of the option in a section of the file, its own name first.
func (o *Option) keysIn(section string) (keys []string) {
	for _, key := range append([]string{o.Key}, o.Aliases...) {
		in, bare, elsewhere := strings.Cut(key, ".")
		if !elsewhere {
			in, bare = o.Section, key
		}
		if in == section && !o.NoFile {
			keys = append(keys, bare)
		}
	}
	return keys
}

// describe reads the tags of a setting's field.
func describe(f reflect.StructField) Option {
	o := Option{
		Kind: cmp.Or(kinds[f.Type], KindString), Default: f.Tag.Get("preset"), DefaultNote: f.Tag.Get("shown"), Meaning: f.Tag.Get("meaning"),
		synonym: f.Tag.Get("synonym"), adds: f.Type == reflect.TypeFor[List](),
		unsplit: f.Tag.Get("unsplit") != "", empty: f.Tag.Get("empty") != "", zero: f.Tag.Get("zero") != "",
	}
	keys := strings.Split(f.Tag.Get("toml"), ",")
	if o.Key, o.Aliases = keys[0], keys[1:]; o.Key == "-" {
		o.Key, o.NoFile = strings.ToLower(f.Name), true
	}
	if f.Tag.Get("ignored") == "" {
		o.Env = envPrefix + "_" + strings.ToUpper(o.Key)
	}
	for _, word := range strings.Fields(f.Tag.Get("flag")) {
		switch {
		case strings.HasPrefix(word, "--"):
			o.Flag = word[2:]
		case word[0] == '-':
			o.Short = word[1:]
		default:
			o.Arg = word
		}
	}
	if words := f.Tag.Get("choices"); words != "" {
		o.Kind, o.Choices = KindEnum, strings.Split(words, ",")
	}
	if o.Kind == KindBool && o.Default == "" {
		o.Default = "false"
	}
	if most := f.Tag.Get("max"); most != "" {
		o.max, _ = strconv.ParseFloat(most, 64) // a test reads the tags
	}
	return o
}

// kinds are the kinds of value by the types of settings; a string is another one.
var kinds = map[reflect.Type]Kind{
	reflect.TypeFor[Switch](): KindBool, reflect.TypeFor[Whole](): KindInt, reflect.TypeFor[Number](): KindFloat,
	reflect.TypeFor[Time](): KindDuration, reflect.TypeFor[Bytes](): KindBytes,
	reflect.TypeFor[List](): KindList, reflect.TypeFor[Order](): KindList, reflect.TypeFor[Tools](): KindList,
}

// field is the option's field.
func (c *Config) field(o *Option) reflect.Value {
	return reflect.ValueOf(&c.Settings).Elem().Field(o.field)
}

// assign decodes texts into the option's field, as envconfig does, and checks the result: a list
// takes all texts, another setting the last. The error does not say where the value stands.
func (l loader) assign(o *Option, texts []string) error {
	field := l.cfg.field(o)
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

// check applies the choices and ranges of the tags to a value written as text, and trims a string.
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
			return text, fmt.Errorf("%s is not one of %s", asWritten(text), strings.Join(o.Choices, ", "))
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

// checkURL wants an http or https address. The error never shows it: it may hold a password.
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
		return fmt.Errorf("%s is too large, the maximum is %s", text, Number(o.max))
	}
	return nil
}

// examples are right values of settings whose kind does not say enough.
var examples = map[string]string{"searxng_url": "http://localhost:8888", "models_url": "https://models.dev/api.json",
	"base_url": "http://localhost:8080/v1", "colors": "light:error=31", "mcp": "none"}

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
