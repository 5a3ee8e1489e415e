package weirstream;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.CloseOptions;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;

/**
 * The benchmark's Kafka Streams side. It prints "warm" when it has taken in the given number of records and runs until it
 * is killed; the harness reads CPU time and memory of the process from the kernel and checks the results itself.
 *
 * <p>Arguments, each KEY=VALUE: suite, brokers, in, out, app, dir, guarantee (eos or alo), commit (ms), emit (commit or
 * update), warm (records), session (ms), standbys.
 */
public final class Peer {
  public static void main(String[] args) {
    Properties arg = new Properties();
    for (String a : args) {
      int eq = a.indexOf('=');
      arg.setProperty(a.substring(0, eq), a.substring(eq + 1));
    }
    KafkaStreams streams = new KafkaStreams(topology(arg).build(), settings(arg));
    streams.setUncaughtExceptionHandler(
        e -> {
          e.printStackTrace();
          Runtime.getRuntime().halt(1);
          return null;
        });
    // Its default keeps the seat until the session times out; a process that leaves for good says so.
    CloseOptions leave = CloseOptions.groupMembershipOperation(CloseOptions.GroupMembershipOperation.LEAVE_GROUP);
    Runtime.getRuntime().addShutdownHook(new Thread(() -> streams.close(leave.withTimeout(Duration.ofSeconds(8)))));
    streams.start();
  }

  private static StreamsBuilder topology(Properties arg) {
    StreamsBuilder b = new StreamsBuilder();
    Serde<byte[]> bytes = Serdes.ByteArray();
    Serde<String> text = Serdes.String();
    String in = arg.getProperty("in");
    String out = arg.getProperty("out");
    Warm warm = new Warm(Long.parseLong(arg.getProperty("warm")));
    switch (arg.getProperty("suite")) {
      case "pass" -> b.stream(in, Consumed.with(bytes, bytes)).peek((k, v) -> warm.tick()).to(out, Produced.with(bytes, bytes));
      case "keep" ->
          b.stream(in, Consumed.with(text, bytes)).peek((k, v) -> warm.tick()).groupByKey(Grouped.with(text, bytes))
              .reduce((before, v) -> v, Materialized.with(text, bytes)).toStream().to(out, Produced.with(text, bytes));
      case "count" ->
          b.stream(in, Consumed.with(text, bytes)).peek((k, v) -> warm.tick()).groupByKey(Grouped.with(text, bytes)).count().toStream()
              .to(out, Produced.with(text, Serdes.Long()));
      case "repartition" -> {
        KStream<String, byte[]> moved =
            b.stream(in, Consumed.with(text, bytes)).peek((k, v) -> warm.tick())
                .selectKey((k, v) -> new String(Arrays.copyOf(v, 7), StandardCharsets.ISO_8859_1));
        moved.groupByKey(Grouped.with(text, bytes)).count().toStream().to(out, Produced.with(text, Serdes.Long()));
      }
      default -> throw new IllegalArgumentException("no suite " + arg.getProperty("suite"));
    }
    return b;
  }

  private static Properties settings(Properties arg) {
    Properties p = new Properties();
    p.put(StreamsConfig.APPLICATION_ID_CONFIG, arg.getProperty("app"));
    p.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arg.getProperty("brokers"));
    p.put(StreamsConfig.STATE_DIR_CONFIG, arg.getProperty("dir"));
    p.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, 1);
    p.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, 1);
    p.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG,
        arg.getProperty("guarantee").equals("eos") ? StreamsConfig.EXACTLY_ONCE_V2 : StreamsConfig.AT_LEAST_ONCE);
    p.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, Integer.parseInt(arg.getProperty("commit")));
    // With a cache a key's updates between two commits become one; without it each goes out.
    long cache = arg.getProperty("emit").equals("update") ? 0 : 64L << 20;
    p.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, cache);
    p.put(StreamsConfig.producerPrefix(ProducerConfig.LINGER_MS_CONFIG), 20);
    p.put(StreamsConfig.producerPrefix(ProducerConfig.BATCH_SIZE_CONFIG), 131072);
    if (Integer.parseInt(arg.getProperty("commit")) > 5_000) { // refused beside its default of 10 s
      p.put(StreamsConfig.producerPrefix(ProducerConfig.TRANSACTION_TIMEOUT_CONFIG), 60_000);
    }
    if (arg.containsKey("session")) {
      p.put(ConsumerConfig.SESSION_TIMEOUT_MS_CONFIG, Integer.parseInt(arg.getProperty("session")));
      p.put(ConsumerConfig.HEARTBEAT_INTERVAL_MS_CONFIG, Integer.parseInt(arg.getProperty("session")) / 3);
    }
    p.put(StreamsConfig.NUM_STANDBY_REPLICAS_CONFIG, Integer.parseInt(arg.getProperty("standbys", "0")));
    p.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
    return p;
  }

  /** Counts records on the one stream thread and says once that the warm-up is over. */
  private static final class Warm {
    private final long at;
    private long seen;

    Warm(long at) {
      this.at = at;
    }

    void tick() {
      if (++seen == at) {
        System.out.println("warm");
        System.out.flush();
      }
    }
  }
}
