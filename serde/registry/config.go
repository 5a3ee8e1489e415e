package registry

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// A Config says where the registry is and how to talk to it. The zero value of a field is its documented default.
type Config struct {
	// URLs of one registry, tried in order; the one that answered last is asked first. A path is kept
	// (Apicurio: "http://host:8080/apis/ccompat/v7"). A user and password in a URL are used for that URL
	// and never printed. At least one.
	URLs []string

	// User and Password are sent as HTTP basic authentication. Not together with Token.
	User, Password string

	// Token is sent as "Authorization: Bearer". Not together with User.
	Token string

	// TLS configures https URLs: roots, server name, and a client certificate for mutual TLS.
	// Default: the system's roots, TLS 1.2 or newer.
	TLS *tls.Config

	// CacheDir keeps schemas on disk, below a directory named after the registry's URLs. One process at a time
	// need not be ensured: files are written whole and checked when read. Default: a directory in the app's
	// StateDir; none without one.
	CacheDir string

	// NegativeTTL is how long an unknown id is remembered. Default 5 s; negative: not at all.
	NegativeTTL time.Duration

	// RequestTimeout bounds one HTTP request. Default 3 s.
	RequestTimeout time.Duration

	// CallTimeout bounds one call with all its retries. Default 5 s.
	CallTimeout time.Duration

	// Patience bounds how long one call waits for its turn while the registry is failing. A worker with other tasks is
	// waiting, so keep it short: the engine comes back by itself. Default 300 ms.
	Patience time.Duration

	// Normalize asks the registry to compare schemas by meaning instead of by text when registering.
	Normalize bool

	// Transport sends requests. Default: a transport of the client's own that honours TLS and the proxy
	// variables of the environment. Setting it together with TLS is an error.
	Transport http.RoundTripper
}

const (
	defaultNegativeTTL    = 5 * time.Second
	defaultRequestTimeout = 3 * time.Second
	defaultCallTimeout    = 5 * time.Second
	defaultPatience       = 300 * time.Millisecond

	// maxResponseBytes bounds an answer. The largest schemas seen in the wild are a few hundred KiB.
	maxResponseBytes = 8 << 20
)

// withDefaults fills zero values in.
func (c Config) withDefaults() Config {
	if c.NegativeTTL == 0 {
		c.NegativeTTL = defaultNegativeTTL
	}
	if c.RequestTimeout <= 0 {
		c.RequestTimeout = defaultRequestTimeout
	}
	if c.CallTimeout <= 0 {
		c.CallTimeout = defaultCallTimeout
	}
	if c.Patience <= 0 {
		c.Patience = defaultPatience
	}
	return c
}

// An endpoint is one URL of the registry, with its credentials apart so that the URL can be printed.
type endpoint struct {
	base           *url.URL
	user, password string
}

// endpoints parses and checks the configuration.
func (c Config) endpoints() ([]endpoint, error) {
	switch {
	case len(c.URLs) == 0:
		return nil, errors.New("registry: Config.URLs is empty; name at least one URL")
	case c.Token != "" && (c.User != "" || c.Password != ""):
		return nil, errors.New("registry: Config has both a Token and a User; set one of them")
	case c.Transport != nil && c.TLS != nil:
		return nil, errors.New("registry: Config has both a Transport and TLS; configure TLS in the transport")
	}
	list := make([]endpoint, 0, len(c.URLs))
	for i, text := range c.URLs {
		e, err := c.endpoint(text)
		if err != nil {
			return nil, fmt.Errorf("registry: Config.URLs[%d]: %w", i, err)
		}
		list = append(list, e)
	}
	return list, nil
}

// endpoint parses one URL. Its errors never quote the text, which may hold a password.
func (c Config) endpoint(text string) (endpoint, error) {
	u, err := url.Parse(strings.TrimRight(text, "/"))
	if err != nil {
		return endpoint{}, errors.New("not a URL")
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return endpoint{}, errors.New(`want "http://host:port" or "https://host:port"`)
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return endpoint{}, errors.New("a query or fragment has no meaning here")
	}
	e := endpoint{base: u, user: c.User, password: c.Password}
	if u.User != nil {
		if c.Token != "" {
			return endpoint{}, errors.New("it names a user, and Config.Token is set; use one of them")
		}
		e.user = u.User.Username()
		e.password, _ = u.User.Password()
		u.User = nil
	}
	return e, nil
}

// secrets lists what must never be printed.
func (c Config) secrets(endpoints []endpoint) []string {
	list := []string{c.Token, c.Password}
	for _, e := range endpoints {
		list = append(list, e.password)
		if e.user != "" {
			list = append(list, basic(e.user, e.password))
		}
	}
	return list
}
