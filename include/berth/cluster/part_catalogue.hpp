#pragma once
/// \file
/// What the GPUs of a site may be cut into: which models take MIG instances, by which table, and which may be shared.
/// Plain data; `cluster/part_setup.hpp` makes it from the catalogue of GPU models.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "berth/cluster/device_sharing.hpp"
#include "berth/cluster/task_part.hpp"
#include "berth/topology/mig_states.hpp"

namespace berth {

/// How devices of one model may be cut.
struct part_model {
  static constexpr std::uint8_t no_product = 255;

  std::string name;                   ///< as in `node_shape::models`
  std::uint8_t product = no_product;  ///< index in `part_catalogue::products`
  bool shares = true;                 ///< may be shared by time-slicing, MPS or the like
  std::uint16_t thousandths = 1000;   ///< compute that tasks may ask for together; above 1000: oversubscribed
  std::uint32_t memory_mib = 0;       ///< memory that they may ask for together; 0: unknown, so none is promised
  std::uint16_t clients = 65'535;     ///< tasks that may share one device at once
  bool one_user = false;              ///< all of them of one user (MPS)
  bool exclusive_whole = false;       ///< who asks for 1000 thousandths shares with nobody, and none past the last
                                      ///< thousandth get in that ask for none (HAMi)
  share_terms terms{};                ///< what the limits were made from, for who asks; mode `none`: the limits say all
};

/// How MIG instances of one profile may be shared. None are, unless a site says so.
struct instance_limits {
  std::uint32_t memory_mib = 0;
  std::uint16_t thousandths = 1000;  ///< of the instance's compute
  std::uint16_t clients = 0;         ///< 0: not shared
  bool one_user = false;
  bool exclusive_whole = false;
  share_terms terms{};  ///< as of a model
};

/// Products and models of a site.
struct part_catalogue {
  std::vector<mig_state_table> products;  ///< at most 254
  /// By product, one weight >= 0 per profile: how often each is expected to be asked for. Says which GPU states are
  /// worth most, and so on which nodes instances go first. Products without weights: all plain profiles equally.
  std::vector<std::vector<double>> mix;
  std::vector<part_model> models;  ///< a model that is not here is handed out whole only
  /// By product and profile: what tasks may share an instance. Empty, or shorter: those instances are not shared.
  std::vector<std::vector<instance_limits>> inside;
  /// By product and profile, or empty: why the site's terms of sharing do not allow those instances to be shared.
  std::vector<std::vector<std::string>> inside_refused;
  /// {model, what was found and expected}: models known to have MIG that are handed out without it, and why.
  std::vector<std::pair<std::string, std::string>> without_mig;
};

/// MIG instances that have to lie on one GPU: one, or several of a claim. By product, as profiles differ.
struct mig_request {
  struct on_product {
    std::uint8_t count = 0;                       ///< 0: the product has not all of these profiles
    std::uint8_t profiles[max_task_instances]{};  ///< the largest first
    friend bool operator==(const on_product&, const on_product&) = default;
  };
  std::string name;                  ///< for people: "1g.10gb", "4g.40gb+2g.20gb"
  std::vector<on_product> products;  ///< by product of the catalogue
  friend bool operator==(const mig_request&, const mig_request&) = default;
};

/// What a site allows an idle device to become.
enum class mig_switch : std::uint8_t {
  as_needed,  ///< whole, MIG or shared, as the next task likes
  on,         ///< MIG is enabled and stays so: takes instances and nothing else
  off,        ///< MIG is disabled and stays so
};

}  // namespace berth
