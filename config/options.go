package config

// The headings of the help.
const (
	groupModel       = "Model"
	groupLimits      = "Limits"
	groupContext     = "Context and tools"
	groupPermissions = "Permissions"
	groupOutput      = "Output and terminal"
	groupInput       = "Input"
	groupSession     = "Session"
)

func providerOptions() []Option {
	return within("provider", groupModel, []Option{
		{Key: "model", field: "Model", Flag: "model", Short: "m", Arg: "ID", Env: "ARTOO_MODEL", Kind: KindString,
			DefaultNote: "the provider's current one", Meaning: "model id, or provider/model"},
		{Key: "provider", field: "Provider", Flag: "provider", Arg: "NAME", Env: "ARTOO_PROVIDER", Kind: KindString, Aliases: []string{"default"},
			DefaultNote: "the one whose key is at hand", Meaning: "provider name: a known one or one of the config file"},
		{Key: "api_key", field: "APIKey", Env: "ARTOO_API_KEY", Kind: KindString, Secret: true,
			Meaning: "key for the chosen provider, over every other source"},
		{Key: "api_key_file", field: "APIKeyFile", Env: "ARTOO_API_KEY_FILE", Kind: KindString,
			Meaning: "file whose first line is that key"},
		{Key: "base_url", field: "BaseURL", Env: "ARTOO_BASE_URL", Kind: KindString,
			DefaultNote: "the provider's own", Meaning: "endpoint for the chosen provider; alone it means the provider `compatible`"},
		{Key: "ca_file", field: "CAFile", Env: "ARTOO_CA_FILE", Kind: KindString,
			Meaning: "PEM file of root certificates to trust besides the system's"},
		{Key: "offline", field: "Offline", Env: "ARTOO_OFFLINE", Kind: KindBool, Default: "false",
			Meaning: "refuse every address that is not loopback, private or listed"},
		{Key: "effort", field: "Effort", Flag: "effort", Arg: "LEVEL", Env: "ARTOO_EFFORT", Kind: KindEnum,
			Choices: []string{"off", "low", "medium", "high", "max"}, DefaultNote: "the model's own", Meaning: "reasoning effort"},
		{Key: "temperature", field: "Temperature", Env: "ARTOO_TEMPERATURE", Kind: KindFloat, Max: 2,
			DefaultNote: "not sent", Meaning: "sampling temperature, sent only when set"},
		{Key: "idle_timeout", field: "IdleTimeout", Env: "ARTOO_IDLE_TIMEOUT", Kind: KindDuration, Default: "5m",
			DefaultNote: "5m; 10m before the first byte; none for loopback and private addresses", Meaning: "longest silence within a reply; 0 for none"},
		{Key: "request_timeout", field: "RequestTimeout", Env: "ARTOO_REQUEST_TIMEOUT", Kind: KindDuration, Positive: true,
			DefaultNote: "none", Meaning: "longest time for the whole of one request"},
	})
}

func agentLimits() []Option {
	return within("agent", groupLimits, []Option{
		{Key: "max_turns", field: "MaxTurns", Flag: "max-turns", Arg: "N", Env: "ARTOO_MAX_TURNS", Kind: KindInt, Default: "50", DefaultNote: "50; headless 200", Positive: true,
			Meaning: "steps (requests to the model) per turn"},
		{Key: "max_cost", field: "MaxCost", Flag: "max-cost", Arg: "USD", Env: "ARTOO_MAX_COST", Kind: KindFloat, Positive: true,
			DefaultNote: "no cap", Meaning: "US dollars per run; needs a model whose price is known"},
		{Key: "max_total_tokens", field: "MaxTotalTokens", Env: "ARTOO_MAX_TOTAL_TOKENS", Kind: KindInt, Positive: true,
			DefaultNote: "no cap", Meaning: "tokens per run"},
		{Key: "max_time", field: "MaxTime", Flag: "max-time", Arg: "TIME", Env: "ARTOO_MAX_TIME", Kind: KindDuration, Positive: true,
			DefaultNote: "no cap", Meaning: "wall clock per run (90s, 10m), less waiting for the person"},
		{Key: "daily_cost", field: "DailyCost", Env: "ARTOO_DAILY_COST", Kind: KindFloat, Positive: true,
			DefaultNote: "no cap", Meaning: "US dollars per day over all runs of this user; comes with a later version"},
		{Key: "max_retry_time", field: "MaxRetryTime", Env: "ARTOO_MAX_RETRY_TIME", Kind: KindDuration, Default: "2m",
			Meaning: "all waiting for retries of one request; five tries"},
		{Key: "max_concurrent_tools", field: "MaxConcurrentTools", Env: "ARTOO_MAX_CONCURRENT_TOOLS", Kind: KindInt, Default: "4", Positive: true, Max: 64,
			Meaning: "read-only tool calls side by side"},
		{Key: "shell_timeout", field: "ShellTimeout", Env: "ARTOO_SHELL_TIMEOUT", Kind: KindDuration, Default: "120s", Positive: true,
			Meaning: "time a shell command gets when the model names none"},
		{Key: "shell_timeout_max", field: "ShellTimeoutMax", Env: "ARTOO_SHELL_TIMEOUT_MAX", Kind: KindDuration, Default: "30m", Positive: true,
			Meaning: "most time the model may ask for"},
	})
}

func agentContext() []Option {
	return within("agent", groupContext, []Option{
		{Key: "max_tokens", field: "MaxTokens", Env: "ARTOO_MAX_TOKENS", Kind: KindInt, Default: "8192", Positive: true,
			Meaning: "tokens per reply, at most a quarter of the model's window"},
		{Key: "max_context_tokens", field: "MaxContextTokens", Env: "ARTOO_MAX_CONTEXT_TOKENS", Kind: KindInt, Default: "180000", Positive: true,
			Aliases: []string{"context_budget"}, Meaning: "context budget in tokens, never more than the window less the reply"},
		{Key: "tool_result_max_chars", field: "ToolResultMaxChars", Env: "ARTOO_TOOL_RESULT_MAX_CHARS", Kind: KindInt, Default: "10000", Positive: true,
			Meaning: "a longer tool result is cut for the model; the whole is in a file it can read. A page of read or grep has up to five times as much, 50 KB at most"},
		{Key: "compact", field: "Compact", Env: "ARTOO_COMPACT", Kind: KindEnum, Default: "ask", Choices: []string{"trim", "auto", "ask"},
			Meaning: "at a full budget; trim: shorten and say so; auto: summarise, with a later version; ask: a question, or trim where nobody is there"},
		{Key: "tools", field: "Tools", Flag: "tools", Arg: "LIST", Env: "ARTOO_TOOLS", Kind: KindList,
			DefaultNote: "the set for most work", Meaning: "`all`, a list, or +name,-name to change the default set"},
		{Key: "system", field: "System", Flag: "system", Arg: "TEXT", Env: "ARTOO_SYSTEM", Kind: KindString, Empty: true,
			Meaning: "replaces the system prompt"},
		{Key: "append_system", field: "AppendSystem", Flag: "append-system", Arg: "TEXT", Env: "ARTOO_APPEND_SYSTEM", Kind: KindString, Empty: true,
			Meaning: "is added to the system prompt"},
		{Key: "add_dirs", field: "AddDirs", Flag: "add-dir", Arg: "DIR[:rw]", Env: "ARTOO_ADD_DIRS", Kind: KindList, Adds: true, Unsplit: true,
			Meaning: "one more directory for the file tools, read-only unless :rw"},
	})
}

func permissionOptions() []Option {
	return within("permissions", groupPermissions, []Option{
		{Key: "approval", field: "Approval", Flag: "approval", Arg: "MODE", Env: "ARTOO_APPROVAL", Kind: KindEnum, Default: "ask",
			Choices: []string{"ask", "edits", "auto", "plan"}, Synonyms: map[string]string{"prompt": "ask"}, Aliases: []string{"approval_mode"}, AlsoIn: "agent",
			Meaning: "what runs unasked; ask: only reading; edits: also writes in the project; auto: all the sandbox confines; plan: reading, and all else is refused"},
		{Key: "allow", field: "Allow", Flag: "allow", Arg: "RULE", Env: "ARTOO_ALLOW", Kind: KindList, Adds: true,
			Meaning: "calls that need no question, like 'bash(go test:*)'"},
		{Key: "ask", field: "Ask", Flag: "ask", Arg: "RULE", Env: "ARTOO_ASK", Kind: KindList, Adds: true,
			Meaning: "calls that are asked whatever the mode"},
		{Key: "deny", field: "Deny", Flag: "deny", Arg: "RULE", Env: "ARTOO_DENY", Kind: KindList, Adds: true,
			Meaning: "calls that are refused, over ask and allow"},
		{Key: "sandbox", field: "Sandbox", Env: "ARTOO_SANDBOX", Kind: KindEnum, Default: "auto", Choices: []string{"auto", "on", "off"},
			Meaning: "confine shell commands; auto: where possible; on: or fail; off: never; nothing confines them before a later version"},
		{Key: "pass_env", field: "PassEnv", Env: "ARTOO_PASS_ENV", Kind: KindList, Adds: true,
			Meaning: "credential-like variables that commands may see"},
		{Key: "writable", field: "Writable", Env: "ARTOO_WRITABLE", Kind: KindList, Adds: true,
			Meaning: "further directories that confined commands may write, such as tool caches"},
	})
}

func uiOptions() []Option {
	return within("ui", groupOutput, []Option{
		{Key: "output", field: "Output", Flag: "output", Short: "o", Arg: "FORMAT", Env: "ARTOO_OUTPUT", Kind: KindEnum, Default: "text",
			Choices: []string{"text", "json", "jsonl"}, Meaning: "what stdout gets; text: the answer; json: one object at the end; jsonl: one event per line"},
		{Key: "schema", field: "Schema", Flag: "schema", Arg: "FILE", Env: "ARTOO_SCHEMA", Kind: KindString,
			Meaning: "the answer must be JSON of this schema; comes with a later version"},
		{Key: "quiet", field: "Quiet", Flag: "quiet", Short: "q", Env: "ARTOO_QUIET", Kind: KindBool, Default: "false",
			Meaning: "nothing on stderr unless something fails"},
		{Key: "ui", field: "UI", Flag: "ui", Arg: "PROFILE", Env: "ARTOO_UI", Kind: KindEnum, Default: "auto", Choices: []string{"auto", "rich", "plain", "spoken"},
			Meaning: "how the terminal is used; TERM=dumb and Emacs mean plain, ACCESSIBLE=1 spoken"},
		{Key: "color", field: "Color", Flag: "color", Arg: "WHEN", Env: "ARTOO_COLOR", Kind: KindEnum, Default: "auto", Choices: []string{"auto", "always", "never"},
			Meaning: "colour; wins over NO_COLOR and CLICOLOR"},
		{Key: "status", field: "Status", Env: "ARTOO_STATUS", Kind: KindEnum, Default: "short", Choices: []string{"full", "short", "off"},
			Meaning: "status line after each turn"},
		{Key: "notify", field: "Notify", Env: "ARTOO_NOTIFY", Kind: KindString, Default: "off",
			Meaning: "when a question waits or a turn over 10 s ends: bell, osc9, osc777, osc99 (what the terminal understands), or a command that gets the text as its last argument; off: nothing"},
		{Key: "history", field: "History", Env: "ARTOO_HISTORY", Kind: KindBool, Default: "on",
			Meaning: "keep what was typed for the next session"},
		{Key: "pager", field: "Pager", Env: "ARTOO_PAGER", Kind: KindString, Empty: true,
			DefaultNote: "$PAGER, then less", Meaning: "program that shows long texts; cat: none"},
		{Key: "edit_mode", field: "EditMode", Env: "ARTOO_EDIT_MODE", Kind: KindEnum, Default: "emacs", Choices: []string{"emacs", "vi"},
			Meaning: "keys of the prompt"},
	})
}

func inputOptions() []Option {
	return within("ui", groupInput, []Option{
		{Key: "stdin", field: "Stdin", Flag: "stdin", Arg: "WHEN", Env: "ARTOO_STDIN", Kind: KindEnum, Default: "auto", Choices: []string{"auto", "never"},
			Meaning: "piped input beside a prompt; auto: read; never: left alone"},
		{Key: "stdin_wait", field: "StdinWait", Env: "ARTOO_STDIN_WAIT", Kind: KindDuration, Default: "3s",
			Meaning: "wait for the first byte of a pipe where nobody watches"},
		{Key: "stdin_max", field: "StdinMax", Env: "ARTOO_STDIN_MAX", Kind: KindBytes, Default: "1GiB", Positive: true,
			Meaning: "most input that is read"},
	})
}

func sessionOptions() []Option {
	return within("session", groupSession, []Option{
		{Key: "print", field: "Print", Flag: "print", Short: "p", Kind: KindBool, Default: "false", NoFile: true,
			Meaning: "print the answer and leave; never asks"},
		{Key: "interactive", field: "Interactive", Flag: "interactive", Kind: KindBool, Default: "false", NoFile: true,
			Meaning: "make a conversation of any streams: one line is one message"},
		{Key: "continue", field: "Continue", Flag: "continue", Short: "c", Kind: KindBool, Default: "false", NoFile: true,
			Meaning: "go on with the newest session of this directory"},
		{Key: "resume", field: "Resume", Flag: "resume", Short: "r", Arg: "ID", Kind: KindString, NoFile: true,
			Meaning: "go on with this session; a unique prefix will do"},
		{Key: "ephemeral", field: "Ephemeral", Flag: "ephemeral", Env: "ARTOO_EPHEMERAL", Kind: KindBool, Default: "false",
			Meaning: "keep no session file"},
		{Key: "debug", field: "Debug", Flag: "verbose", Short: "v", Env: "ARTOO_DEBUG", Kind: KindBool, Default: "false",
			Meaning: "what is sent and received, to stderr, secrets masked"},
		{Key: "log", field: "Log", Env: "ARTOO_LOG", Kind: KindString,
			Meaning: "file that gets the same as JSON lines"},
		{Key: "config", field: "Config", Flag: "config", Arg: "FILE", Env: "ARTOO_CONFIG", Kind: KindString, NoFile: true,
			DefaultNote: "$XDG_CONFIG_HOME/artoo/config.toml", Meaning: "config file"},
		{Key: "no_project", field: "NoProject", Flag: "no-project", Env: "ARTOO_NO_PROJECT", Kind: KindBool, Default: "false",
			Meaning: "ignore everything the repository brings"},
	})
}

// within puts options into a section of the file and a group of the help.
func within(section, group string, options []Option) []Option {
	for i := range options {
		options[i].Section, options[i].Group = section, group
	}
	return options
}
