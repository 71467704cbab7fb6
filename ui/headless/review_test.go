package headless

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"artoo/agent"
	"artoo/tool/changes"
)

// testdata/sarif.json is the part of the schema of SARIF 2.1.0 that a review uses, with the further
// requirements of code scanning.
func TestSARIFFitsItsSchema(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join("testdata", "sarif.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(data, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	finding := func(path, rule string, s changes.Severity) changes.Finding {
		return changes.Finding{Path: path, Line: 3, EndLine: 4, Column: 2, EndCol: 9, Severity: s, Rule: rule, Text: "wrong \x1b[31m"}
	}
	whole := &agent.Review{Findings: []changes.Finding{finding("a b/ü:x.go", "one", changes.SeverityError), finding("c:d.go", "two-words", changes.SeverityWarning),
		finding("e.go", "one", changes.SeverityNote)}, Left: []agent.Unreviewed{{Path: "big file", Why: "binary"}}, Response: &agent.Response{}}
	failed := &agent.Failure{Kind: agent.KindCap, Err: errors.New("3 steps")}
	found := &agent.Failure{Kind: agent.KindFindings, Err: errors.New("1 finding")}
	for _, row := range []struct {
		review     *agent.Review
		failure    *agent.Failure
		successful bool
	}{{whole, nil, true}, {whole, found, true}, {whole, failed, false}, {&agent.Review{Response: &agent.Response{}}, nil, true}} {
		var out bytes.Buffer
		if err := WriteSARIF(&out, "1.2", row.review, row.failure); err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(out.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(v); err != nil {
			t.Errorf("%v in %s", err, out.String())
		}
		var log sarifLog
		if err := json.Unmarshal(out.Bytes(), &log); err != nil {
			t.Fatal(err)
		}
		run := log.Runs[0]
		if run.Invocations[0].Successful != row.successful || len(run.Results) != len(row.review.Findings) {
			t.Errorf("%+v", run)
		}
		for i, r := range run.Results {
			if run.Tool.Driver.Rules[r.RuleIndex].ID != r.RuleID || r.Level != string(row.review.Findings[i].Severity) {
				t.Errorf("result %d is %+v, of the rules %+v", i, r, run.Tool.Driver.Rules)
			}
		}
		if len(run.Results) == 3 && (run.Results[0].Locations[0].Physical.Artifact.URI != "a%20b/%C3%BC:x.go" ||
			run.Results[1].Locations[0].Physical.Artifact.URI != "./c:d.go" || len(run.Tool.Driver.Rules) != 2) {
			t.Errorf("%s", out.String())
		}
	}
}
