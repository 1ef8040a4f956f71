package org.apache.pulsar.broker;

import org.apache.pulsar.broker.loadbalance.LeaderElectionService;
import org.apache.pulsar.broker.namespace.NamespaceService;
import org.apache.pulsar.broker.resources.PulsarResources;

/** Stands for a whole broker, of which a load manager asks no more than this. */
public class PulsarService {
    private final ServiceConfiguration configuration;
    private final PulsarResources resources;

    public PulsarService(ServiceConfiguration configuration, PulsarResources resources) {
        this.configuration = configuration;
        this.resources = resources;
    }

    public ServiceConfiguration getConfiguration() {
        return configuration;
    }

    public PulsarResources getPulsarResources() {
        return resources;
    }

    /** There is none, so nothing is deleted from a store. */
    public LeaderElectionService getLeaderElectionService() {
        return null;
    }

    public NamespaceService getNamespaceService() {
        return new NamespaceService();
    }
}
