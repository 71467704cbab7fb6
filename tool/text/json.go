package text

import (
	"encoding/json"
	"errors"
	"strings"
)

// Misread is an error of reading JSON in the words of JSON, without the names of Go's types; other errors stay as they are.
func Misread(err error) error {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return err
	}
	kind := kindOf(wrong.Value)
	words := "not a JSON object, but " + kind
	if wrong.Field != "" {
		words = wrong.Field[strings.LastIndex(wrong.Field, ".")+1:] + " cannot be " + kind
	}
	before, after, found := strings.Cut(err.Error(), wrong.Error())
	if !found {
		return misread{err, words}
	}
	return misread{err, before + words + after}
}

// kindOf is the kind of a value, which readers of JSON give by its name or as it is.
func kindOf(value string) string {
	first := strings.TrimLeft(value, " ") + " "
	switch {
	case strings.HasPrefix(first, "array"), first[0] == '[':
		return "an array"
	case strings.HasPrefix(first, "object"), first[0] == '{':
		return "an object"
	case strings.HasPrefix(first, "string"), first[0] == '"':
		return "a string"
	case strings.HasPrefix(first, "bool"), strings.HasPrefix(first, "true"), strings.HasPrefix(first, "false"):
		return "true or false"
	}
	return "a number"
}

// misread is an error with words of its own.
type misread struct {
	error
	words string
}

// Error is the error in words of JSON.
func (m misread) Error() string { return m.words }

// Unwrap is the error as Go words it.
func (m misread) Unwrap() error { return m.error }
