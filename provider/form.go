package provider

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
)

// Wire is one of the interfaces that a server of the user's may speak.
type Wire string

// The wires that the settings name.
const (
	WireMessages  Wire = "messages"  // Anthropic's
	WireResponses Wire = "responses" // OpenAI's
	WireChat      Wire = "chat"      // Chat Completions
	WireGemini    Wire = "gemini"    // Google's generateContent
	WireConverse  Wire = "converse"  // Bedrock's ConverseStream
)

// Wires are all of them.
func Wires() []Wire { return []Wire{WireMessages, WireResponses, WireChat, WireGemini, WireConverse} }

// Auth is the way in which a key is sent.
type Auth string

// The ways in use.
const (
	AuthBearer     Auth = "bearer" // Authorization, with Bearer before the key
	AuthXAPIKey    Auth = "x-api-key"
	AuthAPIKey     Auth = "api-key"
	AuthGoogAPIKey Auth = "x-goog-api-key"
	AuthGoogle     Auth = "google" // Application Default Credentials: no key, a token for each hour
	AuthSigV4      Auth = "sigv4"  // a signature of each request by credentials of AWS
)

// Auths are all of them.
func Auths() []Auth {
	return []Auth{AuthBearer, AuthXAPIKey, AuthAPIKey, AuthGoogAPIKey, AuthGoogle, AuthSigV4}
}

// Form is how the settings have a server spoken to. The zero value is the provider's own way.
type Form struct {
	Wire Wire
	Auth Auth // no other header has the key
	// Token reports whether a key is a token, which is sent as a bearer token where
	// Auth is left out; nil means that none is. Called from any goroutine.
	Token func(key string) bool
	Path  string // replaces the wire's path for replies; may have a query
	// Extra is a JSON object that is merged into the body of requests for a reply; or nil.
	Extra json.RawMessage
}

// Keyless reports whether a cloud's credentials take the place of a key.
func (f Form) Keyless() bool { return f.Auth == AuthGoogle || f.Auth == AuthSigV4 }

// Sign puts a key into its header, where own is the way of the wire; "" goes nowhere.
func (f Form) Sign(h http.Header, key string, own Auth) {
	auth := f.Auth
	switch {
	case key == "", f.Keyless():
		return
	case auth != "":
	case f.Token != nil && f.Token(key):
		auth = AuthBearer
	default:
		auth = own
	}
	if auth == AuthBearer {
		h.Set("Authorization", "Bearer "+key)
		return
	}
	h.Set(string(auth), key)
}

// Check is the cheap question to the server of the named provider.
func (f Form) Check(name string) Check {
	facts, _ := FactsOf(name)
	wire := cmp.Or(f.Wire, facts.Wire)
	switch {
	case f.Auth == AuthGoogle:
		return Check{Path: VertexModels(wire), FromRoot: true}
	case wire == WireConverse:
		return Check{Path: "foundation-models", FromRoot: true, Control: true}
	case wire == WireMessages:
		facts, _ = FactsOf("anthropic")
	case wire == WireGemini:
		facts, _ = FactsOf("gemini")
	case wire == WireResponses, wire == WireChat:
		return Check{}
	}
	return facts.Check
}

// VertexModels is the path of the models that Vertex has of a wire's vendor, from the server's root.
func VertexModels(w Wire) string {
	vendor := "google"
	if w == WireMessages {
		vendor = "anthropic"
	}
	return "v1beta1/publishers/" + vendor + "/models"
}

// BedrockControl is the host that knows about models, where host is the one that runs them.
func BedrockControl(host string) string {
	return strings.Replace(host, "bedrock-runtime", "bedrock", 1)
}

// OwnField reports whether a field of a request's body is artoo's own, in any spelling.
func OwnField(name string) bool {
	switch strings.ToLower(strings.ReplaceAll(name, "_", "")) {
	case "model", "messages", "input", "contents", "stream", "system", "instructions", "systeminstruction",
		"tools", "toolchoice", "toolconfig":
		return true
	}
	return false
}
