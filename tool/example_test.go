package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"artoo/tool"
)

// A tool is made of a typed func: the schema that the model is shown follows from
// the input's type. The first func says what a call would touch, the second does it.
func ExampleNew() {
	type input struct {
		Text string `json:"text" jsonschema:"what to shout"`
	}
	shout := tool.New(tool.Def{Name: "shout", Description: "Shouts a text.", Kind: tool.KindNone},
		func(context.Context, *tool.Env, input) (tool.Access, error) {
			return tool.Access{Kind: tool.KindNone, Verb: "shout"}, nil
		},
		func(_ context.Context, _ *tool.Env, in input, _ io.Writer) (tool.Result, error) {
			return tool.Result{Text: strings.ToUpper(in.Text)}, nil
		})
	result, err := shout.Run(context.Background(), &tool.Env{}, json.RawMessage(`{"text":"tea"}`), io.Discard)
	fmt.Println(result.Text, err)
	fmt.Println(shout.Check(json.RawMessage(`{"text":["tea"]}`)) != nil)
	// Output:
	// TEA <nil>
	// true
}
