package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"golang.org/x/oauth2"
	googleauth "golang.org/x/oauth2/google"

	"artoo/tool/environ"
)

const (
	googleVariable = "GOOGLE_APPLICATION_CREDENTIALS"
	googleScope    = "https://www.googleapis.com/auth/cloud-platform"
	googleHint     = "gcloud auth application-default login, or set " + googleVariable + " to a file with credentials"
)

// tokenLimit is how long all that gives a token may take.
const tokenLimit = 20 * time.Second

// within sends all requests in one context: oauth2 has none for those of a service account.
type within struct {
	ctx  context.Context
	next http.RoundTripper
}

func (w within) RoundTrip(r *http.Request) (*http.Response, error) {
	return w.next.RoundTrip(r.WithContext(w.ctx))
}

// google sends a token of the Application Default Credentials.
type google struct {
	environ environ.Vars
	http    *http.Client
}

func (g google) fetch(ctx context.Context) (*credentials, error) {
	asked, cancel := context.WithTimeout(ctx, tokenLimit)
	defer cancel()
	asked = context.WithValue(asked, oauth2.HTTPClient, &http.Client{Transport: within{asked, g.http.Transport}})
	found, err := googleauth.FindDefaultCredentials(asked, googleScope)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, none("no Google Cloud credentials: "+err.Error(), googleHint, err)
	}
	token, err := found.TokenSource.Token()
	switch answer := (*oauth2.RetrieveError)(nil); {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.As(err, &answer) && answer.Response.StatusCode < http.StatusInternalServerError:
		var said struct {
			Why string `json:"error_description"`
		}
		if json.Unmarshal(answer.Body, &said) != nil || said.Why == "" {
			said.Why = answer.Response.Status
		}
		return nil, none("Google Cloud gives no token: "+said.Why, googleHint, err)
	case err != nil:
		return nil, unreachable("no Google Cloud token", "", err)
	}
	c := &credentials{token: token.AccessToken, until: token.Expiry, source: g.source(found.JSON)}
	var file struct {
		Project string `json:"quota_project_id"`
	}
	if json.Unmarshal(found.JSON, &file) == nil { // the metadata server gives no file
		c.account = file.Project
	}
	return c, nil
}

func (g google) source(file []byte) string {
	switch {
	case len(file) == 0:
		return "the metadata server"
	case g.environ.Get(googleVariable) != "":
		return googleVariable
	}
	return "the application default login of gcloud"
}

func (google) sign(r *http.Request, _ []byte, c *credentials, _ time.Time) error {
	r.Header.Set("Authorization", "Bearer "+c.token)
	if c.account != "" {
		r.Header.Set("X-Goog-User-Project", c.account)
	}
	return nil
}

func (google) refused(answer *http.Response) bool {
	return answer.StatusCode == http.StatusUnauthorized
}
