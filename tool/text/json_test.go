package text_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"artoo/tool/text"
)

func TestAnErrorOfJSONHasNoNamesOfGo(t *testing.T) {
	t.Parallel()
	var into struct {
		Name string            `json:"name"`
		Env  map[string]string `json:"env"`
	}
	for in, want := range map[string]string{
		`{"name": 7}`: "file: name cannot be a number; fix it", `{"env": []}`: "file: env cannot be an array; fix it",
		`[]`: "file: not a JSON object, but an array; fix it", `{"env": {"A": 1}}`: "file: env cannot be a number; fix it",
	} {
		if got := text.Misread(fmt.Errorf("file: %w; fix it", json.Unmarshal([]byte(in), &into))).Error(); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
	if other := errors.New("other"); text.Misread(other) != other || text.Misread(nil) != nil {
		t.Error("another error is changed")
	}
}
