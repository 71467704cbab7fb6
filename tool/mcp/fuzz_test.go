package mcp

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"artoo/tool/extension"
)

// FuzzDefinition defines a tool as a server may: if it is offered, it keeps its bounds and can be sent.
func FuzzDefinition(f *testing.F) {
	for _, text := range []string{
		`{"name":"add","description":"Adds.","inputSchema":{"type":"object","properties":{"a":{"type":"integer"}}}}`,
		`{"name":"a.b","inputSchema":{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"$ref":"#/properties/a"}}}}`,
		`{"name":"x","title":"\u202e","inputSchema":true,"outputSchema":{"type":"object","required":["a"]},"annotations":{"readOnlyHint":true}}`,
		`{"name":"","inputSchema":{"anyOf":[{"items":[{}]},false],"type":["object","null"]}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var raw sdk.Tool
		if json.Unmarshal(in, &raw) != nil {
			return
		}
		d, err := define(&raw)
		if err != nil {
			return
		}
		var c catalogue
		c.pin("s", []definition{d})
		c.Definitions = []definition{d}
		c.prepare(&server{Server: extension.Server{Name: "s"}})
		for _, made := range c.tools {
			if len(made.Full) > 64 || len(made.Description) > 2<<10 || !utf8.ValidString(made.Description) || !json.Valid(made.Input) {
				t.Errorf("%+v", made)
			}
		}
	})
}
