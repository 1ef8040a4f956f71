"""From keys of broker.conf to the settings of each strategy, in seconds, bytes and fractions."""

from trimtab.pulsar.settings.candidates import CandidateSettings, candidate_settings
from trimtab.pulsar.settings.load_manager import (
    LoadManagerSettings,
    check_intervals,
    load_manager_settings,
)
from trimtab.pulsar.settings.reader import Reader, SettingError, setting, unknown_keys
from trimtab.pulsar.settings.strategies import (
    AvgShedderSettings,
    BrokerLoadSettings,
    ExtensionsLeastResourceUsageWithWeightSettings,
    LeastLongTermMessageRateSettings,
    LeastResourceUsageWithWeightSettings,
    OverloadShedderSettings,
    ThresholdShedderSettings,
    TransferShedderSettings,
    UniformLoadShedderSettings,
    avg_shedder_settings,
    broker_load_settings,
    extensions_least_resource_usage_with_weight_settings,
    least_long_term_message_rate_settings,
    least_resource_usage_with_weight_settings,
    overload_shedder_settings,
    threshold_shedder_settings,
    transfer_shedder_settings,
    uniform_load_shedder_settings,
)
from trimtab.pulsar.settings.weights import ResourceWeights, resource_weights

__all__ = [
    "AvgShedderSettings",
    "BrokerLoadSettings",
    "CandidateSettings",
    "ExtensionsLeastResourceUsageWithWeightSettings",
    "LeastLongTermMessageRateSettings",
    "LeastResourceUsageWithWeightSettings",
    "LoadManagerSettings",
    "OverloadShedderSettings",
    "Reader",
    "ResourceWeights",
    "SettingError",
    "ThresholdShedderSettings",
    "TransferShedderSettings",
    "UniformLoadShedderSettings",
    "avg_shedder_settings",
    "broker_load_settings",
    "candidate_settings",
    "check_intervals",
    "extensions_least_resource_usage_with_weight_settings",
    "least_long_term_message_rate_settings",
    "least_resource_usage_with_weight_settings",
    "load_manager_settings",
    "overload_shedder_settings",
    "resource_weights",
    "setting",
    "threshold_shedder_settings",
    "transfer_shedder_settings",
    "uniform_load_shedder_settings",
    "unknown_keys",
]
