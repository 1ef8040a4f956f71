package org.apache.pulsar.broker;

import org.apache.pulsar.broker.namespace.NamespaceService;

/** Stands for a whole broker, of which a shedder asks nothing but the way to make bundles. */
public class PulsarService {
    public NamespaceService getNamespaceService() {
        return new NamespaceService();
    }
}
