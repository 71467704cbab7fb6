package doctor

import (
	"context"
	"fmt"
)

// Fallback is a model of the setting fallback.
type Fallback struct {
	Name string // The user wrote it so.
	// Check returns the model with its provider, and why it would be skipped. It asks no server.
	Check func(ctx context.Context) (model string, err error)
}

// CheckFallbacks looks whether the models of the setting fallback can be asked.
func CheckFallbacks(list []Fallback) Check {
	return func(ctx context.Context) (findings []Finding) {
		for _, f := range list {
			model, err := f.Check(ctx)
			if err == nil {
				findings = append(findings, ok("fallback", "%s", model))
				continue
			}
			skipped := failure("fallback", fmt.Errorf("%s would be skipped: %w", f.Name, err))
			skipped.Level = Warn
			findings = append(findings, skipped)
		}
		return findings
	}
}
