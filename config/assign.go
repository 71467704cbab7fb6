package config

import (
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
	return reflect.ValueOf(c).Elem().FieldByName(o.field).Addr().Interface()
}

// assign parses texts and stores them in the option's field. Lists take all
// of them, everything else the last. The error says what is wrong with the
// value, not where it stands.
func (c *Config) assign(o *Option, texts []string) error {
	if o.Kind == KindList {
		return c.assignList(o, texts)
	}
	text := texts[len(texts)-1]
	if !o.Empty {
		text = strings.TrimSpace(text)
	}
	if text == "" && !o.Empty {
		return errors.New("is empty")
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
		if *p, err = parseInt(text); err == nil {
			err = o.inRange(float64(*p), text)
		}
	case *float64:
		if *p, err = parseFloat(text); err == nil {
			err = o.inRange(*p, text)
		}
	case **float64:
		var f float64
		if f, err = parseFloat(text); err == nil {
			err = o.inRange(f, text)
		}
		*p = &f
	case *time.Duration:
		if *p, err = parseDuration(text); err == nil {
			err = o.inRange(float64(*p), text)
		}
	case *Bytes:
		if *p, err = parseBytes(text); err == nil {
			err = o.inRange(float64(*p), text)
		}
	default:
		err = fmt.Errorf("option %s has a field of type %T", o.Key, p)
	}
	return err
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
	// said; anything else starts afresh.
	if o.Adds || (o.Key == "tools" && relative(elems)) {
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
	if o.Key == "base_url" {
		return checkURL(text)
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
	case n < 0, n == 0 && o.Positive:
		if o.Positive {
			return fmt.Errorf("%s is too small, it must be more than 0", text)
		}
		return fmt.Errorf("%s is too small, it must be 0 or more", text)
	case o.Max > 0 && n > o.Max:
		return fmt.Errorf("%s is too large, the most is %s", text, strconv.FormatFloat(o.Max, 'f', -1, 64))
	}
	return nil
}

// example is a value that is right, as text.
func (o *Option) example(wrong string) string {
	switch {
	case o.Kind == KindEnum:
		if near := Nearest(strings.ToLower(wrong), o.Choices); near != "" {
			return near
		}
		if o.Default == "" {
			return o.Choices[0]
		}
	case o.Kind == KindBool:
		return "true"
	case o.Key == "base_url":
		return "http://localhost:8080/v1"
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
