package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/riferrei/srclient"

	"github.com/weirstream/weir/serde"
)

// This file is the only one that knows srclient. The library builds paths and reads answers; transport does the rest.
// docs/adr/0010-srclient.md says what it lacks and why it is used all the same.

// A wire makes single requests, without caches or retries.
type wire struct {
	http      *http.Client
	normalize bool
}

// An answer is what the registry says about one schema.
type answer struct {
	id     int
	schema serde.Schema
}

// client returns a srclient for one call. Its methods take no context, so each call has a client of its own, whose
// hook attaches one; it is a struct and two maps, and calls are rare.
func (w *wire) client(ctx context.Context) *srclient.SchemaRegistryClient {
	c := srclient.NewSchemaRegistryClient(placeholder, srclient.WithClient(w.http), srclient.WithPreReqFn(func(req *http.Request) error {
		*req = *req.WithContext(ctx)
		if w.normalize && req.Method == http.MethodPost {
			req.URL.RawQuery = "normalize=true"
		}
		return nil
	}))
	c.CachingEnabled(false) // ours are bounded, shared and persisted
	return c
}

func (w *wire) byID(ctx context.Context, id int) (answer, error) {
	return read(w.client(ctx).GetSchema(id))
}

func (w *wire) latest(ctx context.Context, subject string) (answer, error) {
	return read(w.client(ctx).GetLatestSchema(subject))
}

func (w *wire) version(ctx context.Context, subject string, version int) (answer, error) {
	return read(w.client(ctx).GetSchemaByVersion(subject, version))
}

func (w *wire) register(ctx context.Context, subject string, s serde.Schema) (answer, error) {
	return read(w.client(ctx).CreateSchema(subject, s.Text, srclient.SchemaType(s.Format), references(s)...))
}

// compatible asks whether s may be registered. srclient's own call answers yes or no; the registry's reasons are in the
// verbose form of the answer, so this one request is made by hand. The empty text means compatible.
func (w *wire) compatible(ctx context.Context, subject string, s serde.Schema) (reasons string, err error) {
	body, err := json.Marshal(struct {
		Schema     string               `json:"schema"`
		SchemaType string               `json:"schemaType,omitempty"`
		References []srclient.Reference `json:"references"`
	}{s.Text, srclient.SchemaType(s.Format).String(), references(s)})
	if err != nil {
		return "", err
	}
	to := placeholder + "/compatibility/subjects/" + url.PathEscape(subject) + "/versions/latest?verbose=true"
	if w.normalize {
		to += "&normalize=true"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/vnd.schemaregistry.v1+json")
	text, err := w.do(req)
	if err != nil {
		return "", err
	}
	return verdict(text)
}

// byGUID asks for the ids of a GUID, one for each context, and takes that of the default context or else the first. srclient has no
// call for it.
func (w *wire) byGUID(ctx context.Context, guid string) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, placeholder+"/schemas/guids/"+url.PathEscape(guid)+"/ids", nil)
	if err != nil {
		return answer{}, err
	}
	text, err := w.do(req)
	if err != nil {
		return answer{}, err
	}
	var ids []struct {
		Context string `json:"context"`
		ID      int    `json:"id"`
	}
	if err := json.Unmarshal(text, &ids); err != nil {
		return answer{}, errors.New("the ids of a GUID are not the registry's JSON")
	}
	if len(ids) == 0 {
		return answer{}, &apiError{code: 40403, message: "no schema has this GUID"}
	}
	for _, id := range ids {
		if id.Context == "." || id.Context == "" {
			return answer{id: id.ID}, nil
		}
	}
	return answer{id: ids[0].ID}, nil
}

// do makes a request by hand and returns the body of a good answer.
func (w *wire) do(req *http.Request) ([]byte, error) {
	resp, err := w.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, refused(resp.Status, text)
	}
	return text, nil
}

// verdict reads the answer to a compatibility check.
func verdict(text []byte) (reasons string, err error) {
	var v struct {
		Compatible *bool    `json:"is_compatible"`
		Messages   []string `json:"messages"`
	}
	if err := json.Unmarshal(text, &v); err != nil || v.Compatible == nil {
		return "", errors.New("the answer to a compatibility check is not the registry's JSON")
	}
	switch {
	case *v.Compatible:
		return "", nil
	case len(v.Messages) == 0:
		return "the registry gave no reason", nil
	}
	return clip(strings.Join(v.Messages, "; ")), nil
}

// refused makes srclient's error of an answer that srclient did not read.
func refused(status string, text []byte) error {
	var e srclient.Error
	if err := json.Unmarshal(text, &e); err != nil || e.Code == 0 {
		return errors.New(status)
	}
	return &apiError{code: e.Code, message: e.Message}
}

func references(s serde.Schema) []srclient.Reference {
	list := make([]srclient.Reference, len(s.References)) // never nil: older registries want the field
	for i, r := range s.References {
		list[i] = srclient.Reference{Name: r.Name, Subject: r.Subject, Version: r.Version}
	}
	return list
}

// read turns srclient's result into ours.
func read(s *srclient.Schema, err error) (answer, error) {
	if err != nil {
		var e srclient.Error
		if errors.As(err, &e) && e.Code != 0 {
			return answer{}, &apiError{code: e.Code, message: e.Message}
		}
		return answer{}, err
	}
	if s.Schema() == "" {
		// A proxy's page, or JSON of something else, parses as a schema without text.
		return answer{}, errors.New("the answer has no schema in it; is this URL a schema registry?")
	}
	a := answer{id: s.ID(), schema: serde.Schema{Format: serde.FormatAvro, Text: s.Schema()}}
	if t := s.SchemaType(); t != nil && *t != "" {
		a.schema.Format = string(*t)
	}
	for _, r := range s.References() {
		a.schema.References = append(a.schema.References, serde.Reference{Name: r.Name, Subject: r.Subject, Version: r.Version})
	}
	return a, nil
}

// An apiError is an answer of the registry that is not a schema.
type apiError struct {
	code    int
	message string
}

func (e *apiError) Error() string {
	return fmt.Sprintf("%s (error %d)", clip(e.message), e.code)
}

// kind returns the error of package serde that e is a case of.
func (e *apiError) kind() error {
	switch e.code {
	case 404, 40401, 40402, 40403, 40406: // bare, subject, version, schema, subject soft-deleted
		return serde.ErrUnknownSchema
	case 409, 422, 42201, 42202, 42203, 42204: // incompatible, or not a schema that this registry accepts
		return serde.ErrIncompatible
	}
	return serde.ErrRegistryUnavailable
}

// clip keeps a registry's message to a length that fits a log line.
func clip(s string) string {
	const most = 2000
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
