package config

import (
	"artoo/tool/spelling"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// target is the pointer to the option's field.
func (c *Config) target(o *Option) any {
	return reflect.ValueOf(&c.Settings).Elem().Field(o.field).Addr().Interface()
}

// assign parses texts and stores them in the option's field. Lists take all
// of them, everything else the last. The error says what is wrong with the
// value, not where it stands.
func (c *Config) assign(o *Option, texts []string) error {
	if o.Kind == KindList {
		return c.assignList(o, texts)
	}
	text := texts[len(texts)-1]
	if !o.empty {
		if text = strings.TrimSpace(text); text == "" {
			return errors.New("is empty")
		}
	}
	var err error
	switch p := c.target(o).(type) {
	case *string:
		*p, err = o.parseText(text)
	case *Secret:
		*p = NewSecret(strings.TrimSpace(text))
	case *bool:
		*p, err = parseBool(text)
	case *int:
		err = number(o, p, text, parseInt)
	case *float64:
		err = number(o, p, text, parseFloat)
	case **float64:
		*p = new(float64)
		err = number(o, *p, text, parseFloat)
	case *time.Duration:
		err = number(o, p, text, parseDuration)
	case *Bytes:
		err = number(o, p, text, parseBytes)
	default:
		err = fmt.Errorf("option %s has a field of type %T", o.Key, p)
	}
	return err
}

// number parses text into p and looks whether it is in the option's range.
func number[T int | float64 | time.Duration | Bytes](o *Option, p *T, text string,
	parse func(string) (T, error)) error {
	n, err := parse(text)
	if err != nil {
		return err
	}
	*p = n
	return o.inRange(float64(n), text)
}

func (c *Config) assignList(o *Option, elems []string) error {
	list, ok := c.target(o).(*[]string)
	if !ok {
		return fmt.Errorf("option %s is no list", o.Key)
	}
	for _, e := range elems {
		if strings.TrimSpace(e) == "" {
			return errors.New("has an empty element")
		}
	}
	// What tools says relative to a set goes on top of what an earlier place
	// said; other tools start afresh.
	if o.adds() || relative(elems) {
		*list = append(*list, elems...)
		return nil
	}
	*list = append([]string(nil), elems...)
	return nil
}

// parseText checks the strings whose form is known.
func (o *Option) parseText(text string) (string, error) {
	if o.Kind == KindEnum {
		return o.parseEnum(text)
	}
	if strings.HasSuffix(o.Key, "_url") {
		return checkURL(text)
	}
	if o.Key == "colors" {
		_, err := parseColors(text)
		return text, err
	}
	return text, nil
}

// checkURL wants an http or https address with a host. The message never
// shows the address, which may hold a password.
func checkURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil {
		return "", errors.New("is not an address like https://example.org/v1")
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return "", errors.New("is not an address like https://example.org/v1: it must begin with http:// or https://")
	}
	return text, nil
}

func (o *Option) inRange(n float64, text string) error {
	switch {
	case n <= 0 && !o.zero:
		return fmt.Errorf("%s is too small, it must be more than 0", text)
	case n < 0:
		return fmt.Errorf("%s is too small, it must be 0 or more", text)
	case o.max > 0 && n > o.max:
		return fmt.Errorf("%s is too large, the most is %s", text, strconv.FormatFloat(o.max, 'f', -1, 64))
	}
	return nil
}

// example is a value that is right, as text.
func (o *Option) example(wrong string) string {
	switch {
	case o.Kind == KindEnum:
		if near := spelling.Nearest(strings.ToLower(wrong), o.Choices); near != "" {
			return near
		}
		if o.Default == "" {
			return o.Choices[0]
		}
	case o.Kind == KindBool:
		return "true"
	case o.Key == "searxng_url":
		return "http://localhost:8888"
	case o.Key == "models_url":
		return "https://models.dev/api.json"
	case o.Key == "base_url":
		return "http://localhost:8080/v1"
	case o.Key == "colors":
		return "error=31:add=32"
	}
	if o.Default != "" {
		return o.Default
	}
	switch o.Kind {
	case KindInt:
		return "200000"
	case KindFloat:
		return "1.5"
	case KindDuration:
		return "10m"
	}
	return strings.ToUpper(o.Key)
}
