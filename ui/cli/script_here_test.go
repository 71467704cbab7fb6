package cli

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"artoo/tool/environ"
)

var shippedOnly = flag.Bool("shipped", false, "scripts exec artoo as it is shipped, all of them")

// ofTheProcess are the variables that libraries read of the process. A script that sets one has artoo as a process of its own.
var ofTheProcess = []string{"SSL_CERT_FILE", "SSL_CERT_DIR", "GOOGLE_APPLICATION_CREDENTIALS"}

// execsArtoo is a line of a script that runs artoo and waits for it.
var execsArtoo = regexp.MustCompile(`(?m)^((?:\[[^]]*\] )*(?:! )?)exec artoo\b(.*[^&\n])?$`)

// hereInstead is a copy of a script whose lines "exec artoo" run Main in this process: a start takes a tenth of the
// time then. One in the background, for a signal, stays a process. The scripts mean a program, so they say exec.
func hereInstead(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	script, files, _ := strings.Cut(string(data), "\n-- ")
	copied := filepath.Join(t.TempDir(), filepath.Base(file))
	text := execsArtoo.ReplaceAllString(script, "${1}here$2") + "\n-- " + files
	if files == "" {
		text = strings.TrimSuffix(text, "-- ")
	}
	if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return copied
}

// cmdHere is `here args…`, artoo in this process.
func cmdHere(ts *testscript.TestScript, neg bool, args []string) {
	switch code, _ := here(ts, args); {
	case code != 0 && !neg:
		ts.Fatalf("artoo ended with %d", code)
	case code == 0 && neg:
		ts.Fatalf("artoo ended with 0")
	}
}

// here runs artoo with the environment, directory and input of the script, and returns its exit status and stderr.
// testscript gives its commands no other way to the first and the last than to look.
func here(ts *testscript.TestScript, args []string) (code int, stderr string) {
	if needsProcess(ts) {
		return itself(ts, args)
	}
	stdin := reflect.ValueOf(ts).Elem().FieldByName("stdin").String()
	if stdin != "" {
		ts.Check(ts.Exec("true")) // takes the input, as every program does
	}
	code, stdout, stderr, err := runHere(ts.MkAbs("."), scriptVars(ts), stdin, args...)
	ts.Check(err)
	_, err = ts.Stdout().Write([]byte(stdout))
	ts.Check(err)
	_, err = ts.Stderr().Write([]byte(stderr))
	ts.Check(err)
	return code, stderr
}

// needsProcess reports whether artoo runs in a process of its own, as the script has set its variables.
func needsProcess(ts *testscript.TestScript) bool {
	set := func(name string) bool { return ts.Getenv(name) != "" }
	return !worldOf(ts).here || slices.ContainsFunc(ofTheProcess, set)
}

// scriptVars are the variables of a script.
func scriptVars(ts *testscript.TestScript) (vars environ.Vars) {
	for _, kv := range reflect.ValueOf(ts).Elem().FieldByName("env").Seq2() {
		vars = append(vars, kv.String())
	}
	return append(vars, "PWD="+ts.MkAbs("."))
}

// itself runs artoo as it is shipped.
func itself(ts *testscript.TestScript, args []string) (code int, stderr string) {
	err := ts.Exec("artoo", args...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), ts.ReadFile("stderr")
	}
	ts.Check(err)
	return 0, ""
}
