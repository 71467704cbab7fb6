package cli

import "io"

// printVersion is --version: one line that scripts can read.
func (p *program) printVersion() error {
	_, err := io.WriteString(p.deps.Out, "artoo "+or(p.deps.Build.Version)+"\n")
	return err
}

// printBuild is the subcommand: all that is known of the build.
func (p *program) printBuild() error {
	b := p.deps.Build
	_, err := io.WriteString(p.deps.Out, "artoo "+or(b.Version)+
		"\ncommit    "+or(b.Commit)+
		"\ndate      "+or(b.Date)+
		"\ngo        "+or(b.Go)+
		"\nplatform  "+or(b.Platform)+"\n")
	return err
}

func or(text string) string {
	if text == "" {
		return "unknown"
	}
	return text
}
