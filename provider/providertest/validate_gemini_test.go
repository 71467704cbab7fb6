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

// geminiTests are those of one request each.
func geminiTests() []refusalTest {
	const user, call, answer = geminiUser, geminiCall, geminiAnswer
	contents := geminiContents
	declare := func(d string) string {
		return `{"tools":[{"functionDeclarations":[` + d + `]}],"contents":[{"role":"user","parts":[{"text":"x"}]}]}`
	}
	return []refusalTest{
		{"gemini: good", "gemini", contents(user + "," + call + "," + answer + "," + user), ""},
		{"gemini: contents not last", "gemini", `{"contents":[` + user + `],"tools":[]}`, "last key"},
		{"gemini: unknown key", "gemini", contents(`{"role":"user","parts":[{"text":"x","novel":1}]}`), "unknown field"},
		{"gemini: no contents", "gemini", contents(``), "neither begins nor ends"},
		{"gemini: ends with the model", "gemini", contents(user + `,{"role":"model","parts":[{"text":"x"}]}`), "nor ends"},
		{"gemini: model twice", "gemini", contents(user +
			`,{"role":"model","parts":[{"text":"x"}]},{"role":"model","parts":[{"text":"x"}]},` + user), "twice in a row"},
		{"gemini: another role", "gemini", contents(`{"role":"assistant","parts":[{"text":"x"}]}`), "unknown role"},
		{"gemini: no parts", "gemini", contents(`{"role":"user","parts":[]}`), "no parts"},
		{"gemini: blank", "gemini", contents(`{"role":"user","parts":[{"text":" "}]}`), "blank"},
		{"gemini: a blank with a signature", "gemini",
			contents(user + `,{"role":"model","parts":[{"text":"","thoughtSignature":"s"}]},` + user), ""},
		{"gemini: two kinds", "gemini",
			contents(`{"role":"user","parts":[{"text":"x","inlineData":{"mimeType":"image/png","data":"AA=="}}]}`),
			"of 2 kinds"},
		{"gemini: a thought of the user", "gemini", contents(`{"role":"user","parts":[{"text":"x","thought":true}]}`), "of the user"},
		{"gemini: no result", "gemini", contents(user + "," + call + "," + user), "the open calls"},
		{"gemini: no result at the end", "gemini", contents(user + "," + call), "without a result"},
		{"gemini: result of another", "gemini", contents(user + "," + call + "," +
			strings.Replace(answer, `"name":"n"`, `"name":"m"`, 1)), "answers"},
		{"gemini: result and text", "gemini", contents(user + "," + call + "," +
			strings.Replace(answer, `"parts":[`, `"parts":[{"text":"x"},`, 1)), "beside other parts"},
		{"gemini: id twice", "gemini", contents(user + "," + call + "," + answer + "," + call + "," + answer), "used twice"},
		{"gemini: args no object", "gemini", contents(user + "," + strings.Replace(call, `{}`, `[]`, 1) + "," + answer), "no JSON object"},
		{"gemini: an image it does not take", "gemini",
			contents(`{"role":"user","parts":[{"inlineData":{"mimeType":"image/gif","data":"AA=="}}]}`), "image/gif"},
		{"gemini: a result's text part", "gemini", contents(user + "," + call + "," +
			strings.Replace(answer, `"response":{"output":"x"}`, `"response":{},"parts":[{"text":"x"}]`, 1)),
			"without data"},
		{"gemini: name", "gemini", declare(`{"name":"9a","parametersJsonSchema":{}}`), "begins with no letter"},
		{"gemini: tool twice", "gemini", declare(`{"name":"a","parametersJsonSchema":{}},{"name":"a","parametersJsonSchema":{}}`), "twice"},
		{"gemini: two schemas", "gemini", declare(`{"name":"a","parametersJsonSchema":{},"parameters":{"type":"object"}}`), "two schemas"},
		{"gemini: no schema", "gemini", declare(`{"name":"a"}`), "no JSON object"},
		{"gemini: a key outside the subset", "gemini",
			declare(`{"name":"a","parameters":{"type":"object","properties":{"b":{"type":"string","const":"x"}}}}`),
			"unknown field"},
		{"gemini: a list of types", "gemini", declare(`{"name":"a","parameters":{"type":["object"]}}`), "cannot unmarshal"},
		{"gemini: no items", "gemini", declare(`{"name":"a","parameters":{"type":"object","properties":{"b":{"type":"array"}}}}`),
			"missing field"},
		{"gemini: items of a text", "gemini",
			declare(
				`{"name":"a","parameters":{"type":"object","properties":{"b":{"type":"string","items":{"type":"string"}}}}}`), "Type.ARRAY"},
		{"gemini: a choice of numbers", "gemini",
			declare(`{"name":"a","parameters":{"type":"object","properties":{"b":{"type":"integer","enum":["1"]}}}}`),
			"STRING"},
		{"gemini: the least of a text", "gemini",
			declare(`{"name":"a","parameters":{"type":"object","properties":{"b":{"type":"string","minimum":1}}}}`),
			"for numbers"},
		{"gemini: a choice beside a type", "gemini",
			declare(
				`{"name":"a","parameters":{"type":"object","properties":{"b":{"type":"string","anyOf":[{"type":"string"}]}}}}`), "any_of"},
		{"gemini: no type", "gemini", declare(`{"name":"a","parameters":{"type":"object","properties":{"b":{}}}}`), "no type"},
		{"gemini: required but not there", "gemini",
			declare(
				`{"name":"a","parameters":{"type":"object","properties":{"b":{"type":"string"}},"required":["c"]}}`),
			"no property"},
		{"gemini: budget and level", "gemini",
			`{"generationConfig":{"thinkingConfig":{"thinkingBudget":1,"thinkingLevel":"LOW"}},"contents":[` +
				user + `]}`, "and a level"},
	}
}

func TestGeminiWantsSignatures(t *testing.T) {
	t.Parallel()
	const user, call, answer = geminiUser, geminiCall, geminiAnswer
	contents := geminiContents
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
}
