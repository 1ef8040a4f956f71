"""From keys of broker.conf to the settings of each strategy, in seconds, bytes and fractions."""

from trimtab.settings.load_manager import LoadManagerSettings, load_manager_settings
from trimtab.settings.placers import (
    LeastLongTermMessageRateSettings,
    LeastResourceUsageWithWeightSettings,
    least_long_term_message_rate_settings,
    least_resource_usage_with_weight_settings,
    round_robin_broker_selector_settings,
)
from trimtab.settings.reading import SettingError, setting, unknown_keys
from trimtab.settings.shedders import (
    AvgShedderSettings,
    OverloadShedderSettings,
    ThresholdShedderSettings,
    UniformLoadShedderSettings,
    avg_shedder_settings,
    overload_shedder_settings,
    threshold_shedder_settings,
    uniform_load_shedder_settings,
)
from trimtab.settings.weights import ResourceWeights

__all__ = [
    "AvgShedderSettings",
    "LeastLongTermMessageRateSettings",
    "LeastResourceUsageWithWeightSettings",
    "LoadManagerSettings",
    "OverloadShedderSettings",
    "ResourceWeights",
    "SettingError",
    "ThresholdShedderSettings",
    "UniformLoadShedderSettings",
    "avg_shedder_settings",
    "least_long_term_message_rate_settings",
    "least_resource_usage_with_weight_settings",
    "load_manager_settings",
    "overload_shedder_settings",
    "round_robin_broker_selector_settings",
    "setting",
    "threshold_shedder_settings",
    "uniform_load_shedder_settings",
    "unknown_keys",
]
