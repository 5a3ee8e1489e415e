package weirstream.nexmark;

import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.functions.co.KeyedCoProcessFunction;
import org.apache.flink.util.Collector;

/** Bids with their auctions of category 10. An auction of another one is remembered too, or its bids would wait for ever. */
final class Q20 {
  private Q20() {}

  static DataStream<?> build(DataStream<Event> in) {
    return Queries.auctions(in).keyBy(a -> a.id).connect(Queries.bids(in).keyBy(b -> b.auction)).process(new Expand());
  }

  static String show(Object row) {
    Tuple2<?, ?> r = (Tuple2<?, ?>) row;
    Event.Auction a = (Event.Auction) r.f1;
    return "{Bid:" + r.f0 + " Item:" + a.item + " Description:" + a.description + " InitialBid:" + a.initialBid + " Reserve:" + a.reserve
        + " Opened:" + a.time + " Expires:" + a.expires + " Seller:" + a.seller + " Category:" + a.category + " AuctionExtra:" + a.extra + "}";
  }

  private static final class Expand extends KeyedCoProcessFunction<Long, Event.Auction, Event.Bid, Tuple2<Event.Bid, Event.Auction>> {
    private transient ValueState<Event.Auction> auction;
    private transient ListState<Event.Bid> waiting;

    @Override
    public void open(OpenContext context) {
      auction = getRuntimeContext().getState(new ValueStateDescriptor<>("auction", Event.Auction.class));
      waiting = getRuntimeContext().getListState(new ListStateDescriptor<>("waiting", Event.Bid.class));
    }

    @Override
    public void processElement1(Event.Auction a, Context c, Collector<Tuple2<Event.Bid, Event.Auction>> out) throws Exception {
      auction.update(a);
      for (Event.Bid b : waiting.get()) {
        join(a, b, out);
      }
      waiting.clear();
    }

    @Override
    public void processElement2(Event.Bid b, Context c, Collector<Tuple2<Event.Bid, Event.Auction>> out) throws Exception {
      Event.Auction a = auction.value();
      if (a == null) {
        waiting.add(b);
      } else {
        join(a, b, out);
      }
    }

    private void join(Event.Auction a, Event.Bid b, Collector<Tuple2<Event.Bid, Event.Auction>> out) {
      if (a.category == 10) {
        out.collect(Tuple2.of(b, a));
      }
    }
  }
}
