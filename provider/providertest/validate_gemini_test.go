package providertest_test

import (
	"strings"
	"testing"

	"artoo/provider/providertest"
)

// A turn of the user, a call of the model and the answer to it, as Gemini has them.
const (
	geminiUser   = `{"role":"user","parts":[{"text":"x"}]}`
	geminiCall   = `{"role":"model","parts":[{"functionCall":{"id":"a","name":"n","args":{}},"thoughtSignature":"s"}]}`
	geminiAnswer = `{"role":"user","parts":[{"functionResponse":{"id":"a","name":"n","response":{"output":"x"}}}]}`
)

// geminiContents is a request of these contents and nothing else.
func geminiContents(c string) string { return `{"contents":[` + c + `]}` }

// geminiTest is a body and what the validator says of it; "" for a good one.
type geminiTest struct{ name, body, why string }

// geminiTests are those of one request each.
func geminiTests() []geminiTest {
	const user, call, answer = geminiUser, geminiCall, geminiAnswer
	contents := geminiContents
	declare := func(d string) string {
		return `{"tools":[{"functionDeclarations":[` + d + `]}],"contents":[{"role":"user","parts":[{"text":"x"}]}]}`
	}
	return []geminiTest{
		{"good", contents(user + "," + call + "," + answer + "," + user), ""},
		{"contents not last", `{"contents":[` + user + `],"tools":[]}`, "last key"},
		{"unknown key", contents(`{"role":"user","parts":[{"text":"x","novel":1}]}`), "unknown field"},
		{"no contents", contents(``), "neither begins nor ends"},
		{"ends with the model", contents(user + `,{"role":"model","parts":[{"text":"x"}]}`), "nor ends"},
		{"model twice", contents(user +
			`,{"role":"model","parts":[{"text":"x"}]},{"role":"model","parts":[{"text":"x"}]},` + user), "twice in a row"},
		{"another role", contents(`{"role":"assistant","parts":[{"text":"x"}]}`), "unknown role"},
		{"no parts", contents(`{"role":"user","parts":[]}`), "no parts"},
		{"blank", contents(`{"role":"user","parts":[{"text":" "}]}`), "blank"},
		{"a blank with a signature",
			contents(user + `,{"role":"model","parts":[{"text":"","thoughtSignature":"s"}]},` + user), ""},
		{"two kinds",
			contents(`{"role":"user","parts":[{"text":"x","inlineData":{"mimeType":"image/png","data":"AA=="}}]}`),
			"of 2 kinds"},
		{"a thought of the user", contents(`{"role":"user","parts":[{"text":"x","thought":true}]}`), "of the user"},
		{"no result", contents(user + "," + call + "," + user), "the open calls"},
		{"no result at the end", contents(user + "," + call), "without a result"},
		{"result of another", contents(user + "," + call + "," +
			strings.Replace(answer, `"name":"n"`, `"name":"m"`, 1)), "answers"},
		{"result and text", contents(user + "," + call + "," +
			strings.Replace(answer, `"parts":[`, `"parts":[{"text":"x"},`, 1)), "beside other parts"},
		{"id twice", contents(user + "," + call + "," + answer + "," + call + "," + answer), "used twice"},
		{"args no object", contents(user + "," + strings.Replace(call, `{}`, `[]`, 1) + "," + answer), "no JSON object"},
		{"an image it does not take",
			contents(`{"role":"user","parts":[{"inlineData":{"mimeType":"image/gif","data":"AA=="}}]}`), "image/gif"},
		{"a result's text part", contents(user + "," + call + "," +
			strings.Replace(answer, `"response":{"output":"x"}`, `"response":{},"parts":[{"text":"x"}]`, 1)),
			"without data"},
		{"name", declare(`{"name":"9a","parametersJsonSchema":{}}`), "begins with no letter"},
		{"tool twice", declare(`{"name":"a","parametersJsonSchema":{}},{"name":"a","parametersJsonSchema":{}}`), "twice"},
		{"two schemas", declare(`{"name":"a","parametersJsonSchema":{},"parameters":{"type":"object"}}`), "two schemas"},
		{"no schema", declare(`{"name":"a"}`), "no JSON object"},
		{"a key outside the subset",
			declare(`{"name":"a","parameters":{"type":"object","properties":{"b":{"type":"string","const":"x"}}}}`),
			"unknown field"},
		{"a list of types", declare(`{"name":"a","parameters":{"type":["object"]}}`), "cannot unmarshal"},
		{"no items", declare(`{"name":"a","parameters":{"type":"object","properties":{"b":{"type":"array"}}}}`),
			"missing field"},
		{"items of a text",
			declare(
				`{"name":"a","parameters":{"type":"object","properties":{"b":{"type":"string","items":{"type":"string"}}}}}`), "Type.ARRAY"},
		{"a choice of numbers",
			declare(`{"name":"a","parameters":{"type":"object","properties":{"b":{"type":"integer","enum":["1"]}}}}`),
			"STRING"},
		{"the least of a text",
			declare(`{"name":"a","parameters":{"type":"object","properties":{"b":{"type":"string","minimum":1}}}}`),
			"for numbers"},
		{"a choice beside a type",
			declare(
				`{"name":"a","parameters":{"type":"object","properties":{"b":{"type":"string","anyOf":[{"type":"string"}]}}}}`), "any_of"},
		{"no type", declare(`{"name":"a","parameters":{"type":"object","properties":{"b":{}}}}`), "no type"},
		{"required but not there",
			declare(
				`{"name":"a","parameters":{"type":"object","properties":{"b":{"type":"string"}},"required":["c"]}}`),
			"no property"},
		{"budget and level",
			`{"generationConfig":{"thinkingConfig":{"thinkingBudget":1,"thinkingLevel":"LOW"}},"contents":[` +
				user + `]}`, "and a level"},
	}
}

func TestTheGeminiValidatorRefuses(t *testing.T) {
	const user, call, answer = geminiUser, geminiCall, geminiAnswer
	contents := geminiContents
	t.Run("a call without a signature", func(t *testing.T) {
		bare, second := strings.Replace(call, `,"thoughtSignature":"s"`, "", 1),
			`,{"functionCall":{"id":"b","name":"n","args":{}}}`
		both := strings.Replace(answer, `}]}`, `},`+
			strings.TrimSuffix(strings.TrimPrefix(strings.Replace(answer, `"a"`, `"b"`, 1), `{"role":"user","parts":[`),
				`]}`)+`]}`, 1)
		for body, good := range map[string]bool{
			contents(user + "," + call + "," + answer):                                          true,
			contents(user + "," + bare + "," + answer):                                          false,
			contents(user + "," + strings.Replace(call, `"s"}`, `"s"}`+second, 1) + "," + both): true,
			contents(user + "," + call + "," + answer + "," + strings.ReplaceAll(bare, `"a"`, `"b"`) + "," +
				strings.Replace(answer, `"a"`, `"b"`, 1)): false,
		} {
			if err := providertest.Validate(providertest.WireGemini, []byte(body)); err != nil {
				t.Errorf("before 3: %v\n%s", err, body)
			}
			err := providertest.Validate(providertest.WireGemini3, []byte(body))
			if (err == nil) != good || err != nil && !strings.Contains(err.Error(), "missing a thought_signature") {
				t.Errorf("%v, want good: %v\n%s", err, good, body)
			}
		}
	})
	for _, tc := range geminiTests() {
		t.Run(tc.name, func(t *testing.T) {
			err := providertest.Validate(providertest.WireGemini, []byte(tc.body))
			switch {
			case tc.why == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.why != "" && (err == nil || !strings.Contains(err.Error(), tc.why)):
				t.Errorf("got %v, want something about %q", err, tc.why)
			}
		})
	}
}
