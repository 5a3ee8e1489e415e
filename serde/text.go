package serde

type stringSerde struct{}

func (stringSerde) Append(dst []byte, v string) ([]byte, error) { return append(dst, v...), nil }
func (stringSerde) Decode(b []byte) (string, error)             { return string(b), nil }
func (stringSerde) Format() string                              { return "string" }
func (stringSerde) OrderedBytes()                               {}

type bytesSerde struct{}

func (bytesSerde) Append(dst []byte, v []byte) ([]byte, error) { return append(dst, v...), nil }
func (bytesSerde) Decode(b []byte) ([]byte, error) {
	v := make([]byte, len(b)) // with copy this is one step for the compiler, and cheaper than append
	copy(v, b)
	return v, nil
}
func (bytesSerde) Format() string { return "bytes" }
func (bytesSerde) OrderedBytes()  {}

type unitSerde struct{}

func (unitSerde) Append(dst []byte, _ struct{}) ([]byte, error) { return dst, nil }
func (unitSerde) Decode([]byte) (struct{}, error)               { return struct{}{}, nil }
func (unitSerde) Format() string                                { return "unit" }
func (unitSerde) OrderedBytes()                                 {}
func (unitSerde) Keyless()                                      {}
func (unitSerde) size() int                                     { return 0 }
