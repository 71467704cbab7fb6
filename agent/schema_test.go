package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"artoo/agent"
	"artoo/provider"
	"artoo/provider/fake"
)

// A schema that is none, leads elsewhere or would check a value without an end is refused before it is used.
func TestSchemasThatAreRefused(t *testing.T) {
	t.Parallel()
	bomb := `{"$defs":{"a0":{"type":"string"}`
	for i := 1; i < 30; i++ {
		bomb += fmt.Sprintf(`,"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%[2]d"}]}`, i, i-1)
	}
	for schema, want := range map[string]string{
		`{"type":`:                             "not JSON",
		`[]`:                                   "not a JSON Schema",
		`{"type":"strange"}`:                   "no type is called strange",
		`{"items":{"type":["string","text"]}}`: "no type is called text",
		`{"type":"string","type":"number"}`:    `the key "type" twice`,
		`{"pattern":"("}`:                      "not a JSON Schema",
		`{"properties":{"a":{"pattern":"(?=x)"}}}`: "not a JSON Schema",
		`{"$ref":"https://example.com/a"}`:         "only references within the schema",
		`{"items":{"$ref":"other.json#/a"}}`:       "only references within the schema",
		`{"$ref":"#/$defs/none"}`:                  "only references within the schema",
		`{"items":{"$ref":"#a"}}`:                  "only references within the schema",
		`{"$ref":"#"}`:                             "leads back to itself",
		`{"anyOf":[{"type":"null"},{"$ref":"#"}]}`: "leads back to itself",
		`{"items":{"$ref":"#/$defs/a"},"$defs":{"a":{"not":{"$ref":"#/$defs/b"}},"b":{"if":{"$ref":"#/$defs/a"}}}}`: "leads back to itself",
		`{"items":{"$dynamicRef":"#a"}}`:                        "only $ref is followed",
		`{"items":{"$id":"https://example.com/a"}}`:             "only the root schema",
		`{"$schema":"http://json-schema.org/draft-07/schema#"}`: "artoo supports only",
		`{"title":"` + strings.Repeat("x", 64<<10) + `"}`:       "larger than 64 KB",
		bomb + `},"$ref":"#/$defs/a29"}`:                        "parts apply to one value",
	} {
		if _, err := agent.NewSchema([]byte(schema)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, want %s", schema, err, want)
		}
	}
}

// An answer is JSON alone, perhaps in one code fence.
func TestAnswersAreRead(t *testing.T) {
	t.Parallel()
	list := `{"type":"array","items":{"type":"integer"},"minItems":1}`
	tree := `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#"}}},"required":["name"],"additionalProperties":false}`
	for _, c := range []struct{ schema, answer, want, wrong string }{
		{list, "[1,2]", "[1,2]", ""},
		{list, "\n ```json\n[1,\n2]\n```\n", "[1,\n2]", ""},
		{list, "```\n[1]\n```", "[1]", ""},
		{list, "Here it is:\n```json\n[1]\n```", "", "not pure JSON"},
		{list, "[1] [2]", "", "not pure JSON"},
		{list, "[1", "", "not pure JSON"},
		{list, "", "", "empty"},
		{list, "[]", "", "minItems"},
		{list, `["1"]`, "", "type"},
		{`{"type":"string"}`, "\"```\\n[1]\\n```\"", "\"```\\n[1]\\n```\"", ""},
		{`{"const":null}`, "null", "null", ""},
		{`{}`, `{"a":1,"a":2}`, "", `the key "a" twice`},
		{`{"type":"integer"}`, "12345678901234567890", "12345678901234567890", ""},
		{tree, `{"name":"a","children":[{"name":"b","children":[]}]}`, `{"name":"a","children":[{"name":"b","children":[]}]}`, ""},
		{tree, `{"name":"a","children":[{"name":"b","age":1}]}`, "", "age"},
	} {
		s, err := agent.NewSchema([]byte(c.schema))
		if err != nil {
			t.Fatalf("%s: %v", c.schema, err)
		}
		got, err := s.Read(c.answer)
		if string(got) != c.want || (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %q is %q and %v, want %q and %q", c.schema, c.answer, got, err, c.want, c.wrong)
		}
	}
}

// held is a provider whose server holds answers to schemas, with calls or only without.
type held struct {
	*fake.Provider
	last bool
}

func (h held) Structures(req provider.Request) bool { return !h.last || req.NoCalls }

// The model is asked for the schema unless its server holds it to that, and once more after an answer
// that does not fit. Where the server holds it only without calls, that is the second request.
func TestSchemaIsAskedForOrHeld(t *testing.T) {
	t.Parallel()
	schema, err := agent.NewSchema([]byte(`{"type": "integer"}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name        string
		wrap        func(p *fake.Provider) provider.Provider
		asked, last bool
	}{
		{"asked", func(p *fake.Provider) provider.Provider { return p }, true, false},
		{"held", func(p *fake.Provider) provider.Provider { return held{p, false} }, false, false},
		{"held without calls", func(p *fake.Provider) provider.Provider { return held{p, true} }, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &fake.Provider{Steps: []fake.Step{fake.Call("1", "note", `{}`), fake.Say("Forty-two."), fake.Say("42"), fake.Say("nothing"), fake.Say("7")}}
			a := newAgentIn(t, t.TempDir(), c.wrap(p), func(o *agent.Options) { o.Schema = schema })
			for i, want := range []string{"42", "7"} {
				r := mustSend(t, a, &recorder{}, "how many?")
				if string(r.JSON) != want {
					t.Errorf("turn %d: %q", i, r.JSON)
				}
			}
			for i, req := range p.Requests() {
				said := ""
				for _, m := range req.Messages {
					said += m.Text()
				}
				if strings.Contains(said, "JSON Schema") != c.asked && i < 2 || string(req.Schema) != `{"type":"integer"}` ||
					req.NoCalls != (c.last && (i == 2 || i == 4)) {
					t.Errorf("request %d: %s, schema %s, without calls %v", i, said, req.Schema, req.NoCalls)
				}
			}
		})
	}
}

// A reply that was cut is asked for in whole where that is possible, since the rest of JSON would start over; else the
// rest is, and then no server holds the model to the schema.
func TestSchemaAndCutReplies(t *testing.T) {
	t.Parallel()
	schema, err := agent.NewSchema([]byte(`{"type":"array"}`))
	if err != nil {
		t.Fatal(err)
	}
	cut := fake.Say("[1,")
	cut.Stop = provider.StopMaxTokens
	for _, longest := range []int{8000, 100} {
		p := &fake.Provider{Steps: []fake.Step{cut, fake.Say("[1,2]")}}
		if longest == 100 {
			p.Steps[1] = fake.Say("2]")
		}
		a := newAgentIn(t, t.TempDir(), held{p, false}, func(o *agent.Options) {
			o.Schema, o.Model.Defaults.MaxTokens, o.Model.Info.MaxOutput, o.Model.Info.Context = schema, 100, longest, 100_000
		})
		if r := mustSend(t, a, &recorder{}, "go"); string(r.JSON) != "[1,2]" {
			t.Errorf("%d: %q", longest, r.JSON)
		}
		again := p.Requests()[1]
		if whole := longest > 100; (again.Schema != nil) != whole || (again.MaxTokens > 100) != whole {
			t.Errorf("%d: schema %s, %d tokens", longest, again.Schema, again.MaxTokens)
		}
	}
}

// A fallback that no server holds to the schema is asked for it, though the model before it was held.
func TestAFallbackIsAskedForTheSchema(t *testing.T) {
	t.Parallel()
	schema, err := agent.NewSchema([]byte(`{"type":"integer"}`))
	must(t, err)
	second := steps(fake.Say("7"))
	opt := withFallbacks(steps(fake.Fail(provider.KindOverloaded)), second)
	opt.Schema, opt.Model.Provider = schema, held{opt.Model.Provider.(*fake.Provider), false}
	r := mustSend(t, anAgent(t, opt), &recorder{}, "how many?")
	sent, _ := second.Last()
	if last := sent.Messages[len(sent.Messages)-1].Text(); string(r.JSON) != "7" || !strings.Contains(last, "JSON Schema") {
		t.Errorf("%s after %q", r.JSON, last)
	}
}
