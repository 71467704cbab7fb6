package config

import "artoo/provider"

// Foreign is a variable that is not artoo's own but that it honours.
type Foreign struct {
	Name    string
	Meaning string
}

// ForeignVariables is the table of the variables artoo reads besides its own,
// in the order in which the help lists them.
func ForeignVariables() []Foreign {
	var all []Foreign
	for _, f := range provider.Known() {
		for _, v := range f.KeyVars {
			what := "key for "
			if v == f.TokenVar {
				what = "bearer token for "
			}
			all = append(all, Foreign{v, what + f.Name})
		}
	}
	for _, f := range provider.Known() {
		if f.URLVar != "" {
			all = append(all, Foreign{f.URLVar, "address of " + f.Name})
		}
	}
	for _, v := range searchVariables {
		all = append(all, Foreign{v.name, v.meaning})
	}
	return append(all, []Foreign{
		{"GOOGLE_APPLICATION_CREDENTIALS", "file with credentials for auth = \"google\", in place of gcloud's own"},
		{"AWS_ACCESS_KEY_ID", "with AWS_SECRET_ACCESS_KEY: credentials for auth = \"sigv4\""},
		{"AWS_SECRET_ACCESS_KEY", "see AWS_ACCESS_KEY_ID"},
		{"AWS_SESSION_TOKEN", "token of temporary credentials"},
		{"AWS_BEARER_TOKEN_BEDROCK", "a bearer key in place of a signature"},
		{"AWS_PROFILE", "the profile with the credentials; default when not set"},
		{"AWS_CONFIG_FILE", "profiles; ~/.aws/config when not set"},
		{"AWS_SHARED_CREDENTIALS_FILE", "profiles; ~/.aws/credentials when not set"},
		{"AWS_REGION", "region, if the address names none"},
		{"AWS_DEFAULT_REGION", "like AWS_REGION, which comes first"},
		{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "where to ask for a container's role"},
		{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "the same, as a whole address"},
		{"AWS_CONTAINER_AUTHORIZATION_TOKEN", "authorization that is sent there"},
		{"AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "file with that authorization"},
		{"AWS_WEB_IDENTITY_TOKEN_FILE", "refused: exchange it with AWS's own tool"},
		{"AWS_EC2_METADATA_DISABLED", "true: do not ask for the instance's role"},
		{"AWS_EC2_METADATA_SERVICE_ENDPOINT", "where to ask for the instance's role"},
		{"HTTPS_PROXY", "proxy for https addresses; https_proxy too"},
		{"HTTP_PROXY", "proxy for http addresses; http_proxy too"},
		{"NO_PROXY", "hosts that are reached without a proxy; no_proxy too"},
		{"SSL_CERT_FILE", "file of root certificates"},
		{"SSL_CERT_DIR", "directories of root certificates"},
		{"HOME", "home directory; if not set, the one in the system's list of users"},
		{"XDG_CONFIG_HOME", "config file; ~/.config when not set"},
		{"XDG_DATA_HOME", "credentials; ~/.local/share when not set"},
		{"XDG_STATE_HOME", "sessions, history; ~/.local/state when not set"},
		{"XDG_CACHE_HOME", "caches; ~/.cache when not set"},
		{"TMPDIR", "directory for temporary files"},
		{"PATH", "where commands are found"},
		{"NO_COLOR", "not empty: no colour"},
		{"CLICOLOR", "0: no colour"},
		{"CLICOLOR_FORCE", "not empty and not 0: colour also without a terminal"},
		{"FORCE_COLOR", "as CLICOLOR_FORCE"},
		{"TERM", "dumb, unknown or not set: plain output"},
		{"TERM_PROGRAM", "names terminals that show links"},
		{"KITTY_WINDOW_ID", "as TERM_PROGRAM"},
		{"ALACRITTY_WINDOW_ID", "as TERM_PROGRAM"},
		{"VTE_VERSION", "as TERM_PROGRAM"},
		{"WT_SESSION", "as TERM_PROGRAM"},
		{"STY", "inside screen: no links"},
		{"TMUX", "inside tmux: no links"},
		{"COLUMNS", "width, in place of the terminal's own"},
		{"INSIDE_EMACS", "plain output in Emacs' shell buffers"},
		{"ACCESSIBLE", "1: output for screen readers"},
		{"LC_ALL", "locale; shows whether the terminal can do UTF-8"},
		{"LC_CTYPE", "like LC_ALL, which comes first"},
		{"LANG", "like the two above, which come first"},
		{"SSH_CONNECTION", "over ssh: a slower progress line, no clipboard for /copy, no browser"},
		{"SSH_TTY", "as SSH_CONNECTION"},
		{"container", "not empty: root in a container may work in a project"},
		{"KUBERNETES_SERVICE_HOST", "as container"},
		{"SUDO_UID", "for root: the user whose repositories it may use, as in git"},
		{"GIT_CEILING_DIRECTORIES", "directories in and above which no project is looked for, as in git"},
		{"RIPGREP_CONFIG_PATH", "set: artoo cannot tell which files rg reads"},
		{"GOFLAGS", "set: artoo asks before every go command"},
		{"GOENV", "where go keeps its settings"},
		{"GOMODCACHE", "where go keeps modules; shows whether it would fetch one"},
		{"GOPATH", "its pkg/mod is used if GOMODCACHE is not set"},
		{"SHELL", "runs lines typed after !"},
		{"WAYLAND_DISPLAY", "/copy: wl-copy fills the clipboard"},
		{"DISPLAY", "/copy: xclip or xsel does"},
		{"DBUS_SESSION_BUS_ADDRESS", "where the keyring is"},
		{"CI", "not empty, 0 or false: a prompt on the command line makes the run headless"},
		{"VISUAL", "editor for long input"},
		{"EDITOR", "like VISUAL, which comes first"},
		{"BROWSER", "artoo mcp login: program that opens the address"},
		{"PAGER", "pager, if ARTOO_PAGER is not set; empty or cat: none"},
		{"LESS", "options of less, FRX when not set"},
		{"LV", "options of lv, -c when not set"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "collector of OpenTelemetry; if none is set, nothing is sent"},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "the whole address for spans"},
		{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "the whole address for metrics"},
		{"OTEL_EXPORTER_OTLP_HEADERS", "headers for the collector; commands do not get them"},
		{"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "the same, only for spans"},
		{"OTEL_EXPORTER_OTLP_METRICS_HEADERS", "the same, only for metrics"},
		{"OTEL_EXPORTER_OTLP_TIMEOUT", "milliseconds that the collector has to answer"},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc: nothing is sent, with a warning"},
		{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "the same, only for spans"},
		{"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "the same, only for metrics"},
		{"OTEL_TRACES_EXPORTER", "none: no spans"},
		{"OTEL_METRICS_EXPORTER", "none: no metrics"},
		{"OTEL_SERVICE_NAME", "artoo's name there"},
		{"OTEL_RESOURCE_ATTRIBUTES", "attributes to add to everything that is sent"},
		{"OTEL_SDK_DISABLED", "true: nothing is sent"},
		{"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true: messages are sent too"},
		{"TRACEPARENT", "the span that turns belong to"},
		{"TMUX", "set: a notification is a bell"},
		{"STY", "as TMUX"},
	}...)
}

// Files is the table of the files that artoo reads and writes, by the path that
// a user would write, in the order in which the manual lists them.
func Files() []Foreign {
	return []Foreign{
		{"~/.config/artoo/config.toml", "settings; artoo saves permanently allowed rules here"},
		{"~/.config/artoo/AGENTS.md", "instructions for every project"},
		{"~/.local/share/artoo/credentials.toml", "stored keys, and which are in the keyring; a .lock file beside it"},
		{"~/.local/state/artoo/sessions/", "one file of JSON lines for each session, kept until it is removed"},
		{"~/.local/state/artoo/history", "lines typed at the prompt"},
		{"~/.local/state/artoo/trust.json", "project settings that were trusted or refused"},
		{"AGENTS.md", "instructions, in the project's root and the directories down to the working one; " +
			"AGENT.md, CLAUDE.md, .claude/CLAUDE.md and CLAUDE.local.md too"},
		{".artoo/config.toml", "the project's own settings, once they are trusted"},
	}
}
