package org.apache.pulsar.common.naming;

import com.google.common.collect.BoundType;
import com.google.common.collect.Range;

/** Stands for the factory of that name, whose own class wants caches and a metadata store. */
public class NamespaceBundleFactory {
    public NamespaceBundle getBundle(String namespace, String range) {
        String[] ends = range.split("_");
        long last = Long.decode(ends[1]);
        BoundType end = last == 0xffffffffL ? BoundType.CLOSED : BoundType.OPEN;
        Range<Long> hashes = Range.range(Long.decode(ends[0]), BoundType.CLOSED, last, end);
        return new NamespaceBundle(NamespaceName.get(namespace), hashes, this);
    }
}
