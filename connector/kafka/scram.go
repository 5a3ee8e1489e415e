package kafka

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"strconv"
	"strings"
)

// scramIterationsMax bounds what a server may make us compute.
const scramIterationsMax = 1 << 20

// A scram is one conversation of RFC 5802, as SASL/SCRAM uses it: the client proves that it knows the password without sending
// it, and the server proves that it knows it too. Step is called with each message of the server; the first is empty.
type scram struct {
	hash        func() hash.Hash
	user        string
	password    string
	nonce       string
	firstBare   string
	serverProof []byte
	step        int
}

func newScram(mechanism string) *scram {
	if mechanism == ScramSHA512 {
		return &scram{hash: sha512.New}
	}
	return &scram{hash: sha256.New}
}

// Begin, Step and Done are what sarama asks of a SCRAM client.
func (s *scram) Begin(user, password, _ string) error {
	// RFC 5802 escapes what separates attributes. Passwords are used as they are: SASLprep leaves ASCII alone.
	s.user, s.password = strings.NewReplacer("=", "=3D", ",", "=2C").Replace(user), password
	s.nonce = rand.Text()
	return nil
}

func (s *scram) Step(challenge string) (string, error) {
	s.step++
	switch s.step {
	case 1:
		s.firstBare = "n=" + s.user + ",r=" + s.nonce
		return "n,," + s.firstBare, nil
	case 2:
		return s.prove(challenge)
	case 3:
		return "", s.verify(challenge)
	}
	return "", errors.New("kafka: SCRAM: the server goes on after the end")
}

func (s *scram) Done() bool { return s.step >= 3 }

// prove answers the server's salt and nonce.
func (s *scram) prove(serverFirst string) (string, error) {
	at := attributes(serverFirst)
	salt, err := base64.StdEncoding.DecodeString(at['s'])
	if err != nil {
		return "", errors.New("kafka: SCRAM: the server's salt is not base64")
	}
	iterations, err := strconv.Atoi(at['i'])
	if err != nil || iterations < 1 || iterations > scramIterationsMax {
		return "", fmt.Errorf("kafka: SCRAM: the server asks for %q iterations", at['i'])
	}
	if !strings.HasPrefix(at['r'], s.nonce) || len(at['r']) == len(s.nonce) {
		return "", errors.New("kafka: SCRAM: the server's nonce does not continue ours")
	}
	size := s.hash().Size()
	salted, err := pbkdf2.Key(s.hash, s.password, salt, iterations, size)
	if err != nil {
		return "", fmt.Errorf("kafka: SCRAM: %w", err)
	}
	withoutProof := "c=biws,r=" + at['r'] // biws is "n,,": no channel binding
	message := s.firstBare + "," + serverFirst + "," + withoutProof

	clientKey := s.mac(salted, "Client Key")
	stored := s.hash()
	stored.Write(clientKey)
	proof := s.mac(stored.Sum(nil), message)
	for i := range proof {
		proof[i] ^= clientKey[i]
	}
	s.serverProof = s.mac(s.mac(salted, "Server Key"), message)
	return withoutProof + ",p=" + base64.StdEncoding.EncodeToString(proof), nil
}

// verify makes sure that the server knows the password too.
func (s *scram) verify(serverFinal string) error {
	at := attributes(serverFinal)
	if e := at['e']; e != "" {
		return fmt.Errorf("kafka: SCRAM: the server says %q", e)
	}
	got, err := base64.StdEncoding.DecodeString(at['v'])
	if err != nil || !hmac.Equal(got, s.serverProof) {
		return errors.New("kafka: SCRAM: the server did not prove that it knows the password")
	}
	return nil
}

func (s *scram) mac(key []byte, message string) []byte {
	m := hmac.New(s.hash, key)
	m.Write([]byte(message))
	return m.Sum(nil)
}

// attributes takes "a=1,b=2" apart.
func attributes(s string) map[byte]string {
	out := make(map[byte]string)
	for _, part := range strings.Split(s, ",") {
		if len(part) >= 2 && part[1] == '=' {
			out[part[0]] = part[2:]
		}
	}
	return out
}
