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

/** Each auction with the bid that wins it, updated while better ones come. */
final class Q9 {
  private Q9() {}

  static DataStream<?> build(DataStream<Event> in) {
    return Queries.auctions(in).keyBy(a -> a.id).connect(Queries.bids(in).keyBy(b -> b.auction)).process(new Winners());
  }

  static String show(Object row) {
    Tuple2<?, ?> r = (Tuple2<?, ?>) row;
    Event.Auction a = (Event.Auction) r.f0;
    Event.Bid b = (Event.Bid) r.f1;
    return a.id + " = {Auction:" + a + " Bidder:" + b.bidder + " Price:" + b.price + " BidTime:" + b.time + " BidExtra:" + b.extra + "}";
  }

  private static final class Winners extends KeyedCoProcessFunction<Long, Event.Auction, Event.Bid, Tuple2<Event.Auction, Event.Bid>> {
    private transient ValueState<Event.Auction> auction;
    private transient ValueState<Event.Bid> best;
    private transient ListState<Event.Bid> early;

    @Override
    public void open(OpenContext context) {
      auction = getRuntimeContext().getState(new ValueStateDescriptor<>("auction", Event.Auction.class));
      best = getRuntimeContext().getState(new ValueStateDescriptor<>("best", Event.Bid.class));
      early = getRuntimeContext().getListState(new ListStateDescriptor<>("early", Event.Bid.class));
    }

    @Override
    public void processElement1(Event.Auction a, Context c, Collector<Tuple2<Event.Auction, Event.Bid>> out) throws Exception {
      auction.update(a);
      for (Event.Bid b : early.get()) {
        offer(a, b, out);
      }
      early.clear();
    }

    @Override
    public void processElement2(Event.Bid b, Context c, Collector<Tuple2<Event.Auction, Event.Bid>> out) throws Exception {
      Event.Auction a = auction.value();
      if (a == null) {
        early.add(b);
      } else {
        offer(a, b, out);
      }
    }

    private void offer(Event.Auction a, Event.Bid b, Collector<Tuple2<Event.Auction, Event.Bid>> out) throws Exception {
      if (b.time < a.time || b.time > a.expires) {
        return;
      }
      Event.Bid leader = best.value();
      if (leader == null || leader.beats(b) < 0) {
        best.update(b);
        out.collect(Tuple2.of(a, b));
      }
    }
  }
}
