package config

import (
	"cmp"
	"reflect"
	"strconv"
	"strings"
	"sync"
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
	Aliases     []string // other keys accepted in the file
	Meaning     string   // a line or two for people, lower case, without full stop

	synonym string  // another word for a choice, "other=choice"; "" for none
	unsplit bool    // each occurrence of the flag is one element, commas and all
	empty   bool    // the empty string is a value
	zero    bool    // so is 0
	max     float64 // largest number accepted; 0 for any
	field   int     // index in Settings
}

// Shown is the default as the help and the documentation show it, "" for none.
func (o *Option) Shown() string {
	return cmp.Or(o.DefaultNote, o.Default)
}

// adds reports whether what several places say adds up instead of replacing each other.
func (o *Option) adds() bool { return o.Kind == KindList && o.Key != "tools" }

// Options are all settings, in the order of their fields, which is that of help
// and documentation. The slice is shared: it is not to be changed.
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

// describe reads the tags of a setting's field.
func describe(f reflect.StructField) Option {
	o := Option{
		Kind: cmp.Or(kinds[f.Type], KindString), Default: f.Tag.Get("preset"), DefaultNote: f.Tag.Get("shown"), Meaning: f.Tag.Get("meaning"),
		synonym: f.Tag.Get("synonym"),
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

// kinds are what the types of settings stand for; a string is another one.
var kinds = map[reflect.Type]Kind{
	reflect.TypeFor[Switch](): KindBool, reflect.TypeFor[Whole](): KindInt, reflect.TypeFor[Number](): KindFloat,
	reflect.TypeFor[Time](): KindDuration, reflect.TypeFor[Bytes](): KindBytes,
	reflect.TypeFor[List](): KindList, reflect.TypeFor[Tools](): KindList,
}
