package weirstream.nexmark;

import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.streaming.api.datastream.DataStream;

/** The last bid of each bidder on each auction. */
final class Q18 {
  private Q18() {}

  static DataStream<?> build(DataStream<Event> in) {
    return Queries.bids(in)
        .keyBy(b -> Tuple2.of(b.bidder, b.auction), Types.TUPLE(Types.LONG, Types.LONG))
        .reduce((a, b) -> b.follows(a) > 0 ? b : a);
  }

  static String show(Object row) {
    Event.Bid b = (Event.Bid) row;
    return "{Bidder:" + b.bidder + " Auction:" + b.auction + "} = " + b;
  }
}
