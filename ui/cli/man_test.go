package cli

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"artoo/config"
	"artoo/tool/needs"
)

// TestTheManualPageIsComplete compares docs/artoo.1 with the tables of the help, and checks
// that it has the form of a manual page; mandoc, if installed, must report nothing.
func TestTheManualPageIsComplete(t *testing.T) {
	page := manPage()
	madeFromTables(t, "artoo.1", page)
	lines := strings.Split(page, "\n")
	var sections []string
	request := regexp.MustCompile(`^\.(TH|SH|SS|TP|PP|IP|br|\\")( |$)`)
	for i, line := range lines {
		switch {
		case len(line) > 100:
			t.Errorf("line %d has %d characters", i+1, len(line))
		case strings.HasPrefix(line, "'"), strings.HasPrefix(line, ".") && !request.MatchString(line):
			t.Errorf("line %d is no request of the page: %s", i+1, line)
		case strings.HasSuffix(line, " "), line == "" && i < len(lines)-1:
			t.Errorf("line %d ends in a blank or is empty: %q", i+1, line)
		}
		for _, r := range line {
			if r < ' ' || r > '~' {
				t.Errorf("line %d holds %q", i+1, r)
			}
		}
		if name, ok := strings.CutPrefix(line, ".SH "); ok {
			sections = append(sections, name)
		}
	}
	want := []string{"NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "OPTIONS", "EXIT STATUS", "ENVIRONMENT",
		"FILES", "EXAMPLES", "SEE ALSO"}
	if diff := cmp.Diff(want, sections); diff != "" {
		t.Error(diff)
	}
	if !strings.HasPrefix(lines[1], ".TH ARTOO 1 ") {
		t.Errorf("it begins with %s", lines[1])
	}
	for _, o := range config.Options() {
		if o.Flag != "" && !strings.Contains(page, `\-\-`+strings.ReplaceAll(o.Flag, "-", `\-`)) ||
			o.Env != "" && !strings.Contains(page, o.Env) {
			t.Errorf("%s is missing", o.Key)
		}
	}
	mandoc := needs.Program(t, "mandoc")
	out, err := exec.Command(mandoc, "-Tlint", filepath.Join(moduleDir, "docs", "artoo.1")).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("mandoc -Tlint: %v\n%s", err, out)
	}
}
