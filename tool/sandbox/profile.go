package sandbox

import (
	_ "embed"
	"slices"
	"strings"
)

// profileHead allows the needs of every command, in the language of sandbox-exec.
//
//go:embed profile.sb
var profileHead string

// profileNetwork allows a command the machine's network, and the services that resolve names, find proxies and check
// certificates.
const profileNetwork = `(allow network*)
(allow mach-lookup (global-name "com.apple.mDNSResponder") (global-name "com.apple.trustd") (global-name "com.apple.trustd.agent")
 (global-name "com.apple.SystemConfiguration.configd") (global-name "com.apple.SystemConfiguration.DNSConfiguration"))
(allow file-read* (literal "/private/var/run/resolv.conf"))
`

// profile is a command's profile for sandbox-exec of macOS: all is denied except the paths named; of two
// rules that fit, the later one counts. It has not been run on a Mac yet.
func profile(config Config, options Options, denied, protected []string) string {
	var b strings.Builder
	b.WriteString(profileHead)
	if config.Network {
		b.WriteString(profileNetwork)
	}
	read := slices.Concat([]string{config.Root}, config.Read, config.Write, config.Toolchains)
	if config.Common != "" {
		read = append(read, config.Common)
	}
	read = append(read, config.Temp)
	write := []string{config.Temp}
	if !options.ReadOnly {
		if options.Job && !options.Whole {
			write = slices.Concat(write, options.Outputs)
		} else {
			write = slices.Concat(write, []string{config.Root}, config.Write)
		}
		b.WriteString("(allow network* (local ip \"localhost:*\") (remote ip \"localhost:*\"))\n")
	}
	for _, cache := range config.Caches {
		read = append(read, cache.Path, cache.Own)
		if !options.ReadOnly {
			write = append(write, cache.Own)
		}
	}
	rule(&b, "allow file-read*", read)
	rule(&b, "allow file-write*", write)
	rule(&b, "deny file-write*", protected)
	rule(&b, "deny file-read* file-write* file-read-metadata", denied)
	return b.String()
}

// rule writes a rule for paths.
func rule(b *strings.Builder, what string, paths []string) {
	if len(paths) == 0 {
		return
	}
	b.WriteString("(" + what)
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	for _, path := range paths {
		b.WriteString("\n (subpath \"" + quote.Replace(path) + `")`)
	}
	b.WriteString(")\n")
}
