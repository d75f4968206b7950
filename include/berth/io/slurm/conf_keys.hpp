#pragma once
/// \file
/// The keys that slurm.conf may hold beside those of nodes (`io/slurm_nodes.hpp`), old ones included.
/// Source: the tables of src/common/read_config.c in Slurm 14.03 to 26.05, which are what its daemons accept; they
/// agree with slurm.conf(5), which leaves out what is no longer used.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "berth/core/error.hpp"
#include "berth/core/expected.hpp"
#include "berth/io/slurm_lines.hpp"
#include "berth/io/slurm_nodes.hpp"
#include "berth/io/unknown_key.hpp"

namespace berth::slurm_detail {

/// On `PartitionName=` lines.
inline constexpr std::string_view partition_keys =
    "AllocNodes AllowAccounts AllowGroups AllowQos Alternate CpuBind Default DefaultTime DefCPUPerGPU DefMemPerCPU "
    "DefMemPerGPU DefMemPerNode DenyAccounts DenyQos DisableRootJobs Exclusive ExclusiveTopo ExclusiveUser "
    "GraceTime Hidden LLN MaxCPUsPerNode MaxCPUsPerSocket MaxMemPerCPU MaxMemPerNode MaxNodes MaxTime MinNodes "
    "Nodes OverSubscribe OverTimeLimit PartitionName PowerDownOnIdle PreemptMode Priority PriorityJobFactor "
    "PriorityTier QOS ReqResv ResumeTimeout RootOnly SelectTypeParameters Shared State SuspendTime SuspendTimeout "
    "Topology TRESBillingWeights";

/// On lines of their own, about the cluster as a whole.
inline constexpr std::string_view cluster_keys =
    "AccountingStorageBackupHost AccountingStorageEnforce AccountingStorageExternalHost AccountingStorageHost "
    "AccountingStorageLoc AccountingStorageParameters AccountingStoragePass AccountingStoragePort "
    "AccountingStorageTRES AccountingStorageType AccountingStorageUser AccountingStoreFlags "
    "AccountingStoreJobComment AcctGatherEnergyType AcctGatherFilesystemType AcctGatherInfinibandType "
    "AcctGatherInterconnectType AcctGatherNodeFreq AcctGatherProfileType AllowSpecResourcesUsage AuthAltParameters "
    "AuthAltTypes AuthInfo AuthType BackupAddr BackupController BatchStartTimeout BcastExclude BcastParameters "
    "BurstBufferParameters BurstBufferType CacheGroups CertgenParameters CertgenType CertmgrParameters CertmgrType "
    "CheckpointType ChosLoc CliFilterParameters CliFilterPlugins ClusterName CommunicationParameters CompleteWait "
    "ControlAddr ControlMachine CoreSpecPlugin CpuFreqDef CpuFreqGovernors CredType CryptoType DataParserParameters "
    "DebugFlags DefaultStorageHost DefaultStorageLoc DefaultStoragePass DefaultStoragePort DefaultStorageType "
    "DefaultStorageUser DefCPUPerGPU DefMemPerCPU DefMemPerGPU DefMemPerNode DefRuntimePlugin DependencyParameters "
    "DisableRootJobs DynAllocPort EioTimeout EnforcePartLimits Epilog EpilogMsgTime EpilogSlurmctld EpilogTimeout "
    "ExtSensorsFreq ExtSensorsType FairShareDampeningFactor FastSchedule FederationParameters FirstJobId "
    "FrontendName GetEnvTimeout GpuFreqDef GresTypes GroupUpdateForce GroupUpdateTime HashPlugin "
    "HealthCheckInterval HealthCheckNodeState HealthCheckProgram HealthCheckTimeout HttpParserType InactiveLimit "
    "InteractiveStepOptions JobAcctGatherFrequency JobAcctGatherParams JobAcctGatherType JobCheckpointDir "
    "JobCompHost JobCompLoc JobCompParams JobCompPass JobCompPassScript JobCompPort JobCompType JobCompUser "
    "JobContainerType JobCredentialPrivateKey JobCredentialPublicCertificate JobFileAppend JobRequeue "
    "JobSubmitPlugins KeepAliveTime KillOnBadExit KillWait LaunchParameters LaunchType Layouts LicenseParameters "
    "Licenses LogTimeFormat MailDomain MailProg MaxArraySize MaxBatchRequeue MaxDBDMsgs MaxJobCount MaxJobId "
    "MaxMemPerCPU MaxMemPerNode MaxNodeCount MaxStepCount MaxTasksPerNode MCSParameters MCSPlugin MemLimitEnforce "
    "MessageTimeout MetricsAuthUsers MetricsParameters MetricsType MinJobAge MpiDefault MpiParams "
    "MsgAggregationParams NamespaceType NodeFeaturesPlugins OverTimeLimit PluginDir PlugStackConfig PowerAction "
    "PowerParameters PowerPlugin PreemptExemptTime PreemptMode PreemptParameters PreemptType PrEpParameters "
    "PrEpPlugins PriorityCalcPeriod PriorityDecayHalfLife PriorityFavorSmall PriorityFlags PriorityMaxAge "
    "PriorityParameters PrioritySiteFactorParameters PrioritySiteFactorPlugin PriorityType PriorityUsageResetPeriod "
    "PriorityWeightAge PriorityWeightAssoc PriorityWeightFairshare PriorityWeightJobSize PriorityWeightPartition "
    "PriorityWeightQOS PriorityWeightTRES PrivateData ProctrackType Prolog PrologEpilogTimeout PrologFlags "
    "PrologSlurmctld PrologTimeout PropagatePrioProcess PropagateResourceLimits PropagateResourceLimitsExcept "
    "RebootProgram ReconfigFlags RequeueExit RequeueExitHold ResumeFailProgram ResumeProgram ResumeRate "
    "ResumeTimeout ResvEpilog ResvOverRun ResvProlog ReturnToService RoutePlugin SallocDefaultCommand "
    "SbcastParameters SchedulerAuth SchedulerParameters SchedulerPort SchedulerRootFilter SchedulerTimeSlice "
    "SchedulerType ScronParameters SelectType SelectTypeParameters SerializerParameters SerializerPlugins "
    "SlurmctldAddr SlurmctldDebug SlurmctldHost SlurmctldHttpAuthParameters SlurmctldLogFile SlurmctldParameters "
    "SlurmctldPidFile SlurmctldPlugstack SlurmctldPort SlurmctldPrimaryOffProg SlurmctldPrimaryOnProg "
    "SlurmctldSyslogDebug SlurmctldTimeout SlurmdDebug SlurmdHttpAuthParameters SlurmdLogFile SlurmdParameters "
    "SlurmdPidFile SlurmdPlugstack SlurmdPort SlurmdSpoolDir SlurmdSyslogDebug SlurmdTimeout SlurmdUser "
    "SlurmrestdHttpAuthParameters SlurmrestdParameters SlurmSchedLogFile SlurmSchedLogLevel SlurmstepdParameters "
    "SlurmUser SrunEpilog SrunPortRange SrunProlog StateSaveLocation SuspendExcNodes SuspendExcParts "
    "SuspendExcStates SuspendProgram SuspendRate SuspendTime SuspendTimeout SwitchParameters SwitchType TaskEpilog "
    "TaskPlugin TaskPluginParam TaskProlog TCPTimeout TLSParameters TLSType TmpFS TopologyParam TopologyPlugin "
    "TrackWCKey TreeWidth UnkillableStepProgram UnkillableStepTimeout UrlParserType UsePAM VSizeFactor WaitTime "
    "X11Parameters";

/// Looks at the keys of a `PartitionName=` line. One that is close to a key of Slurm's is an error, others that Slurm
/// does not have are noted.
[[nodiscard]] inline expected<void, input_error> check_partition_keys(const conf_line& l,
                                                                      std::vector<std::string>* notes) {
  for (const auto& p : l.pairs) {
    if (is_among(p, partition_keys)) continue;
    if (auto bad = io_text::misspelt_key(l.source, l.line, p.key, partition_keys)) return unexpected{std::move(*bad)};
    if (notes != nullptr)
      note_foreign_key(*notes, l.source + ":" + std::to_string(l.line) + ": the key " + p.key +
                                   " on PartitionName= lines is not one of Slurm's; passed over.");
  }
  return {};
}

/// Looks at a line of slurm.conf that is about no node, partition or set. Errors: a key that is close to one of those
/// that begin such a line, a key that only nodes and partitions have. Others that Slurm does not have are noted.
[[nodiscard]] inline expected<void, input_error> check_cluster_line(const conf_line& l,
                                                                    std::vector<std::string>& notes) {
  // Lines with keys of their own, about machines that run no jobs.
  if (l.find("FrontendName") != nullptr || l.find("PowerAction") != nullptr) return {};
  for (const auto& p : l.pairs) {
    if (is_among(p, cluster_keys)) continue;
    if (is_among(p, node_keys) || is_among(p, partition_keys))
      return unexpected{l.error("key " + io_text::quoted(p.key) + " on a line of its own",
                                "NodeName= or PartitionName= on the same line, or a backslash before it")};
    if (auto bad = io_text::misspelt_key(l.source, l.line, p.key, "NodeName PartitionName DownNodes NodeSet"))
      return unexpected{std::move(*bad)};
    note_foreign_key(
        notes, l.source + ":" + std::to_string(l.line) + ": the key " + p.key + " is not one of Slurm's; passed over.");
  }
  return {};
}

}  // namespace berth::slurm_detail
