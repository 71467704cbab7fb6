package ui

import (
	"reflect"
	"testing"

	"artoo/tool/mcp"
)

// No field of a server's form gets a value by accident: Enter alone gives none, a suggestion
// has to be named, and cancel always cancels.
func TestFieldsOfForms(t *testing.T) {
	t.Parallel()
	text := mcp.Field{Name: "name", Type: mcp.TextField, Default: "Bob", Required: true}
	number := mcp.Field{Name: "age", Type: mcp.IntegerField}
	yes := mcp.Field{Name: "sure", Type: mcp.BooleanField, Default: true}
	one := mcp.Field{Name: "size", Type: mcp.ChoiceField, Choices: []mcp.Choice{{Value: "s", Title: "small"}, {Value: "l", Title: "large"}}}
	several := one
	several.Type = mcp.ChoicesField
	for _, c := range []struct {
		field mcp.Field
		typed string
		want  fieldAnswer
		bad   bool
	}{
		{text, "", fieldAnswer{}, true},
		{text, "Ada Lovelace", fieldAnswer{value: "Ada Lovelace"}, false},
		{text, "default", fieldAnswer{value: "Bob"}, false},
		{text, "=default", fieldAnswer{value: "default"}, false},
		{text, "skip", fieldAnswer{}, true},
		{text, " Cancel ", fieldAnswer{cancelled: true}, false},
		{number, "", fieldAnswer{}, true},
		{number, "skip", fieldAnswer{skipped: true}, false},
		{number, "default", fieldAnswer{}, true},
		{number, "41", fieldAnswer{value: 41.0}, false},
		{number, "4.5", fieldAnswer{value: 4.5}, true},
		{number, "many", fieldAnswer{}, true},
		{yes, "", fieldAnswer{}, true},
		{yes, "n", fieldAnswer{value: false}, false},
		{yes, "maybe", fieldAnswer{}, true},
		{one, "2", fieldAnswer{value: "l"}, false},
		{one, "Small", fieldAnswer{value: "s"}, false},
		{one, "3", fieldAnswer{}, true},
		{several, "1, large", fieldAnswer{value: []any{"s", "l"}}, false},
	} {
		got, err := readField(c.field, c.typed)
		if (err != nil) != c.bad || !c.bad && !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s, %q: got %+v, %v", c.field.Name, c.typed, got, err)
		}
	}
}
