package org.apache.pulsar.broker.namespace;

import java.util.Set;
import org.apache.pulsar.common.naming.NamespaceBundle;

/** Says which bundles are the leader's own. */
public class NamespaceService {
    /** What it says from now on. */
    public static Set<NamespaceBundle> owned = Set.of();

    public Set<NamespaceBundle> getOwnedServiceUnits() {
        return owned;
    }
}
