package kafkatest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// startFake starts an embedded broker for this test.
func (b *Broker) startFake(s settings) {
	b.t.Helper()
	opts := []kfake.Opt{
		kfake.NumBrokers(s.nodes),
		kfake.GroupMinSessionTimeout(500 * time.Millisecond), // as scripts/kafka sets it
	}
	if s.door.sasl() {
		opts = append(opts, kfake.EnableSASL())
		for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
			opts = append(opts, kfake.Superuser(mechanism, User, Password))
		}
	}
	if s.door.tls() {
		server, client, err := certificate()
		if err != nil {
			b.t.Fatalf("kafkatest: making a certificate: %v", err)
		}
		opts = append(opts, kfake.TLS(server))
		b.tls = client
	}
	if s.layer != nil {
		opts = append(opts, kfake.ListenFn(s.layer.listen))
	}
	fake, err := kfake.NewCluster(append(opts, s.fake...)...)
	if err != nil {
		b.t.Fatalf("kafkatest: starting the embedded broker: %v", err)
	}
	b.t.Cleanup(fake.Close)
	if s.layer != nil {
		s.layer.fake = fake
		b.t.Cleanup(s.layer.close)
	}
	b.fake, b.addrs = fake, fake.ListenAddrs()
}

// certificate makes a self-signed certificate for 127.0.0.1 and a client configuration that trusts it.
func certificate() (server, client *tls.Config, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "127.0.0.1"},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(24 * time.Hour),
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, nil, err
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, nil, err
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	server = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	return server, &tls.Config{RootCAs: roots}, nil
}
