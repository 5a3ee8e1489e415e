package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/weirstream/weir/serde"
)

// A disk keeps answers as one small file each, below a directory named after the registry: id 7 of another registry is
// another schema, and a program that is pointed at a new registry must not read the old one's.
//
// The format is JSON with a version, the key and a checksum. A file that does not check out is as good as none.
type disk struct {
	dir string
}

// diskFormat is the version of the files. A reader ignores other versions: they only cost a request.
const diskFormat = 1

// A diskFile is the content of a file.
type diskFile struct {
	Format     int               `json:"format"`
	Key        string            `json:"key"`
	ID         int               `json:"id"`
	Type       string            `json:"type"`
	Schema     string            `json:"schema"`
	References []serde.Reference `json:"references,omitempty"`
	Sum        string            `json:"sum"` // of the file with an empty Sum
}

// newDisk returns nil, a disk that is always empty, without a directory.
func newDisk(dir string, endpoints []endpoint) *disk {
	if dir == "" {
		return nil
	}
	names := make([]string, len(endpoints))
	for i, e := range endpoints {
		names[i] = e.base.String()
	}
	sum := sha256.Sum256([]byte(strings.Join(names, "\n")))
	return &disk{dir: filepath.Join(dir, "schemas-"+hex.EncodeToString(sum[:6]))}
}

// path names the file of a key. Keys hold subjects, which may hold anything.
func (d *disk) path(key string) string {
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(d.dir, hex.EncodeToString(sum[:12])+".json")
}

func (f diskFile) sum() string {
	f.Sum = ""
	text, _ := json.Marshal(f) // strings and ints: it cannot fail
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// load reads the answer for a key, if a sound one is there.
func (d *disk) load(key string) (answer, bool) {
	if d == nil {
		return answer{}, false
	}
	info, err := os.Stat(d.path(key))
	if err != nil || info.Size() > 2*maxResponseBytes {
		return answer{}, false
	}
	text, err := os.ReadFile(d.path(key))
	if err != nil {
		return answer{}, false
	}
	var f diskFile
	if json.Unmarshal(text, &f) != nil || f.Format != diskFormat || f.Key != key || f.Sum != f.sum() {
		return answer{}, false
	}
	if f.Schema == "" && !strings.HasPrefix(key, guidKey) {
		return answer{}, false
	}
	return answer{id: f.ID, schema: serde.Schema{Format: f.Type, Text: f.Schema, References: f.References}}, true
}

// store writes the answer for a key, whole or not at all.
func (d *disk) store(key string, a answer) error {
	if d == nil {
		return nil
	}
	f := diskFile{Format: diskFormat, Key: key, ID: a.id, Type: a.schema.Format, Schema: a.schema.Text, References: a.schema.References}
	f.Sum = f.sum()
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(d.dir, ".new-*")
	if err != nil {
		return err
	}
	_, err = temp.Write(text)
	if closed := temp.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(temp.Name(), d.path(key))
	}
	if err != nil {
		os.Remove(temp.Name())
	}
	return err
}
