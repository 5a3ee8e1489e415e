package avro_test

import (
	"strings"
	"testing"

	"github.com/weirstream/weir/serde/avro"
)

func TestParseNames(t *testing.T) {
	typ, err := avro.Parse(`{"type":"record","name":"x.R","doc":"d","fields":[
		{"name":"a","type":{"type":"record","name":"y.S","fields":[{"name":"t","type":{"type":"fixed","name":"T","size":1}}]}},
		{"name":"b","type":{"type":"record","name":"S","fields":[{"name":"n","type":"int"}]}},
		{"name":"c","type":"S","aliases":["old"]},{"name":"d","type":"y.S"},{"name":"e","type":["null","y.T","R"],"default":null}]}`)
	must(t, typ, err)
	at := func(i int) *avro.Type { return typ.Fields[i].Type }
	if at(0).Name != "y.S" || at(1).Name != "x.S" || at(2) != at(1) || at(3) != at(0) {
		t.Errorf("names %s %s %s %s", at(0).Name, at(1).Name, at(2).Name, at(3).Name)
	}
	if at(4).Branches[1] != at(0).Fields[0].Type || at(4).Branches[2] != typ || !typ.Fields[4].HasDefault || typ.Fields[2].Aliases[0] != "old" || typ.Doc != "d" {
		t.Errorf("%+v", typ.Fields[4])
	}
	if again, err := avro.Parse(typ.String()); must(t, again, err).Fingerprint() != typ.Fingerprint() || at(0).String() != "" {
		t.Error("the text is not the schema")
	}
}

func TestParseWithReferences(t *testing.T) {
	typ, err := avro.Parse(`{"type":"record","name":"a.B","fields":[{"name":"x","type":"int"}]}`, `{"type":"array","items":"a.B"}`, `{"type":"map","values":"a.B"}`)
	must(t, typ, err)
	alone, err := avro.Parse(typ.String())
	if must(t, alone, err).Elem.Name != "a.B" {
		t.Errorf("the text does not stand alone: %s", typ)
	}
}

func TestParseRefuses(t *testing.T) {
	deep := strings.Repeat(`{"type":"array","items":`, 100_000) + `"int"` + strings.Repeat("}", 100_000)
	for _, text := range []string{"", "{", "null", "[]x", `"nothing"`, `{"type":"record","name":"R","fields":[{"name":"a","type":"S"}]}`, `{"type":"enum","name":"E","symbols":["A","A"]}`,
		`{"type":"fixed","name":"F","size":-1}`, `["int","int"]`, `{"type":"record","name":"R","fields":[{"name":"a","type":"int","default":"x"}]}`, deep} {
		if typ, err := avro.Parse(text); err == nil {
			t.Errorf("%.60s was read as %+v", text, typ)
		}
	}
	if _, err := avro.Parse(); err == nil {
		t.Error("no schema was read")
	}
}
