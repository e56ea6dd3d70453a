// Looks a tensor up in a family's list of names.
#include "model/stored_names.hpp"

namespace isentropic::model {
namespace {

// "layers.12.query.weight" has the module "layers.#.query", the layer "12" and the leaf ".weight".
struct NameParts {
  std::string module, layer, leaf;
};

NameParts parts_of(const std::string& name) {
  NameParts out;
  const std::size_t dot = name.rfind('.');
  out.leaf = name.substr(dot);
  out.module = name.substr(0, dot);
  constexpr std::string_view kLayers = "layers.";
  if (out.module.starts_with(kLayers)) {
    const std::size_t end = out.module.find('.', kLayers.size());
    out.layer = out.module.substr(kLayers.size(), end - kLayers.size());
    out.module.replace(kLayers.size(), out.layer.size(), "#");
  }
  return out;
}

}  // namespace

std::optional<StoredPlace> stored_place(const Family& family, const std::string& prefix, const std::string& name) {
  const NameParts parts = parts_of(name);
  for (const StoredName& entry : family.names) {
    if (parts.module != entry.ours) continue;
    std::string module = entry.stored[0] == '/' ? entry.stored + 1 : prefix + entry.stored;
    if (const std::size_t place = module.find('#'); place != std::string::npos) module.replace(place, 1, parts.layer);
    return StoredPlace{module + parts.leaf, entry.transposed && parts.leaf == ".weight"};
  }
  return std::nullopt;
}

}  // namespace isentropic::model
