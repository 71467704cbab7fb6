package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"artoo/tool"
)

// A tool is made of a typed func: the schema that the model sees follows from the input's type. The first func plans
// the access of a call, the second makes it.
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

// A tool whose schema comes from elsewhere, such as a server.
func ExampleFromSchema() {
	schema := json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)
	weather, err := tool.FromSchema(tool.Def{Name: "weather", Kind: tool.KindNone, Description: "The weather of a city."}, schema, nil,
		func(_ context.Context, _ *tool.Env, input json.RawMessage, _ io.Writer) (tool.Result, error) {
			return tool.Result{Text: "sunny: " + string(input)}, nil
		})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(weather.Check(json.RawMessage(`{"town":"Bern"}`)) != nil)
	access, _ := weather.Plan(context.Background(), &tool.Env{}, json.RawMessage(`{"city":"Bern"}`))
	fmt.Println(access.Kind == tool.KindNone, access.Verb)
	result, _ := weather.Run(context.Background(), &tool.Env{}, json.RawMessage(`{"city":"Bern"}`), io.Discard)
	fmt.Println(result.Text)
	// Output:
	// true
	// true weather
	// sunny: {"city":"Bern"}
}
