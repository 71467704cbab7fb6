package modelsdev_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/provider"
	"artoo/provider/modelsdev"
)

// A list as models.dev publishes it, cut down; fields that are not read are left in.
const list = `{
"openai":{"id":"openai","env":["OPENAI_API_KEY"],"npm":"@ai-sdk/openai","name":"OpenAI","models":{
  "gpt-9":{"id":"gpt-9","name":"GPT-9 (latest)","family":"gpt","attachment":true,"reasoning":true,"tool_call":true,
    "modalities":{"input":["text","image"],"output":["text"]},"open_weights":false,"limit":{"context":1050000,"input":922000,"output":128000},
    "cost":{"input":2,"output":10,"cache_read":0.2,"cache_write":2.5,
      "tiers":[{"input":4,"output":15,"cache_read":0.4,"cache_write":5,"tier":{"type":"context","size":272000}}],
      "context_over_200k":{"input":4,"output":15}}},
  "gpt-9-2026-12-01":{"id":"gpt-9-2026-12-01","name":"GPT-9 dated","tool_call":true,"limit":{"context":9000,"output":100}},
  "gpt-8":{"name":"GPT-8","tool_call":true,"limit":{"context":400000,"output":400000}},
  "gpt-image-9":{"id":"gpt-image-9","tool_call":true,"modalities":{"output":["image"]},"limit":{"context":8000,"output":8000}},
  "embed":{"id":"embed","tool_call":false,"limit":{"context":8000,"output":8000}},
  "tiny":{"id":"tiny","tool_call":true,"limit":{"context":0,"output":0}}}},
"google":{"models":{"gemini-9":{"id":"gemini-9","name":"Gemini 9","tool_call":true,"limit":{"context":1048576,"output":65536},
  "cost":{"input":1.25,"output":10,"context_over_200k":{"input":2.5,"output":15}}},
  "gemma":{"id":"gemma","name":"Gemma","tool_call":true,"limit":{"context":262144,"output":262144},"cost":{"input":0,"output":0}}}},
"elsewhere":{"models":{"x":{"id":"x","tool_call":true,"limit":{"context":"much"}}}}}`

func TestRead(t *testing.T) {
	t.Parallel()
	from := provider.Source{Name: "models.dev", Date: "2026-12-02"}
	got, err := modelsdev.Read([]byte(strings.Replace(list, `"much"`, "1", 1)), from)
	if err != nil {
		t.Fatal(err)
	}
	want := []provider.ModelInfo{
		{Provider: "gemini", ID: "gemma", Name: "Gemma", Context: 262_144, MaxOutput: 65_536, Tools: true, ContextFrom: from},
		{Provider: "gemini", ID: "gemini-9", Name: "Gemini 9", Context: 1_048_576, MaxOutput: 65_536, Tools: true,
			Price: &provider.Price{Input: 1.25, Output: 10, Tiers: []provider.Tier{
				{Above: 200_000, Price: provider.Price{Input: 2.5, Output: 15}}}}, ContextFrom: from, PriceFrom: from},
		{Provider: "openai", ID: "gpt-9", Name: "GPT-9", Context: 1_050_000, MaxOutput: 128_000, Tools: true, Images: true,
			Reasoning: true, Price: &provider.Price{Input: 2, Output: 10, CacheRead: 0.2, CacheWrite: 2.5, Tiers: []provider.Tier{
				{Above: 272_000, Price: provider.Price{Input: 4, Output: 15, CacheRead: 0.4, CacheWrite: 5}}}},
			ContextFrom: from, PriceFrom: from},
		{Provider: "openai", ID: "gpt-8", Name: "GPT-8", Context: 400_000, MaxOutput: 100_000, Tools: true, ContextFrom: from},
	}
	byName := func(list []provider.ModelInfo) map[string]provider.ModelInfo {
		m := map[string]provider.ModelInfo{}
		for _, info := range list {
			m[info.Provider+"/"+info.ID] = info
		}
		return m
	}
	if diff := cmp.Diff(byName(want), byName(got)); diff != "" || len(got) != len(want) {
		t.Errorf("%d models (-want +got)\n%s", len(got), diff)
	}
	text, err := provider.EncodeCatalog(got)
	if err != nil {
		t.Fatal(err)
	}
	c, err := provider.OpenCatalog(text)
	if err != nil || c == nil {
		t.Fatalf("%v, %v", c, err)
	}
	if info, known := c.Lookup("openai", "gpt-9"); !known || info.Price.Tiers[0].Above != 272_000 {
		t.Errorf("%+v", info)
	}
}

func TestWhatIsNoListIsRefused(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no JSON": "<html>", "cut off": list[:len(list)/2], "another list": `{"models":{}}`, "an array": `[]`,
		"a wrong type anywhere": list, "nothing": "",
		"a tier of another kind": strings.NewReplacer(`"much"`, "1", `"type":"context"`, `"type":"time"`).Replace(list),
	} {
		if got, err := modelsdev.Read([]byte(text), provider.Source{Name: "x", Date: "2026-12-02"}); err == nil {
			t.Errorf("%s: %d models", name, len(got))
		}
	}
	for _, price := range []string{"-2", "0.000002", "20000"} { // the second is that of one token
		absurd := strings.NewReplacer(`"much"`, "1", `"input":2,`, `"input":`+price+`,`).Replace(list)
		got, err := modelsdev.Read([]byte(absurd), provider.Source{Name: "x", Date: "2026-12-02"})
		if err == nil {
			_, err = provider.EncodeCatalog(got)
		}
		if err == nil || !strings.Contains(err.Error(), "openai/gpt-9: bad price") {
			t.Errorf("a price of %s: %v", price, err)
		}
	}
}

func TestTheNewestOfAFamilyComesFirst(t *testing.T) {
	t.Parallel()
	ids := []string{"gpt-6.1-sol", "gpt-5.5", "o3", "~openai/x"}
	for i := range ids[1:] {
		if modelsdev.Order(ids[i], ids[i+1]) >= 0 {
			t.Errorf("%s does not stand before %s", ids[i], ids[i+1])
		}
	}
}
