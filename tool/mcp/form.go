package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"artoo/tool/text"
)

// Request is a server's question to the user: a form, or consent to open an address.
type Request struct {
	Server, Message string
	To              string // the host or the program that gets the answer; "" where it is not known
	URL             string // the address to open; "" for a form
	Fields          []Field
	Schema          json.RawMessage // the form's flat JSON Schema, as the server sent it; nil for an address
}

// Asker names the server, and where an answer goes.
func (r Request) Asker() string {
	if r.To == "" {
		return r.Server
	}
	return r.Server + " (" + r.To + ")"
}

// Field is one value of a form.
type Field struct {
	Name, Title, Description string
	Type                     FieldType
	Format                   string   // email, uri, date, date-time or ""
	Choices                  []Choice // the kinds Choice and Choices have them
	Default                  any      // a value of JSON; nil for none
	Required                 bool
	// The bounds of a number, of the length of a text in characters, or of how many choices there
	// are; nil for none.
	Least, Most *float64
}

// FieldType is the type of a field's value.
type FieldType string

// The types of fields.
const (
	TextField    FieldType = "text"
	NumberField  FieldType = "number"
	IntegerField FieldType = "integer"
	BooleanField FieldType = "boolean"
	ChoiceField  FieldType = "choice"  // one of Choices, a text
	ChoicesField FieldType = "choices" // several of them, a list
)

// Choice is a value that may be chosen, and its name for the user.
type Choice struct{ Value, Title string }

// Answer is the user's. The zero value cancels.
type Answer struct {
	Action  Action
	Content map[string]any // the values of an accepted form, by the fields' names
}

// Action is the user's decision on a request.
type Action string

// The actions. Accept of an address means consent to open it, not that the user has finished there.
const (
	Accept  Action = "accept"
	Decline Action = "decline"
	Cancel  Action = "cancel"
)

// Defaults are the values that the server suggests.
func (r Request) Defaults() map[string]any {
	values := map[string]any{}
	for _, f := range r.Fields {
		if f.Default != nil {
			values[f.Name] = f.Default
		}
	}
	return values
}

// Check reports an error in the values of a form: a field that is missing, unknown or not valid.
func (r Request) Check(values map[string]any) error {
	for _, f := range r.Fields {
		value, given := values[f.Name]
		if !given {
			if f.Required {
				return fmt.Errorf("%s is missing", f.Name)
			}
			continue
		}
		if err := f.Check(value); err != nil {
			return err
		}
	}
	for _, name := range sortedKeys(values) {
		if !slices.ContainsFunc(r.Fields, func(f Field) bool { return f.Name == name }) {
			return fmt.Errorf("the form has no field %s", name)
		}
	}
	return nil
}

// Check reports why a value, as JSON has it, is none for the field.
func (f Field) Check(value any) error {
	wrong := func(want string) error { return fmt.Errorf("%s must be %s", f.Name, want) }
	text, isText := value.(string)
	number, isNumber := value.(float64)
	switch f.Type {
	case BooleanField:
		if _, ok := value.(bool); !ok {
			return wrong("true or false")
		}
	case NumberField, IntegerField:
		switch {
		case !isNumber:
			return wrong("a number")
		case f.Type == IntegerField && number != float64(int64(number)):
			return wrong("a whole number")
		}
		return f.within(number, "")
	case ChoiceField:
		if !isText || !f.has(text) {
			return wrong("one of " + strings.Join(f.values(), ", "))
		}
	case ChoicesField:
		list, ok := value.([]any)
		if !ok {
			return wrong("a list")
		}
		for _, e := range list {
			if v, isText := e.(string); !isText || !f.has(v) {
				return wrong("a list of " + strings.Join(f.values(), ", "))
			}
		}
		return f.within(float64(len(list)), " choices")
	default:
		if !isText {
			return wrong("a text")
		}
		if err := formatted(text, f.Format); err != nil {
			return fmt.Errorf("%s %w", f.Name, err)
		}
		return f.within(float64(utf8.RuneCountInString(text)), " characters")
	}
	return nil
}

func (f Field) within(n float64, unit string) error {
	if f.Least != nil && n < *f.Least {
		return fmt.Errorf("%s must be at least %v%s", f.Name, *f.Least, unit)
	}
	if f.Most != nil && n > *f.Most {
		return fmt.Errorf("%s must be at most %v%s", f.Name, *f.Most, unit)
	}
	return nil
}

func (f Field) values() []string {
	var list []string
	for _, c := range f.Choices {
		list = append(list, c.Value)
	}
	return list
}

func (f Field) has(value string) bool { return slices.Contains(f.values(), value) }

func formatted(text, format string) error {
	var err error
	switch format {
	case "email":
		var a *mail.Address
		if a, err = mail.ParseAddress(text); err == nil && a.Address != text {
			err = errors.New("a name stands before it")
		}
	case "uri":
		var u *url.URL
		if u, err = url.Parse(text); err == nil && u.Scheme == "" {
			err = errors.New("no scheme")
		}
	case "date":
		_, err = time.Parse(time.DateOnly, text)
	case "date-time":
		_, err = time.Parse(time.RFC3339, text)
	}
	if err != nil {
		return fmt.Errorf("must be of the form %s", format)
	}
	return nil
}

// elicitations answers the requests that a server of the old protocol sends during a call. The library's
// own way would put defaults into the answer for fields that the user skipped.
func (s *server) elicitations(l *link) sdk.Middleware {
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			p, ok := r.GetParams().(*sdk.ElicitParams)
			if !ok {
				return next(ctx, method, r)
			}
			call := l.calls.newest()
			if call == nil {
				return &sdk.ElicitResult{Action: string(Cancel)}, nil
			}
			return s.ask(ctx, call, p)
		}
	}
}

// maxWaiting is how many requests of a call may wait for the user at once.
const maxWaiting = 8

// answer answers the requests in the reply to a call.
func (s *server) answer(ctx context.Context, call *openCall, requests sdk.InputRequestMap) (sdk.InputResponseMap, error) {
	in := sdk.InputResponseMap{}
	for _, key := range sortedKeys(requests) {
		switch p := requests[key].(type) {
		case *sdk.ElicitParams:
			answer, err := s.ask(ctx, call, p)
			if err != nil {
				return nil, err
			}
			in[key] = answer
		default:
			roots := rootsFor(p, s.m.config.Root)
			if roots == nil {
				return nil, errors.New("wants something that artoo never gives, such as a reply of the model")
			}
			in[key] = roots
		}
	}
	return in, nil
}

// ask puts one request to the user, one after another for each call and until the call has ended. A
// request that cannot be shown as it is meant, or asks for a secret, is declined.
func (s *server) ask(ctx context.Context, call *openCall, p *sdk.ElicitParams) (*sdk.ElicitResult, error) {
	cancelled := &sdk.ElicitResult{Action: string(Cancel)}
	if call.options.Ask == nil {
		s.noticeOnce("cancelled", "asks for an answer, and no one can answer: cancelled")
		return cancelled, nil
	}
	r, err := request(s.Name, p)
	r.To = s.host()
	if err != nil {
		s.noticeOnce("declined", "its form was declined: "+err.Error())
		return &sdk.ElicitResult{Action: string(Decline)}, nil
	}
	defer call.waiting.Add(-1)
	if call.waiting.Add(1) > maxWaiting {
		s.noticeOnce("waiting", fmt.Sprintf("wants more than %d answers at once: cancelled", maxWaiting))
		return cancelled, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(call.limit, func() { cancel(context.Cause(call.limit)) })
	defer stop()
	call.limit.heard()
	call.limit.pause() // the user takes the time, not the server
	defer call.limit.resume()
	if err := call.asking.enter(ctx); err != nil {
		return cancelled, err
	}
	defer call.asking.leave()
	answer, err := call.options.Ask(ctx, r)
	if err != nil {
		return cancelled, err
	}
	if answer.Action == Accept && r.URL == "" {
		if err := r.Check(answer.Content); err != nil {
			return cancelled, err
		}
		return &sdk.ElicitResult{Action: string(Accept), Content: answer.Content}, nil
	}
	return &sdk.ElicitResult{Action: string(cmp.Or(answer.Action, Cancel))}, nil
}

// host is the host of the server's address, or the program that is the server.
func (s *server) host() string {
	if len(s.Command) > 0 {
		return filepath.Base(s.Command[0]) + " on this machine"
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return ""
	}
	return u.Host
}

// request is a request of the library's.
func request(server string, p *sdk.ElicitParams) (Request, error) {
	message, _ := withoutHidden(p.Message)
	r := Request{Server: server, Message: cut(message, 4<<10)}
	if p.Mode == "url" || p.Mode == "" && p.URL != "" {
		u, err := url.Parse(p.URL)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			return r, errors.New("it is not a web address")
		}
		r.URL = p.URL
		return r, nil
	}
	raw, err := json.Marshal(p.RequestedSchema)
	if err != nil {
		return r, err
	}
	if len(raw) > maxSchema {
		return r, fmt.Errorf("it is over %d KB", maxSchema>>10)
	}
	var form struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if err := json.Unmarshal(raw, &form); err != nil {
		return r, text.Misread(err)
	}
	r.Schema = raw
	var properties map[string]property
	if len(form.Properties) > 0 {
		if err := json.Unmarshal(form.Properties, &properties); err != nil {
			return r, text.Misread(err)
		}
	}
	for _, name := range sortedKeys(properties) {
		f, err := properties[name].field(name, slices.Contains(form.Required, name))
		if err != nil {
			return r, err
		}
		r.Fields = append(r.Fields, f)
	}
	if err := r.asksSecret(); err != nil {
		return r, err
	}
	// Required fields come first, each kind by name: the order of the server is lost in JSON.
	slices.SortStableFunc(r.Fields, func(a, b Field) int {
		switch {
		case a.Required == b.Required:
			return 0
		case a.Required:
			return -1
		}
		return 1
	})
	return r, nil
}

// property is a field as a schema has it.
type property struct {
	Type        string   `json:"type"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Format      string   `json:"format"`
	Enum        []string `json:"enum"`
	EnumNames   []string `json:"enumNames"`
	OneOf       []option `json:"oneOf"`
	Items       struct {
		Enum  []string `json:"enum"`
		AnyOf []option `json:"anyOf"`
		OneOf []option `json:"oneOf"`
	} `json:"items"`
	Default   any      `json:"default"`
	Minimum   *float64 `json:"minimum"`
	Maximum   *float64 `json:"maximum"`
	MinLength *float64 `json:"minLength"`
	MaxLength *float64 `json:"maxLength"`
	MinItems  *float64 `json:"minItems"`
	MaxItems  *float64 `json:"maxItems"`
}

type option struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

func (p property) field(name string, required bool) (Field, error) {
	clean := func(text string, most int) string { text, _ = withoutHidden(text); return cut(text, most) }
	f := Field{Name: name, Title: clean(p.Title, 200), Description: clean(p.Description, 1000), Required: required, Format: p.Format}
	switch p.Type {
	case "boolean":
		f.Type = BooleanField
	case "number", "integer":
		f.Type, f.Least, f.Most = FieldType(p.Type), p.Minimum, p.Maximum
	case "array":
		f.Type, f.Least, f.Most = ChoicesField, p.MinItems, p.MaxItems
		f.Choices = choices(p.Items.Enum, nil, slices.Concat(p.Items.AnyOf, p.Items.OneOf))
	case "string", "":
		if f.Choices = choices(p.Enum, p.EnumNames, p.OneOf); f.Choices != nil {
			f.Type = ChoiceField
		} else {
			f.Type, f.Least, f.Most = TextField, p.MinLength, p.MaxLength
		}
	default:
		return f, fmt.Errorf("the field %s has the type %s, which forms do not support", oneLine(name), oneLine(p.Type))
	}
	if f.Type == ChoicesField && f.Choices == nil {
		return f, fmt.Errorf("the field %s has nothing to choose from", oneLine(name))
	}
	if p.Default != nil && f.Check(p.Default) == nil {
		f.Default = p.Default
	}
	return f, nil
}

func choices(values, titles []string, options []option) (list []Choice) {
	for i, v := range values {
		c := Choice{Value: v, Title: v}
		if len(titles) == len(values) {
			c.Title = titles[i]
		}
		list = append(list, c)
	}
	for _, o := range options {
		list = append(list, Choice{Value: o.Const, Title: cmp.Or(o.Title, o.Const)})
	}
	return list
}
