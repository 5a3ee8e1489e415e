package registrytest

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"

	"github.com/weirstream/weir/serde"
)

// maxRequestBytes bounds what a client may send.
const maxRequestBytes = 8 << 20

// A reply is what a route answers: something to be written as JSON, or a failure.
type reply func(req *http.Request) (any, *failure)

// ServeHTTP implements the parts of Confluent's API that clients of schemas use.
func (r *Registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if r.meet(w, req) {
		return
	}
	req.Body = http.MaxBytesReader(w, req.Body, maxRequestBytes)
	r.routes().ServeHTTP(w, req)
}

func (r *Registry) routes() *http.ServeMux {
	mux := http.NewServeMux()
	for pattern, route := range map[string]reply{
		"GET /schemas/ids/{id}":                                     r.getID,
		"GET /schemas/guids/{guid}/ids":                             r.getGUID,
		"GET /schemas/types":                                        r.getTypes,
		"GET /subjects":                                             r.getSubjects,
		"POST /subjects/{subject}":                                  r.postLookup,
		"DELETE /subjects/{subject}":                                r.deleteSubject,
		"GET /subjects/{subject}/versions":                          r.getVersions,
		"POST /subjects/{subject}/versions":                         r.postVersion,
		"GET /subjects/{subject}/versions/{version}":                r.getVersion,
		"GET /config":                                               r.getConfig,
		"PUT /config":                                               r.putConfig,
		"GET /config/{subject}":                                     r.getConfig,
		"PUT /config/{subject}":                                     r.putConfig,
		"POST /compatibility/subjects/{subject}/versions/{version}": r.postCompatible,
	} {
		mux.HandleFunc(pattern, r.serve(route))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	return mux
}

// serve makes a handler of a route.
func (r *Registry) serve(route reply) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.schemaregistry.v1+json")
		r.mu.Lock()
		defer r.mu.Unlock()
		v, failure := route(req)
		if failure != nil {
			failure.write(w)
			return
		}
		json.NewEncoder(w).Encode(v)
	}
}

// A body is a schema in a request or answer.
type body struct {
	Subject    string      `json:"subject,omitempty"`
	Version    int         `json:"version,omitempty"`
	ID         int         `json:"id,omitempty"`
	Schema     string      `json:"schema"`
	Type       string      `json:"schemaType,omitempty"` // absent for Avro
	References []reference `json:"references,omitempty"`
}

type reference struct {
	Name    string `json:"name"`
	Subject string `json:"subject"`
	Version int    `json:"version"`
}

func toBody(s serde.Schema) body {
	b := body{Schema: s.Text, Type: s.Format}
	if b.Type == serde.FormatAvro {
		b.Type = ""
	}
	for _, ref := range s.References {
		b.References = append(b.References, reference(ref))
	}
	return b
}

func readSchema(req *http.Request) (serde.Schema, *failure) {
	var b body
	if err := json.NewDecoder(req.Body).Decode(&b); err != nil {
		return serde.Schema{}, fail(422, "The request is not the JSON of a schema")
	}
	s := serde.Schema{Format: b.Type, Text: b.Schema}
	if s.Format == "" {
		s.Format = serde.FormatAvro
	}
	for _, ref := range b.References {
		s.References = append(s.References, serde.Reference(ref))
	}
	return s, nil
}

// number reads the version in a path.
func number(req *http.Request) (int, *failure) {
	text := req.PathValue("version")
	if text == "latest" {
		return latest, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 && n != latest {
		return 0, fail(42202, "The specified version '%s' is not a valid version id.", text)
	}
	return n, nil
}

func (r *Registry) getID(req *http.Request) (any, *failure) {
	id, err := strconv.Atoi(req.PathValue("id"))
	if err != nil {
		return nil, fail(404, "HTTP 404 Not Found")
	}
	s, failure := r.byID(id)
	return toBody(s), failure
}

func (r *Registry) getGUID(req *http.Request) (any, *failure) {
	type inContext struct {
		Context string `json:"context"`
		ID      int    `json:"id"`
	}
	if id := r.withGUID(req.PathValue("guid")); id > 0 {
		return []inContext{{".", id}}, nil
	}
	return []inContext{}, nil
}

func (r *Registry) getTypes(*http.Request) (any, *failure) {
	return []string{serde.FormatJSON, serde.FormatProtobuf, serde.FormatAvro}, nil
}

func (r *Registry) getSubjects(*http.Request) (any, *failure) { return r.names(), nil }

func (r *Registry) getVersions(req *http.Request) (any, *failure) {
	subject := req.PathValue("subject")
	if _, _, failure := r.find(subject, latest); failure != nil {
		return nil, failure
	}
	var list []int
	for i, v := range r.subjects[subject] {
		if !v.deleted {
			list = append(list, i+1)
		}
	}
	return list, nil
}

func (r *Registry) getVersion(req *http.Request) (any, *failure) {
	n, failure := number(req)
	if failure != nil {
		return nil, failure
	}
	id, at, failure := r.find(req.PathValue("subject"), n)
	if failure != nil {
		return nil, failure
	}
	return r.describe(req.PathValue("subject"), id, at), nil
}

func (r *Registry) describe(subject string, id, at int) body {
	b := toBody(r.schemas[id-1])
	b.Subject, b.Version, b.ID = subject, at, id
	return b
}

func (r *Registry) postVersion(req *http.Request) (any, *failure) {
	s, failure := readSchema(req)
	if failure != nil {
		return nil, failure
	}
	id, failure := r.register(req.PathValue("subject"), s, req.FormValue("normalize") == "true")
	return map[string]int{"id": id}, failure
}

func (r *Registry) postLookup(req *http.Request) (any, *failure) {
	s, failure := readSchema(req)
	if failure != nil {
		return nil, failure
	}
	id, at, failure := r.lookup(req.PathValue("subject"), s, req.FormValue("normalize") == "true")
	if failure != nil {
		return nil, failure
	}
	return r.describe(req.PathValue("subject"), id, at), nil
}

func (r *Registry) deleteSubject(req *http.Request) (any, *failure) {
	list, failure := r.getVersions(req)
	if failure != nil {
		return nil, failure
	}
	for i := range r.subjects[req.PathValue("subject")] {
		r.subjects[req.PathValue("subject")][i].deleted = true
	}
	return list, nil
}

func (r *Registry) getConfig(req *http.Request) (any, *failure) {
	subject := req.PathValue("subject")
	if _, own := r.levels[subject]; !own && req.FormValue("defaultToGlobal") != "true" {
		return nil, fail(40408, "Subject '%s' does not have subject-level compatibility configured", subject)
	}
	return map[string]Level{"compatibilityLevel": r.level(subject)}, nil
}

func (r *Registry) putConfig(req *http.Request) (any, *failure) {
	var b struct {
		Compatibility Level `json:"compatibility"`
	}
	levels := []Level{None, Backward, BackwardTransitive, Forward, ForwardTransitive, Full, FullTransitive}
	if json.NewDecoder(req.Body).Decode(&b) != nil || !slices.Contains(levels, b.Compatibility) {
		return nil, fail(42203, "Invalid compatibility level. Valid values are %v", levels)
	}
	r.levels[req.PathValue("subject")] = b.Compatibility
	return b, nil
}

func (r *Registry) postCompatible(req *http.Request) (any, *failure) {
	s, failure := readSchema(req)
	if failure != nil {
		return nil, failure
	}
	n, failure := number(req)
	if failure != nil {
		return nil, failure
	}
	if failure := r.valid(s); failure != nil {
		return nil, failure
	}
	reasons, failure := r.conflicts(req.PathValue("subject"), s, n)
	if failure != nil {
		return nil, failure
	}
	answer := map[string]any{"is_compatible": len(reasons) == 0}
	if req.FormValue("verbose") == "true" {
		answer["messages"] = reasons
	}
	return answer, nil
}
