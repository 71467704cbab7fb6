package environ

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestTheLastOfTwoVariablesOfOneNameCounts(t *testing.T) {
	vars := Vars{"A=1", "AB=2", "A=3", "C="}
	for name, want := range map[string]string{"A": "3", "AB": "2", "C": "", "D": ""} {
		if got := vars.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if _, set := vars.Lookup("C"); !set {
		t.Error("C is set")
	}
	if _, set := vars.Lookup("D"); set {
		t.Error("D is not set")
	}
	if changed := vars.With("A", "4"); changed.Get("A") != "4" || len(changed) != 3 || vars.Get("A") != "3" {
		t.Errorf("%q", changed)
	}
}

// Neither the PATH of the process nor a relative directory counts.
func TestAProgramIsFoundOnThePathOfItsVariables(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "greet"), []byte("#!/bin/sh\necho \"$0 $WHO\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	vars := Vars{"WHO=you", "PATH=relative::/nowhere:" + dir}
	out, err := vars.Command(t.Context(), "greet").Output()
	if want := filepath.Join(dir, "greet") + " you\n"; string(out) != want || err != nil {
		t.Errorf("%q %v, want %q", out, err, want)
	}
	if err := vars.Command(t.Context(), "sh", "-c", ":").Run(); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("sh is not there: %v", err)
	}
	if _, err := vars.LookPath(filepath.Join(dir, "greet")); err != nil {
		t.Error(err)
	}
}

func TestAProgramStartsInTheDirectoryOfTheRun(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "where"), []byte("#!/bin/sh\npwd -P\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	vars := Vars{"PWD=" + dir}
	for _, name := range []string{"./where", "sh"} {
		out, err := vars.Command(t.Context(), name, "-c", "pwd -P").Output()
		if string(out) != real+"\n" || err != nil {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
	if found, err := vars.LookPath("./where"); found != filepath.Join(dir, "where") || err != nil {
		t.Errorf("%q, %v", found, err)
	}
}
