package provider

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// KeyNeed says whether a provider wants a key.
type KeyNeed int

// The abilities and needs of a provider.
const (
	KeyRequired KeyNeed = iota
	KeyOptional         // a server that may want one
	KeyNever            // nothing to send one to
)

// Compatible is the provider that an address without a name means.
const Compatible = "compatible"

// Facts describe a provider without asking it.
type Facts struct {
	Name    string
	BaseURL string // "" where the user runs it, or where it is no server
	Key     KeyNeed
	KeyVars []string // the variables of its key, the first that is set wins; nil means NAME_API_KEY
	// TokenVar is the one of KeyVars that holds a bearer token, whatever the wire, or "".
	TokenVar string
	Secrets  []string // other variables that hold a key or token of it, which artoo does not read
	URLVar   string   // the variable its own tools take the address from; may be ""
	// KeyPrefixes are how its keys begin, the usual one first; or nil.
	KeyPrefixes []string
	NotKeys     []NotKey // strings that users mistake for a key
	Check       Check
	// Wire and Auth are how its server is spoken to where no setting says so; "" where that is not always the same.
	Wire  Wire
	Auth  Auth
	Cloud *Cloud // nil where one address serves all users, or where the user runs it

	DefaultModel string // taken where only the provider is named, or ""
	// AnyModel names the one model of a server without DefaultModel; "" where one must be named.
	AnyModel string
	// Vendor is how routers call it before the slash of a model's id, or "".
	Vendor   string
	Families []Family // the first that fits a model decides
	// Short are words for the newest of its models whose ids begin so, as files for its own tools have them.
	Short        map[string]string
	NewSee       bool // models of it that are unknown yet can be taken to see
	VendorModels bool // its own ids are vendor/model, and the vendor may be called as it is
	Billed       bool // it reports the cost of each reply
	ManyImages   bool // its API takes twice the images of the narrower gateways

	// Convention is its name in the conventions of OpenTelemetry; "" is Name.
	Convention string

	Program string // the coding CLI that is run; "" for all else
	Local   *Local // nil for all but servers of the user's own models
}

// NotKey is a text that is no key, by its beginning.
type NotKey struct{ Prefix, Why, Hint string }

// Check is the cheap question that needs a key. The zero value asks for the list of models.
type Check struct {
	Path       string            // below the address; "" means models
	FromRoot   bool              // Path begins at the server's root, whatever the path of the address
	Control    bool              // BedrockControl of the address's host is asked
	Auth       Auth              // "" means a bearer token
	Headers    map[string]string // others that it needs
	BadRequest bool              // a key that it does not know is a bad request (400), too
}

// Local is a server of the user's own models: it needs no key and costs nothing.
type Local struct {
	Title   string // its name in a sentence
	Program string
	Start   string // the command that starts it
	Fetch   string // the command that fetches a model, without its name
}

// Family is the least that models whose ids begin so have.
type Family struct {
	Prefix    string // a # at its end stands for a digit that ends the id or its first word
	MaxOutput int
	Images    bool
	Reasoning bool
	Open      bool // open weights: anyone may serve it
	Patches   bool // trained on the patches of apply_patch
}

func (f Family) has(id string) bool {
	stem, digit := strings.CutSuffix(f.Prefix, "#")
	if !strings.HasPrefix(id, stem) {
		return false
	}
	rest := id[len(stem):]
	return !digit || rest != "" && rest[0] >= '1' && rest[0] <= '9' && (len(rest) == 1 || rest[1] == '-')
}

// Known are the providers with a name of their own, as users see them. Callers must not change it.
var Known = sync.OnceValue(func() []Facts {
	return []Facts{
		{
			Name: "anthropic", Wire: WireMessages, BaseURL: "https://api.anthropic.com",
			KeyVars: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"}, TokenVar: "ANTHROPIC_AUTH_TOKEN",
			URLVar: "ANTHROPIC_BASE_URL", KeyPrefixes: []string{"sk-ant-"},
			NotKeys: []NotKey{{
				"sk-ant-oat", "this is the token of a subscription, which the API does not take",
				"a key of the console begins with sk-ant-api",
			}},
			Check: Check{
				Path: "v1/models", Auth: AuthXAPIKey,
				Headers: map[string]string{"Anthropic-Version": "2023-06-01"},
			},
			DefaultModel: "claude-sonnet-5-5", Vendor: "anthropic", NewSee: true, ManyImages: true,
			Short: map[string]string{"sonnet": "claude-sonnet-", "opus": "claude-opus-", "haiku": "claude-haiku-", "fable": "claude-fable-"},
			Families: []Family{
				{Prefix: "claude-3", MaxOutput: 4_096, Images: true},
				{Prefix: "claude-", MaxOutput: 32_000, Images: true, Reasoning: true},
			},
		},
		{
			Name: "openai", BaseURL: "https://api.openai.com/v1",
			KeyVars: []string{"OPENAI_API_KEY"}, URLVar: "OPENAI_BASE_URL",
			KeyPrefixes:  []string{"sk-proj-", "sk-svcacct-", "sk-"},
			DefaultModel: "gpt-6.1-terra", Vendor: "openai", NewSee: true,
			Families: []Family{
				{Prefix: "gpt-3", MaxOutput: 4_096},
				{Prefix: "gpt-4.1", MaxOutput: 16_384, Images: true, Patches: true},
				{Prefix: "gpt-4", MaxOutput: 16_384, Images: true},
				{Prefix: "gpt-5", MaxOutput: 128_000, Images: true, Reasoning: true, Patches: true},
				{Prefix: "gpt-oss", MaxOutput: guessOutput, Reasoning: true, Open: true},
				{Prefix: "gpt-", MaxOutput: 16_384, Images: true, Reasoning: true, Patches: true},
				{Prefix: "chatgpt-", MaxOutput: 16_384, Images: true},
				{Prefix: "codex-", MaxOutput: 16_384, Images: true, Reasoning: true, Patches: true},
				{Prefix: "o#", MaxOutput: 64_000, Images: true, Reasoning: true}, // o3, o4-mini
			},
		},
		{
			Name: "gemini", Convention: "gcp.gemini", Wire: WireGemini, BaseURL: "https://generativelanguage.googleapis.com",
			KeyVars: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, URLVar: "GOOGLE_GEMINI_BASE_URL",
			KeyPrefixes:  []string{"AIza"},
			Check:        Check{Path: "v1beta/models", Auth: AuthGoogAPIKey, BadRequest: true},
			DefaultModel: "gemini-3.8-flash", Vendor: "google", NewSee: true,
			Families: []Family{
				{Prefix: "gemini-1", MaxOutput: 8_192, Images: true},
				{Prefix: "gemini-2.0", MaxOutput: 8_192, Images: true},
				{Prefix: "gemini-", MaxOutput: 50_000, Images: true, Reasoning: true},
			},
		},
		{
			Name: "deepseek", BaseURL: "https://api.deepseek.com",
			KeyVars: []string{"DEEPSEEK_API_KEY"}, KeyPrefixes: []string{"sk-"},
			DefaultModel: "deepseek-v4-pro", Vendor: "deepseek",
			Families: []Family{{Prefix: "deepseek-", MaxOutput: guessOutput, Reasoning: true}},
		},
		{
			Name: "openrouter", BaseURL: "https://openrouter.ai/api/v1",
			KeyVars: []string{"OPENROUTER_API_KEY"}, KeyPrefixes: []string{"sk-or-"},
			Check: Check{Path: "key"}, DefaultModel: "anthropic/claude-sonnet-5.5", VendorModels: true,
		},
		{
			Name: "ollama", Key: KeyOptional, URLVar: "OLLAMA_HOST", Check: Check{Path: "api/version"},
			Local: &Local{Title: "Ollama", Program: "ollama", Start: "ollama serve", Fetch: "ollama pull"},
		},
		// The clouds: each user has an address of their own.
		{Name: "azure", Convention: "azure.ai.openai", Cloud: azure(), Wire: WireResponses, Auth: AuthAPIKey, Key: KeyOptional, KeyVars: []string{"AZURE_API_KEY"}, NewSee: true},
		{Name: "bedrock", Convention: "aws.bedrock", Cloud: bedrock(), Wire: WireConverse, Auth: AuthSigV4, Key: KeyOptional, NewSee: true},
		{Name: "vertex", Convention: "gcp.vertex_ai", Cloud: vertex("aiplatform.googleapis.com", "global", ""), Wire: WireGemini, Auth: AuthGoogle, Key: KeyOptional, NewSee: true},
		{Name: "vertex-claude", Convention: "gcp.vertex_ai", Wire: WireMessages, Auth: AuthGoogle, Key: KeyOptional, NewSee: true,
			Cloud: vertex("REGION-aiplatform.googleapis.com", "REGION", ", REGION one that has the model, such as europe-west1")},
		{Name: Compatible, Key: KeyOptional, AnyModel: AnyModelName},
		{
			Name: "claude-cli", Key: KeyNever, AnyModel: AnyModelName, Program: "claude",
			Secrets: []string{"CLAUDE_CODE_OAUTH_TOKEN"}, Billed: true,
		},
		{Name: "codex-cli", Key: KeyNever, AnyModel: AnyModelName, Program: "codex", Secrets: []string{"CODEX_API_KEY"}},
		{Name: "gemini-cli", Key: KeyNever, AnyModel: AnyModelName, Program: "gemini"},
		{Name: "demo", Key: KeyNever, DefaultModel: "demo", Vendor: "demo"},
	}
})

// Names are those of Known.
func Names() []string {
	var names []string
	for _, f := range Known() {
		names = append(names, f.Name)
	}
	return names
}

// AnyModelName is how users name whichever model a server or program has.
const AnyModelName = "default"

// FactsOf finds the facts of a provider. An unknown name is a server with Chat Completions.
func FactsOf(name string) (f Facts, known bool) {
	for _, f := range Known() {
		if f.Name == name {
			return f, true
		}
	}
	return Facts{Name: name, Key: KeyOptional}, false
}

// ConventionName is how the conventions of OpenTelemetry call a provider: as artoo does for those that they do not name.
func ConventionName(name string) string {
	f, _ := FactsOf(name)
	return cmp.Or(f.Convention, name)
}

// KeyVariables are the variables of the provider's key, the first that is set wins; or nil.
func (f Facts) KeyVariables() []string {
	if f.Key == KeyNever || len(f.KeyVars) > 0 || (Form{Auth: f.Auth}).Keyless() {
		return f.KeyVars
	}
	return []string{strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_")) + "_API_KEY"}
}

// KeyVariables are all variables with a key or token: no child process may see them.
func KeyVariables() (names []string) {
	for _, f := range Known() {
		names = slices.Concat(names, f.KeyVariables(), f.Secrets)
	}
	return names
}

// FamilyOf is the provider whose models have such IDs, "" for open weights and local tags.
func FamilyOf(model string) string {
	name, f := familyOf(model)
	if f.Open || strings.Contains(model, ":") {
		return ""
	}
	return name
}

// familyOf finds the family of a model and its maker, or "".
func familyOf(id string) (vendor string, found Family) {
	for _, f := range Known() {
		for _, family := range f.Families {
			if family.has(id) {
				return f.Name, family
			}
		}
	}
	return "", Family{}
}
