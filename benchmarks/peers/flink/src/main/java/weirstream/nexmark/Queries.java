package weirstream.nexmark;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.flink.api.common.functions.AggregateFunction;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.TypeHint;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.api.java.tuple.Tuple3;
import org.apache.flink.api.java.tuple.Tuple4;
import org.apache.flink.api.java.tuple.Tuple5;
import org.apache.flink.api.java.tuple.Tuple7;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.co.KeyedCoProcessFunction;
import org.apache.flink.streaming.api.functions.windowing.ProcessAllWindowFunction;
import org.apache.flink.streaming.api.functions.windowing.ProcessWindowFunction;
import org.apache.flink.streaming.api.windowing.assigners.EventTimeSessionWindows;
import org.apache.flink.streaming.api.windowing.assigners.SlidingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.assigners.TumblingEventTimeWindows;
import org.apache.flink.streaming.api.windowing.windows.TimeWindow;
import org.apache.flink.util.Collector;

/**
 * The queries as a user of the DataStream API would write them; those with a function of some size are in classes of their own. What each
 * must return is in the Go package answer.
 */
final class Queries {
  private Queries() {}

  private static final Duration TEN = Duration.ofSeconds(10);

  static SingleOutputStreamOperator<Event.Bid> bids(DataStream<Event> in) {
    return in.filter(e -> e.bid != null).map(e -> e.bid);
  }

  private static SingleOutputStreamOperator<Event.Person> persons(DataStream<Event> in) {
    return in.filter(e -> e.person != null).map(e -> e.person);
  }

  static SingleOutputStreamOperator<Event.Auction> auctions(DataStream<Event> in) {
    return in.filter(e -> e.auction != null).map(e -> e.auction);
  }

  private static Tuple5<Long, Long, Long, Long, String> row(Event.Bid b, long price) {
    return Tuple5.of(b.auction, b.bidder, price, b.time, b.extra);
  }

  private static TypeInformation<Tuple5<Long, Long, Long, Long, String>> rowType() {
    return TypeInformation.of(new TypeHint<>() {});
  }

  static DataStream<?> q0(DataStream<Event> in) {
    return bids(in).map(b -> row(b, b.price)).returns(rowType());
  }

  static DataStream<?> q1(DataStream<Event> in) {
    return bids(in).map(b -> row(b, b.price * 908)).returns(rowType());
  }

  static DataStream<?> q2(DataStream<Event> in) {
    return bids(in).filter(b -> b.auction % 123 == 0).map(b -> Tuple2.of(b.auction, b.price)).returns(Types.TUPLE(Types.LONG, Types.LONG));
  }

  static DataStream<?> q14(DataStream<Event> in) {
    return bids(in)
        .filter(b -> b.price * 908 > 1_000_000_000L && b.price * 908 < 50_000_000_000L)
        .map(b -> Tuple7.of(b.auction, b.bidder, b.price * 908, kind(b.time), b.time, b.extra, countC(b.extra)))
        .returns(new TypeHint<Tuple7<Long, Long, Long, String, Long, String, Long>>() {});
  }

  private static String kind(long ms) {
    int hour = (int) (ms / 3_600_000 % 24);
    if (hour >= 8 && hour <= 18) {
      return "dayTime";
    }
    return hour <= 6 || hour >= 20 ? "nightTime" : "otherTime";
  }

  private static long countC(String s) {
    long n = 0;
    for (int i = 0; i < s.length(); i++) {
      n += s.charAt(i) == 'c' ? 1 : 0;
    }
    return n;
  }

  static DataStream<?> q21(DataStream<Event> in) {
    return bids(in)
        .flatMap(
            (Event.Bid b, Collector<Tuple5<Long, Long, Long, String, String>> out) -> {
              String id = channelId(b);
              if (id != null) {
                out.collect(Tuple5.of(b.auction, b.bidder, b.price, b.channel, id));
              }
            })
        .returns(new TypeHint<Tuple5<Long, Long, Long, String, String>>() {});
  }

  private static final Pattern IN_URL = Pattern.compile("(?:&|^)channel_id=([^&]*)");

  private static String channelId(Event.Bid b) {
    switch (b.channel.toLowerCase()) {
      case "apple":
        return "0";
      case "google":
        return "1";
      case "facebook":
        return "2";
      case "baidu":
        return "3";
      default:
        Matcher m = IN_URL.matcher(b.url);
        return m.find() ? m.group(1) : null;
    }
  }

  static DataStream<?> q22(DataStream<Event> in) {
    return bids(in)
        .map(
            b -> {
              String[] parts = b.url.split("/");
              return new Tuple7<>(b.auction, b.bidder, b.price, b.channel, part(parts, 3), part(parts, 4), part(parts, 5));
            })
        .returns(new TypeHint<Tuple7<Long, Long, Long, String, String, String, String>>() {});
  }

  private static String part(String[] parts, int i) {
    return i < parts.length ? parts[i] : "";
  }

  static DataStream<?> q3(DataStream<Event> in) {
    return persons(in)
        .filter(p -> p.state.equals("OR") || p.state.equals("ID") || p.state.equals("CA"))
        .keyBy(p -> p.id)
        .connect(auctions(in).filter(a -> a.category == 10).keyBy(a -> a.seller))
        .process(new Sellers());
  }

  /** Joins a person with auctions that come before and after. */
  private static final class Sellers extends KeyedCoProcessFunction<Long, Event.Person, Event.Auction, Tuple4<String, String, String, Long>> {
    private transient ValueState<Tuple3<String, String, String>> person;
    private transient ListState<Long> early;

    @Override
    public void open(OpenContext context) {
      person = getRuntimeContext().getState(new ValueStateDescriptor<>("person", Types.TUPLE(Types.STRING, Types.STRING, Types.STRING)));
      early = getRuntimeContext().getListState(new ListStateDescriptor<>("early", Types.LONG));
    }

    @Override
    public void processElement1(Event.Person p, Context c, Collector<Tuple4<String, String, String, Long>> out) throws Exception {
      person.update(Tuple3.of(p.name, p.city, p.state));
      for (long auction : early.get()) {
        out.collect(Tuple4.of(p.name, p.city, p.state, auction));
      }
      early.clear();
    }

    @Override
    public void processElement2(Event.Auction a, Context c, Collector<Tuple4<String, String, String, Long>> out) throws Exception {
      Tuple3<String, String, String> p = person.value();
      if (p == null) {
        early.add(a.id);
      } else {
        out.collect(Tuple4.of(p.f0, p.f1, p.f2, a.id));
      }
    }
  }

  static DataStream<?> q4(DataStream<Event> in) {
    DataStream<Tuple3<Long, Long, Long>> best =
        auctions(in).map(a -> Tuple4.of(a.id, a.category, a.time, a.expires)).returns(Types.TUPLE(Types.LONG, Types.LONG, Types.LONG, Types.LONG))
            .keyBy(a -> a.f0)
            .connect(bids(in).map(b -> Tuple3.of(b.auction, b.price, b.time)).returns(Types.TUPLE(Types.LONG, Types.LONG, Types.LONG)).keyBy(b -> b.f0))
            .process(new Best());
    return best.keyBy(b -> b.f0).process(new Average());
  }

  /** Emits (category, best price before or 0, best price now) when an auction's best valid bid gets better. */
  private static final class Best
      extends KeyedCoProcessFunction<Long, Tuple4<Long, Long, Long, Long>, Tuple3<Long, Long, Long>, Tuple3<Long, Long, Long>> {
    private transient ValueState<Tuple4<Long, Long, Long, Long>> auction;
    private transient ValueState<Long> price;
    private transient ListState<Tuple2<Long, Long>> early;

    @Override
    public void open(OpenContext context) {
      auction = getRuntimeContext().getState(new ValueStateDescriptor<>("auction", Types.TUPLE(Types.LONG, Types.LONG, Types.LONG, Types.LONG)));
      price = getRuntimeContext().getState(new ValueStateDescriptor<>("price", Types.LONG));
      early = getRuntimeContext().getListState(new ListStateDescriptor<>("early", Types.TUPLE(Types.LONG, Types.LONG)));
    }

    @Override
    public void processElement1(Tuple4<Long, Long, Long, Long> a, Context c, Collector<Tuple3<Long, Long, Long>> out) throws Exception {
      auction.update(a.copy());
      for (Tuple2<Long, Long> b : early.get()) {
        offer(a, b.f0, b.f1, out);
      }
      early.clear();
    }

    @Override
    public void processElement2(Tuple3<Long, Long, Long> b, Context c, Collector<Tuple3<Long, Long, Long>> out) throws Exception {
      Tuple4<Long, Long, Long, Long> a = auction.value();
      if (a == null) {
        early.add(Tuple2.of(b.f1, b.f2));
      } else {
        offer(a, b.f1, b.f2, out);
      }
    }

    private void offer(Tuple4<Long, Long, Long, Long> a, long offered, long time, Collector<Tuple3<Long, Long, Long>> out) throws Exception {
      if (time < a.f2 || time > a.f3) {
        return;
      }
      Long before = price.value();
      if (before == null || offered > before) {
        price.update(offered);
        out.collect(Tuple3.of(a.f1, before == null ? 0L : before, offered));
      }
    }
  }

  private static final class Average extends KeyedProcessFunction<Long, Tuple3<Long, Long, Long>, Tuple2<Long, Long>> {
    private transient ValueState<Tuple2<Long, Long>> sum;

    @Override
    public void open(OpenContext context) {
      sum = getRuntimeContext().getState(new ValueStateDescriptor<>("sum", Types.TUPLE(Types.LONG, Types.LONG)));
    }

    @Override
    public void processElement(Tuple3<Long, Long, Long> change, Context c, Collector<Tuple2<Long, Long>> out) throws Exception {
      Tuple2<Long, Long> before = sum.value();
      long total = (before == null ? 0 : before.f0) - change.f1 + change.f2;
      long count = (before == null ? 0 : before.f1) + (change.f1 == 0 ? 1 : 0);
      sum.update(Tuple2.of(total, count));
      out.collect(Tuple2.of(change.f0, total / count));
    }
  }

  /** Counts. */
  private static final class Count<T> implements AggregateFunction<T, Long, Long> {
    @Override
    public Long createAccumulator() {
      return 0L;
    }

    @Override
    public Long add(T value, Long n) {
      return n + 1;
    }

    @Override
    public Long getResult(Long n) {
      return n;
    }

    @Override
    public Long merge(Long a, Long b) {
      return a + b;
    }
  }

  static DataStream<?> q5(DataStream<Event> in) {
    return bids(in).map(b -> b.auction)
        .keyBy(a -> a)
        .window(SlidingEventTimeWindows.of(TEN, Duration.ofSeconds(2)))
        .aggregate(new Count<>(), new ProcessWindowFunction<Long, Tuple2<Long, Long>, Long, TimeWindow>() {
          @Override
          public void process(Long auction, Context c, Iterable<Long> counts, Collector<Tuple2<Long, Long>> out) {
            out.collect(Tuple2.of(auction, counts.iterator().next()));
          }
        })
        // A window's counts carry its last millisecond, and each window ends in two seconds of its own.
        .windowAll(TumblingEventTimeWindows.of(Duration.ofSeconds(2)))
        .process(new ProcessAllWindowFunction<Tuple2<Long, Long>, Tuple2<Long, Long>, TimeWindow>() {
          @Override
          public void process(Context c, Iterable<Tuple2<Long, Long>> counts, Collector<Tuple2<Long, Long>> out) {
            long most = 0;
            for (Tuple2<Long, Long> n : counts) {
              most = Math.max(most, n.f1);
            }
            for (Tuple2<Long, Long> n : counts) {
              if (n.f1 == most) {
                out.collect(n);
              }
            }
          }
        });
  }

  static DataStream<?> q7(DataStream<Event> in) {
    return bids(in).windowAll(TumblingEventTimeWindows.of(TEN)).aggregate(new Highest())
        .flatMap((List<Event.Bid> all, Collector<Tuple5<Long, Long, Long, Long, String>> out) -> all.forEach(b -> out.collect(row(b, b.price))))
        .returns(rowType());
  }

  /** Keeps the bids with the highest price so far. */
  private static final class Highest implements AggregateFunction<Event.Bid, List<Event.Bid>, List<Event.Bid>> {
    @Override
    public List<Event.Bid> createAccumulator() {
      return new ArrayList<>(1);
    }

    @Override
    public List<Event.Bid> add(Event.Bid b, List<Event.Bid> best) {
      if (!best.isEmpty() && b.price > best.get(0).price) {
        best.clear();
      }
      if (best.isEmpty() || b.price == best.get(0).price) {
        best.add(b);
      }
      return best;
    }

    @Override
    public List<Event.Bid> getResult(List<Event.Bid> best) {
      return best;
    }

    @Override
    public List<Event.Bid> merge(List<Event.Bid> a, List<Event.Bid> b) {
      b.forEach(bid -> add(bid, a));
      return a;
    }
  }

  static DataStream<?> q8(DataStream<Event> in) {
    return persons(in).map(p -> Tuple3.of(p.id, p.name, p.time)).returns(Types.TUPLE(Types.LONG, Types.STRING, Types.LONG))
        .coGroup(auctions(in).map(a -> a.seller))
        .where(p -> p.f0)
        .equalTo(seller -> seller)
        .window(TumblingEventTimeWindows.of(TEN))
        .apply((Iterable<Tuple3<Long, String, Long>> people, Iterable<Long> sales, Collector<Tuple3<Long, String, Long>> out) -> {
          if (sales.iterator().hasNext()) {
            people.forEach(p -> out.collect(Tuple3.of(p.f0, p.f1, p.f2 / 10_000 * 10_000)));
          }
        }, Types.TUPLE(Types.LONG, Types.STRING, Types.LONG));
  }

  static DataStream<?> q11(DataStream<Event> in) {
    return bids(in).map(b -> b.bidder)
        .keyBy(b -> b)
        .window(EventTimeSessionWindows.withGap(TEN))
        .aggregate(new Count<>(), new ProcessWindowFunction<Long, Tuple4<Long, Long, Long, Long>, Long, TimeWindow>() {
          @Override
          public void process(Long bidder, Context c, Iterable<Long> counts, Collector<Tuple4<Long, Long, Long, Long>> out) {
            out.collect(Tuple4.of(bidder, counts.iterator().next(), c.window().getStart(), c.window().getEnd()));
          }
        });
  }
}
