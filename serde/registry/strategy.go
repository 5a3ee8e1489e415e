package registry

import "errors"

// A Strategy names the subject that a schema is registered under, from the topic and the full name of the record or message.
// record is "" for schemas without a name, such as a bare string in Avro. A strategy must be a pure function: two processes
// that compute different names split the history of a schema.
//
// [TopicName] is the default everywhere. A function of the program's own is a strategy too.
type Strategy func(topic, record string, key bool) (string, error)

// errNoRecordName is returned by strategies that need a name where the schema has none.
var errNoRecordName = errors.New("registry: this schema has no record name to make a subject of; use registry.TopicName")

// TopicName is "<topic>-key" or "<topic>-value": one schema history for all records of a topic.
func TopicName(topic, _ string, key bool) (string, error) {
	if topic == "" {
		return "", errors.New("registry: no topic to make a subject of")
	}
	if key {
		return topic + "-key", nil
	}
	return topic + "-value", nil
}

// RecordName is the record's full name: one history per type, whatever topics it travels in.
func RecordName(_, record string, _ bool) (string, error) {
	if record == "" {
		return "", errNoRecordName
	}
	return record, nil
}

// TopicRecordName is "<topic>-<record>": one history per type and topic, for topics that hold several types.
func TopicRecordName(topic, record string, _ bool) (string, error) {
	if record == "" {
		return "", errNoRecordName
	}
	return topic + "-" + record, nil
}
