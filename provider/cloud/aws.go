package cloud

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"artoo/provider"
)

// amazon signs each request by Signature Version 4, or sends a bearer key of Bedrock.
type amazon struct {
	Options
	signer *v4.Signer
	// instance is where the machine is asked for its role.
	instance string
}

func newAmazon(o Options) amazon {
	a := amazon{Options: o, signer: v4.NewSigner(), instance: "http://169.254.169.254"}
	if address := o.Environ.Get("AWS_EC2_METADATA_SERVICE_ENDPOINT"); address != "" {
		a.instance = strings.TrimSuffix(address, "/")
	}
	return a
}

func (a amazon) sign(r *http.Request, body []byte, c *credentials, now time.Time) error {
	if c.secret == "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
		return nil
	}
	region := regionOf(r.URL.Hostname())
	if region == "" {
		region = c.region
	}
	if region == "" {
		return &provider.Error{Kind: provider.KindConfig, Message: "no AWS region is known for " + r.URL.Hostname(),
			Hint: "set AWS_REGION, or region in the profile"}
	}
	return a.signFor(r, body, c, "bedrock", region, now)
}

// signFor signs for a service in a region. A header without values is a word to net/http, and is not sent.
func (a amazon) signFor(r *http.Request, body []byte, c *credentials, service, region string, now time.Time) error {
	for name, values := range r.Header {
		if len(values) == 0 {
			delete(r.Header, name)
			defer func() { r.Header[name] = values }()
		}
	}
	sum := sha256.Sum256(body)
	return a.signer.SignHTTP(r.Context(), aws.Credentials{AccessKeyID: c.id, SecretAccessKey: c.secret, SessionToken: c.token},
		r, hex.EncodeToString(sum[:]), service, region, now)
}

// regionOf is the region in the name of a host of Bedrock's, or "".
func regionOf(host string) string {
	labels := strings.Split(host, ".")
	for i, label := range labels[:len(labels)-1] {
		if strings.HasPrefix(label, "bedrock") && strings.Contains(host, ".amazonaws.") {
			return labels[i+1]
		}
	}
	return ""
}

// refused: a signature of credentials that have expired, or are not known, is answered with 403 and says so.
func (amazon) refused(answer *http.Response) bool {
	kind, _, _ := strings.Cut(answer.Header.Get("X-Amzn-Errortype"), ":")
	switch kind {
	case "ExpiredTokenException", "ExpiredToken", "UnrecognizedClientException", "InvalidSignatureException":
		return true
	}
	return false
}

func (a amazon) fetch(ctx context.Context) (*credentials, error) {
	if token := a.Environ.Get("AWS_BEARER_TOKEN_BEDROCK"); token != "" {
		return &credentials{token: token, source: "AWS_BEARER_TOKEN_BEDROCK"}, nil
	}
	c, err := a.find(ctx)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"AWS_DEFAULT_REGION", "AWS_REGION"} {
		if region := a.Environ.Get(name); region != "" {
			c.region = region
		}
	}
	return c, nil
}

// exportHint is the way for credentials that AWS's own tool finds for a profile, or for the environment if it is "".
func exportHint(profile string) string {
	if profile != "" {
		profile = " --profile " + profile
	}
	return "a profile of another name with credential_process = aws configure export-credentials" + profile + " --format process, and that name in AWS_PROFILE"
}

// find looks at one source after the other, as AWS's own tools do.
func (a amazon) find(ctx context.Context) (*credentials, error) {
	profile, err := readProfile(a.Environ)
	if err != nil {
		return nil, err
	}
	id, secret := a.Environ.Get("AWS_ACCESS_KEY_ID"), a.Environ.Get("AWS_SECRET_ACCESS_KEY")
	if id != "" && secret != "" {
		return &credentials{id: id, secret: secret, token: a.Environ.Get("AWS_SESSION_TOKEN"), region: profile.value["region"],
			source: "AWS_ACCESS_KEY_ID"}, nil
	}
	switch {
	case profile.value["aws_access_key_id"] != "" && profile.value["aws_secret_access_key"] != "":
		return &credentials{id: profile.value["aws_access_key_id"], secret: profile.value["aws_secret_access_key"],
			token: profile.value["aws_session_token"], region: profile.value["region"], source: profile.title()}, nil
	case profile.value["credential_process"] != "":
		return a.process(ctx, profile)
	case profile.needsMore() != "":
		return nil, none(profile.title()+" needs "+profile.needsMore()+", which artoo leaves to AWS's own tool",
			exportHint(profile.name), nil)
	case profile.named:
		return nil, none(profile.title()+" has no credentials", "aws configure --profile "+profile.name, nil)
	}
	if a.Environ.Get("AWS_WEB_IDENTITY_TOKEN_FILE") != "" { // The role of the machine below would be another one.
		return nil, none("AWS_WEB_IDENTITY_TOKEN_FILE needs an identity to be exchanged, which artoo leaves to AWS's own tool", exportHint(""), nil)
	}
	if c, err := a.container(ctx); c != nil || err != nil {
		return c, err
	}
	if !strings.EqualFold(a.Environ.Get("AWS_EC2_METADATA_DISABLED"), "true") {
		if c, err := a.role(ctx); c != nil || err != nil {
			return c, err
		}
	}
	return nil, none("no AWS credentials", keysHint, nil)
}
