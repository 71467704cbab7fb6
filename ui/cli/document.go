package cli

import (
	"fmt"
	"slices"
	"strings"

	"artoo/config"
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
			kinds[i] = "`" + string(k) + "`"
		}
		fmt.Fprintf(&b, "| %d | %s | %s |\n", e.Code, strings.Join(kinds, ", "), cell(e.Meaning))
	}
	return b.String()
}

func docRow(o config.Option) string {
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
	return fmt.Sprintf("| %s | %s | %s | %s | %s |\n", cell(strings.Join(names, ", ")), env, key, cell(o.Shown()), cell(meaning))
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

Prices are US dollars per million tokens.

Where no provider, address or key is set, an Ollama server that answers is taken, at
` + "`OLLAMA_HOST`" + ` or on this machine. A model gets the window that ` + "`context`" + ` in its table says,
or ` + "`ARTOO_MAX_CONTEXT_TOKENS`" + ` and the reply where that is less; where neither is set, that of
its Modelfile (` + "`num_ctx`" + `) or 65,536 tokens; never more than its own limit.

## Keys

` + "`" + `artoo login [provider]` + "`" + ` asks for a key without showing it, or takes the first line of its input, tries it with one cheap
request (` + "`" + `--no-check` + "`" + ` does not) and stores it: in the system's keyring, or where there is none in
` + "`" + `~/.local/share/artoo/credentials.toml` + "`" + `, mode 0600, which is refused when others can read it. ` + "`" + `artoo logout [provider]` + "`" + `
forgets it. The keyring is the Secret Service of a desktop (over D-Bus), the macOS keychain, or the Windows credential
manager. It is opened only for a provider that ` + "`" + `artoo login` + "`" + ` put there, at the first request, and waited for no longer
than 3 seconds.

A key is looked for in ` + "`" + `ARTOO_API_KEY` + "`" + `, ` + "`" + `ARTOO_API_KEY_FILE` + "`" + ` (its first line), which are for the chosen provider, then
where ` + "`" + `api_key_source` + "`" + ` in the provider's table says:

| source | the key is |
|---|---|
| ` + "`" + `auto` + "`" + ` | what ` + "`" + `artoo login` + "`" + ` stored, then the provider's own variable, then ` + "`" + `api_key` + "`" + `; a keyring that cannot be opened is passed over when there is another key |
| ` + "`" + `keyring` + "`" + ` | what ` + "`" + `artoo login` + "`" + ` put into the keyring |
| ` + "`" + `env` + "`" + ` | in ` + "`" + `api_key_env` + "`" + `, or the provider's own variable |
| ` + "`" + `config` + "`" + ` | ` + "`" + `api_key` + "`" + ` in the table |
| ` + "`" + `command` + "`" + ` | the first line that ` + "`" + `api_key_command` + "`" + ` prints |

` + "`" + `ARTOO_API_KEY_FILE` + "`" + ` may be a pipe, as in ` + "`" + `ARTOO_API_KEY_FILE=<(pass show key)` + "`" + `: what it gives within 10 seconds is the key
for the whole run.

A key command is a string for the shell, or an array of program and arguments. It gets no input, none of artoo's
variables and no provider's key, and may take 10 seconds; what it says on stderr is shown, known shapes of keys masked. It runs once in a run of artoo.
When a server refuses the key with 401, it is looked for once more, and another one is tried at once.

A key is in the requests' headers and nowhere else: not in outputs, logs, sessions, or what the model's commands,
the editor, the pager and the other programs that artoo starts see; only ` + "`" + `!command` + "`" + ` has your whole environment.
` + "`" + `artoo doctor` + "`" + ` and ` + "`" + `/doctor` + "`" + ` tell where each provider's key comes from, and what else artoo needs: terminal, shell, git,
proxy, certificates, ` + "`" + `ARTOO_OFFLINE` + "`" + `, the provider's answer, the clock, Ollama's windows, the coding CLIs and whether they are new enough. ` + "`" + `--offline` + "`" + ` asks no server, ` + "`" + `--json` + "`" + ` prints a line
of JSON each, ` + "`" + `--paths` + "`" + ` lists what artoo wrote. It ends with 1 when something keeps artoo from working.

## Projects

Rules that hold in one project stand in your own file, under its path:

` + "```toml" + `
[project."/home/me/src/shop"]
allow = ["bash(make test:*)"]
ask   = ["write(migrations/**)"]
deny  = ["read(secrets/**)"]
` + "```" + `
`
