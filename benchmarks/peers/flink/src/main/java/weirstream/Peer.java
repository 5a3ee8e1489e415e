package weirstream;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.Properties;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeHint;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.configuration.CheckpointingOptions;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.MemorySize;
import org.apache.flink.configuration.StateBackendOptions;
import org.apache.flink.configuration.TaskManagerOptions;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.connector.kafka.source.reader.deserializer.KafkaRecordDeserializationSchema;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.Collector;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;

/**
 * The benchmark's Flink side: one JVM, parallelism 1, object reuse on. Arguments and behaviour are those of the Kafka Streams
 * peer; state is heap or rocksdb, which may use memory bytes. Flink emits every update of a count.
 */
public final class Peer {
  public static void main(String[] args) throws Exception {
    Properties arg = new Properties();
    for (String a : args) {
      int eq = a.indexOf('=');
      arg.setProperty(a.substring(0, eq), a.substring(eq + 1));
    }
    StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(1, settings(arg));
    env.getConfig().enableObjectReuse();
    env.enableCheckpointing(Long.parseLong(arg.getProperty("commit")));
    DataStream<Tuple2<byte[], byte[]>> in =
        env.fromSource(source(arg), WatermarkStrategy.noWatermarks(), "in").map(new Warm(Long.parseLong(arg.getProperty("warm"))));
    switch (arg.getProperty("suite")) {
      case "pass" -> in.sinkTo(sink(arg));
      case "count" ->
          in.map(r -> Tuple2.of(text(r.f0), r.f1)).returns(keyed()).keyBy(r -> r.f0).map(new Count()).sinkTo(sink(arg));
      case "repartition" ->
          in.map(r -> Tuple2.of(text(Arrays.copyOf(r.f1, 7)), r.f1)).returns(keyed()).keyBy(r -> r.f0).map(new Count()).sinkTo(sink(arg));
      default -> throw new IllegalArgumentException("no suite " + arg.getProperty("suite"));
    }
    env.execute(arg.getProperty("app"));
  }

  private static Configuration settings(Properties arg) {
    Configuration c = new Configuration();
    boolean rocks = "rocksdb".equals(arg.getProperty("state"));
    c.set(StateBackendOptions.STATE_BACKEND, rocks ? "rocksdb" : "hashmap");
    c.set(CheckpointingOptions.CHECKPOINT_STORAGE, "filesystem");
    c.set(CheckpointingOptions.CHECKPOINTS_DIRECTORY, "file://" + arg.getProperty("dir"));
    c.set(CheckpointingOptions.INCREMENTAL_CHECKPOINTS, rocks);
    if (arg.containsKey("memory")) {
      c.set(TaskManagerOptions.MANAGED_MEMORY_SIZE, new MemorySize(Long.parseLong(arg.getProperty("memory"))));
    }
    return c;
  }

  private static KafkaSource<Tuple2<byte[], byte[]>> source(Properties arg) {
    return KafkaSource.<Tuple2<byte[], byte[]>>builder()
        .setBootstrapServers(arg.getProperty("brokers"))
        .setTopics(arg.getProperty("in"))
        .setGroupId(arg.getProperty("app"))
        .setStartingOffsets(OffsetsInitializer.earliest())
        .setDeserializer(new Raw())
        .build();
  }

  private static KafkaSink<Tuple2<byte[], byte[]>> sink(Properties arg) {
    String topic = arg.getProperty("out");
    boolean eos = arg.getProperty("guarantee").equals("eos");
    return KafkaSink.<Tuple2<byte[], byte[]>>builder()
        .setBootstrapServers(arg.getProperty("brokers"))
        .setRecordSerializer(
            (KafkaRecordSerializationSchema<Tuple2<byte[], byte[]>>)
                (r, context, time) -> new ProducerRecord<>(topic, r.f0, r.f1))
        .setDeliveryGuarantee(eos ? DeliveryGuarantee.EXACTLY_ONCE : DeliveryGuarantee.AT_LEAST_ONCE)
        .setTransactionalIdPrefix(arg.getProperty("app"))
        .setProperty("transaction.timeout.ms", String.valueOf(Duration.ofMinutes(10).toMillis()))
        .setProperty("linger.ms", "20")
        .setProperty("batch.size", "131072")
        .build();
  }

  private static String text(byte[] b) {
    return new String(b, StandardCharsets.ISO_8859_1);
  }

  private static TypeInformation<Tuple2<String, byte[]>> keyed() {
    return TypeInformation.of(new TypeHint<Tuple2<String, byte[]>>() {});
  }

  private static final class Raw implements KafkaRecordDeserializationSchema<Tuple2<byte[], byte[]>> {
    @Override
    public void deserialize(ConsumerRecord<byte[], byte[]> r, Collector<Tuple2<byte[], byte[]>> out) throws IOException {
      out.collect(Tuple2.of(r.key(), r.value()));
    }

    @Override
    public TypeInformation<Tuple2<byte[], byte[]>> getProducedType() {
      return TypeInformation.of(new TypeHint<Tuple2<byte[], byte[]>>() {});
    }
  }

  /** Says once that the warm-up is over. */
  private static final class Warm extends RichMapFunction<Tuple2<byte[], byte[]>, Tuple2<byte[], byte[]>> {
    private final long at;
    private long seen;

    Warm(long at) {
      this.at = at;
    }

    @Override
    public Tuple2<byte[], byte[]> map(Tuple2<byte[], byte[]> r) {
      if (++seen == at) {
        System.out.println("warm");
        System.out.flush();
      }
      return r;
    }
  }

  private static final class Count extends RichMapFunction<Tuple2<String, byte[]>, Tuple2<byte[], byte[]>> {
    private transient ValueState<Long> count;

    @Override
    public void open(OpenContext context) {
      count = getRuntimeContext().getState(new ValueStateDescriptor<>("count", Types.LONG));
    }

    @Override
    public Tuple2<byte[], byte[]> map(Tuple2<String, byte[]> r) throws Exception {
      Long before = count.value();
      long now = before == null ? 1 : before + 1;
      count.update(now);
      return Tuple2.of(r.f0.getBytes(StandardCharsets.ISO_8859_1), ByteBuffer.allocate(8).putLong(now).array());
    }
  }
}
