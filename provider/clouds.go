package provider

import "strings"

// Cloud is a provider that gives each user an address.
type Cloud struct {
	Address string // the form of its addresses, with words in capitals that each user replaces
	Words   string // says what each of these words stands for
	// Credentials are the places that it takes its credentials from, and Obtain is a command that makes some; "" where
	// it takes a key.
	Credentials, Obtain string
}

func bedrock() *Cloud {
	return &Cloud{
		Address: "https://bedrock-runtime.REGION.amazonaws.com", Words: "REGION is your AWS region, as in AWS_REGION",
		Credentials: "AWS_BEARER_TOKEN_BEDROCK, AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY, the profile of AWS_PROFILE " +
			"(keys or credential_process), or the role of the container or instance",
		Obtain: "aws configure",
	}
}

func vertex(host, location, words string) *Cloud {
	return &Cloud{
		Address:     "https://" + host + "/v1/projects/PROJECT/locations/" + location,
		Words:       "PROJECT is your Google Cloud project, as in GOOGLE_CLOUD_PROJECT" + words,
		Credentials: "GOOGLE_APPLICATION_CREDENTIALS, the login of gcloud, or the metadata server of the machine",
		Obtain:      "gcloud auth application-default login",
	}
}

func azure() *Cloud {
	return &Cloud{Address: "https://NAME.openai.azure.com/openai/v1", Words: "NAME is that of your Azure OpenAI resource"}
}

// CloudOf is the cloud of a provider by its name or by how it is spoken to; nil for no cloud. A name that goes on with
// a dash after that of a cloud is of the cloud, too.
func CloudOf(name string, form Form) *Cloud {
	if f, _ := FactsOf(name); f.Cloud != nil {
		return f.Cloud
	}
	var likely *Cloud
	for _, f := range Known() {
		keyless := form.Keyless() && form.Auth == f.Auth
		switch {
		case f.Cloud == nil:
		case keyless && form.Wire == f.Wire:
			return f.Cloud
		case keyless, strings.HasPrefix(name, f.Name+"-"):
			likely = f.Cloud
		}
	}
	return likely
}

// NoAddress is the error of a provider whose address is not known, of kind config.
func NoAddress(name string, form Form) *Error {
	e := &Error{Kind: KindConfig, Provider: name, Message: "no address is known for this provider",
		Hint: "ARTOO_BASE_URL=http://host:port/v1, or base_url under [provider." + name + "] in config.toml"}
	if cloud := CloudOf(name, form); cloud != nil {
		e.Message = "no address is set, and each user of this cloud has their own"
		e.Hint = cloud.Setting(name)
	}
	return e
}

// Setting is the setting of the cloud's address under a name, for a hint.
func (c *Cloud) Setting(name string) string {
	return name + ` = { base_url = "` + c.Address + `" } under [provider] in config.toml, ` +
		"or that address in ARTOO_BASE_URL; " + c.Words
}
