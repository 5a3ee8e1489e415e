package weirstream.nexmark;

import java.io.Serializable;
import java.lang.management.ManagementFactory;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.java.tuple.Tuple;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.datagen.source.DataGeneratorSource;
import org.apache.flink.connector.datagen.source.GeneratorFunction;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;

/**
 * Nexmark on Flink, from a generator to nothing in one JVM. Arguments: "check" QUERY EVENTS prints every row as Go prints the rows
 * of package answer; "bench" QUERY EVENTS runs the query twice over EVENTS to warm up, then once measured, and prints a line of go
 * test -bench. Heap state, parallelism 1, object reuse. No checkpoints: one of the heap is a copy of the whole state, and weir's state is
 * as gone as Flink's when such a run ends.
 */
public final class Nexmark {
  private record Query(Function<DataStream<Event>, DataStream<?>> build, Show show) {}

  /** Prints a row as Go prints it. */
  private interface Show extends Serializable {
    String of(Object row);
  }

  private static final Map<String, Query> QUERIES = new LinkedHashMap<>();

  static {
    QUERIES.put("q0", new Query(Queries::q0, fields("Auction", "Bidder", "Price", "Time", "Extra")));
    QUERIES.put("q1", new Query(Queries::q1, fields("Auction", "Bidder", "Price", "Time", "Extra")));
    QUERIES.put("q2", new Query(Queries::q2, fields("Auction", "Price")));
    QUERIES.put("q3", new Query(Queries::q3, fields("Name", "City", "State", "Auction")));
    QUERIES.put("q4", new Query(Queries::q4, r -> ((Tuple) r).getField(0) + " = " + ((Tuple) r).getField(1)));
    QUERIES.put("q5", new Query(Queries::q5, fields("Auction", "Bids")));
    QUERIES.put("q7", new Query(Queries::q7, fields("Auction", "Bidder", "Price", "Time", "Extra")));
    QUERIES.put("q8", new Query(Queries::q8, fields("ID", "Name", "Start")));
    QUERIES.put("q9", new Query(Q9::build, Q9::show));
    QUERIES.put("q11", new Query(Queries::q11, fields("Bidder", "Bids", "Start", "End")));
    QUERIES.put("q13", new Query(Q13::build, fields("Auction", "Bidder", "Price", "Time", "Value")));
    QUERIES.put("q14", new Query(Queries::q14, fields("Auction", "Bidder", "Price", "TimeType", "Time", "Extra", "Cs")));
    QUERIES.put("q15", new Query(Q15::build, Q15::show));
    QUERIES.put("q16", new Query(Q16::build, Q16::show));
    QUERIES.put("q17", new Query(Q17::build, Q17::show));
    QUERIES.put("q18", new Query(Q18::build, Q18::show));
    QUERIES.put("q19", new Query(Q19::build, Q19::show));
    QUERIES.put("q20", new Query(Q20::build, Q20::show));
    QUERIES.put("q21", new Query(Queries::q21, fields("Auction", "Bidder", "Price", "Channel", "ChannelID")));
    QUERIES.put("q22", new Query(Queries::q22, fields("Auction", "Bidder", "Price", "Channel", "Dir1", "Dir2", "Dir3")));
    QUERIES.put("q23", new Query(Q23::build, Q23::show));
  }

  public static void main(String[] args) throws Exception {
    Query q = QUERIES.get(args[1]);
    long events = Long.parseLong(args[2]);
    if (args[0].equals("check")) {
      run(q, events, 1000, true);
      return;
    }
    run(q, events, 10_000, false);
    run(q, events, 10_000, false);
    long cpu = cpu();
    long wall = System.nanoTime();
    run(q, events, 10_000, false);
    double spent = System.nanoTime() - wall;
    System.out.printf("BenchmarkQuery/%s/flink-1 %d %.1f ns/op %.1f cpu-ns/rec %.0f rec/s%n", args[1], events, spent / events,
        (cpu() - cpu) / (double) events, events / spent * 1e9);
  }

  private static long cpu() {
    return ((com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
  }

  private static void run(Query q, long events, long perSecond, boolean print) throws Exception {
    StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(1, new Configuration());
    env.getConfig().enableObjectReuse();
    DataGeneratorSource<Event> source = new DataGeneratorSource<>(new Made(perSecond), events, TypeInformation.of(Event.class));
    DataStream<Event> in =
        env.fromSource(source, WatermarkStrategy.<Event>forMonotonousTimestamps().withTimestampAssigner((e, before) -> e.time()), "events");
    DataStream<?> rows = q.build.apply(in);
    if (print) {
      Show show = q.show;
      rows.map(r -> print(show.of(r))).sinkTo(new DiscardingSink<>());
    } else {
      rows.sinkTo((org.apache.flink.api.connector.sink2.Sink) new DiscardingSink<>());
    }
    env.execute();
  }

  private static String print(String row) {
    System.out.println("row " + row);
    return "";
  }

  /** Shows a tuple whose fields have names. */
  private static Show fields(String... names) {
    return row -> {
      StringBuilder line = new StringBuilder();
      for (int i = 0; i < names.length; i++) {
        line.append(i == 0 ? "{" : " ").append(names[i]).append(':').append(((Tuple) row).<Object>getField(i));
      }
      return line.append('}').toString();
    };
  }

  /** Makes event after event; the tables of the generator are made where it runs. */
  private static final class Made implements GeneratorFunction<Long, Event> {
    private final long perSecond;
    private transient Generator generator;

    Made(long perSecond) {
      this.perSecond = perSecond;
    }

    @Override
    public Event map(Long n) {
      if (generator == null) {
        generator = new Generator(0, perSecond);
      }
      return generator.event(n);
    }
  }
}
