package cli

import (
	"fmt"
	"slices"
	"strings"
)

// ConfigurationDoc is the reference of all settings as Markdown, for
// docs/configuration.md: flags, variables, keys of the file, exit codes. It
// uses the tables of deps only and calls none of its funcs.
func ConfigurationDoc(deps Deps) string {
	p := &program{deps: deps}
	var b strings.Builder
	b.WriteString(docIntro)
	for _, group := range p.groups() {
		fmt.Fprintf(&b, "\n### %s\n\n| flag | variable | key | default | meaning |\n|---|---|---|---|---|\n", group)
		for _, o := range deps.Options {
			if o.Group == group {
				b.WriteString(docRow(o))
			}
		}
	}
	b.WriteString(docFile)
	b.WriteString("\n## Other variables\n\n| variable | what it does |\n|---|---|\n")
	for _, v := range deps.Variables {
		fmt.Fprintf(&b, "| `%s` | %s |\n", v.Name, cell(v.Meaning))
	}
	b.WriteString("\n## Exit codes\n\n| code | kinds | meaning |\n|---|---|---|\n")
	for _, e := range deps.Exits {
		kinds := make([]string, len(e.Kinds))
		for i, k := range e.Kinds {
			kinds[i] = "`" + k + "`"
		}
		fmt.Fprintf(&b, "| %d | %s | %s |\n", e.Code, strings.Join(kinds, ", "), cell(e.Meaning))
	}
	return b.String()
}

func docRow(o Option) string {
	var names []string
	if o.Short != "" {
		names = append(names, "`-"+o.Short+"`")
	}
	if o.Flag != "" {
		names = append(names, strings.TrimRight("`--"+o.Flag+" "+o.Arg, " ")+"`")
	}
	env, key := "", ""
	if o.Env != "" {
		env = "`" + o.Env + "`"
	}
	if !o.NoFile {
		key = "`" + o.Section + "." + o.Key + "`"
		for _, a := range slices.Sorted(slices.Values(o.Aliases)) {
			key += ", `" + a + "`"
		}
	}
	meaning := o.Meaning
	if !namesAll(o.Meaning, o.Choices) {
		words := make([]string, len(o.Choices))
		for i, c := range o.Choices {
			words[i] = "`" + c + "`"
		}
		meaning += ": " + strings.Join(words, ", ")
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s |\n", cell(strings.Join(names, ", ")), env, key, cell(o.Default), cell(meaning))
}

// cell keeps a text inside its cell of a Markdown table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

const docIntro = `# Configuration

<!-- Made from the tables of the program. Do not edit: a test compares. -->

Nothing has to be configured but a key. A setting may be given as a flag, as a
variable or in the file; a flag wins over a variable, a variable over the file,
the file over the default. ` + "`/config`" + ` shows each value and where it came from.

- A variable that is empty counts as not set.
- Switches are ` + "`1`, `true`, `yes`, `on` or `0`, `false`, `no`, `off`" + ` in variables, in any
  case; ` + "`true` or `false`" + ` in the file.
- Times are ` + "`90s`, `10m`, `1h30m`" + `; a bare number is seconds. Sizes are ` + "`512KiB`, `1GiB`" + `;
  a bare number is bytes.
- Lists are arrays in the file. In a variable their elements stand one per line,
  or are separated by commas outside parentheses. Rules, directories and variable
  names of several places add up; other lists replace each other, except that
  tools written as ` + "`+name,-name`" + ` change what the place before said.
- A place that names another provider than the one below it drops the model,
  the address and the key that stood beside the first.

The file is ` + "`$XDG_CONFIG_HOME/artoo/config.toml`, or `~/.config/artoo/config.toml`" + `.
A wrong type, an unknown provider or a syntax error ends with code 2 and names the
line. An unknown key is a warning; under ` + "`[permissions]`, `[hooks]` and `[mcp]`" + ` it is an
error. The key of a setting is written below with its section: ` + "`agent.max_turns`" + ` is
` + "`max_turns`" + ` under ` + "`[agent]`" + `.

## Settings
`

const docFile = `
## Providers

A provider's table says how to reach it, and what its models are like. The name
is a known one (` + "`anthropic`, `openai`, `gemini`, `deepseek`, `openrouter`, `ollama`,\n`compatible`" + `) or a new one, which then needs a ` + "`base_url`" + ` and is taken for a server with
the Chat Completions interface. ` + "`[[provider.openai_compatible]]` with a `name`" + ` is accepted too.
` + "`openai` speaks the Responses API to OpenAI itself and to an address that ends in `/responses`," + `
Chat Completions to any other.

` + "```toml" + `
[provider]
provider = "openrouter"
model    = "anthropic/claude-sonnet-4.5"

[provider.openrouter]
base_url        = "https://openrouter.ai/api/v1"
api_key_source  = "env"                  # auto, keyring, env, config, command
api_key_env     = "OPENROUTER_API_KEY"   # the default is NAME_API_KEY
api_key         = "..."                  # for the source config
api_key_command = "pass show openrouter" # for the source command; or an array
extra_headers   = { "HTTP-Referer" = "https://example.org" }

[provider.openrouter.models."some/model"]
context    = 131072                      # tokens of the window
max_output = 8192                        # tokens of one reply
price      = { input = 0.5, output = 1.5, cache_read = 0.05, cache_write = 0.6 }
images     = true                        # it sees; false keeps pictures from it
reasoning  = true                        # it can reason before it answers
` + "```" + `

Prices are US dollars per million tokens. The key is looked for in ` + "`ARTOO_API_KEY`,\n`ARTOO_API_KEY_FILE`" + ` (its first line), then where ` + "`api_key_source`" + ` says. ` + "`auto`" + ` looks at
stored keys, the provider's own variable, and the config value. A key command may
take 30 seconds; its first line is the key.

Where no provider, address or key is set, an Ollama server that answers is taken, at
` + "`OLLAMA_HOST`" + ` or on this machine. A model gets the window that ` + "`context`" + ` in its table says,
or ` + "`ARTOO_MAX_CONTEXT_TOKENS`" + ` and the reply where that is less; where neither is set, that of
its Modelfile (` + "`num_ctx`" + `) or 65,536 tokens; never more than its own limit.

## Projects

Rules that hold in one project stand in your own file, under its path:

` + "```toml" + `
[project."/home/me/src/shop"]
allow = ["bash(make test:*)"]
ask   = ["write(migrations/**)"]
deny  = ["read(secrets/**)"]
` + "```" + `
`
