package avrotest

// A Resolution is a case of reading with another schema than was written with. Values are dynamic.
type Resolution struct {
	Name           string
	Writer, Reader string
	Written, Read  any
}

func record(fields string) string { return `{"type":"record","name":"R","fields":[` + fields + `]}` }

// Resolutions are the cases of Avro's rules.
func Resolutions() []Resolution {
	const (
		ab  = `{"name":"a","type":"int"},{"name":"b","type":"string"}`
		ba  = `{"name":"b","type":"string"},{"name":"a","type":"int"}`
		rec = `{"type":"record","name":"S","fields":[{"name":"x","type":"int"}]}`
		xy  = `{"type":"record","name":"S","fields":[{"name":"x","type":"long"},{"name":"y","type":"string","default":"y"}]}`
	)
	type m = map[string]any
	return []Resolution{
		{"int to long", `"int"`, `"long"`, int32(7), int64(7)},
		{"int to float", `"int"`, `"float"`, int32(7), float32(7)},
		{"int to double", `"int"`, `"double"`, int32(7), 7.0},
		{"long to float", `"long"`, `"float"`, int64(7), float32(7)},
		{"long to double", `"long"`, `"double"`, int64(7), 7.0},
		{"float to double", `"float"`, `"double"`, float32(1.5), 1.5},
		{"string to bytes", `"string"`, `"bytes"`, "ab", []byte("ab")},
		{"bytes to string", `"bytes"`, `"string"`, []byte("ab"), "ab"},
		{"order of fields", record(ab), record(ba), m{"a": int32(1), "b": "x"}, m{"a": int32(1), "b": "x"}},
		{"a field less", record(ab), record(`{"name":"b","type":"string"}`), m{"a": int32(1), "b": "x"}, m{"b": "x"}},
		{"a field more", record(`{"name":"a","type":"int"}`), record(`{"name":"a","type":"int"},{"name":"n","type":["null","string"],"default":null},{"name":"d","type":"string","default":"dee"}`),
			m{"a": int32(1)}, m{"a": int32(1), "n": nil, "d": "dee"}},
		{"a field promoted", record(`{"name":"a","type":"int"}`), record(`{"name":"a","type":"double"}`), m{"a": int32(1)}, m{"a": 1.0}},
		{"an alias of a field", record(`{"name":"old","type":"int"}`), record(`{"name":"new","type":"int","aliases":["old"]}`), m{"old": int32(1)}, m{"new": int32(1)}},
		{"an alias of a record", `{"type":"record","name":"Old","fields":[{"name":"a","type":"int"}]}`, `{"type":"record","name":"New","aliases":["Old"],"fields":[{"name":"a","type":"int"}]}`,
			m{"a": int32(1)}, m{"a": int32(1)}},
		{"records inside", record(`{"name":"s","type":` + rec + `}`), record(`{"name":"s","type":` + xy + `}`), m{"s": m{"x": int32(1)}}, m{"s": m{"x": int64(1), "y": "y"}}},
		{"records in arrays", `{"type":"array","items":` + rec + `}`, `{"type":"array","items":` + xy + `}`, []any{m{"x": int32(1)}}, []any{m{"x": int64(1), "y": "y"}}},
		{"records in maps", `{"type":"map","values":` + rec + `}`, `{"type":"map","values":` + xy + `}`, m{"k": m{"x": int32(1)}}, m{"k": m{"x": int64(1), "y": "y"}}},
		{"values of maps", `{"type":"map","values":"int"}`, `{"type":"map","values":"long"}`, m{"k": int32(1)}, m{"k": int64(1)}},
		{"a field becomes optional", record(`{"name":"a","type":"int"}`), record(`{"name":"a","type":["null","int"]}`), m{"a": int32(1)}, m{"a": int32(1)}},
		{"an optional field is promoted", record(`{"name":"a","type":["null","int"]}`), record(`{"name":"a","type":["null","long"]}`), m{"a": int32(1)}, m{"a": int64(1)}},
		{"an optional field is null", record(`{"name":"a","type":["null","int"]}`), record(`{"name":"a","type":["null","long"]}`), m{"a": nil}, m{"a": nil}},
		{"a union becomes one of its types", `["int","long"]`, `"long"`, int32(7), int64(7)},
		{"a type becomes a union", `"int"`, `["null","string","long"]`, int32(7), int64(7)},
		{"a union in another order", `["null","int","string"]`, `["string","int","null"]`, "s", "s"},
		{"a tree grows", treeSchema, `{"type":"record","name":"Tree","fields":[{"name":"name","type":"string"},{"name":"left","type":["null","Tree"],"default":null},
			{"name":"kids","type":{"type":"array","items":"Tree"}},{"name":"age","type":"int","default":1}]}`,
			m{"name": "r", "left": m{"name": "l", "left": nil, "kids": []any{}}, "kids": []any{}},
			m{"name": "r", "age": int32(1), "left": m{"name": "l", "left": nil, "kids": []any{}, "age": int32(1)}, "kids": []any{}}},
		{"defaults of all kinds", record(`{"name":"a","type":"int"}`), record(`{"name":"b","type":"boolean","default":true},{"name":"i","type":"int","default":-1},{"name":"l","type":"long","default":5},
			{"name":"f","type":"float","default":1.5},{"name":"d","type":"double","default":2},{"name":"y","type":"bytes","default":"\u00ff"},{"name":"s","type":{"type":"array","items":"int"},"default":[1,2]},
			{"name":"m","type":{"type":"map","values":"int"},"default":{"k":1}},{"name":"e","type":{"type":"enum","name":"E","symbols":["A","B"]},"default":"B"},
			{"name":"x","type":{"type":"fixed","name":"X","size":2},"default":"\u0001\u0002"},{"name":"r","type":` + rec + `,"default":{"x":3}}`),
			m{"a": int32(0)}, m{"b": true, "i": int32(-1), "l": int64(5), "f": float32(1.5), "d": 2.0, "y": []byte{255}, "s": []any{int32(1), int32(2)}, "m": m{"k": int32(1)}, "e": "B",
				"x": []byte{1, 2}, "r": m{"x": int32(3)}}},
		{"an enum with less symbols", `{"type":"enum","name":"E","symbols":["A","B"]}`, `{"type":"enum","name":"E","symbols":["Z","A"],"default":"Z"}`, "B", "Z"},
		{"symbols in another order", `{"type":"enum","name":"E","symbols":["A","B"]}`, `{"type":"enum","name":"E","symbols":["B","A"]}`, "A", "A"},
	}
}
