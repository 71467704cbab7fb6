package ui

import (
	"context"
	"fmt"

	"artoo/ui/doctor"
)

// runDoctor shows each finding as it comes: a server may be slow to answer.
func runDoctor(ctx context.Context, t *Terminal, _ string) error {
	return t.opt.Program.Doctor(ctx, func(f doctor.Finding) error {
		rows := [][]string{{fmt.Sprintf("%-4s", f.Level), fmt.Sprintf("%-12s", oneLine(f.Topic)), oneLine(f.Text)}}
		if f.Fix != "" {
			rows = append(rows, []string{"    ", "        try:", oneLine(f.Fix)})
		}
		t.columns(rows)
		return nil
	})
}
