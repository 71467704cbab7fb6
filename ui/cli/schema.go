package cli

import (
	"errors"
	"io"
	"strings"

	"artoo/agent"
)

// maxSchema is how much of a schema's file is read, in bytes: one more than a schema may have.
const maxSchema = 64<<10 + 1

// readSchema reads the schema of the answers, before anything is asked.
func (a *app) readSchema() error {
	given := strings.TrimSpace(a.cfg.Schema)
	switch {
	case given == "":
		return nil
	case !a.streams.headless && a.cfg.FromFlag("schema"):
		return usage("--schema", "only the answer of a headless run can be JSON", "artoo -p --schema FILE \"what you want\"")
	case !a.streams.headless:
		a.cfg.Schema = ""
		return nil
	}
	raw, where := []byte(given), a.cfg.Origin("schema")
	if !strings.HasPrefix(given, "{") {
		file, err := a.openFile(given)
		if err == nil {
			defer file.Close()
			raw, err = io.ReadAll(io.LimitReader(file, maxSchema))
		}
		if err != nil {
			return fail(agent.KindUsage, where, err, `a file with a JSON Schema, or the schema itself: --schema '{"type":"object"}'`)
		}
		where += " " + given
	}
	var err error
	if a.schema, err = agent.NewSchema(raw); err != nil {
		return fail(agent.KindUsage, where, errors.New(strings.ReplaceAll(err.Error(), "\n", "; ")),
			"a JSON Schema of the draft 2020-12, at most 64 KB, with references such as #/$defs/name only")
	}
	return nil
}
