package org.apache.pulsar.broker.namespace;

import org.apache.pulsar.common.naming.NamespaceBundleFactory;

/** Stands for the service of that name, as far as a shedder asks it. */
public class NamespaceService {
    public NamespaceBundleFactory getNamespaceBundleFactory() {
        return new NamespaceBundleFactory();
    }
}
