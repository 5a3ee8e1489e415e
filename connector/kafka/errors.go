package kafka

import (
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/IBM/sarama"

	"github.com/weirstream/weir/internal/wire"
)

var errClosed = errors.New("kafka: the connection to the cluster is closed")

// named gives an error of the broker the name that it has in wire, if it has one there. The broker's own words stay in it.
func named(err error) error {
	var certificate *tls.CertificateVerificationError
	final := errors.As(err, &certificate) || errors.Is(err, sarama.ErrSASLAuthenticationFailed) // which sarama wraps in its own way
	if final && !errors.Is(err, wire.ErrRefused) {
		return fmt.Errorf("%w: %w", wire.ErrRefused, err)
	}
	var k sarama.KError
	if !errors.As(err, &k) {
		return err
	}
	switch k {
	case sarama.ErrUnknownTopicOrPartition:
		return fmt.Errorf("%w: %w", wire.ErrNoTopic, err)
	case sarama.ErrOffsetOutOfRange:
		return fmt.Errorf("%w: %w", wire.ErrOffsetGone, err)
	case sarama.ErrProducerFenced, sarama.ErrInvalidProducerEpoch, sarama.ErrInvalidProducerIDMapping, sarama.ErrFencedInstancedId:
		return fmt.Errorf("%w: %w", wire.ErrFenced, err)
	case sarama.ErrIllegalGeneration, sarama.ErrUnknownMemberId:
		return fmt.Errorf("%w: %w", wire.ErrGeneration, err)
	case sarama.ErrTopicAuthorizationFailed, sarama.ErrGroupAuthorizationFailed, sarama.ErrClusterAuthorizationFailed,
		sarama.ErrTransactionalIDAuthorizationFailed, sarama.ErrSASLAuthenticationFailed, sarama.ErrUnsupportedSASLMechanism,
		sarama.ErrIllegalSASLState, sarama.ErrPolicyViolation, sarama.ErrInvalidConfig, sarama.ErrInvalidPartitions,
		sarama.ErrInvalidReplicationFactor, sarama.ErrInvalidTopic, sarama.ErrUnsupportedVersion, sarama.ErrInvalidTransactionTimeout,
		sarama.ErrInvalidGroupId, sarama.ErrInvalidSessionTimeout, sarama.ErrOffsetMetadataTooLarge,
		sarama.ErrMessageSizeTooLarge, sarama.ErrMessageSetSizeTooLarge, sarama.ErrInvalidTimestamp, sarama.ErrInvalidRecord:
		return fmt.Errorf("%w: %w", wire.ErrRefused, err)
	}
	return err
}

// code is the broker's error in err, or ErrNoError.
func code(err error) sarama.KError {
	var k sarama.KError
	errors.As(err, &k)
	return k
}

// unreachable is the error of a connection that broke or could not be made: it is wire.ErrUnreachable, and says what happened.
type unreachable struct{ error }

func (u unreachable) Unwrap() error        { return u.error }
func (u unreachable) Is(target error) bool { return target == wire.ErrUnreachable }
