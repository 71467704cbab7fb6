package builtin

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf16"

	"artoo/tool"
	"artoo/tool/environ"
	"artoo/tool/files"
	"artoo/tool/git/gittest"
)

// treeEnv makes a project of the given files, whose names use slashes.
func treeEnv(t testing.TB, tree map[string]string) *tool.Env {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	gittest.WriteTree(t, dir, tree)
	f, err := files.Open(files.Config{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	env, _ := environ.ChildEnviron(os.Environ(), environ.Withholding{})
	return &tool.Env{Files: f, Dir: dir, Environ: env}
}

// call checks the input, plans and runs the call.
func call(t testing.TB, made tool.Tool, env *tool.Env, input string) (tool.Access, tool.Result, error) {
	t.Helper()
	access, result, _, err := callLive(context.Background(), t, made, env, input)
	return access, result, err
}

func callLive(ctx context.Context, t testing.TB, made tool.Tool, env *tool.Env, input string) (tool.Access, tool.Result, string, error) {
	t.Helper()
	raw := json.RawMessage(input)
	if err := made.Check(raw); err != nil {
		t.Fatal(err)
	}
	access, err := made.Plan(ctx, env, raw)
	if err != nil {
		return access, tool.Result{}, "", err
	}
	var out bytes.Buffer
	result, err := made.Run(ctx, env, raw, &out)
	return access, result, out.String(), err
}

// mustCall is call for those that work.
func mustCall(t testing.TB, made tool.Tool, env *tool.Env, input string) tool.Result {
	t.Helper()
	_, result, err := call(t, made, env, input)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// wide encodes a text as UTF-16 with its mark, independently of the code under
// test.
func wide(order binary.AppendByteOrder, s string) string {
	out := order.AppendUint16(nil, 0xfeff)
	for _, unit := range utf16.Encode([]rune(s)) {
		out = order.AppendUint16(out, unit)
	}
	return string(out)
}
