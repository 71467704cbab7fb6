package schemas

import (
	"encoding/json"
	"testing"
)

func TestAt(t *testing.T) {
	t.Parallel()
	var root any
	if err := json.Unmarshal([]byte(`{"$defs":{"a/b":{"n":1},"c~d":[true,{"n":2}],"e f":null}}`), &root); err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]string{"#/$defs/a~1b": `{"n":1}`, "#/$defs/c~0d/1": `{"n":2}`, "#/$defs/c~0d/0": "true", "#/$defs/e%20f": "null",
		"#/$defs/c~0d/2": "", "#/$defs/c~0d/-1": "", "#/$defs/none": "", "#/$defs/a~1b/n/m": "", "#anchor": "", "https://example.org/": "", "#/%zz": ""} {
		part, ok := At(root, ref)
		got, err := json.Marshal(part)
		if err != nil || ok != (want != "") || ok && string(got) != want {
			t.Errorf("%s: %s, %t, %v; want %q", ref, got, ok, err, want)
		}
	}
	if part, ok := At(root, "#"); !ok || part == nil {
		t.Error("the whole schema is not found")
	}
}
