package tokenizer

import (
	"context"
	"io"
	"path/filepath"
	"testing"

	"artoo/tool"
	"artoo/tool/builtin"
	"artoo/tool/files"

	"github.com/tiktoken-go/tokenizer"
)

// A map of artoo itself fills most of its 2,000 tokens, and no more.
func TestAMapHasAtMost2000Tokens(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	f, err := files.Open(files.Config{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	result, err := builtin.Map().Run(context.Background(), &tool.Env{Files: f}, []byte(`{}`), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	for _, encoding := range []tokenizer.Encoding{tokenizer.O200kBase, tokenizer.Cl100kBase} {
		codec, err := tokenizer.Get(encoding)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := codec.Count(result.Text); err != nil || n > 2000 || n < 1500 {
			t.Errorf("%s: %d tokens, %v", encoding, n, err)
		}
	}
}
