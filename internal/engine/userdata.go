package engine

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"fmt"
	"io"
)

// memberVersion is that of what members tell. From stateVersion on it has state and standbys: a leader does not wait for an older member to
// warm up, which it would never do. From markVersion on a leader answers for what it planned.
const (
	stateVersion  = 2
	markVersion   = 3
	memberVersion = 3
)

// memberData is what a member tells the leader, and the leader every member. A member of another version skips what it does not know.
type memberData struct {
	Version  int    `json:"v"`
	Instance string `json:"instance,omitempty"` // the middle of its transactional ids
	Rack     string `json:"rack,omitempty"`
	// Tasks without a partition to hold them by: told, those that run here; answered, those that are to.
	Tasks []string `json:"tasks,omitempty"`
	// State is told: the tasks whose state is here, and how many records of their changelogs it lacks.
	State map[string]int64 `json:"state,omitempty"`
	// Mark is told, and answered as it was told: which disk and which tasks of this process the plan was made for.
	Mark string `json:"mark,omitempty"`
	// Vacant is told: none of what the member holds has begun here, so nobody loses anything when it goes elsewhere.
	Vacant bool `json:"vacant,omitempty"`
	// Gives is answered: something that the member has is to go to another one, which gets it in the round after this.
	Gives bool `json:"gives,omitempty"`
	// Follow is answered: the tasks of which a copy of the state is to be kept. Coming are those of them that move here as soon as it
	// lacks little: the member asks for a round then.
	Follow []string `json:"follow,omitempty"`
	Coming []string `json:"coming,omitempty"`
	// Next is answered and told again: the tasks that the member gets when who has them has given them up. Otherwise the round in which nobody
	// has them might decide anew.
	Next  []string `json:"next,omitempty"`
	Alive []string `json:"alive,omitempty"` // answered: the instances of all members
	// Advertise is told: where the member's queries are reached. Where is answered: the tasks at each of these addresses.
	Advertise string              `json:"advertise,omitempty"`
	Where     map[string][]string `json:"where,omitempty"`
	Problem   string              `json:"problem,omitempty"`
}

// compressFrom is the length from which user data is compressed: it names task after task, and a group keeps the data of all its members in one
// record, which brokers refuse beyond a megabyte. Plain data begins with a brace.
const (
	compressFrom = 512
	compressed   = 1
	// dataMost is the greatest size of a member's data that is believed.
	dataMost = 64 << 20
)

func (d memberData) encode() []byte {
	plain, _ := json.Marshal(d) // strings and integers: it never fails
	if len(plain) < compressFrom {
		return plain
	}
	out := bytes.NewBuffer([]byte{compressed})
	w, _ := flate.NewWriter(out, flate.BestSpeed) // fails for levels that do not exist
	_, _ = w.Write(plain)                         // to memory, which does not fail
	_ = w.Close()
	return out.Bytes()
}

func decodeMember(b []byte) (d memberData) {
	if len(b) > 0 && b[0] == compressed {
		r := flate.NewReader(bytes.NewReader(b[1:]))
		plain, err := io.ReadAll(io.LimitReader(r, dataMost+1))
		switch {
		case err != nil:
			return memberData{Problem: fmt.Sprintf("user data is damaged: %v", err)}
		case len(plain) > dataMost:
			return memberData{Problem: fmt.Sprintf("user data is larger than %d MiB", dataMost>>20)}
		}
		b = plain
	}
	if err := json.Unmarshal(b, &d); err != nil {
		d = memberData{Problem: fmt.Sprintf("user data of another form: %v", err)}
	}
	return d
}
