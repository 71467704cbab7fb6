package config

// Settings is all that can be set: a setting is one field. Its type decodes the value, and
// its tags hold all else, for the config file, the variables, the flags, the help, the
// documentation and /config:
//
//	section, group  of a heading: section of the file, heading of the help for the fields below
//	toml            key in the file, then other keys that are accepted; - for no key
//	split_words     names the variable for envconfig: ARTOO_ and the field's words
//	ignored         excludes the variable
//	flag            as the help shows it
//	preset, shown   default as it would be written; text that is shown instead
//	choices         all values, in the order in which they are listed
//	synonym         other word for a choice
//	max, zero       largest number; whether 0 is a value
//	empty, unsplit  whether the empty text is a value; whether a flag's commas are part of its value
//	meaning         for people, lower case, without full stop
//
// A number or time without preset is 0 as long as it is not set, and 0 cannot be
// written for it. A List of several places adds up, other lists replace each other.
type Settings struct {
	_ heading `section:"provider" group:"Model"`

	// Model is "" for the default of the provider, Provider where Choose decides.
	Model    string `split_words:"true" toml:"model" flag:"-m --model ID" shown:"the provider's current one" meaning:"model id, or provider/model"`
	Provider string `split_words:"true" toml:"provider,default" flag:"--provider NAME" shown:"the one you have a key for" meaning:"provider: a known one, or one from the config file"`
	// Fallback are names as Model takes them.
	Fallback       Order  `split_words:"true" toml:"fallback" shown:"none" meaning:"models that take over, in this order, for the rest of a turn whose model fails or cannot be reached"`
	APIKey         Secret `split_words:"true" toml:"api_key" meaning:"key for the chosen provider; overrides every other source"`
	APIKeyFile     string `split_words:"true" toml:"api_key_file" meaning:"file whose first line is that key"`
	BaseURL        string `split_words:"true" toml:"base_url" shown:"the provider's own" meaning:"endpoint for the chosen provider; alone it means the provider \x60compatible\x60"`
	CAFile         string `split_words:"true" toml:"ca_file" meaning:"PEM file of root certificates to trust besides the system's"`
	ModelsURL      string `split_words:"true" toml:"models_url" meaning:"address of newer facts about models, like models.dev's api.json, for artoo models --update"`
	Offline        Switch `split_words:"true" toml:"offline" meaning:"refuse every address that is not loopback or private, and use no proxy"`
	Effort         string `split_words:"true" toml:"effort" flag:"--effort LEVEL" shown:"the model's own" choices:"off,low,medium,high,max" meaning:"reasoning effort"`
	Temperature    Number `split_words:"true" toml:"temperature" shown:"not sent" zero:"ok" max:"2" meaning:"sampling temperature"`
	IdleTimeout    Time   `split_words:"true" toml:"idle_timeout" preset:"5m" shown:"5m; 10m before the first byte; none for loopback and private addresses" zero:"ok" meaning:"longest silence within a reply; 0: no limit"`
	RequestTimeout Time   `split_words:"true" toml:"request_timeout" shown:"none" meaning:"longest time for one request"`

	_ heading `section:"agent" group:"Limits"`

	MaxTurns           Whole  `split_words:"true" toml:"max_turns" flag:"--max-turns N" preset:"50" shown:"50; headless 200" meaning:"steps (requests to the model) per turn"`
	MaxCost            Number `split_words:"true" toml:"max_cost" flag:"--max-cost USD" shown:"no cap" meaning:"US dollars per run; needs a model whose price is known"`
	DailyCost          Number `split_words:"true" toml:"daily_cost" shown:"no cap" meaning:"US dollars per local day for all your runs; needs a model whose price is known"`
	MaxTotalTokens     Whole  `split_words:"true" toml:"max_total_tokens" shown:"no cap" meaning:"tokens per run"`
	MaxTime            Time   `split_words:"true" toml:"max_time" flag:"--max-time TIME" shown:"no cap" meaning:"wall-clock limit per run (90s, 10m), not counting time spent waiting for you"`
	MaxFiles           Whole  `split_words:"true" toml:"max_files" flag:"--max-files N" shown:"no cap" meaning:"paths that a run may change; a renamed file counts as two"`
	MaxLines           Whole  `split_words:"true" toml:"max_lines" flag:"--max-lines N" shown:"no cap" meaning:"lines that a run may add and remove together; a binary file counts one per 80 bytes"`
	Only               Order  `split_words:"true" toml:"only" flag:"--only GLOB" unsplit:"yes" shown:"all" meaning:"paths that a run may change, relative to the project, like 'docs/**'"`
	NoDelete           Switch `split_words:"true" toml:"no_delete" flag:"--no-delete" meaning:"the run may not remove, rename or empty what was there when it began"`
	MaxRetryTime       Time   `split_words:"true" toml:"max_retry_time" preset:"2m" zero:"ok" meaning:"longest total wait for retries of one request, of at most five tries"`
	WaitLimit          Time   `split_words:"true" toml:"wait_limit" flag:"--wait-limit TIME" shown:"no wait" meaning:"longest wait for a rate limit that says when it resets; a conversation asks before a longer one"`
	MaxConcurrentTools Whole  `split_words:"true" toml:"max_concurrent_tools" preset:"4" max:"64" meaning:"read-only tool calls that run at once"`
	ShellTimeout       Time   `split_words:"true" toml:"shell_timeout" preset:"120s" meaning:"time limit of a shell command, unless the model sets one"`
	ShellTimeoutMax    Time   `split_words:"true" toml:"shell_timeout_max" preset:"30m" meaning:"longest time limit that the model may set"`

	_ heading `section:"agent" group:"Context and tools"`

	MaxTokens          Whole  `split_words:"true" toml:"max_tokens" preset:"8192" meaning:"tokens per reply, at most a quarter of the model's window"`
	MaxContextTokens   Whole  `split_words:"true" toml:"max_context_tokens,context_budget" preset:"180000" meaning:"context budget in tokens, never more than the window less the reply"`
	ToolResultMaxChars Whole  `split_words:"true" toml:"tool_result_max_chars" preset:"10000" meaning:"a longer tool result is cut, and a file holds all of it; read: ten times as much, at most 100 KB; grep: half of what read gets"`
	Compact            string `split_words:"true" toml:"compact" preset:"ask" choices:"trim,auto,ask" meaning:"when the budget is full; trim: leave out the oldest; auto: let the model summarise; ask: you decide, trim if no one can answer"`
	SmallModel         string `split_words:"true" toml:"small_model" shown:"the session's model" meaning:"cheaper model for summaries, searches by sub-agents and a first look in reviews"`
	Until              string `split_words:"true" toml:"until" flag:"--until COMMAND" meaning:"headless: work on a copy; keep the changes once this shell command passes on it"`
	// Tools are as they were written, see SelectTools; nil is the default set.
	Tools        Tools  `split_words:"true" toml:"tools" flag:"--tools LIST" shown:"the usual ones" meaning:"\x60all\x60, a list, or +name,-name to change the default set"`
	System       string `split_words:"true" toml:"system" flag:"--system TEXT" empty:"ok" meaning:"replaces the system prompt"`
	AppendSystem string `split_words:"true" toml:"append_system" flag:"--append-system TEXT" empty:"ok" meaning:"added to the system prompt"`
	MCP          List   `split_words:"true" toml:"-" flag:"--mcp FILE|none" unsplit:"yes" meaning:"one more file of MCP servers, like .mcp.json; none: no servers"`
	// MCPClientMetadata is the packager's; "" registers with each server of a login.
	MCPClientMetadata string `split_words:"true" toml:"mcp_client_metadata" shown:"none" meaning:"https address of the document that identifies artoo at MCP logins; without it artoo registers itself"`
	AddDirs           List   `split_words:"true" toml:"add_dirs" flag:"--add-dir DIR[:rw]" unsplit:"yes" meaning:"one more directory for the file tools, read-only unless :rw"`

	_ heading `section:"permissions" group:"Permissions"`

	Approval string `split_words:"true" toml:"approval,approval_mode,agent.approval_mode" flag:"--approval MODE" preset:"ask" choices:"ask,edits,auto,plan" synonym:"prompt=ask" meaning:"how much artoo does unasked; ask: keeps build output; edits: also files; auto: also runs the project's own programs; plan: read-only"`
	Allow    List   `split_words:"true" toml:"allow" flag:"--allow RULE" meaning:"calls to allow without asking, like 'bash(go test:*)'"`
	Ask      List   `split_words:"true" toml:"ask" flag:"--ask RULE" meaning:"calls to ask about in every mode"`
	Deny     List   `split_words:"true" toml:"deny" flag:"--deny RULE" meaning:"calls to refuse; wins over --ask and --allow"`
	Hide     List   `split_words:"true" toml:"hide" flag:"--hide GLOB" unsplit:"yes" meaning:"files to hide from the model and its commands, like 'secrets/**', besides the built-in ones"`
	Show     List   `split_words:"true" toml:"show" unsplit:"yes" meaning:"hidden files to show, like .env.test; never those of --hide or the system's policy"`
	// AskProgram is a name on PATH or absolute, with ~ for the home directory.
	AskProgram string `split_words:"true" toml:"ask_program" shown:"none" meaning:"program that answers questions of headless runs: it reads JSON and prints yes or no"`
	AskTimeout Time   `split_words:"true" toml:"ask_timeout" preset:"60s" meaning:"longest time that program may take"`
	Sandbox    string `split_words:"true" toml:"sandbox" flag:"--sandbox MODE" preset:"auto" choices:"auto,on,off,external" meaning:"confine shell commands; auto: if this machine can; on: always, or fail; off: never; external: without layers, the machine itself (a container, say) is the sandbox"`
	// Writable and Toolchains are as they were written; Loopback are port numbers.
	Writable   List `split_words:"true" toml:"writable" unsplit:"yes" meaning:"directory to add like --add-dir DIR:rw; it must exist"`
	Toolchains List `split_words:"true" toml:"toolchains" unsplit:"yes" meaning:"directory of programs that confined commands may run, besides PATH and the system's"`
	Loopback   List `split_words:"true" toml:"loopback" meaning:"port of this machine that confined commands may connect to, like 5432"`
	// Hosts are as they were written: the arguments of rules hosts(…).
	Hosts   List `split_words:"true" toml:"hosts" flag:"--hosts HOST" meaning:"hosts that commands in the sandbox may reach: @npm @pypi @go @crates @rubygems @maven for installs, api.example for lines that name it, or 'api.example for make test:*'"`
	GitDirs List `split_words:"true" toml:"git_dirs" unsplit:"yes" meaning:"git directory to accept outside its work tree, for --separate-git-dir, the repo tool and shared object stores"`
	PassEnv List `split_words:"true" toml:"pass_env" meaning:"credential-like variables that commands may see"`

	_ heading `section:"skills" group:"Skills and commands"`

	SkillDirs List `split_words:"true" toml:"skill_dirs,dirs" unsplit:"yes" meaning:"directory with more skills; -NAME hides a skill or command"`

	_ heading `section:"memory" group:"Memory"`

	Memory Switch `split_words:"true" toml:"memory,on" meaning:"keep notes about each project, send up to 4 KB of them, and let the model ask to add a line"`

	_ heading `section:"web" group:"Web search"`

	// The first that is set is asked; see SearchEngine for the usual variables.
	SearxngURL   string `split_words:"true" toml:"searxng_url" meaning:"address of a SearXNG server for web_search, with json among its formats"`
	BraveAPIKey  Secret `split_words:"true" toml:"brave_api_key" meaning:"key for web_search with Brave"`
	TavilyAPIKey Secret `split_words:"true" toml:"tavily_api_key" meaning:"key for web_search with Tavily"`

	_ heading `section:"ui" group:"Output and terminal"`

	Output string `split_words:"true" toml:"output" flag:"-o --output FORMAT" preset:"text" choices:"text,json,jsonl,patch" meaning:"format of stdout; text: the answer; json: one object at the end; jsonl: one event per line; patch: the changes, leaving the project as it is"`
	Schema string `split_words:"true" toml:"-" flag:"--schema FILE|JSON" meaning:"headless: the answer must be JSON that fits this JSON Schema"`
	Quiet  Switch `split_words:"true" toml:"quiet" flag:"-q --quiet" meaning:"nothing on stderr unless something fails"`
	UI     string `split_words:"true" toml:"ui" flag:"--ui PROFILE" preset:"auto" choices:"auto,rich,plain,spoken" meaning:"how the terminal is used; TERM=dumb and Emacs mean plain, ACCESSIBLE=1 spoken"`
	Color  string `split_words:"true" toml:"color" flag:"--color WHEN" preset:"auto" choices:"auto,always,never" meaning:"colour; wins over NO_COLOR and CLICOLOR"`
	// Colors is as it was written, see Styles.
	Colors  string `split_words:"true" toml:"colors" meaning:"a palette: default, light (for light backgrounds) or colorblind; or styles as SGR numbers by name, like light:error=31; the names are you, ask, path, done, error, add, remove, meta, frag, context, code, dim; in diffs git's color.diff wins over the defaults"`
	Status  string `split_words:"true" toml:"status" preset:"short" meaning:"status line after each turn: full, short, off, or a command that reads the turn's numbers as JSON and prints a line within 2 s"`
	Notify  string `split_words:"true" toml:"notify" preset:"off" meaning:"how to notify you when a question waits or a turn over 10 s ends: off, bell, osc9, osc777, osc99, or a command that gets the text as its last argument"`
	Title   string `split_words:"true" toml:"title" preset:"auto" choices:"auto,on,off" meaning:"show what a conversation does in the title of the window, and its progress; auto: if the terminal is known to support that"`
	History Switch `split_words:"true" toml:"history" preset:"on" meaning:"keep typed lines for the next session"`
	// Pager is "" for $PAGER, then less, unless IsSet.
	Pager    string `split_words:"true" toml:"pager" shown:"$PAGER, then less" empty:"ok" meaning:"program that shows long texts; cat: none"`
	EditMode string `split_words:"true" toml:"edit_mode" preset:"emacs" choices:"emacs,vi" meaning:"keys of the prompt"`

	_ heading `section:"ui" group:"Input"`

	Input     string `toml:"-" ignored:"true" flag:"--input FORMAT" preset:"text" choices:"text,jsonl" meaning:"format of stdin; text: data for the message; jsonl: messages, answers and commands of a program, with -o jsonl"`
	Stdin     string `split_words:"true" toml:"stdin" flag:"--stdin WHEN" preset:"auto" choices:"auto,never" meaning:"piped input beside a prompt; auto: read it; never: ignore it"`
	StdinWait Time   `split_words:"true" toml:"stdin_wait" preset:"3s" zero:"ok" meaning:"how long a headless run waits for the first byte of a pipe"`
	StdinMax  Bytes  `split_words:"true" toml:"stdin_max" preset:"1GiB" meaning:"largest input that is read"`

	_ heading `section:"session" group:"Session"`

	Print       Switch `toml:"-" ignored:"true" flag:"-p --print" meaning:"print the answer and exit; never prompts"`
	Interactive Switch `toml:"-" ignored:"true" flag:"--interactive" meaning:"hold a conversation over any streams; each line is a message"`
	Continue    Switch `toml:"-" ignored:"true" flag:"-c --continue" meaning:"continue the newest session of this directory"`
	Resume      string `toml:"-" ignored:"true" flag:"-r --resume ID" meaning:"continue this session; a unique prefix will do"`
	Ephemeral   Switch `split_words:"true" toml:"ephemeral" flag:"--ephemeral" meaning:"keep no session file"`
	Debug       Switch `split_words:"true" toml:"debug" flag:"-v --verbose" meaning:"requests and replies to stderr, secrets masked"`
	Log         string `split_words:"true" toml:"log" meaning:"file for requests and replies, as JSON lines"`
	Config      string `split_words:"true" toml:"-" flag:"--config FILE" shown:"$XDG_CONFIG_HOME/artoo/config.toml" meaning:"config file"`
	Profile     string `split_words:"true" toml:"-" flag:"--profile NAME" meaning:"settings of [profile.NAME] override the rest of the config file"`
	NoProject   Switch `split_words:"true" toml:"no_project" flag:"--no-project" meaning:"ignore the project's settings and hooks"`
}

// heading begins a group of settings.
type heading struct{}
